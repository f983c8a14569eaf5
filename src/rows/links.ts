// The keys by which outside systems know rows: the column external_key for the system default,
// sync.links for the others. Functions of migrations/functions/links write them.

import pg from 'pg';
import {defaultSystem} from '../accounts/roles.ts';
import type {Queryable} from '../postgres/database.ts';

/** A row, and the outside system whose key of it is meant. */
export interface LinkPlace {
  readonly table: string;
  readonly rowId: string;
  readonly system: string;
}

/**
 * Sets the key of a row; null removes it. @returns whether it was another, or none, before
 * @throws {pg.DatabaseError} 23505: another row has it; 22023: it is no key; 23000: the customer of
 *   the row was forgotten
 */
export async function setLink(
  db: Queryable,
  {table, rowId, system}: LinkPlace,
  key: string | null,
): Promise<boolean> {
  const {rows} = await db.query<{isNew: boolean}>(
    key === null
      ? 'SELECT sync.remove_link($1, $2, $3) AS "isNew"'
      : 'SELECT sync.set_link($1, $2, $4, $3) AS "isNew"',
    [table, rowId, system, ...(key === null ? [] : [key])],
  );
  return rows[0]?.isNew === true;
}

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

/** A row that has a key. */
export interface Link {
  /** Number of its record; null until the service has given one. */
  readonly number: string | null;
  readonly rowId: string;
  readonly key: string;
  /** Since when, and who said so; null for the system default, whose keys are a column. */
  readonly since: string | null;
  readonly linkedBy: string | null;
}

/** Of which rows keys are wanted. */
export interface LinkQuery {
  readonly accountId: string;
  readonly table: string;
  /** The column with the number of a record. */
  readonly numberColumn: string;
  readonly system: string;
  /** Null: every key. */
  readonly key: string | null;
  readonly limit: number;
}

/** The keys that a system has for the rows of a table, in order of row_id. */
export async function listLinks(db: Queryable, query: LinkQuery): Promise<Link[]> {
  const {accountId, table, numberColumn, system, key, limit} = query;
  const number = `held.${pg.escapeIdentifier(numberColumn)} AS number, held.row_id AS "rowId"`;
  const from = `FROM warehouse.${pg.escapeIdentifier(table)} AS held`;
  const values = [accountId, key, limit];
  const {rows} =
    system === defaultSystem
      ? await db.query<Link>(
          `SELECT ${number}, external_key AS key, NULL AS since, NULL AS "linkedBy" ${from}
            WHERE account_id = $1 AND external_key = coalesce($2, external_key)
            ORDER BY row_id LIMIT $3`,
          values,
        )
      : await db.query<Link>(
          `SELECT ${number}, link.key, link.since, link.linked_by AS "linkedBy" ${from}
             JOIN sync.links AS link USING (account_id, row_id)
            WHERE account_id = $1 AND link.key = coalesce($2, link.key)
              AND link.table_name = $4 AND link.system = $5 AND link.until IS NULL
            ORDER BY row_id LIMIT $3`,
          [...values, table, system],
        );
  return rows;
}
