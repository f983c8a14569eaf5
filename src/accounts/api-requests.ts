import type pg from 'pg';

/**
 * The result of one item of a request: its change, or the HTTP API's answer where nothing had to
 * change.
 */
export type ApiResult = {readonly change_id: string} | {readonly unchanged: unknown};

export interface ApiRequest {
  readonly accountId: string;
  /** The caller's own name for the request. */
  readonly idempotencyKey: string;
  readonly bodyHash: Buffer;
}

/** How long the same key is the same request, at least. */
export const keptFor = '30 days';

/**
 * Claims a request for this transaction, or finds its earlier results; waits for another
 * transaction that is at it. Each claim deletes up to two old requests, so that they need no
 * clean-up of their own.
 * @returns null when it is new: the caller keeps its results before it commits
 */
export async function claimApiRequest(
  client: pg.ClientBase,
  {accountId, idempotencyKey, bodyHash}: ApiRequest,
): Promise<{readonly isSameBody: boolean; readonly results: readonly ApiResult[]} | null> {
  await client.query(
    `DELETE FROM sync.api_requests WHERE (account_id, idempotency_key) IN (
       SELECT account_id, idempotency_key FROM sync.api_requests
        WHERE account_id = $1 AND requested_at < now() - $2::interval
        ORDER BY requested_at LIMIT 2 FOR UPDATE SKIP LOCKED)`,
    [accountId, keptFor],
  );
  const claimed = await client.query(
    `INSERT INTO sync.api_requests (account_id, idempotency_key, body_hash) VALUES ($1, $2, $3)
         ON CONFLICT (account_id, idempotency_key) DO NOTHING`,
    [accountId, idempotencyKey, bodyHash],
  );
  if (claimed.rowCount === 1) return null;
  const {rows} = await client.query<{isSameBody: boolean; results: ApiResult[]}>(
    `SELECT body_hash = $3 AS "isSameBody", results FROM sync.api_requests
      WHERE account_id = $1 AND idempotency_key = $2`,
    [accountId, idempotencyKey, bodyHash],
  );
  if (rows[0] === undefined) throw new Error('api_requests: deleted while it was being read');
  return rows[0];
}

/** Keeps the results of a request that this transaction has claimed. */
export async function keepApiResults(
  client: pg.ClientBase,
  {accountId, idempotencyKey}: ApiRequest,
  results: readonly ApiResult[],
): Promise<void> {
  await client.query(
    'UPDATE sync.api_requests SET results = $3 WHERE account_id = $1 AND idempotency_key = $2',
    [accountId, idempotencyKey, JSON.stringify(results)],
  );
}
