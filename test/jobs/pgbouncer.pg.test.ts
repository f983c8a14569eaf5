// Workers behind a real PgBouncer in transaction mode, with fewer sessions of Postgres than they
// have clients: what they do ends as it does without one.

import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {inTransaction, openPool} from '../../src/postgres/database.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {allStreams} from '../../src/streams/all.ts';
import {insertSchedules, planSchedules} from '../../src/sweeps/schedules.ts';
import {endSweeps} from '../support/end-sweeps.ts';
import {expectMirrored, readLastWrites} from '../support/expect-mirrored.ts';
import {allowLargeEdits} from '../support/large-edits.ts';
import {isInstalled, startPgBouncer} from '../support/pgbouncer.ts';
import {withClient} from '../support/with-client.ts';
import {
  openService,
  openWorld,
  type TestService,
  type TestWorld,
  timeZone,
} from '../support/world.ts';

type Way = 'directly' | 'through two sessions';

let service: TestService;
let world: TestWorld;
/** The pool of the workers and authors under test. */
let pool: pg.Pool;
let poolUrl: string;
const closers: (() => Promise<void>)[] = [];

beforeEach(async () => {
  service = await openService();
  world = await openWorld(service);
  closers.push(service.close, world.close);
});

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

async function openWay(way: Way): Promise<void> {
  const sharesSessions = way === 'through two sessions';
  poolUrl = world.databaseUrl;
  if (sharesSessions) {
    const bouncer = await startPgBouncer(inject('postgresUrl'));
    closers.push(bouncer.stop);
    poolUrl = bouncer.through(world.databaseUrl);
  }
  pool = openPool(poolUrl, {max: 8, applicationName: 'test', sharesSessions});
  closers.push(() => pool.end());
}

async function work(): Promise<void> {
  const {databaseUrl: directUrl, log, account} = world;
  const backend = await openQueueBackend({redisUrl: null, databaseUrl: directUrl, log});
  const options = {accountIds: [account.accountId], keepsSchedules: true, directUrl};
  const workers = await startWorkers({...world, pool, databaseUrl: poolUrl}, backend, options);
  closers.push(workers.stop);
}

/** @returns the states of the sweeps of all streams */
async function sweepAll(): Promise<string[]> {
  const way = {pool, databaseUrl: poolUrl, account: world.account};
  const streams = allStreams.map(({name}) => name);
  return (await endSweeps(way, streams)).map(({state}) => state);
}

async function settled(count: number): Promise<void> {
  const open = async () =>
    (await pool.query(`SELECT FROM sync.changes WHERE state IN ('done', 'conflict')`)).rowCount;
  await expect.poll(open, {timeout: 30_000}).toBe(count);
}

/** Both sides change one field before either hears of the other. */
async function makeConflict(customerNumber: string): Promise<void> {
  const changeId = await inTransaction(pool, async (client) => {
    await client.query(`SET LOCAL fieldmirror.mode = 'hold'`);
    await client.query(
      `UPDATE warehouse.customers SET phone_number = '555-0001' WHERE customer_number = $1`,
      [customerNumber],
    );
    const {rows} = await client.query<{id: string}>('SELECT sync.last_change() AS id');
    return rows[0]?.id;
  });
  await world.api.customers.update(customerNumber, {phone_number: '555-0002'});
  await pool.query('SELECT sync.release_change($1)', [changeId]);
}

/** Each of so many arrives, and goes on when all are there. */
function meetOf(count: number): {arrive(): Promise<void>} {
  const all = Promise.withResolvers<void>();
  let here = 0;
  return {
    arrive: async () => {
      if (++here === count) all.resolve();
      await all.promise;
    },
  };
}

/** Makes a schedule whose time has come. */
async function makeDue(): Promise<void> {
  const [plan] = planSchedules(new Date(), timeZone);
  if (plan === undefined) throw new Error('no schedule');
  const due = {name: 'due', stream: 'tasks', mode: 'full', everyMs: 3_600_000} as const;
  const firstDueAt = new Date(Date.now() - 1000).toISOString();
  await insertSchedules(pool, world.account.accountId, [{...plan, ...due, firstDueAt}]);
}

const ways: Way[] = isInstalled() ? ['directly', 'through two sessions'] : ['directly'];

