// What is stored of a stream: the numbers of its rows, of parents and of a customer's rows, and the
// records and pages that were received before. If these come again unchanged, they are not written
// again.

import pg from 'pg';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {readByCursor, toArrayText} from '../postgres/sql.ts';
import type {MirrorTable, OwnedTable} from '../streams/table.ts';
import {type Family, keyText} from './load.ts';
import {NumberSet} from './number-set.ts';
import {hashBytes, hashIn, isUnlisted, keyOf, nameTable} from './table-sql.ts';

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

/** A record that is not deleted here, or whose delete is not done at the service. */
interface UndeletedRecord {
  readonly number: string;
  /** Its delete is sent without a decision of a person. */
  readonly isBeingDeleted: boolean;
}

/** Of some numbers of records of a table, those that are not deleted, in order of number. */
export async function listUndeleted(
  db: Queryable,
  {
    accountId,
    table,
    numbers,
  }: {
    readonly accountId: string;
    readonly table: MirrorTable;
    readonly numbers: readonly string[];
  },
): Promise<UndeletedRecord[]> {
  const {rows} = await db.query<UndeletedRecord>(
    `SELECT asked.number, coalesce(change.state IN ('pending', 'sending', 'in_doubt'), false)
              AS "isBeingDeleted"
       FROM unnest($2::bigint[]) AS asked (number)
       LEFT JOIN ${nameTable(table)} AS held
         ON held.account_id = $1 AND held.${keyOf(table)} = asked.number
       LEFT JOIN sync.changes AS change ON change.table_name = $3
        AND change.row_id = held.row_id AND change.operation = 'delete' AND change.is_open
      WHERE held._deleted_at IS NULL OR change.change_id IS NOT NULL
      ORDER BY asked.number`,
    [accountId, numbers, table.name],
  );
  return rows;
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

/** The scope of the records: of one stream, read into columns of one shape. */
interface KnownScope {
  readonly accountId: string;
  readonly stream: string;
  /** Fingerprint of the stream's columns; int4. */
  readonly shape: number;
}

/**
 * Finds which bytes were read and accepted before, and still have their row as the service sent it.
 * Bytes of a row that was marked deleted, edited or removed by hand are not known: the record is
 * read again. This is an index probe: it takes no lock and writes no WAL.
 * @param query.hashes - the hashes of some records, concatenated
 * @returns for each of them the number of its record; null if its bytes are not known
 */
export async function probeKnown(
  client: pg.Pool | pg.ClientBase,
  query: KnownScope & {readonly table: MirrorTable; readonly hashes: Buffer},
): Promise<(string | null)[]> {
  const {accountId, stream, shape, table, hashes} = query;
  if (hashes.length === 0) return [];
  // Hashes and numbers are each passed as one value. Node would write an array of hashes in hex and
  // Postgres would parse it, which takes twice the time. A row for each number would cost as much
  // again.
  const values = [accountId, stream, shape, hashes];
  const {rows} = await client.query<{numbers: string}>(probeSql(table), values);
  return (rows[0]?.numbers ?? '').split(',').map((number) => (number === '' ? null : number));
}

function probeSql(table: MirrorTable): string {
  // OFFSET 0 makes both subqueries use an index look-up for each hash. Without it, and without
  // statistics, as after a first load, the planner joins all stored records with all given hashes.
  // The aggregate gives one number for each hash, whatever is stored.
  return `
    SELECT string_agg(coalesce(known.number::text, ''), ',' ORDER BY page.at) AS numbers
      FROM (SELECT at, ${hashIn('$4', 'at')} AS bytes_hash
              FROM generate_series(1, length($4::bytea) / ${hashBytes}) AS at) AS page
     CROSS JOIN LATERAL (
           SELECT min(held.number) AS number
             FROM (SELECT number FROM sync.known_records
                    WHERE account_id = $1 AND stream = $2 AND bytes_hash = page.bytes_hash
                      AND shape = $3 OFFSET 0) AS held
            CROSS JOIN LATERAL (
                  SELECT FROM ${nameTable(table)}
                   WHERE account_id = $1 AND ${keyOf(table)} = held.number AND _deleted_at IS NULL
                     AND _hash IS NOT NULL OFFSET 0) AS row) AS known`;
}

/**
 * Stores the hashes of the bytes by which records are known from now on. Call it in the transaction
 * that writes their rows.
 * @param known - number of the record to the hash of its bytes
 */
export async function rememberKnown(
  client: pg.ClientBase,
  {accountId, stream, shape, known}: KnownScope & {readonly known: ReadonlyMap<string, Buffer>},
): Promise<void> {
  if (known.size === 0) return;
  // The numbers are sorted: two batches that lock rows in the same order cannot deadlock.
  const numbers = [...known.keys()].sort();
  const hashes = Buffer.concat(numbers.flatMap((number) => known.get(number) ?? []));
  await client.query(
    `INSERT INTO sync.known_records (account_id, stream, shape, number, bytes_hash)
     SELECT $1, $2, $3, number, ${hashIn('$5', 'at')}
       FROM unnest($4::bigint[]) WITH ORDINALITY AS page (number, at)
         ON CONFLICT (account_id, stream, number) DO UPDATE
        SET bytes_hash = EXCLUDED.bytes_hash, shape = EXCLUDED.shape`,
    [accountId, stream, shape, toArrayText(numbers), hashes],
  );
}

/**
 * Deletes the known bytes of records that were read in another way than from a list: their rows may
 * now differ from those bytes, and the list may repeat the bytes. Call it in the transaction that
 * writes the rows.
 */
export async function forgetKnown(
  client: pg.ClientBase,
  records: {
    readonly accountId: string;
    readonly stream: string;
    readonly numbers: readonly string[];
  },
): Promise<void> {
  if (records.numbers.length === 0) return;
  await client.query(
    `DELETE FROM sync.known_records WHERE account_id = $1 AND stream = $2
       AND number = ANY ($3::bigint[])`,
    [records.accountId, records.stream, toArrayText(records.numbers)],
  );
}

/** A page of a list as last received. */
export interface KnownPage {
  readonly page: number;
  /** The digest of its body, made with the account's key. */
  readonly digest: Buffer;
  /** The hashes of its records' bytes, concatenated. */
  readonly hashes: Buffer;
}

interface ListScope {
  readonly accountId: string;
  readonly stream: string;
}

/** How many pages are read or written at once. */
export const pagesAtOnce = 64;

/**
 * Reads some pages of a list, with the key that makes their digests.
 * @param list.from - the first of them
 */
export async function readKnownPages(
  pool: pg.Pool,
  {accountId, stream, from}: ListScope & {readonly from: number},
): Promise<{key: Buffer; pages: KnownPage[]}> {
  const {rows} = await pool.query<{key: Buffer} & (KnownPage | {page: null})>(
    `SELECT uuid_send(account.page_key) AS key, held.page, held.digest, held.hashes
       FROM sync.accounts AS account
       LEFT JOIN sync.known_pages AS held
         ON held.account_id = account.account_id AND held.stream = $2
           AND held.page BETWEEN $3 AND $3 + ${pagesAtOnce - 1}
      WHERE account.account_id = $1`,
    [accountId, stream, from],
  );
  const [first] = rows;
  if (first === undefined)
    throw new TypeError(`account ${accountId}: expected a row of sync.accounts, got none`);
  return {key: first.key, pages: rows.flatMap((row) => (row.page === null ? [] : [row]))};
}

/**
 * Stores pages as received, in a separate statement. A page states nothing about its records' rows,
 * so it is true whatever happens to the batch with its records.
 */
export async function rememberPages(
  pool: pg.Pool,
  {accountId, stream, pages}: ListScope & {readonly pages: readonly KnownPage[]},
): Promise<void> {
  if (pages.length === 0) return;
  await pool.query(
    `INSERT INTO sync.known_pages (account_id, stream, page, digest, hashes)
     SELECT $1, $2, page, digest, hashes FROM unnest($3::int[], $4::bytea[],
       $5::bytea[]) AS came (page, digest, hashes)
         ON CONFLICT (account_id, stream, page) DO UPDATE
           SET digest = EXCLUDED.digest, hashes = EXCLUDED.hashes`,
    [
      accountId,
      stream,
      pages.map(({page}) => page),
      pages.map(({digest}) => digest),
      pages.map(({hashes}) => hashes),
    ],
  );
}
