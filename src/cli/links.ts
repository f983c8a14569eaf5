// The verbs `links`: the keys by which outside systems know records.

import pg from 'pg';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {formatAgo} from '../core/format.ts';
import {checkShortName, defaultSystem, nearest} from '../core/names.ts';
import type {Queryable} from '../postgres/database.ts';
import {listLinks, setLink} from '../rows/links.ts';
import {allTables} from '../streams/all.ts';
import {chooseAccount} from './accounts.ts';
import {fitTable, print} from './terminal.ts';
import {withWarehouse} from './warehouse.ts';

interface LinkOptions {
  readonly system?: string;
  readonly account?: string;
  readonly json: boolean;
}

/** A record by its number. */
interface RecordName {
  readonly table: string;
  readonly number: string;
}

/**
 * Lists the keys that a system has for the records of a table.
 * @returns the exit code
 * @throws {UsageError} no such table or account
 */
export async function linksList(
  config: Config,
  table: string,
  options: LinkOptions & {readonly key?: string; readonly limit: number},
): Promise<number> {
  const {key = null, limit, json} = options;
  const scope = readScope('links list', table, options);
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const {accountId, name: account} = await chooseAccount({pool}, options.account);
    const links = await listLinks(pool, {...scope, accountId, key, limit});
    const rows = links.map(({number, rowId, key: held, since, linkedBy}) => [
      number ?? `row ${rowId}`,
      held,
      since === null ? '' : formatAgo(since),
      linkedBy ?? '',
    ]);
    const none = `account ${account}: system ${scope.system} has no key of ${table}`;
    const head = [table, 'key', 'since', 'set by'];
    print(json, {json: {links}, text: rows.length === 0 ? none : fitTable(head, rows)});
    return 0;
  });
}

/**
 * Sets the key of a record, in place of the one that it had; null removes it.
 * @returns the exit code
 * @throws {UsageError} no such table, account or record; another record has the key
 */
export async function linksSet(
  config: Config,
  {table, number}: RecordName,
  {key, ...options}: LinkOptions & {readonly key: string | null},
): Promise<number> {
  const verb = key === null ? 'links remove' : 'links set';
  const {system, numberColumn} = readScope(verb, table, options);
  return await withWarehouse(config, {migrates: false}, async ({pool}) => {
    const account = await chooseAccount({pool}, options.account);
    const record = {table, number, numberColumn, accountId: account.accountId};
    const rowId = await findRow(pool, record);
    if (rowId === null)
      throw new UsageError(`${verb}: account ${account.name} has no record ${number} of ${table}`);
    const isNew = await setLink(pool, {table, rowId, system}, key).catch((error: unknown) => {
      throw explain(error, verb);
    });
    const words = isNew ? 'now' : 'already';
    const held = key === null ? 'no key' : `key ${key}`;
    const text = `${table} ${number} ${words} has ${held} in system ${system}`;
    print(options.json, {json: {table, number, rowId, system, key, isNew}, text});
    return 0;
  });
}

function readScope(
  verb: string,
  name: string,
  {system = defaultSystem}: LinkOptions,
): {readonly table: string; readonly numberColumn: string; readonly system: string} {
  checkShortName(system, `${verb}: --system`);
  const tables = allTables.filter(({key}) => key.length === 1);
  const [numberColumn] = tables.find((table) => table.name === name)?.key ?? [];
  if (numberColumn !== undefined) return {table: name, numberColumn, system};
  const names = tables.map((table) => table.name);
  const near = nearest(name, names);
  throw new UsageError(
    `${verb}: no table "${name}" with a number${near}; there are ${names.join(', ')}`,
  );
}

async function findRow(
  db: Queryable,
  {table, number, numberColumn, accountId}: RecordName & {numberColumn: string; accountId: string},
): Promise<string | null> {
  const {rows} = await db.query<{rowId: string}>(
    `SELECT row_id AS "rowId" FROM warehouse.${pg.escapeIdentifier(table)}
      WHERE account_id = $1 AND ${pg.escapeIdentifier(numberColumn)} = $2`,
    [accountId, number],
  );
  return rows[0]?.rowId ?? null;
}

/** A refusal of the functions in its own words. */
function explain(error: unknown, verb: string): unknown {
  if (!(error instanceof pg.DatabaseError) || !/^(?:22|23)/.test(error.code ?? '')) return error;
  const next = error.code === '23505' ? '; fieldmirror links remove removes it there' : '';
  return new UsageError(`${verb}: ${error.message}${next}`, {cause: error});
}
