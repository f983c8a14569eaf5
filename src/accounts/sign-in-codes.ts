// Links that sign in, as a terminal prints them: good once, for ten minutes. Whoever can print one
// can reach the database.

import type {Secret} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import type {Role} from './access-roles.ts';
import {hashOf, isToken, makeToken} from './token-secret.ts';

const prefix = 'fmc_';
const lasts = '10 minutes';

/** Makes a code for the console, in the name of the database user. */
export async function makeSignInCode(db: Queryable, role: Role): Promise<Secret> {
  const code = makeToken(prefix);
  await db.query(
    `INSERT INTO sync.sign_in_codes (code_hash, name, role, expires_at)
     VALUES ($1, session_user, $2, now() + $3::interval)`,
    [hashOf(code.reveal()), role, lasts],
  );
  return code;
}

/** Uses a code up: of two callers at once one gets it. @returns null when it opens nothing */
export async function useSignInCode(
  db: Queryable,
  code: string,
): Promise<{readonly name: string; readonly role: Role} | null> {
  if (!isToken(code, prefix)) return null;
  const {rows} = await db.query<{name: string; role: Role}>(
    `UPDATE sync.sign_in_codes SET used_at = now()
      WHERE code_hash = $1 AND used_at IS NULL AND expires_at > now() RETURNING name, role`,
    [hashOf(code)],
  );
  return rows[0] ?? null;
}
