// Rows by the keys of outside systems: the column external_key for the system default, sync.links
// for the others. A key of the HTTP API gives and is given the keys of its own system alone.

import pg from 'pg';
import {defaultSystem} from '../accounts/roles.ts';
import {shorten} from '../core/text.ts';
import type {AccountKey} from './keys.ts';
import {HttpProblem} from './problem.ts';

/** SQL by which a system knows the rows of a table, or of the table that a column names. */
interface OwnKeys {
  /** Its key of the row `held`; null where it has none. */
  readonly key: string;
  /** Whether the row `held` is the one that it knows by a key. @param account, key - SQL of them */
  isKnownBy(account: string, key: string): string;
}

/**
 * The keys of a system, as SQL about a row `held`.
 * @param table - SQL of the name of its table: a literal, or a column
 */
export function keysOf(system: string, table: string): OwnKeys {
  if (system === defaultSystem)
    return {key: 'held.external_key', isKnownBy: (_, key) => `held.external_key = ${key}`};
  const from = `FROM sync.links AS link WHERE link.table_name = ${table}
    AND link.system = ${pg.escapeLiteral(system)} AND link.until IS NULL`;
  return {
    key: `(SELECT link.key ${from} AND link.row_id = held.row_id)`,
    // The row is looked up once, by the index of keys.
    isKnownBy: (account, key) =>
      `held.row_id = (SELECT link.row_id ${from} AND link.account_id = ${account}
         AND link.key = ${key})`,
  };
}

/** @throws {HttpProblem} 403: a system is named that is not the key's own */
export function checkSystem({system: own}: AccountKey, named: string | undefined): void {
  if (named === undefined || named === own) return;
  const expected = `${own}, the system of this key`;
  const got = shorten(JSON.stringify(named), 60);
  throw new HttpProblem(403, 'other-system', {
    detail: `system: expected ${expected}, got ${got}`,
    hint: 'Leave it out, or use a key of that system: fieldmirror keys add NAME --system SYSTEM.',
    errors: [{in: 'query', at: 'system', expected, got}],
  });
}
