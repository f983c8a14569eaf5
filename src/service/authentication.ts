import {timingSafeEqual} from 'node:crypto';
import type {Queryable} from './database.ts';

/**
 * The internal id of the employee whose token stands as user name and as password of the Basic
 * credentials, or null: no credentials, other ones, or an employee who is inactive.
 */
export async function authenticate(
  db: Queryable,
  authorization: string | undefined,
): Promise<string | null> {
  const token = readToken(authorization);
  if (token === null) return null;
  const text =
    'SELECT id FROM service.employees WHERE token = $1 AND active AND deleted_at IS NULL';
  const {rows} = await db.query<{id: string}>({name: 'employee by token', text, values: [token]});
  return rows[0]?.id ?? null;
}

function readToken(authorization: string | undefined): string | null {
  const encoded = /^Basic\s+([A-Za-z0-9+/=_-]+)\s*$/i.exec(authorization ?? '')?.[1];
  if (encoded === undefined) return null;
  const [user, ...rest] = Buffer.from(encoded, 'base64').toString('utf8').split(':');
  const password = rest.join(':');
  if (user === undefined || user === '' || user.includes('\u0000')) return null;
  return isSame(user, password) ? user : null;
}

function isSame(left: string, right: string): boolean {
  const [a, b] = [Buffer.from(left), Buffer.from(right)];
  return a.length === b.length && timingSafeEqual(a, b);
}
