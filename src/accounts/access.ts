// Access over HTTP: keys, sessions of the console, links that sign in once, and the records of
// requests and actions. Keys, cookies and codes are random bytes. Only their hash is stored. It is
// looked up as a whole, so that no comparison reveals how much of a guess was right.

import {createHash, randomBytes} from 'node:crypto';
import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {defaultSystem, type Role} from '../core/names.ts';
import {Secret} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {apiKeys, audit, sessions} from './access-tables.ts';

type KeyRow = typeof apiKeys.$inferSelect;

const plainKeyColumns = [
  'api_key_id',
  'name',
  'account_id',
  'role',
  'masks',
  'system',
  'holds_deletes',
  'created_at',
  'created_by',
  'last_used_at',
  'revoked_at',
] as const satisfies readonly (keyof KeyRow)[];

/** A key without its text: a row of sync.api_keys, whose definition documents each column. */
export interface ApiKey extends ReadRow<KeyRow, (typeof plainKeyColumns)[number]> {
  /** Name of the account that it opens; null if it opens the console for all accounts. */
  readonly account: string | null;
  /** IANA zone of that account. */
  readonly timeZone: string | null;
}

const keyPrefix = 'fm_';

const keyColumns = [
  selectColumns(plainKeyColumns, 'api_keys'),
  'accounts.name AS account',
  'time_zone AS "timeZone"',
].join(', ');
const keyTables = 'sync.api_keys LEFT JOIN sync.accounts USING (account_id)';

/**
 * Makes a key and stores its hash.
 * @returns its text, which cannot be read again; null if there is a key of that name already,
 *   revoked or not
 */
export async function addApiKey(
  db: Queryable,
  {
    name,
    accountId,
    role,
    masks,
    system = defaultSystem,
    holdsDeletes = false,
  }: Pick<ApiKey, 'name' | 'accountId' | 'role' | 'masks'> &
    Partial<Pick<ApiKey, 'system' | 'holdsDeletes'>>,
): Promise<Secret | null> {
  const text = makeToken(keyPrefix);
  const {rowCount} = await db.query(
    `INSERT INTO sync.api_keys (name, account_id, role, masks, system, holds_deletes, key_hash)
     VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (name) DO NOTHING`,
    [name, accountId, role, masks, system, holdsDeletes, hashToken(text.reveal())],
  );
  return rowCount === 1 ? text : null;
}

/**
 * @throws {UsageError} the rights exclude each other: a viewer makes no deletes that could be held
 */
export function checkKeyRights({role, holdsDeletes}: Pick<ApiKey, 'role' | 'holdsDeletes'>): void {
  if (!holdsDeletes || role !== 'viewer') return;
  throw new UsageError(
    'held deletes: expected a key that makes changes, got a viewer, which makes none',
  );
}

/** `operator, masked, deletes held`: the role of a key, and its other settings. */
export function describeRights({
  role,
  masks,
  holdsDeletes,
}: Pick<ApiKey, 'role' | 'masks' | 'holdsDeletes'>): string {
  return [role, ...(masks ? ['masked'] : []), ...(holdsDeletes ? ['deletes held'] : [])].join(', ');
}

/** Every key, revoked ones too, the oldest first. */
export async function listApiKeys(db: Queryable): Promise<ApiKey[]> {
  const {rows} = await db.query<ApiKey>(
    `SELECT ${keyColumns} FROM ${keyTables} ORDER BY api_key_id`,
  );
  return rows;
}

/**
 * Revokes a key: from the next request on it opens nothing.
 * @returns false if no key of that name is in use
 */
export async function revokeApiKey(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query(
    'UPDATE sync.api_keys SET revoked_at = now() WHERE name = $1 AND revoked_at IS NULL',
    [name],
  );
  return rowCount === 1;
}

/** The key of this text, noted as used now; null if it opens nothing. */
export async function useApiKey(db: Queryable, text: string): Promise<ApiKey | null> {
  if (!isToken(text, keyPrefix)) return null;
  const {rows} = await db.query<ApiKey & {isFresh: boolean}>(
    `SELECT ${keyColumns}, last_used_at IS NOT DISTINCT FROM date_trunc('minute',
       now()) AS "isFresh"
       FROM ${keyTables} WHERE key_hash = $1 AND revoked_at IS NULL`,
    [hashToken(text)],
  );
  if (rows[0] === undefined) return null;
  const {isFresh, ...key} = rows[0];
  if (!isFresh) await writeLastUse(db, key.apiKeyId);
  return key;
}

/** Whether a key has not been revoked. */
export async function isKeyInUse(db: Queryable, apiKeyId: string): Promise<boolean> {
  const {rowCount} = await db.query(
    'SELECT FROM sync.api_keys WHERE api_key_id = $1 AND revoked_at IS NULL',
    [apiKeyId],
  );
  return rowCount === 1;
}

