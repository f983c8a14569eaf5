// Sweeps of the jobs of a server of pages, each in a process of its own and in a warehouse that is
// named.

import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {allocatorLimits, heapLimits} from '../../src/cli/launch.ts';
import type {EmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {migrateWarehouse} from '../../test/support/own-postgres.ts';
import {withClient} from '../../test/support/with-client.ts';

/** A sweep, and what it took. */
interface SweepFigures {
  readonly seconds: number;
  readonly result: {
    readonly outcome: string;
    readonly counts: {readonly requests: number; readonly pages: number};
  };
  readonly peakMegabytes: number;
}

/** Both sweeps of one warehouse. */
export interface Pair {
  readonly first: SweepFigures;
  readonly unchanged: SweepFigures;
}

interface PageServer {
  readonly process: ChildProcess;
  readonly url: string;
}

/** @param program.file - beside this one; it tells its port once it is there */
export async function serve(program: {
  readonly file: string;
  readonly args: readonly string[];
}): Promise<PageServer> {
  const child = fork(join(import.meta.dirname, program.file), program.args);
  const [{port}] = await once(child, 'message');
  return {process: child, url: `http://127.0.0.1:${port}`};
}

export async function migratedDatabase(postgres: EmbeddedPostgres, name: string): Promise<string> {
  const url = await postgres.url(name);
  await migrateWarehouse(url);
  return url;
}

/** As autovacuum does within a minute: its writes are not the next sweep's. */
export async function vacuum(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => client.query('VACUUM (ANALYZE)'));
}

/** @throws {Error} a sweep did not end */
async function sweep(...args: Required<Parameters<typeof sweepTwice>>): Promise<SweepFigures> {
  // As `npm start` runs it.
  const child = fork(join(import.meta.dirname, 'sweep-process.ts'), args, {
    execArgv: heapLimits,
    env: {
      ...process.env,
      ...allocatorLimits,
      NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
    },
  });
  const figures: SweepFigures = await Promise.race([
    once(child, 'message').then(([told]) => told),
    once(child, 'exit').then(([code]) =>
      Promise.reject(new Error(`the sweep's process ended with ${code}`)),
    ),
  ]);
  if (figures.result.outcome !== 'ended')
    throw new Error(`the sweep did not end: ${JSON.stringify(figures.result)}`);
  return figures;
}

/**
 * A first load of a new warehouse, and a sweep of what has not changed since.
 * @param how - with the star brought in line beside each, or without
 */
export async function sweepTwice(
  databaseUrl: string,
  apiUrl: string,
  how: 'star' | 'rows' = 'rows',
): Promise<Pair> {
  const first = await sweep(databaseUrl, apiUrl, how);
  await vacuum(databaseUrl);
  return {first, unchanged: await sweep(databaseUrl, apiUrl, how)};
}
