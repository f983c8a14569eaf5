// Keys of the HTTP API and the console: random bytes, shown once. Only their hash is kept, and
// looked up whole, so that no comparison tells how much of a guess was right.

import type {Secret} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/read-row.ts';
import type {apiKeys} from './access-tables.ts';
import {hashOf, isToken, makeToken} from './token-secret.ts';

type Row = typeof apiKeys.$inferSelect;

const columns = [
  'api_key_id',
  'name',
  'account_id',
  'role',
  'masks',
  'created_at',
  'created_by',
  'last_used_at',
  'revoked_at',
] as const satisfies readonly (keyof Row)[];

/**
 * A key as the warehouse knows it, never its text: a row of sync.api_keys, whose definition says
 * what each column means.
 */
export interface ApiKey extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of the account that it opens; null: the console for all of them. */
  readonly account: string | null;
  /** IANA zone of that account. */
  readonly timeZone: string | null;
}

const prefix = 'fm_';

const keyColumns = `${selectColumns(columns, 'api_keys')}, accounts.name AS account, time_zone AS "timeZone"`;
const tables = 'sync.api_keys LEFT JOIN sync.accounts USING (account_id)';

/**
 * Makes a key and keeps its hash.
 * @returns its text, which cannot be read again; null when there is a key of that name already,
 *   revoked or
 *   not
 */
export async function addApiKey(
  db: Queryable,
  key: Pick<ApiKey, 'name' | 'accountId' | 'role' | 'masks'>,
): Promise<Secret | null> {
  const text = makeToken(prefix);
  const {rowCount} = await db.query(
    `INSERT INTO sync.api_keys (name, account_id, role, masks, key_hash) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO NOTHING`,
    [key.name, key.accountId, key.role, key.masks, hashOf(text.reveal())],
  );
  return rowCount === 1 ? text : null;
}

/** Every key, revoked ones too, the oldest first. */
export async function listApiKeys(db: Queryable): Promise<ApiKey[]> {
  const {rows} = await db.query<ApiKey>(`SELECT ${keyColumns} FROM ${tables} ORDER BY api_key_id`);
  return rows;
}

/**
 * From the next request on the key opens nothing. @returns false where no key of that name is in
 * use
 */
export async function revokeApiKey(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.api_keys SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL',
    [name],
  );
  return rowCount === 1;
}

/** The key of this text, noted as used now; null when it opens nothing. */
export async function useApiKey(db: Queryable, text: string): Promise<ApiKey | null> {
  if (!isToken(text, prefix)) return null;
  const {rows} = await db.query<ApiKey & {isFresh: boolean}>(
    `SELECT ${keyColumns}, last_used_at IS NOT DISTINCT FROM date_trunc('minute', now()) AS "isFresh"
       FROM ${tables} WHERE key_hash = $1 AND revoked_at IS NULL`,
    [hashOf(text)],
  );
  if (rows[0] === undefined) return null;
  const {isFresh, ...key} = rows[0];
  if (!isFresh) await noteUse(db, key.apiKeyId);
  return key;
}

/** Whether a key was not revoked since. */
export async function isKeyInUse(db: Queryable, apiKeyId: string): Promise<boolean> {
  const {rowCount} = await db.query(
    'SELECT FROM sync.api_keys WHERE api_key_id = $1 AND revoked_at IS NULL',
    [apiKeyId],
  );
  return rowCount === 1;
}

/** Those of some keys that were revoked since. */
export async function listRevoked(db: Queryable, apiKeyIds: readonly string[]): Promise<string[]> {
  const {rows} = await db.query<{id: string}>(
    'SELECT api_key_id AS id FROM sync.api_keys WHERE api_key_id = ANY ($1) AND revoked_at IS NOT NULL',
    [apiKeyIds],
  );
  return rows.map(({id}) => id);
}

// Noted once a minute, however many requests come. Of two at once one writes, and neither waits for
// the other.
async function noteUse(db: Queryable, apiKeyId: string): Promise<void> {
  await db.query(
    `UPDATE sync.api_keys SET last_used_at = date_trunc('minute', now())
      WHERE api_key_id = (SELECT api_key_id FROM sync.api_keys
                            WHERE api_key_id = $1 AND last_used_at IS DISTINCT FROM date_trunc('minute', now())
                              FOR NO KEY UPDATE SKIP LOCKED)`,
    [apiKeyId],
  );
}
