import {expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {openPool} from '../../src/postgres/database.ts';
import {readStoredNumbers} from '../../src/rows/held-rows.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {createDatabase} from '../support/postgres.ts';

test('all numbers of 25,000 rows are read, those of deleted rows separately', async () => {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 2, applicationName: 'test'});
  try {
    const accounts = await Promise.all(
      ['ours', 'other'].map((name) => upsertAccount(pool, {name, apiUrl: 'x', timeZone: 'UTC'})),
    );
    // Past the triggers: the rows are no edits. Each fifth is deleted, each seventh has no number
    // yet.
    await pool.query(
      `SET session_replication_role = replica;
       INSERT INTO warehouse.jobs (account_id, job_number, _deleted_at)
       SELECT account_id, CASE WHEN at % 7 = 0 THEN NULL ELSE at END,
              CASE WHEN at % 5 = 0 THEN now() END
         FROM sync.accounts, generate_series(1, 25000) AS at ORDER BY at % 101, at`,
    );
    const {live, deleted} = await readStoredNumbers(pool, accounts[0]?.accountId ?? '', jobs.table);
    const numbers = Array.from({length: 25_000}, (_, at) => at + 1).filter((at) => at % 7 !== 0);
    expect([...live]).toEqual(numbers.filter((at) => at % 5 !== 0).map(String));
    expect([...deleted]).toEqual(numbers.filter((at) => at % 5 === 0).map(String));
  } finally {
    await pool.end();
    await database.drop();
  }
});
