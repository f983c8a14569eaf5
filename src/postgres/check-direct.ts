import type pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {describeDatabase, explainDatabaseError} from './database-errors.ts';

/**
 * Looks whether sessions of our own can be had, of the same database: migrations and the queue in
 * one database and the rows in another would never meet, without a word.
 * @param pool - of DATABASE_URL
 * @param direct - of DATABASE_DIRECT_URL
 * @throws {RetryableError | FatalError} the address cannot be reached, shares sessions too, or
 *   leads to another database
 */
export async function checkDirect(pool: pg.Pool, direct: pg.Pool): Promise<void> {
  const [url = '', directUrl = ''] = [pool, direct].map(({options}) => options.connectionString);
  const met = await readIdentity(direct).catch((error: unknown) => {
    throw explainDatabaseError(error, directUrl, 'DATABASE_DIRECT_URL');
  });
  if ((await readIdentity(pool)) === met) return;
  throw new FatalError(
    `DATABASE_DIRECT_URL: expected the database of DATABASE_URL (${describeDatabase(url)}), got another one (${describeDatabase(directUrl)}); name the same database in both`,
    {kind: 'pooler'},
  );
}

/** The cluster, which a standby shares with its primary, and the database in it. */
async function readIdentity(pool: pg.Pool): Promise<string | undefined> {
  const {rows} = await pool.query<{identity: string}>(
    `SELECT system_identifier || '/' || oid AS identity
       FROM pg_control_system(), pg_database WHERE datname = current_database()`,
  );
  return rows[0]?.identity;
}
