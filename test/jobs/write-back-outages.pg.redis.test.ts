// The queue, or the warehouse, goes away while changes are carried: no change is lost, none is sent twice.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {Redis} from 'ioredis';
import {afterEach, inject, test} from 'vitest';
import {allTables} from '../../src/streams/all-tables.ts';
import {openEmbeddedPostgres} from '../../src/warehouse/embedded/embedded.ts';
import {findPrograms, programRunner} from '../../src/warehouse/embedded/embedded-process.ts';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {migrate} from '../../src/warehouse/schema/migrate.ts';
import {holdSweeps} from '../support/held-sweep.ts';
import * as pgbouncer from '../support/pgbouncer.ts';
import {isInstalled, startServer} from '../support/redis-server.ts';
import {openWork} from '../support/work-under-way.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

test.skipIf(!isInstalled())('the queue is wiped', {timeout: 180_000}, async () => {
  const redis = await startServer();
  closers.push(redis.stop);
  const work = await openWork();
  closers.push(work.close);
  await work.work(redis.url);
  await work.begin();
  const client = new Redis(redis.url);
  await client.flushall();
  client.disconnect();
  await work.expectEachOnce();
});

test('Postgres crashes and comes back', {timeout: 180_000}, async () => {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-outage-'));
  const postgres = await openEmbeddedPostgres(home);
  closers.push(() => rm(home, {recursive: true, force: true}), postgres.leave);
  const url = await postgres.url('warehouse');
  const pool = openPool(url, {max: 1, applicationName: 'test set-up'});
  await migrate(pool, allTables);
  await pool.end();
  const work = await openWork({url, drop: async () => {}});
  closers.push(work.close);
  await work.work(null);
  await work.begin();
  const data = join(home, 'postgres');
  const runner = await programRunner(home);
  const restart = ['restart', '-D', data, '-w', '-m', 'immediate', '-l', join(data, 'postgres.log')];
  await runner.run((await findPrograms()).pg_ctl, restart);
  await work.expectEachOnce();
});

test.skipIf(!pgbouncer.isInstalled())('PgBouncer is killed and comes back', {timeout: 180_000}, async () => {
  const bouncer = await pgbouncer.startPgBouncer(inject('postgresUrl'));
  closers.push(bouncer.stop);
  const work = await openWork();
  const databaseUrl = bouncer.through(work.world.databaseUrl);
  const pool = openPool(databaseUrl, {max: 8, applicationName: 'test', sharesSessions: true});
  closers.push(() => pool.end(), work.close);
  await work.askForSweeps();
  const sweeps = holdSweeps();
  await work.work(null, {onSweepStep: sweeps.onSweepStep, pool, databaseUrl});
  await sweeps.held;
  await work.begin();
  await bouncer.restart();
  sweeps.letGo();
  await work.expectEachOnce();
  await work.expectSwept();
});
