import type pg from 'pg';

/** A page of a list as it last came. */
export interface KnownPage {
  readonly page: number;
  /** The digest of its body, by the account's key. */
  readonly digest: Buffer;
  /** The hash of each of its records' bytes, end to end. */
  readonly hashes: Buffer;
}

interface List {
  readonly accountId: string;
  readonly stream: string;
}

/** Pages that are read or written at once. */
export const pagesAtOnce = 64;

/**
 * Reads some pages of a list, with the key that tells their digests. @param list.from - the first
 * of them
 */
export async function readKnownPages(
  pool: pg.Pool,
  {accountId, stream, from}: List & {readonly from: number},
): Promise<{key: Buffer; pages: KnownPage[]}> {
  const {rows} = await pool.query<{key: Buffer} & (KnownPage | {page: null})>(
    `SELECT uuid_send(account.page_key) AS key, held.page, held.digest, held.hashes
       FROM sync.accounts AS account
       LEFT JOIN sync.known_pages AS held
         ON held.account_id = account.account_id AND held.stream = $2 AND held.page BETWEEN $3 AND $3 + ${pagesAtOnce - 1}
      WHERE account.account_id = $1`,
    [accountId, stream, from],
  );
  const [first] = rows;
  if (first === undefined)
    throw new TypeError(`account ${accountId}: expected a row of sync.accounts, got none`);
  return {key: first.key, pages: rows.flatMap((row) => (row.page === null ? [] : [row]))};
}

/**
 * Remembers pages as they came. In a statement of its own: a page says nothing of its records'
 * rows, so that it is true whatever becomes of the batch that brings them.
 */
export async function rememberPages(
  pool: pg.Pool,
  {accountId, stream, pages}: List & {readonly pages: readonly KnownPage[]},
): Promise<void> {
  if (pages.length === 0) return;
  await pool.query(
    `INSERT INTO sync.known_pages (account_id, stream, page, digest, hashes)
     SELECT $1, $2, page, digest, hashes FROM unnest($3::int[], $4::bytea[], $5::bytea[]) AS came (page, digest, hashes)
         ON CONFLICT (account_id, stream, page) DO UPDATE SET digest = EXCLUDED.digest, hashes = EXCLUDED.hashes`,
    [
      accountId,
      stream,
      pages.map(({page}) => page),
      pages.map(({digest}) => digest),
      pages.map(({hashes}) => hashes),
    ],
  );
}
