import {expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';

test('a table whose rows are not committed yet is not recorded as empty', async () => {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 2, applicationName: 'test'});
  const gather = async () => {
    await pool.query('SELECT sync.gather_statistics()');
    const {rows} = await pool.query(
      `SELECT reltuples FROM pg_class WHERE oid = 'warehouse.jobs'::regclass`,
    );
    return rows[0]?.reltuples;
  };
  try {
    const {accountId} = await upsertAccount(pool, {name: 'ours', apiUrl: 'x', timeZone: 'UTC'});
    await withClient(database.url, async (client) => {
      await client.query(`BEGIN; SET LOCAL session_replication_role = 'replica'`);
      await client.query(
        `INSERT INTO warehouse.jobs (account_id, job_number)
         SELECT $1, at FROM generate_series(1, 5000) AS at`,
        [accountId],
      );
      expect(await gather()).toBe(-1);
      await client.query('COMMIT');
    });
    expect(await gather()).toBe(5_000);
  } finally {
    await pool.end();
    await database.drop();
  }
});
