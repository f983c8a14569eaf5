// Runs once before all tests: builds the program, starts the servers that they share, and says
// which ones are missing.

import {execFileSync} from 'node:child_process';
import {join} from 'node:path';
import type {TestProject} from 'vitest/node';
import * as pgbouncer from './pgbouncer.ts';
import {isInstalled} from './redis-server.ts';
import {SetUp} from './set-up.ts';
import {makers, type SharedServers, startServers} from './shared-servers.ts';

declare module 'vitest' {
  export interface ProvidedContext extends SharedServers {}
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  execFileSync(process.execPath, ['esbuild.config.ts'], {
    cwd: join(import.meta.dirname, '..', '..'),
  });
  if (process.env.FAST === '1') return async () => {};
  const setUp = new SetUp();
  const {postgresUrl, superuserUrl, warehouseTemplate, businessTemplate, redisUrl} =
    await startServers(setUp, makers);
  project.provide('postgresUrl', postgresUrl);
  project.provide('superuserUrl', superuserUrl);
  project.provide('warehouseTemplate', warehouseTemplate);
  project.provide('businessTemplate', businessTemplate);
  project.provide('redisUrl', redisUrl);
  if (redisUrl === null) process.stderr.write(leftOut('every test of the queue on Redis'));
  else if (!isInstalled())
    process.stderr.write(
      leftOut('the tests that stop a Redis or run several', 'they need redis-server on the PATH'),
    );
  if (!pgbouncer.isInstalled())
    process.stderr.write(leftOut('the tests behind PgBouncer', 'they need pgbouncer on the PATH'));
  return () => setUp.end();
}

const noRedis =
  'neither REDIS_URL, nor a redis-server on the PATH, nor Docker gives all that tests need ' +
  'of a Redis';

function leftOut(what: string, reason = noRedis): string {
  const line = '*'.repeat(100);
  return `\n${line}\n  LEFT OUT: ${what}\n  ${reason}\n${line}\n\n`;
}
