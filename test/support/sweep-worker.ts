// A worker in a process of its own that ends itself as by kill -9 when a sweep reaches a named
// step. Its orders stand in the environment variable WORK, as JSON.

import {openSync} from 'node:fs';
import {openQueueBackend} from '../../jobs/queue.ts';
import {startWorkers} from '../../jobs/workers.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import type {SweepStep} from '../../src/sweeps/sweeps.ts';

export interface Work {
  readonly databaseUrl: string;
  readonly redisUrl: string | null;
  readonly accountId: string;
  readonly service: {readonly url: string; readonly token: string};
  readonly timeZone: string;
  readonly leaseMs: number;
  /** Null: it lives. The first worker to die makes the file, so that only one dies. */
  readonly dies: {readonly at: SweepStep; readonly time: number; readonly file: string} | null;
}

const work: Work = JSON.parse(process.env.WORK ?? '');
const {databaseUrl, redisUrl, accountId, service, timeZone, leaseMs, dies} = work;
const log = createLogger({level: 'silent', secrets: []});
const transport = createTransport({baseUrl: service.url, token: new Secret(service.token)});
const account = {api: createClient(transport), timeZone};
let passed = 0;

async function onStep(step: SweepStep): Promise<void> {
  if (step !== dies?.at || ++passed !== dies.time) return;
  try {
    openSync(dies.file, 'wx');
  } catch {
    return;
  }
  process.kill(process.pid, 'SIGKILL');
  // The signal arrives at once, but not before the next line runs.
  await new Promise(() => {});
}

const backend = await openQueueBackend({redisUrl, databaseUrl, log});
await startWorkers(
  {
    pool: openPool(databaseUrl, {max: 6, applicationName: 'sweep worker'}),
    databaseUrl,
    openAccount: async () => account,
    pageReader: new PageReader(),
    log,
    onSweepStep: onStep,
    leaseMs,
  },
  backend,
  {accountIds: async () => [accountId], keepsSchedules: false},
);
