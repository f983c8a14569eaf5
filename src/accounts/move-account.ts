// What an account that gets another address is known by, and its new address.

import type {Queryable} from '../postgres/database.ts';
import type {Account} from './accounts.ts';

/**
 * The streams whose records have a number of their own and the moment in which they were created.
 */
export type NumberedStream = 'customers' | 'jobs' | 'employees';

/** What a record keeps for as long as it lives. */
export interface Identity {
  readonly number: string;
  readonly id: string;
  /** ISO 8601. */
  readonly createdAt: string;
}

/** Live rows of a stream, spread over all of its numbers: the same ones each time. */
export async function sampleIdentities(
  db: Queryable,
  accountId: string,
  {stream, most}: {readonly stream: NumberedStream; readonly most: number},
): Promise<readonly Identity[]> {
  const number = `${stream.slice(0, -1)}_number`;
  const {rows} = await db.query<Identity>(
    `SELECT ${number}::text AS number, id::text AS id, created_at AS "createdAt" FROM warehouse.${stream}
      WHERE account_id = $1 AND _deleted_at IS NULL AND num_nulls(${number}, id, created_at) = 0
      ORDER BY md5(${number}::text) LIMIT $2`,
    [accountId, most],
  );
  return rows;
}

/** How many changes of an account are not over. */
export async function countOpenChanges(db: Queryable, accountId: string): Promise<number> {
  const {rows} = await db.query<{count: number}>(
    'SELECT count(*)::integer AS count FROM sync.changes WHERE account_id = $1 AND is_open',
    [accountId],
  );
  return rows[0]?.count ?? 0;
}

/**
 * Gives an account another address; workers ask there from their next request on.
 * @returns false where it has another address by now than the one that was read: then nothing is
 *   written
 */
export async function moveAccount(
  db: Queryable,
  {accountId, apiUrl}: Pick<Account, 'accountId' | 'apiUrl'>,
  next: string,
): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.accounts SET api_url = $3 WHERE account_id = $1 AND api_url = $2',
    [accountId, apiUrl, next],
  );
  return rowCount === 1;
}
