// Numbers of stored rows: of a stream, of parents, of a customer.

import pg from 'pg';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {readByCursor, toArrayText} from '../postgres/sql.ts';
import type {MirrorTable, OwnedTable} from '../streams/table.ts';
import {type Family, keyText} from './load.ts';
import {NumberSet} from './number-set.ts';
import {isUnlisted, keyOf, nameTable} from './table-sql.ts';

/** The numbers of a stream that this warehouse knows of. */
export interface StoredNumbers {
  /** Of live rows. */
  readonly live: NumberSet;
  /** Of rows marked deleted. */
  readonly deleted: NumberSet;
}

/** About 8 kB of text. */
const numbersInRow = 1_000;
const rowsAtOnce = 20;

/**
 * Reads the numbers of an account's rows. Rows without a number were authored here and do not exist
 * at the service.
 */
export async function readStoredNumbers(
  pool: pg.Pool,
  accountId: string,
  table: MirrorTable,
): Promise<StoredNumbers> {
  const key = keyOf(table);
  // A row for each number would cost more to make and to read than the number.
  const query = `
    SELECT "isLive", string_agg(number::text, ',') AS numbers
      FROM (SELECT ${key} AS number, _deleted_at IS NULL AS "isLive",
        row_number() OVER () / ${numbersInRow} AS part
              FROM ${nameTable(table)} WHERE account_id = $1 AND ${key} IS NOT NULL) AS held
     GROUP BY part, "isLive"`;
  return await inTransaction(pool, async (client) => {
    const numberSets = {live: new NumberSet(), deleted: new NumberSet()};
    const parts = readByCursor<{numbers: string; isLive: boolean}>(
      client,
      query,
      [accountId],
      rowsAtOnce,
    );
    for await (const rows of parts)
      for (const {numbers, isLive} of rows)
        for (const number of numbers.split(','))
          (isLive ? numberSets.live : numberSets.deleted).add(number);
    return numberSets;
  });
}

/**
 * Reads the numbers that live rows of other tables name, and that no row of the table itself has.
 */
export async function readNamedNumbers(
  pool: pg.Pool,
  accountId: string,
  {table, tables}: {readonly table: MirrorTable; readonly tables: readonly MirrorTable[]},
): Promise<NumberSet> {
  const namedNumbers = new NumberSet();
  if (tables.length === 0) return namedNumbers;
  const key = keyOf(table);
  const queries = tables.map(
    (otherTable) => `
      SELECT ${key} AS number FROM ${nameTable(otherTable)} AS naming
       WHERE account_id = $1 AND _deleted_at IS NULL AND ${key} > 0
         AND NOT EXISTS (SELECT FROM ${nameTable(table)} AS own
                          WHERE own.account_id = $1 AND own.${key} = naming.${key})`,
  );
  await inTransaction(pool, async (client) => {
    for await (const rows of readByCursor<{number: string}>(client, queries.join(' UNION '), [
      accountId,
    ]))
      for (const {number} of rows) namedNumbers.add(number);
  });
  return namedNumbers;
}

/** True if a live row of that number exists here. */
export async function isLive(
  db: Queryable,
  accountId: string,
  {table, number}: {readonly table: MirrorTable; readonly number: string},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `SELECT FROM ${nameTable(table)} WHERE account_id = $1 AND ${keyOf(table)} = $2
       AND _deleted_at IS NULL`,
    [accountId, number],
  );
  return rowCount === 1;
}

/**
 * Finds which of some parents have live children here. LIMIT makes Postgres use an index look-up
 * for each parent, as OFFSET 0 does in the probe of a load.
 * @returns by name of the children's table, the numbers of the parents
 */
