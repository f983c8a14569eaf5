// A service with made-up data and an empty warehouse, each in a database of its own.

import type pg from 'pg';
import {inject} from 'vitest';
import {type Account, upsertAccount} from '../../src/accounts/accounts.ts';
import {createTransport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {seedBusiness} from '../../src/service/business.ts';
import {startService} from '../../src/service/server.ts';
import {allStreams} from '../../src/streams/all.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {runSweep, type SweepResult} from '../../src/sweeps/run-sweep.ts';
import type {SweepDeps} from '../../src/sweeps/sweep-run.ts';
import {requestSweep} from '../../src/sweeps/sweeps.ts';
import {createDatabase, type TestDatabase} from './postgres.ts';
import {createWritingClient, type WritingClient} from './writing-client.ts';

type ServiceOptions = Parameters<typeof startService>[0];

export const timeZone = 'America/New_York';

/**
 * One thread for all worlds of a test file: each takes a while to start, and see docs/traps.md
 * "Node".
 */
const pageReader = new PageReader();

/** A running reference service, with its address and token. */
export interface TestService {
  readonly url: string;
  readonly token: string;
  readonly databaseUrl: string;
  close(): Promise<void>;
}

export interface TestWorld extends SweepDeps {
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly api: WritingClient;
  readonly account: Account;
  /** Sweeps one stream once, in this process. */
  sweep(
    stream: string,
    kind?: {readonly windowName?: string; readonly recordNumber?: string},
  ): Promise<SweepResult>;
  sweepAll(): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts a service.
 * @param options.isOfToday - whether its business ends today, for tests of the last weeks. By
 *   default it is a copy of the business that all tests share, which ends on a fixed day
 */
export async function openService({
  isOfToday = false,
  ...options
}: Partial<ServiceOptions> & {readonly isOfToday?: boolean} = {}): Promise<TestService> {
  const database = isOfToday
    ? await createBusinessOfToday()
    : await createDatabase(inject('businessTemplate'));
  const service = await startService({
    port: 0,
    timeZone,
    dialect: 'observed',
    ...options,
    databaseUrl: database.url,
  });
  const close = async () => {
    await service.close();
    await database.drop();
  };
  return {url: service.url, token: service.token, databaseUrl: database.url, close};
}

async function createBusinessOfToday(): Promise<TestDatabase> {
  const database = await createDatabase();
  const today = new Date().toISOString().slice(0, 10);
  await seedBusiness(database.url, {seed: 7, customers: 60, jobs: 240, timeZone, today});
  return database;
}

/**
 * Opens an empty warehouse that mirrors a service.
 * @param own - a migrated database to take instead of one on the cluster that all tests share
 * @param business - the account, where the database has another one already
 */
export async function openWorld(
  service: {readonly url: string; readonly token: string},
  own?: TestDatabase,
  business: {readonly name: string; readonly timeZone: string} = {name: 'test', timeZone},
): Promise<TestWorld> {
  const database = own ?? (await createDatabase(inject('warehouseTemplate')));
  const pool = openPool(database.url, {max: 4, applicationName: 'test'});
  const transport = createTransport({
    baseUrl: service.url,
    token: new Secret(service.token),
    retry: {attempts: 1},
  });
  const account = await upsertAccount(pool, {...business, apiUrl: service.url});
  const log = createLogger({level: 'silent', secrets: []});
  const api = createWritingClient(transport);
  const openAccount = async () => ({api, timeZone: business.timeZone});
  const deps = {pool, databaseUrl: database.url, openAccount, pageReader, log};
  const sweep: TestWorld['sweep'] = async (stream, kind = {}) => {
    const mode =
      kind.windowName !== undefined
        ? 'window'
        : kind.recordNumber !== undefined
          ? 'record'
          : 'full';
    const {accountId} = account;
    const {sweepId} = await requestSweep(pool, {
      ...kind,
      accountId,
      stream,
      mode,
      requestedBy: 'command',
    });
    return await runSweep(deps, sweepId, new AbortController().signal);
  };
  return {
    ...deps,
    api,
    account,
    sweep,
    sweepAll: async () => {
      for (const {name} of allStreams) {
        const result = await sweep(name);
        if (result.outcome !== 'ended')
          throw new Error(`${name}: the sweep did not end, but was ${result.outcome}`, {
            cause: 'error' in result ? result.error : undefined,
          });
      }
    },
    close: async () => {
      await transport.close();
      await pool.end();
      await database.drop();
    },
  };
}
