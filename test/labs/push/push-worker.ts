// A worker in a process of its own that ends itself as by kill -9, or stops until it is continued,
// when a change reaches a named step. Its orders stand in the environment variable WORK, as JSON.

import {setImmediate} from 'node:timers/promises';
import {createClient} from '../../../src/api/client.ts';
import {createTransport} from '../../../src/api/transport.ts';
import {createLogger} from '../../../src/core/log.ts';
import {Secret} from '../../../src/core/secret.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {pushAccount} from '../../../src/push/push.ts';
import type {PushDeps, PushStep} from '../../../src/push/run.ts';

export interface Work {
  readonly databaseUrl: string;
  readonly accountId: string;
  readonly service: {readonly url: string; readonly token: string};
  readonly timeZone: string;
  /** Null: it lives. */
  readonly diesAt: PushStep | null;
  /** SIGKILL when not given. */
  readonly signal?: 'SIGKILL' | 'SIGSTOP';
  readonly leaseMs?: number;
  readonly settle?: PushDeps['settle'];
}

const work: Work = JSON.parse(process.env.WORK ?? '');
const {
  databaseUrl,
  accountId,
  service,
  timeZone,
  diesAt,
  settle = {},
  signal = 'SIGKILL',
  leaseMs,
} = work;
const transport = createTransport({
  baseUrl: service.url,
  token: new Secret(service.token),
  retry: {attempts: 1},
});
const account = {api: createClient(transport), timeZone};
const pool = openPool(databaseUrl, {max: 6, applicationName: 'push worker'});

let isOver = false;

async function onStep(step: PushStep): Promise<void> {
  if (step !== diesAt || isOver) return;
  isOver = true;
  process.kill(process.pid, signal);
  // The signal arrives at once, but not before the next line runs.
  await (signal === 'SIGKILL' ? new Promise(() => {}) : setImmediate());
}

const log = createLogger({level: 'silent', secrets: []});
await pushAccount(
  {
    pool,
    databaseUrl,
    openAccount: async () => account,
    log,
    onStep,
    settle,
    ...(leaseMs && {leaseMs}),
  },
  accountId,
  new AbortController().signal,
);
await transport.close();
await pool.end();
