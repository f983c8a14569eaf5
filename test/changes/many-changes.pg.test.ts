// A hundred thousand waiting changes: an index finds the due ones, even while another transaction
// stays open and keeps every old version alive.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {claimChanges, listAccountsWithDueChanges} from '../../src/changes/claim-changes.ts';
import {openPool, type Queryable} from '../../src/postgres/database.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const waitingCount = 100_000;
let service: TestService;
let world: TestWorld;

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  await world.sweep('customers');
  // A person holds a third, a third backs off, a third waits for another change; no edit made them.
  await world.pool.query(
    `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
      state, due_at, waits_for)
     SELECT $1, 'tasks', 1000000 + at, 'update', 1000000 + at, '{"name": "x"}', '{"name": "y"}',
            CASE at % 3 WHEN 0 THEN 'held' ELSE 'pending' END,
              now() + CASE at % 3 WHEN 1 THEN interval '1 day' ELSE interval '0' END,
            CASE at % 3 WHEN 2 THEN 1 END
       FROM generate_series(1, $2::integer) AS at`,
    [world.account.accountId, waitingCount],
  );
  await world.pool.query('ANALYZE sync.changes');
});

afterAll(async () => {
  await world.close();
  await service.close();
});

/** The number of scans of sync.changes from end to end, and of its rows fetched by an index. */
async function readsOf(work: (client: Queryable) => Promise<unknown>) {
  const client = await world.pool.connect();
  try {
    await client.query('BEGIN');
    await work(client);
    const {rows} = await client.query(
      `SELECT seq_scan::int AS whole, idx_tup_fetch::int AS fetched FROM pg_stat_xact_user_tables
        WHERE schemaname = 'sync' AND relname = 'changes'`,
    );
    return rows[0];
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('due changes are found by an index, without reading the other changes', async () => {
  const {accountId} = world.account;
  const other = openPool(world.databaseUrl, {
    max: 1,
    applicationName: 'a report that runs all day',
  });
  const client = await other.connect();
  try {
    await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ');
    await client.query('SELECT count(*) FROM sync.changes');
    await world.pool.query(`UPDATE warehouse.customers SET fax = '555' WHERE customer_number <= 3`);
    const claimed = await readsOf(async (db) => {
      expect(await claimChanges(db, accountId, {limit: 128, leaseMs: 1_000})).toHaveLength(3);
    });
    expect(claimed).toMatchObject({whole: 0});
    expect(claimed?.fetched).toBeLessThan(100);
    const listed = await readsOf(async (db) => {
      expect(await listAccountsWithDueChanges(db, [accountId])).toMatchObject([{accountId}]);
    });
    expect(listed).toMatchObject({whole: 0});
    expect(listed?.fetched).toBeLessThan(100);
    await world.pool.query(
      `UPDATE sync.changes SET due_at = now() + interval '1 day' WHERE due_at <= now()`,
    );
    const idle = await readsOf(async (db) => {
      expect(await listAccountsWithDueChanges(db, [accountId])).toEqual([]);
    });
    expect(idle).toMatchObject({whole: 0});
    expect(idle?.fetched).toBeLessThan(100);
  } finally {
    await client.query('ROLLBACK');
    client.release();
    await other.end();
  }
});
