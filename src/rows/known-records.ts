// Records and pages that were received before: if they come again unchanged, they are not written
// again.

import type pg from 'pg';
import {toArrayText} from '../postgres/sql.ts';
import type {MirrorTable} from '../streams/table.ts';
import {hashBytes, hashIn, keyOf, nameTable} from './table-sql.ts';

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
