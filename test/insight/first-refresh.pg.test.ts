// Postgres gathers statistics by itself within a minute or so; the first questions come earlier.

import {expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/warehouse/accounts/accounts.ts';
import {inSweepTransaction, openPool} from '../../src/warehouse/postgres/database.ts';
import {refreshStar} from '../../src/warehouse/star/refresh-star.ts';
import {createDatabase} from '../support/postgres.ts';

test('after the refresh that follows a first load Postgres knows how many jobs there are', async () => {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 1, applicationName: 'test'});
  try {
    const account = {name: 'made up', apiUrl: 'https://example.com', timeZone: 'America/New_York'};
    const {accountId} = await upsertAccount(pool, account);
    await inSweepTransaction(pool, async (client) => {
      await client.query(
        `INSERT INTO warehouse.jobs (account_id, id, job_number, created_at, updated_at, status, _hash, _sweep_id)
         SELECT $1, id, id, '2026-07-15', '2026-07-15', 'scheduled', '\\x00', 1 FROM generate_series(1, 2000) AS id`,
        [accountId],
      );
    });
    await refreshStar(pool);
    const {rows} = await pool.query(
      `SELECT oid::regclass::text AS place, reltuples FROM pg_class WHERE oid IN ('warehouse.jobs'::regclass, 'mart.fct_job'::regclass) ORDER BY 1`,
    );
    expect(rows).toEqual([
      {place: 'mart.fct_job', reltuples: 2000},
      {place: 'warehouse.jobs', reltuples: 2000},
    ]);
  } finally {
    await pool.end();
    await database.drop();
  }
});
