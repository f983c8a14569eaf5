// Everything in the warehouse that is sealed: tokens, keys and passwords. Those sealed with
// FIELDMIRROR_KEY are in one list, to be sealed again with another key.

import type pg from 'pg';
import {FatalError, UsageError} from '../core/errors.ts';
import {type SealingKey, seal, secretBounds, unseal} from '../core/secret.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import type {SealedToken} from './accounts.ts';

/** Something sealed: its place, what it is bound to, and how a person calls it. */
interface HeldSeal {
  readonly table: 'accounts' | 'alert_rules' | 'feed_hooks' | 'login_keys';
  readonly id: string;
  /** What it is, for a person. */
  readonly what: string;
  readonly keyId: string;
  readonly bytes: Buffer;
}

/** Columns of each table: the number of the row, the seal, the key. */
const places = {
  accounts: {
    id: 'account_id',
    bytes: 'sealed_token',
    keyId: 'key_id',
    name: 'name',
    what: 'token of account',
  },
  alert_rules: {
    id: 'name',
    bytes: 'sealed_access',
    keyId: 'key_id',
    name: 'name',
    what: 'address of alert rule',
  },
  feed_hooks: {
    ...{id: 'name', bytes: 'sealed_access', keyId: 'key_id', name: 'name'},
    what: 'address of subscriber',
  },
  login_keys: {
    ...{id: 'login_key_id', bytes: 'sealed_private_key', keyId: 'sealed_by', name: 'login_key_id'},
    what: 'key of passwords',
  },
} as const;

/** A subscriber or a rule that waits for its address has an empty seal. */
const isSealed = (bytes: string) => `octet_length(${bytes}) > 0`;

/** Reads every seal and locks its row until the transaction ends. */
async function lockSeals(db: Queryable): Promise<HeldSeal[]> {
  const held: HeldSeal[] = [];
  for (const [table, {id, bytes, keyId, name, what}] of Object.entries(places)) {
    const {rows} = await db.query<HeldSeal>(
      `SELECT '${table}' AS table, ${id}::text AS id, '${what} ' || ${name} AS what,
              ${keyId} AS "keyId", ${bytes} AS bytes
         FROM sync.${table} WHERE ${isSealed(bytes)} ORDER BY ${id} FOR UPDATE`,
    );
    held.push(...rows);
  }
  return held;
}

/** The keys with which something in the warehouse is sealed, by their fingerprints. */
export async function listSealingKeys(db: Queryable): Promise<string[]> {
  const each = Object.entries(places).map(
    ([table, {bytes, keyId}]) =>
      `SELECT ${keyId} AS "keyId" FROM sync.${table} WHERE ${isSealed(bytes)}`,
  );
  const {rows} = await db.query<{keyId: string}>(`${each.join(' UNION ')} ORDER BY 1`);
  return rows.map(({keyId}) => keyId);
}

/**
 * Puts a seal in the place of the one that was read. Of an account the owner of the token stays
 * known.
 */
async function replaceSeal(
  db: Queryable,
  {table, id, keyId, bytes}: Pick<HeldSeal, 'table' | 'id' | 'keyId' | 'bytes'>,
): Promise<void> {
  const place = places[table];
  await db.query(
    `UPDATE sync.${table} SET ${place.bytes} = $2, ${place.keyId} = $3
       WHERE ${place.id}::text = $1`,
    [id, bytes, keyId],
  );
}

/**
 * Seals all that is sealed in the warehouse anew with the first of the keys, in a transaction of
 * the caller: all of it, or nothing.
 * @param keys - the new key, then those that open what is sealed now
 * @returns what was sealed with another key before
 * @throws {UsageError} none of the keys opens something, or it is damaged; the message names each
 */
export async function resealAll(db: Queryable, keys: readonly SealingKey[]): Promise<HeldSeal[]> {
  const [key] = keys;
  if (key === undefined)
    throw new UsageError(
      'installation reseal: expected FIELDMIRROR_KEY=NEW,OLD, got no key; openssl rand -base64 32 makes a new one',
    );
  const old = (await lockSeals(db)).filter(({keyId}) => keyId !== key.id);
  const flaws: string[] = [];
  for (const held of old) {
    const bound = secretBounds[held.table](held.id);
    try {
      await replaceSeal(db, {...held, ...seal(unseal(held, keys, bound), key, bound)});
    } catch (error) {
      if (!(error instanceof FatalError)) throw error;
      flaws.push(`${held.what}: sealed with key ${held.keyId}`);
    }
  }
  if (flaws.length === 0) return old;
  throw new UsageError(
    `installation reseal: expected keys that open all, got ${keys.map(({id}) => id).join(', ')}; nothing was changed. Not opened: ${flaws.join('; ')}. Give the missing key behind the new one in FIELDMIRROR_KEY, or first give the token (accounts add) or the rule (alerts remove, alerts add) anew`,
  );
}