/** The ids of the given keys that have been revoked. */
export async function listRevoked(db: Queryable, apiKeyIds: readonly string[]): Promise<string[]> {
  const {rows} = await db.query<{id: string}>(
    `SELECT api_key_id AS id FROM sync.api_keys WHERE api_key_id = ANY ($1)
       AND revoked_at IS NOT NULL`,
    [apiKeyIds],
  );
  return rows.map(({id}) => id);
}

// Notes the use of a key at most once a minute, however many requests come. Of two requests at
// once, one writes, and neither waits for the other.
async function writeLastUse(db: Queryable, apiKeyId: string): Promise<void> {
  await db.query(
    `UPDATE sync.api_keys SET last_used_at = date_trunc('minute', now())
      WHERE api_key_id = (SELECT api_key_id FROM sync.api_keys
                            WHERE api_key_id = $1
                              AND last_used_at IS DISTINCT FROM date_trunc('minute', now())
                              FOR NO KEY UPDATE SKIP LOCKED)`,
    [apiKeyId],
  );
}

/**
 * The result of one item of a request: its change, or the HTTP API's answer if nothing had to
 * change.
 */
export type ApiResult = {readonly change_id: string} | {readonly unchanged: unknown};

export interface ApiRequest {
  readonly accountId: string;
  /** The outside system of the caller: two systems may count their requests alike. */
  readonly system: string;
  /** The caller's own name for the request. */
  readonly idempotencyKey: string;
  readonly bodyHash: Buffer;
}

/** How long, at least, the same key identifies the same request. */
const requestRetention = '30 days';

/**
 * Claims a request for this transaction, or finds its earlier results. If another transaction is
 * processing the request, it waits for that one. Each claim deletes up to two old requests, so that
 * no separate clean-up is needed.
 * @returns null if the request is new: the caller stores its results before it commits
 */
export async function claimApiRequest(
  client: pg.ClientBase,
  {accountId, system, idempotencyKey, bodyHash}: ApiRequest,
): Promise<{readonly isSameBody: boolean; readonly results: readonly ApiResult[]} | null> {
  await client.query(
    `DELETE FROM sync.api_requests WHERE (account_id, system, idempotency_key) IN (
       SELECT account_id, system, idempotency_key FROM sync.api_requests
        WHERE account_id = $1 AND requested_at < now() - $2::interval
        ORDER BY requested_at LIMIT 2 FOR UPDATE SKIP LOCKED)`,
    [accountId, requestRetention],
  );
  const name = [accountId, system, idempotencyKey];
  const insertion = await client.query(
    `INSERT INTO sync.api_requests (account_id, system, idempotency_key, body_hash)
     VALUES ($1, $2, $3, $4) ON CONFLICT (account_id, system, idempotency_key) DO NOTHING`,
    [...name, bodyHash],
  );
  if (insertion.rowCount === 1) return null;
  const {rows} = await client.query<{isSameBody: boolean; results: ApiResult[]}>(
    `SELECT body_hash = $4 AS "isSameBody", results FROM sync.api_requests
      WHERE account_id = $1 AND system = $2 AND idempotency_key = $3`,
    [...name, bodyHash],
  );
  if (rows[0] === undefined) throw new Error('api_requests: deleted while it was being read');
  return rows[0];
}

/** Stores the results of a request that this transaction has claimed. */
export async function saveApiResults(
  client: pg.ClientBase,
  {accountId, system, idempotencyKey}: ApiRequest,
  results: readonly ApiResult[],
): Promise<void> {
  await client.query(
    `UPDATE sync.api_requests SET results = $4
      WHERE account_id = $1 AND system = $2 AND idempotency_key = $3`,
    [accountId, system, idempotencyKey, JSON.stringify(results)],
  );
}

type SessionRow = typeof sessions.$inferSelect;

const sessionColumns = [
  'session_id',
  'way_in',
  'api_key_id',
  'name',
  'role',
  'account_id',
  'masks',
  'address',
  'created_at',
  'expires_at',
] as const satisfies readonly (keyof SessionRow)[];

/** A person who is signed in: a row of sync.sessions, whose definition documents each column. */
export type Session = ReadRow<SessionRow, (typeof sessionColumns)[number]>;
type NewSession = Pick<
  Session,
  'wayIn' | 'apiKeyId' | 'name' | 'role' | 'accountId' | 'masks' | 'address'
>;

const sessionPrefix = 'fms_';
const sessionDuration = '12 hours';

/**
 * Signs a person in for twelve hours.
 * @returns the text of the cookie
 */
export async function openSession(db: Queryable, newSession: NewSession): Promise<Secret> {
  const token = makeToken(sessionPrefix);
  const {wayIn, apiKeyId, name, role, accountId, masks, address} = newSession;
  await db.query(
    `INSERT INTO sync.sessions (token_hash, way_in, api_key_id, name, role, account_id, masks,
       address, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::interval)`,
    [
      hashToken(token.reveal()),
      wayIn,
      apiKeyId,
      name,
      role,
      accountId,
      masks,
      address,
      sessionDuration,
    ],
  );
  return token;
}

/** The session of a cookie; null if it has expired, was signed out, or its key was revoked. */
export async function readSession(db: Queryable, token: string): Promise<Session | null> {
  return (await readSessions(db, [token])).get(token) ?? null;
}

