// Sweeps of the jobs of a server of pages, each in a process of its own and in a warehouse that is
// named.

import {type ChildProcess, fork} from 'node:child_process';
import {once} from 'node:events';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {allocatorLimits} from '../../src/cli/launch.ts';
import type {EmbeddedPostgres} from '../../src/postgres/embedded.ts';
import {nodeFlags} from '../../test/support/command.ts';
import {migrateWarehouse} from '../../test/support/own-postgres.ts';
import {withClient} from '../../test/support/with-client.ts';

/** A sweep, and how long it took. */
interface TimedSweep {
  readonly seconds: number;
  readonly result: {
    readonly outcome: string;
    readonly state: string;
    readonly counts: {readonly requests: number; readonly pages: number};
  };
}

export interface SweepFigures extends TimedSweep {
  readonly walBytes: number;
  readonly peakMegabytes: number;
  /** Rows that the sweep wrote. */
  readonly written: {readonly warehouse: number; readonly history: number};
  /**
   * One more by the same process, whose code is compiled by then; null where none was asked for.
   */
  readonly again: TimedSweep | null;
}

/** With the star brought in line beside it; with one more by the same process. */
type How = 'star' | 'again';

/** Both sweeps of one warehouse. */
export interface Pair {
  readonly first: SweepFigures;
  readonly unchanged: SweepFigures;
}

export interface PageServer {
  readonly process: ChildProcess;
  readonly url: string;
  /** @returns seconds of CPU time that it has taken so far */
  cpuSeconds(): Promise<number>;
}

/** @param program.file - beside this one; it tells its port once it is there */
export async function serve(program: {
  readonly file: string;
  readonly args: readonly string[];
}): Promise<PageServer> {
  const child = fork(join(import.meta.dirname, program.file), program.args);
  const [{port}] = await once(child, 'message');
  const cpuSeconds = async () => {
    child.send('cpu');
    const [{user, system}] = await once(child, 'message');
    return (user + system) / 1e6;
  };
  return {process: child, url: `http://127.0.0.1:${port}`, cpuSeconds};
}

export async function migratedDatabase(postgres: EmbeddedPostgres, name: string): Promise<string> {
  const url = await postgres.url(name);
  await migrateWarehouse(url);
  return url;
}

/** As autovacuum does within a minute: its writes are not the next sweep's. */
async function vacuum(databaseUrl: string): Promise<void> {
  await withClient(databaseUrl, (client) => client.query('VACUUM (ANALYZE)'));
}

/** @throws {Error} a sweep did not end */
export async function sweep(
  databaseUrl: string,
  apiUrl: string,
  ...how: How[]
): Promise<SweepFigures> {
  // As `npm start` runs it.
  const child = fork(join(import.meta.dirname, 'sweep-process.ts'), [databaseUrl, apiUrl, ...how], {
    execArgv: nodeFlags,
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
  for (const {result} of [figures, figures.again ?? figures])
    if (result.outcome !== 'ended')
      throw new Error(`the sweep did not end: ${JSON.stringify(result)}`);
  return figures;
}

/**
 * A first load of a new warehouse, and a sweep of what has not changed since. @param how - of
 * `again`, that sweep alone
 */
export async function sweepTwice(
  databaseUrl: string,
  apiUrl: string,
  ...how: How[]
): Promise<Pair> {
  const first = await sweep(databaseUrl, apiUrl, ...how.filter((one) => one !== 'again'));
  await vacuum(databaseUrl);
  return {first, unchanged: await sweep(databaseUrl, apiUrl, ...how)};
}
