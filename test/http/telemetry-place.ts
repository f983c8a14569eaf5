// A server of telemetry alone, over real HTTP, on a warehouse of two accounts behind a line that
// can be cut.

import fastify from 'fastify';
import type pg from 'pg';
import {inject} from 'vitest';
import {type Account, upsertAccount} from '../../src/accounts/accounts.ts';
import {createLogger} from '../../src/core/log.ts';
import {listKnownNames} from '../../src/http/keys.ts';
import {RequestMetrics} from '../../src/http/metrics.ts';
import {addTelemetry, type TelemetryDeps} from '../../src/http/telemetry.ts';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase} from '../support/postgres.ts';
import {openTcpSwitch, type TcpSwitch} from '../support/tcp-switch.ts';
import {type Exposition, readExposition} from './exposition.ts';

export interface TelemetryPlace {
  readonly url: string;
  /** The pool of the test, whose line is never cut. */
  readonly pool: pg.Pool;
  /** The line of the server to Postgres. */
  readonly line: TcpSwitch;
  readonly postgresPort: number;
  readonly acme: Account;
  readonly other: Account;
  readonly requests: RequestMetrics;
  readonly logged: string[];
  /** How many statements the server has sent to Postgres so far. */
  readonly statements: () => number;
  /** Lets the figures that were read grow old. */
  pass(): void;
  /** The metrics as they are now. */
  scrape(): Promise<Exposition>;
  get(
    path: string,
  ): Promise<{readonly status: number; readonly headers: Headers; readonly text: string}>;
  close(): Promise<void>;
}

/** Real time plays no part: only `pass` makes a reading old. */
const freshMs = 1_000;

export async function openTelemetry(
  given: Pick<TelemetryDeps, 'queue'> & {readonly patienceMs?: number} = {},
): Promise<TelemetryPlace> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 2, applicationName: 'erp'});
  const add = (name: string) =>
    upsertAccount(pool, {name, apiUrl: `https://example.com/${name}`, timeZone: 'UTC'});
  const [acme, other] = [await add('acme'), await add('other "quoted"')];
  const address = new URL(database.url);
  const postgresPort = Number(address.port);
  const line = await openTcpSwitch(postgresPort);
  address.hostname = '127.0.0.1';
  address.port = String(line.port);
  const cut = openPool(address.href, {max: 2, applicationName: 'telemetry'});
  let statements = 0;
  cut.on('acquire', () => statements++);
  let now = 0;
  const logged: string[] = [];
  const log = createLogger({
    level: 'info',
    secrets: [],
    destination: {write: (text: string) => logged.push(text)},
  });
  const requests = new RequestMetrics();
  const {patienceMs = 60_000, ...rest} = given;
  const reading = {freshMs, patienceMs, clock: () => now};
  const app = fastify();
  await addTelemetry(app, {
    known: listKnownNames('127.0.0.1', {publicUrl: null, hostNames: []}),
    ...rest,
    pool: cut,
    log,
    requests,
    reading,
  });
  const url = await app.listen({host: '127.0.0.1', port: 0});
  const get = async (path: string) => {
    const answer = await fetch(url + path);
    return {status: answer.status, headers: answer.headers, text: await answer.text()};
  };
  const pass = () => {
    now += freshMs;
  };
  return {
    url,
    pool,
    line,
    postgresPort,
    acme,
    other,
    requests,
    logged,
    pass,
    get,
    statements: () => statements,
    scrape: async () => {
      pass();
      return readExposition((await get('/metrics')).text);
    },
    close: async () => {
      await app.close();
      await line.close();
      await cut.end();
      await pool.end();
      await database.drop();
    },
  };
}