/**
 * The sessions of some cookies, by cookie. A session that has expired, was signed out, or whose key
 * was revoked is left out.
 */
export async function readSessions(
  db: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, Session>> {
  const tokensByHash = new Map(
    tokens
      .filter((token) => isToken(token, sessionPrefix))
      .map((token) => [hashToken(token).toString('hex'), token]),
  );
  if (tokensByHash.size === 0) return new Map();
  const {rows} = await db.query<Session & {readonly hash: string}>(
    `SELECT encode(token_hash, 'hex') AS hash, ${selectColumns(sessionColumns)} FROM sync.sessions
      WHERE token_hash = ANY (SELECT decode(hash, 'hex') FROM unnest($1::text[]) AS hash)
        AND ended_at IS NULL AND expires_at > now()
        AND NOT EXISTS (SELECT FROM sync.api_keys AS key
                         WHERE key.api_key_id = sessions.api_key_id
                           AND key.revoked_at IS NOT NULL)`,
    [[...tokensByHash.keys()]],
  );
  return new Map(rows.map(({hash, ...session}) => [tokensByHash.get(hash) ?? '', session]));
}

/** Signs a session out. */
export async function endSession(db: Queryable, sessionId: string): Promise<void> {
  await db.query(
    'UPDATE sync.sessions SET ended_at = now() WHERE session_id = $1 AND ended_at IS NULL',
    [sessionId],
  );
}

const codePrefix = 'fmc_';
const codeDuration = '10 minutes';

/** Makes a code for the console, in the name of the database user. */
export async function makeSignInCode(db: Queryable, role: Role): Promise<Secret> {
  const code = makeToken(codePrefix);
  await db.query(
    `INSERT INTO sync.sign_in_codes (code_hash, name, role, expires_at)
     VALUES ($1, session_user, $2, now() + $3::interval)`,
    [hashToken(code.reveal()), role, codeDuration],
  );
  return code;
}

/**
 * Uses up a code: if two callers use it at once, one gets it.
 * @returns null if it opens nothing
 */
export async function useSignInCode(
  db: Queryable,
  code: string,
): Promise<{readonly name: string; readonly role: Role} | null> {
  if (!isToken(code, codePrefix)) return null;
  const {rows} = await db.query<{name: string; role: Role}>(
    `UPDATE sync.sign_in_codes SET used_at = now()
      WHERE code_hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING name, role`,
    [hashToken(code)],
  );
  return rows[0] ?? null;
}

type AuditRow = typeof audit.$inferSelect;

const auditColumns = [
  'audit_id',
  'at',
  'session_id',
  'name',
  'role',
  'address',
  'action',
  'account_id',
  'subject',
  'before',
  'after',
] as const satisfies readonly (keyof AuditRow)[];

/** An action in the console: a row of sync.audit, whose definition documents each column. */
export type AuditEntry = ReadRow<AuditRow, (typeof auditColumns)[number]>;

/**
 * Writes an audit entry for an action, in the transaction that does it.
 * @returns the number of the entry
 */
export async function writeAudit(
  db: Queryable,
  entry: Omit<AuditEntry, 'auditId' | 'at'>,
): Promise<string> {
  const {sessionId, name, role, address, action, accountId, subject, before, after} = entry;
  const {rows} = await db.query<{auditId: string}>(
    `INSERT INTO sync.audit (session_id, name, role, address, action, account_id, subject, before,
       after)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING audit_id AS "auditId"`,
    [sessionId, name, role, address, action, accountId, subject, toJson(before), toJson(after)],
  );
  return rows[0]?.auditId ?? '';
}

/**
 * The latest actions, the newest first.
 * @param accountIds - only actions on these accounts; null: all actions, also those on no account
 */
export async function listAudit(
  db: Queryable,
  {accountIds, limit}: {readonly accountIds: readonly string[] | null; readonly limit: number},
): Promise<AuditEntry[]> {
  const {rows} = await db.query<AuditEntry>(
    `SELECT ${selectColumns(auditColumns)} FROM sync.audit
      WHERE $1::bigint[] IS NULL OR account_id = ANY ($1) ORDER BY audit_id DESC LIMIT $2`,
    [accountIds, limit],
  );
  return rows;
}

/** node-postgres would send a JavaScript array as an array of Postgres. */
function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : JSON.stringify(value);
}

const randomLength = 32;
const randomPart = /^[A-Za-z0-9_-]{43}$/;

/** Makes a text that cannot be guessed: 32 random bytes after a prefix that shows what it opens. */
function makeToken(prefix: string): Secret {
  return new Secret(prefix + randomBytes(randomLength).toString('base64url'));
}

/** Whether a text has the form of `makeToken`; any other text is never looked up. */
function isToken(text: string, prefix: string): boolean {
  return text.startsWith(prefix) && randomPart.test(text.slice(prefix.length));
}

/** SHA-256: 32 random bytes need no slow hash. */
function hashToken(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}
