// Keys that seal the passwords of employees, and the sealed passwords: migrations, 0007_logins.

import type pg from 'pg';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import type {SealedToken} from './accounts.ts';

/** A key pair as it is kept: its private half only where it could be sealed. */
export interface LoginKey {
  readonly loginKeyId: string;
  readonly publicKey: Buffer;
  readonly sealedPrivateKey: SealedToken | null;
}

/** A password under seal, and the key that opens it. */
export interface SealedLogin {
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
    `SELECT login_key_id AS "loginKeyId", public_key AS "publicKey", sealed_by AS "sealedBy", sealed_private_key AS "sealedPrivateKey"
       FROM sync.login_keys ORDER BY created_at DESC, login_key_id LIMIT 1`,
  );
  const [key] = rows;
  return key === undefined ? null : {...key, sealedPrivateKey: sealOf(key)};
}

/** Keeps a key: it is the latest from now on. */
export async function keepLoginKey(db: Queryable, key: LoginKey): Promise<void> {
  const {loginKeyId, publicKey, sealedPrivateKey} = key;
  await db.query(
    `INSERT INTO sync.login_keys (login_key_id, public_key, sealed_private_key, sealed_by, created_at)
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
    `SELECT login_key_id AS "loginKeyId", sealed, sealed_by AS "sealedBy", sealed_private_key AS "sealedPrivateKey"
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
