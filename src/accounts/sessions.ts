// Sessions of the console. The cookie is random, and only its hash is kept: a signature would add
// nothing to it.

import type {Secret} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/read-row.ts';
import type {sessions} from './console-tables.ts';
import {hashOf, isToken, makeToken} from './token-secret.ts';

type Row = typeof sessions.$inferSelect;

const columns = [
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
] as const satisfies readonly (keyof Row)[];

/**
 * A person who is signed in: a row of sync.sessions, whose definition says what each column means.
 */
export type Session = ReadRow<Row, (typeof columns)[number]>;
type NewSession = Pick<
  Session,
  'wayIn' | 'apiKeyId' | 'name' | 'role' | 'accountId' | 'masks' | 'address'
>;

const prefix = 'fms_';
const lasts = '12 hours';

/**
 * Signs somebody in for twelve hours.
 * @returns the text of the cookie
 */
export async function openSession(db: Queryable, given: NewSession): Promise<Secret> {
  const token = makeToken(prefix);
  const {wayIn, apiKeyId, name, role, accountId, masks, address} = given;
  await db.query(
    `INSERT INTO sync.sessions (token_hash, way_in, api_key_id, name, role, account_id, masks, address, expires_at)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, now() + $9::interval)`,
    [hashOf(token.reveal()), wayIn, apiKeyId, name, role, accountId, masks, address, lasts],
  );
  return token;
}

/** The session of a cookie; null where it is over, signed out, or its key was revoked. */
export async function readSession(db: Queryable, token: string): Promise<Session | null> {
  return (await readSessions(db, [token])).get(token) ?? null;
}

/**
 * The sessions of some cookies, by cookie: one that is over, signed out, or whose key was revoked
 * is not among them.
 */
export async function readSessions(
  db: Queryable,
  tokens: readonly string[],
): Promise<ReadonlyMap<string, Session>> {
  const tokenOf = new Map(
    tokens
      .filter((token) => isToken(token, prefix))
      .map((token) => [hashOf(token).toString('hex'), token]),
  );
  if (tokenOf.size === 0) return new Map();
  const {rows} = await db.query<Session & {readonly hash: string}>(
    `SELECT encode(token_hash, 'hex') AS hash, ${selectColumns(columns)} FROM sync.sessions
      WHERE token_hash = ANY (SELECT decode(hash, 'hex') FROM unnest($1::text[]) AS hash) AND ended_at IS NULL AND expires_at > now()
        AND NOT EXISTS (SELECT FROM sync.api_keys AS key
                         WHERE key.api_key_id = sessions.api_key_id AND key.revoked_at IS NOT NULL)`,
    [[...tokenOf.keys()]],
  );
  return new Map(rows.map(({hash, ...session}) => [tokenOf.get(hash) ?? '', session]));
}

/** Signs a session out. */
export async function endSession(db: Queryable, sessionId: string): Promise<void> {
  await db.query(
    'UPDATE sync.sessions SET ended_at = now() WHERE session_id = $1 AND ended_at IS NULL',
    [sessionId],
  );
}
