// Keys of the HTTP API: 32 random bytes, shown once. Only their hash is kept, and looked up whole, so that no comparison
// tells how much of a guess was right.

import {createHash, randomBytes} from 'node:crypto';
import {Secret} from '../../base/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/read-row.ts';
import type {apiKeys} from './access-tables.ts';

type Row = typeof apiKeys.$inferSelect;

const columns = [
  'api_key_id',
  'name',
  'account_id',
  'may_write',
  'created_at',
  'created_by',
  'last_used_at',
  'revoked_at',
] as const satisfies readonly (keyof Row)[];

/** A key as the warehouse knows it, never its text: a row of sync.api_keys, whose definition says what each column means. */
export interface ApiKey extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of the account that it opens. */
  readonly account: string;
  /** IANA zone of that account. */
  readonly timeZone: string;
}

const shape = /^fm_[A-Za-z0-9_-]{43}$/;

const keyColumns = `${selectColumns(columns, 'api_keys')}, accounts.name AS account, time_zone AS "timeZone"`;
const tables = 'sync.api_keys JOIN sync.accounts USING (account_id)';

/**
 * Makes a key and keeps its hash.
 * @returns its text, which cannot be read again; null when there is a key of that name already, revoked or
 *   not
 */
export async function addApiKey(
  db: Queryable,
  key: Pick<ApiKey, 'name' | 'accountId' | 'mayWrite'>,
): Promise<Secret | null> {
  const text = `fm_${randomBytes(32).toString('base64url')}`;
  const {rowCount} = await db.query(
    `INSERT INTO sync.api_keys (name, account_id, may_write, key_hash) VALUES ($1, $2, $3, $4)
         ON CONFLICT (name) DO NOTHING`,
    [key.name, key.accountId, key.mayWrite, hashKey(text)],
  );
  return rowCount === 1 ? new Secret(text) : null;
}

/** Every key, revoked ones too, the oldest first. */
export async function listApiKeys(db: Queryable): Promise<ApiKey[]> {
  const {rows} = await db.query<ApiKey>(`SELECT ${keyColumns} FROM ${tables} ORDER BY api_key_id`);
  return rows;
}

/** From the next request on the key opens nothing. @returns false where no key of that name is in use */
export async function revokeApiKey(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.api_keys SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL',
    [name],
  );
  return rowCount === 1;
}

/** The key of this text, noted as used now; null when it opens nothing. */
export async function useApiKey(db: Queryable, text: string): Promise<ApiKey | null> {
  if (!shape.test(text)) return null;
  const {rows} = await db.query<ApiKey & {isFresh: boolean}>(
    `SELECT ${keyColumns}, last_used_at IS NOT DISTINCT FROM date_trunc('minute', now()) AS "isFresh"
       FROM ${tables} WHERE key_hash = $1 AND revoked_at IS NULL`,
    [hashKey(text)],
  );
  if (rows[0] === undefined) return null;
  const {isFresh, ...key} = rows[0];
  if (!isFresh) await noteUse(db, key.apiKeyId);
  return key;
}

// Noted once a minute, however many requests come. Of two at once one writes, and neither waits for the
// other.
async function noteUse(db: Queryable, apiKeyId: string): Promise<void> {
  await db.query(
    `UPDATE sync.api_keys SET last_used_at = date_trunc('minute', now())
      WHERE api_key_id = (SELECT api_key_id FROM sync.api_keys
                            WHERE api_key_id = $1 AND last_used_at IS DISTINCT FROM date_trunc('minute', now())
                              FOR NO KEY UPDATE SKIP LOCKED)`,
    [apiKeyId],
  );
}

function hashKey(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
