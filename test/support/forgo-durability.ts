import {openPool} from '../../src/postgres/database.ts';

/**
 * No test is about a power cut, and tests make and drop a thousand databases: none waits for the
 * disk.
 * @param url - any database of the cluster, with a login that may change its settings
 */
export async function forgoDurability(url: string): Promise<void> {
  const pool = openPool(url, {max: 1, applicationName: 'test set-up'});
  try {
    for (const setting of ['fsync', 'synchronous_commit', 'full_page_writes'])
      await pool.query(`ALTER SYSTEM SET ${setting} = off`);
    await pool.query('SELECT pg_reload_conf()');
  } finally {
    await pool.end();
  }
}