export async function readParentsOfLive(
  db: Queryable,
  tables: readonly OwnedTable[],
  {accountId, parents}: {readonly accountId: string; readonly parents: readonly string[]},
): Promise<ReadonlyMap<string, ReadonlySet<string>>> {
  const parentsByTable = new Map(tables.map(({table}) => [table.name, new Set<string>()]));
  if (tables.length === 0 || parents.length === 0) return parentsByTable;
  const queries = tables.map(
    ({table, parentColumn}) => `
      SELECT ${pg.escapeLiteral(table.name)} AS name, parent::text
        FROM unnest($2::bigint[]) AS parent
       CROSS JOIN LATERAL (SELECT FROM ${nameTable(table)} WHERE account_id = $1
                              AND ${pg.escapeIdentifier(parentColumn)} = parent
                                AND _deleted_at IS NULL LIMIT 1) AS child`,
  );
  const {rows} = await db.query<{name: string; parent: string}>(queries.join(' UNION ALL '), [
    accountId,
    toArrayText(parents),
  ]);
  for (const {name, parent} of rows) parentsByTable.get(name)?.add(parent);
  return parentsByTable;
}

/**
 * @returns the names of the tables in which one of the parents has a live child that none of them
 * lists
 */
export async function readVanishing(
  db: Queryable,
  accountId: string,
  families: readonly (OwnedTable & Pick<Family, 'parents' | 'kept'>)[],
): Promise<ReadonlySet<string>> {
  if (families.length === 0) return new Set();
  const queries = families.map(({table, parentColumn}, index) => {
    const [parentsAt, keyAt] = [2 * index + 2, 2 * index + 3];
    return `
      (SELECT ${pg.escapeLiteral(table.name)} AS name FROM unnest($${parentsAt}::bigint[]) AS parent
        CROSS JOIN LATERAL (SELECT FROM ${nameTable(table)} AS child WHERE account_id = $1
                               AND ${pg.escapeIdentifier(parentColumn)} = parent
                               AND _deleted_at IS NULL
                               AND ${isUnlisted(table, `$${keyAt}`)} LIMIT 1) AS vanished LIMIT 1)`;
  });
  const {rows} = await db.query<{name: string}>(queries.join(' UNION ALL '), [
    accountId,
    ...families.flatMap(({parents, kept}) => [
      toArrayText(parents),
      toArrayText(kept.map(keyText)),
    ]),
  ]);
  return new Set(rows.map(({name}) => name));
}

/** A table whose records belong to those of another. */
export interface Nesting {
  readonly table: string;
  readonly parent: string;
  /** Of both tables: the column with the number of the parent. */
  readonly numberColumn: string;
}

/**
 * Reads the numbers of the customers and jobs to which changed records belong.
 * @returns a map from change to number; absent if the record belongs to none, or the service has
 *   given none yet
 */
export async function readParentNumbers(
  db: Queryable,
  changeIds: readonly string[],
  nestings: readonly Nesting[],
): Promise<ReadonlyMap<string, string>> {
  const numbers = nestings.map(numberSql).join(' ');
  const {rows} = await db.query<{changeId: string; number: string | null}>(
    `SELECT change_id AS "changeId", CASE table_name ${numbers} END AS number
       FROM sync.changes AS change WHERE change_id = ANY ($1)`,
    [changeIds],
  );
  return new Map(
    rows.flatMap(({changeId, number}) => (number === null ? [] : [[changeId, number]])),
  );
}

function numberSql({table, parent, numberColumn}: Nesting): string {
  const column = pg.escapeIdentifier(numberColumn);
  return `
    WHEN ${pg.escapeLiteral(table)} THEN (
      SELECT coalesce(parent.${column}, held.${column})
        FROM warehouse.${pg.escapeIdentifier(table)} AS held
        LEFT JOIN warehouse.${pg.escapeIdentifier(parent)} AS parent
               ON parent.row_id = coalesce(change.parent_row_id, held.parent_row_id)
       WHERE held.row_id = change.row_id)`;
}

/**
 * The number of a customer that is found by its internal key; null if no such customer is stored.
 */
export async function readCustomerNumber(
  db: Queryable,
  {accountId, customerId}: {readonly accountId: string; readonly customerId: string},
): Promise<string | null> {
  const {rows} = await db.query<{number: string}>(
    `SELECT customer_number AS number FROM warehouse.customers
      WHERE account_id = $1 AND id = $2 AND customer_number IS NOT NULL
        ORDER BY _deleted_at NULLS FIRST LIMIT 1`,
    [accountId, customerId],
  );
  return rows[0]?.number ?? null;
}
