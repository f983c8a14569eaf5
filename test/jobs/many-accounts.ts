import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {inject, vi} from 'vitest';
import {
  type Account,
  listKnownAccounts,
  saveSealedToken,
  upsertAccount,
} from '../../src/accounts/accounts.ts';
import {Accounts} from '../../src/accounts/open-accounts.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys, Secret, seal} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import type {SweepDeps} from '../../src/sweeps/sweep-run.ts';
import {readSweep, requestSweep, type Sweep} from '../../src/sweeps/sweeps.ts';
import {createDatabase} from '../support/postgres.ts';
import {type AccountServer, serveAccounts} from './account-server.ts';

/** Many accounts at one server, a warehouse that mirrors them, and the dependencies of a worker. */
export interface ManyAccounts {
  readonly server: AccountServer;
  readonly pool: pg.Pool;
  readonly deps: SweepDeps;
  /** Lines of the log, as written. */
  readonly lines: {readonly msg: string; readonly [name: string]: unknown}[];
  /** Adds an account whose token is sealed in the warehouse, or seals another token for it. */
  add(name: string, token?: string): Promise<Account>;
  readonly accountIds: () => Promise<readonly string[]>;
  request(account: Account, ...streams: string[]): Promise<string[]>;
  /** The sweeps when all of them have ended, in order of their numbers. */
  endOf(sweepIds: readonly string[]): Promise<Sweep[]>;
  close(): Promise<void>;
}

export const streams = ['customers', 'jobs', 'employees', 'tasks'];
export const keyText = randomBytes(32).toString('base64');
export const keys = parseKeys(keyText);
const [key] = keys;

/** One thread for all tests of a file: docs/traps.md "Node". */
const pageReader = new PageReader();

export async function openManyAccounts(): Promise<ManyAccounts> {
  const server = await serveAccounts();
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 16, applicationName: 'test'});
  const lines: ManyAccounts['lines'] = [];
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  const log = createLogger({level: 'info', secrets: [], destination});
  const accounts = new Accounts({pool, keys, allowHttp: false, transport: {retry: {attempts: 1}}});
  return {
    server,
    pool,
    lines,
    deps: {
      pool,
      databaseUrl: database.url,
      openAccount: (id) => accounts.open(id),
      pageReader,
      log,
    },
    add: async (name, token = server.tokenOf(name)) => {
      const account = await upsertAccount(pool, {
        name,
        apiUrl: server.urlOf(name),
        timeZone: 'UTC',
      });
      const {accountId} = account;
      if (key === undefined) throw new Error('no key');
      await saveSealedToken(pool, accountId, seal(new Secret(token), key, accountId));
      return account;
    },
    accountIds: async () => {
      const known = await listKnownAccounts(pool, accounts.known);
      return known.filter(({state}) => state === 'active').map(({accountId}) => accountId);
    },
    request: async ({accountId}, ...asked) => {
      const sweepIds: string[] = [];
      for (const stream of asked.length > 0 ? asked : streams)
        sweepIds.push(
          (await requestSweep(pool, {accountId, stream, mode: 'full', requestedBy: 'command'}))
            .sweepId,
        );
      return sweepIds;
    },
    endOf: async (sweepIds) => await waitForEnd(pool, sweepIds),
    close: async () => {
      await accounts.close();
      await pool.end();
      await database.drop();
      await server.close();
    },
  };
}

async function waitForEnd(pool: pg.Pool, sweepIds: readonly string[]): Promise<Sweep[]> {
  const read = async () => await Promise.all(sweepIds.map((sweepId) => readSweep(pool, sweepId)));
  const ended = await vi.waitUntil(
    async () => {
      const sweeps = (await read()).filter((sweep) => sweep !== null);
      return sweeps.every(({endedAt}) => endedAt !== null) && sweeps;
    },
    {timeout: 45_000, interval: 100},
  );
  return ended;
}