test.each(ways)(
  'connected %s, two workers load, sweep again, write back, find conflicts and run schedules',
  async (way) => {
    await openWay(way);
    await allowLargeEdits(pool);
    await Promise.all([work(), work()]);
    expect(await sweepAll()).toEqual(allStreams.map(() => expect.stringMatching(/certified/)));
    await expectMirrored(world.databaseUrl, service);
    const loaded = await readLastWrites(world.databaseUrl);
    await sweepAll();
    expect(await readLastWrites(world.databaseUrl)).toEqual(loaded);
    const readStar = `SELECT (SELECT count(*) FROM mart.fct_job) > 0 AS "isFilled", since
      FROM mart.freshness`;
    await expect
      .poll(async () => (await pool.query(readStar)).rows)
      .toEqual([{isFilled: true, since: null}]);

    // Several authors at once.
    await Promise.all([
      pool.query(
        `UPDATE warehouse.customers SET fax = '555-' || customer_number
          WHERE customer_number <= $1`,
        [20],
      ),
      pool.query(
        `INSERT INTO warehouse.customers (name) SELECT 'New ' || n FROM generate_series(1, 5) AS n`,
      ),
      inTransaction(pool, async (client) => {
        const {rows} = await client.query(
          `INSERT INTO warehouse.customers (name) VALUES ('Parent') RETURNING row_id`,
        );
        await client.query(
          `INSERT INTO warehouse.jobs (parent_row_id, name) VALUES ($1, 'Child')`,
          [rows[0].row_id],
        );
      }),
    ]);
    await settled(27);
    await expectMirrored(world.databaseUrl, service);

    await makeConflict('30');
    await settled(28);
    const {rows: conflicts} = await pool.query(
      'SELECT field, warehouse_value, service_value FROM sync.conflicts',
    );
    expect(conflicts).toEqual([
      {field: 'phone_number', warehouse_value: '555-0001', service_value: '555-0002'},
    ]);
    const {rows: sent} = await pool.query(
      `SELECT operation, state, count(*)::int, max(sends) AS sends FROM sync.changes
        GROUP BY 1, 2 ORDER BY 1, 2`,
    );
    expect(sent).toEqual([
      {operation: 'create', state: 'done', count: 7, sends: 1},
      {operation: 'update', state: 'conflict', count: 1, sends: 0},
      {operation: 'update', state: 'done', count: 20, sends: 1},
    ]);

    await makeDue();
    const scheduled = `SELECT state FROM sync.sweeps WHERE requested_by = 'schedule'`;
    await expect
      .poll(async () => (await pool.query(scheduled)).rows, {timeout: 20_000})
      .toEqual([{state: expect.stringMatching(/certified/)}]);
  },
);

describe.skipIf(!isInstalled())('through two sessions', () => {
  test('a stage table left in a session by an earlier version does not break sweeps', async () => {
    await openWay('through two sessions');
    await world.sweepAll();
    const leave = () =>
      inTransaction(pool, async (client) => {
        await client.query(
          'CREATE TEMPORARY TABLE stage_customers (account_id bigint) ON COMMIT DELETE ROWS',
        );
        // Both sessions are held at once, or one would be used twice.
        await both.arrive();
      });
    const both = meetOf(2);
    await Promise.all([leave(), leave()]);
    await world.api.customers.update('30', {phone_number: '555-0002'});
    await work();
    await sweepAll();
    await expectMirrored(world.databaseUrl, service);
  });

  test('an empty star is filled while the other session is in use', async () => {
    await openWay('through two sessions');
    await world.sweepAll();
    await inTransaction(pool, async () => {
      expect(await refreshStar(pool)).toBeGreaterThan(0);
    });
  });

  test('a notice starts the write-back of a change while the poller is blocked', async () => {
    await openWay('through two sessions');
    await world.sweepAll();
    await work();
    await withClient(world.databaseUrl, async (holder) => {
      await holder.query('BEGIN; LOCK TABLE sync.schedules');
      // The poller waits, and the listener listens.
      for (const sign of [
        `pg_locks WHERE NOT granted AND relation = 'sync.schedules'::regclass`,
        `pg_stat_activity WHERE datname = current_database()
           AND query LIKE 'LISTEN "fieldmirror_due"' AND state = 'idle'`,
      ]) {
        const see = async () => (await world.pool.query(`SELECT FROM ${sign}`)).rowCount;
        await expect.poll(see, {timeout: 20_000}).toBeGreaterThan(0);
      }
      await world.pool.query(
        `UPDATE warehouse.customers SET fax = '555' WHERE customer_number = 1`,
      );
      await settled(1);
      await holder.query('ROLLBACK');
    });
  });
});