/** A key pair as it is kept: its private half only where it could be sealed. */
interface LoginKey {
  readonly loginKeyId: string;
  readonly publicKey: Buffer;
  readonly sealedPrivateKey: SealedToken | null;
}

/** A password under seal, and the key that opens it. */
interface SealedLogin {
  readonly loginKeyId: string;
  readonly sealed: Buffer;
  readonly sealedPrivateKey: SealedToken | null;
}

interface KeyRow {
  readonly sealedBy: string | null;
  readonly sealedPrivateKey: Buffer | null;
}

/** The key that seals passwords from now on; null when there is none. */
export async function readLatestLoginKey(db: Queryable): Promise<LoginKey | null> {
  const {rows} = await db.query<KeyRow & Pick<LoginKey, 'loginKeyId' | 'publicKey'>>(
    `SELECT login_key_id AS "loginKeyId", public_key AS "publicKey", sealed_by AS "sealedBy",
            sealed_private_key AS "sealedPrivateKey"
       FROM sync.login_keys ORDER BY created_at DESC, login_key_id LIMIT 1`,
  );
  const [key] = rows;
  return key === undefined ? null : {...key, sealedPrivateKey: sealOf(key)};
}

/** Keeps a key: it is the latest from now on. */
export async function keepLoginKey(db: Queryable, key: LoginKey): Promise<void> {
  const {loginKeyId, publicKey, sealedPrivateKey} = key;
  await db.query(
    `INSERT INTO sync.login_keys (login_key_id, public_key, sealed_private_key, sealed_by,
       created_at)
     VALUES ($1, $2, $3, $4, clock_timestamp())`,
    [loginKeyId, publicKey, sealedPrivateKey?.bytes ?? null, sealedPrivateKey?.keyId ?? null],
  );
}

/** Forgets a key that is lost, and drops the passwords that it sealed. */
export async function forgetLoginKey(pool: pg.Pool, loginKeyId: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    // Locked first: nothing more is sealed with it meanwhile.
    await client.query('SELECT FROM sync.login_keys WHERE login_key_id = $1 FOR UPDATE', [
      loginKeyId,
    ]);
    await client.query('SELECT sync.drop_logins($1)', [loginKeyId]);
    await client.query('DELETE FROM sync.login_keys WHERE login_key_id = $1', [loginKeyId]);
  });
}

/** The password of a change, under seal; null when there is none any more. */
export async function readSealedLogin(
  db: Queryable,
  changeId: string,
): Promise<SealedLogin | null> {
  const {rows} = await db.query<KeyRow & Pick<SealedLogin, 'loginKeyId' | 'sealed'>>(
    `SELECT login_key_id AS "loginKeyId", sealed, sealed_by AS "sealedBy",
            sealed_private_key AS "sealedPrivateKey"
       FROM sync.employee_logins JOIN sync.login_keys USING (login_key_id)
      WHERE change_id = $1 AND expires_at > clock_timestamp()`,
    [changeId],
  );
  const [login] = rows;
  return login === undefined ? null : {...login, sealedPrivateKey: sealOf(login)};
}

/** Drops the passwords whose time is up, and rejects their changes. @returns how many */
export async function dropExpiredLogins(db: Queryable): Promise<number> {
  const {rows} = await db.query<{dropped: string}>('SELECT sync.drop_logins() AS dropped');
  return Number(rows[0]?.dropped ?? 0);
}

/** Whether an employee's row is that of the token in use: its password makes the token invalid. */
export async function isTokenOwner(
  db: Queryable,
  {accountId, rowId}: {readonly accountId: string; readonly rowId: string},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `SELECT FROM warehouse.employees AS employee JOIN sync.accounts AS account USING (account_id)
      WHERE account_id = $1 AND row_id = $2 AND account.employee_id = employee.id`,
    [accountId, rowId],
  );
  return rowCount === 1;
}

function sealOf({sealedBy, sealedPrivateKey}: KeyRow): SealedToken | null {
  return sealedBy === null || sealedPrivateKey === null
    ? null
    : {keyId: sealedBy, bytes: sealedPrivateKey};
}
