// Runs once before all tests: one Postgres for the whole run, with two databases to copy from. Each test makes
// databases of its own.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {TestProject} from 'vitest/node';
import {seedBusiness} from '../../src/service/business.ts';
import {allTables} from '../../src/streams/all-tables.ts';
import {openEmbeddedPostgres} from '../../src/warehouse/embedded/embedded.ts';
import {openPool} from '../../src/warehouse/postgres/database.ts';
import {migrate} from '../../src/warehouse/schema/migrate.ts';
import {forgoDurability} from './forgo-durability.ts';
import {startRedis} from './redis.ts';
import {isInstalled} from './redis-server.ts';

declare module 'vitest' {
  export interface ProvidedContext {
    /** The cluster, as one who may create databases. */
    postgresUrl: string;
    /** A migrated, empty warehouse. */
    warehouseTemplate: string;
    /** The database of a service with a small made-up business. */
    businessTemplate: string;
    /** Whether tests can have a Redis: its address, or null. */
    redisUrl: string | null;
  }
}

const business = {seed: 7, customers: 60, jobs: 240, timeZone: 'America/New_York', today: '2026-11-02'};

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-test-'));
  const postgres = await openEmbeddedPostgres(home);
  await forgoDurability(await postgres.url('postgres'));
  project.provide('postgresUrl', await postgres.url('postgres'));
  project.provide('warehouseTemplate', await makeWarehouse(await postgres.url('warehouse_template')));
  project.provide('businessTemplate', await makeBusiness(await postgres.url('business_template')));
  const redis = await startRedis();
  project.provide('redisUrl', redis?.url ?? null);
  if (redis === null) process.stderr.write(leftOut('every test of the queue on Redis'));
  else if (!isInstalled())
    process.stderr.write(leftOut('the tests that stop or wipe a Redis: they need redis-server on the PATH'));
  return async () => {
    await redis?.stop();
    await postgres.leave();
    await rm(home, {recursive: true, force: true});
  };
}

async function makeWarehouse(url: string): Promise<string> {
  const pool = openPool(url, {max: 1, applicationName: 'test set-up'});
  await migrate(pool, allTables);
  await pool.end();
  return 'warehouse_template';
}

async function makeBusiness(url: string): Promise<string> {
  await seedBusiness(url, business);
  return 'business_template';
}

function leftOut(what: string): string {
  const line = '*'.repeat(100);
  const reason =
    'neither REDIS_URL, nor a redis-server on the PATH, nor Docker gives all that tests need of a Redis';
  return `\n${line}\n  LEFT OUT: ${what}\n  ${reason}\n${line}\n\n`;
}
