// What a command stands on, opened in order and closed in reverse: Postgres, the account, the service behind it.

import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import {type Client, createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import type {Config} from '../config.ts';
import {createLogger, type Logger} from '../log.ts';
import {Secret} from '../secret.ts';
import {seedBusiness} from '../service/business.ts';
import {startService} from '../service/server.ts';
import {allTables} from '../streams/all.ts';
import {PageReader} from '../sync/page-reader.ts';
import {type Account, upsertAccount} from '../warehouse/accounts.ts';
import {openPool} from '../warehouse/database.ts';
import {explainDatabaseError} from '../warehouse/database-errors.ts';
import {type EmbeddedPostgres, openEmbeddedPostgres} from '../warehouse/embedded.ts';
import {migrate} from '../warehouse/migrate.ts';

/** The warehouse, migrated unless told otherwise. */
export interface Warehouse {
  readonly pool: pg.Pool;
  readonly databaseUrl: string;
  /** Where it is, for a person: never a password. */
  readonly place: string;
  readonly log: Logger;
}

/** The warehouse and the account that it mirrors. */
export interface World extends Warehouse {
  readonly api: Client;
  readonly pageReader: PageReader;
  readonly account: Account;
  /** Where the data come from, for a person. */
  readonly source: string;
}

/** How large the made-up business is, when there is no account. */
interface Demo {
  readonly customers: number;
  readonly seed: number;
}

const demo: Demo = {customers: 500, seed: 1};
/** Stands for the embedded Postgres in errors. */
const embeddedUrl = 'postgres://127.0.0.1/warehouse';

/** Things to close, last opened first; a failure to close one does not keep the others open. */
class Closers {
  readonly #closers: (() => Promise<unknown>)[] = [];

  add(close: () => Promise<unknown>): void {
    this.#closers.unshift(close);
  }

  async close(): Promise<void> {
    for (const close of this.#closers.splice(0)) await close().catch(() => {});
  }
}

/**
 * Does something with the warehouse, and closes it whatever happens.
 * @param options.migrates - whether the schema is brought up to date first
 * @throws {RetryableError | FatalError} Postgres cannot be reached, is too old, or refuses us
 * @throws {UsageError} no permission on the data folder
 */
export async function withWarehouse<T>(
  config: Config,
  options: {readonly migrates: boolean},
  use: (warehouse: Warehouse) => Promise<T>,
): Promise<T> {
  return await withClosers(
    config,
    async (closers) => await use(await openPostgres(config, closers, options)),
  );
}

/** The same with the account of the configuration; without one, with the reference service and its made-up data. */
export async function withWorld<T>(config: Config, use: (world: World) => Promise<T>): Promise<T> {
  return await withClosers(config, async (closers) => {
    const warehouse = await openPostgres(config, closers, {migrates: true});
    const source =
      config.account === null ? await openDemo(config, closers, warehouse.log) : realAccount(config.account);
    const transport = createTransport({
      baseUrl: source.apiUrl,
      token: source.token,
      allowHttp: config.allowsHttp,
    });
    closers.add(() => transport.close());
    const api = createClient(transport);
    const pageReader = new PageReader();
    closers.add(() => pageReader.close());
    await checkAccount(api);
    const account = await upsertAccount(warehouse.pool, {
      name: source.name,
      apiUrl: source.apiUrl,
      timeZone: config.timeZone,
    });
    return await use({...warehouse, api, pageReader, account, source: source.place});
  });
}

async function withClosers<T>(config: Config, use: (closers: Closers) => Promise<T>): Promise<T> {
  const closers = new Closers();
  try {
    return await use(closers);
  } catch (error) {
    throw explainDatabaseError(error, config.databaseUrl ?? embeddedUrl);
  } finally {
    await closers.close();
  }
}

async function openPostgres(
  config: Config,
  closers: Closers,
  options: {readonly migrates: boolean},
): Promise<Warehouse> {
  const log = createLogger({
    level: config.logLevel,
    secrets: config.account === null ? [] : [config.account.token],
    isPretty: process.stderr.isTTY,
  });
  const databaseUrl = config.databaseUrl ?? (await (await joinEmbedded(config, closers)).url('warehouse'));
  const pool = openPool(databaseUrl, {max: 10, applicationName: 'fieldmirror'});
  closers.add(() => pool.end());
  if (options.migrates) await migrate(pool, allTables);
  const {host, pathname} = new URL(databaseUrl);
  const place =
    config.databaseUrl === null ? `embedded Postgres in ${config.home}/postgres` : `${host}${pathname}`;
  return {pool, databaseUrl, place, log};
}

async function joinEmbedded(config: Config, closers: Closers): Promise<EmbeddedPostgres> {
  const embedded = await openEmbeddedPostgres(config.home);
  closers.add(() => embedded.leave());
  return embedded;
}

/** One light question, so that a wrong token or address is told before anything begins. */
async function checkAccount(api: Client): Promise<void> {
  await api.fetchPage('/customers.xml', {only: 'customer_number', page: '1'});
}

interface Source {
  readonly name: string;
  readonly apiUrl: string;
  readonly token: Secret;
  readonly place: string;
}

function realAccount(account: NonNullable<Config['account']>): Source {
  const {host, pathname} = new URL(account.apiUrl);
  const place = `${host}${pathname.replace(/\/$/, '')}`;
  return {name: place, apiUrl: account.apiUrl, token: account.token, place};
}

async function openDemo(config: Config, closers: Closers, log: Logger): Promise<Source> {
  const embedded = await joinEmbedded(config, closers);
  const databaseUrl = await embedded.url('service');
  const {timeZone} = config;
  const today = Temporal.Now.plainDateISO(timeZone).toString();
  await seedBusiness(databaseUrl, {...demo, timeZone, today});
  const service = await startService({databaseUrl, port: 0, timeZone, dialect: 'observed', log});
  closers.add(() => service.close());
  return {
    name: 'demo',
    apiUrl: service.url,
    token: new Secret(service.token),
    place: `the reference service at ${service.url}, made-up data`,
  };
}
