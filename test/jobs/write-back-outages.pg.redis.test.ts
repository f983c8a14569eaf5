// The queue, or the warehouse, goes away while changes are carried: no change is lost, none is sent
// twice.

import {join} from 'node:path';
import {Redis} from 'ioredis';
import {afterEach, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {findPrograms, programRunner} from '../../src/postgres/embedded-server.ts';
import {holdSweep} from '../support/held-sweep.ts';
import {migrateWarehouse, startPostgres} from '../support/own-postgres.ts';
import * as pgbouncer from '../support/pgbouncer.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {SetUp} from '../support/set-up.ts';
import {openWork, type WorkUnderWay} from '../support/work-under-way.ts';

const setUp = new SetUp();

afterEach(() => setUp.end());

async function open(database?: TestDatabase): Promise<WorkUnderWay> {
  const begin = () => openWork(database);
  return await setUp.step('opening the work', begin, (work) => work.close());
}

test.skipIf(!isInstalled())(
  'no change is lost or sent twice if Redis is wiped',
  {timeout: 180_000},
  async () => {
    const begin = () => startServer();
    const redis = await setUp.step('starting Redis', begin, (server) => server.stop());
    const work = await open();
    await work.work(redis.url);
    await work.begin();
    const client = new Redis(redis.url);
    await client.flushall();
    client.disconnect();
    await work.expectEachOnce();
  },
);

test('no change is lost or sent twice if Postgres crashes and restarts', {
  timeout: 180_000,
}, async () => {
  const {home, postgres} = await startPostgres(setUp, 'outage');
  const url = await postgres.url('warehouse');
  await migrateWarehouse(url);
  const work = await open({url, drop: async () => {}});
  await work.work(null);
  await work.begin();
  const data = join(home, 'postgres');
  const runner = await programRunner(home);
  const restart = [
    'restart',
    '-D',
    data,
    '-w',
    '-m',
    'immediate',
    '-l',
    join(data, 'postgres.log'),
  ];
  await runner.run((await findPrograms()).pg_ctl, restart);
  await work.expectEachOnce();
});

test.skipIf(!pgbouncer.isInstalled())(
  'no change is lost or sent twice, and sweeps end, if PgBouncer is killed and restarted',
  {timeout: 180_000},
  async () => {
    const begin = () => pgbouncer.startPgBouncer(inject('postgresUrl'));
    const bouncer = await setUp.step('starting PgBouncer', begin, (started) => started.stop());
    const database = await createDatabase(inject('warehouseTemplate'));
    const databaseUrl = bouncer.through(database.url);
    const pool = await setUp.step(
      'opening the pool',
      async () => openPool(databaseUrl, {max: 8, applicationName: 'test', sharesSessions: true}),
      (opened) => opened.end(),
    );
    const work = await open(database);
    await work.askForSweeps();
    const {onSweepStep, held, letGo} = holdSweep();
    // A sweep that renews its lease while its batch is not committed takes the last session.
    await work.work(null, {onSweepStep, pool, databaseUrl, leaseMs: 9_000});
    await held;
    await work.begin();
    await bouncer.restart();
    letGo();
    await work.expectEachOnce();
    await work.expectSwept();
  },
);
