// An HTTP API on a warehouse of two accounts, with rows as a sweep writes them.

import type pg from 'pg';
import {inject} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {type Account, upsertAccount} from '../../src/accounts/accounts.ts';
import {openServer} from '../../src/console/server.ts';
import {createLogger} from '../../src/core/log.ts';
import type {Role} from '../../src/core/names.ts';
import {openPools} from '../../src/http/api.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {plainConsole} from '../support/plain-console.ts';
import {createDatabase} from '../support/postgres.ts';

export const timeZone = 'America/New_York';

/** An answer of the HTTP API. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: what a stranger reads from JSON
  readonly body: any;
}

export interface Call {
  readonly body?: unknown;
  readonly key?: string | null;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a POST; /v1/changes unless told. */
  readonly path?: string;
}

export interface Place {
  readonly url: string;
  readonly databaseUrl: string;
  /** The pool of the test. */
  readonly pool: pg.Pool;
  /** The pool with which the HTTP API writes. */
  readonly writes: pg.Pool;
  readonly account: Account;
  readonly stranger: Account;
  /** Opens `account`, to write; `reader` to read; `strange` opens `stranger`. */
  readonly keys: {readonly writer: string; readonly reader: string; readonly strange: string};
  /** Lines of the log, at its most verbose level. */
  readonly logged: string[];
  /** The server stops; the warehouse stays until `close`. */
  stop(): Promise<void>;
  get(path: string, call?: Call): Promise<Answer>;
  post(body: unknown, call?: Call): Promise<Answer>;
  close(): Promise<void>;
}

/**
 * Customers 1 to 3, jobs 11 and 12 of customer 1 with employees 501 and 502, and one child of each
 * kind.
 */
export const rowsOfService = [
  `INSERT INTO warehouse.employees (account_id, employee_number, id, name, _sweep_id)
    VALUES ($1, 1, 501, 'Ann', 1), ($1, 2, 502, 'Bob', 1)`,
  `INSERT INTO warehouse.customers (account_id, customer_number, id, name, phone_number,
    service_city, _sweep_id)
   VALUES ($1, 1, 101, 'Acme', '555-0100', 'Salem', 1), ($1, 2, 102, 'Bolt', NULL, NULL, 1),
     ($1, 3, 103, 'Cove', NULL, NULL, 1)`,
  `INSERT INTO warehouse.customer_notes (account_id, id, customer_number, note, _sweep_id)
    VALUES ($1, 71, 1, 'Dog', 1)`,
  `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, name, scheduled_on,
    total, _sweep_id)
   VALUES ($1, 11, 201, 1, 'Roof', '2027-01-31 14:00+00', 12.50, 1),
     ($1, 12, 202, 1, 'Gutter', NULL, NULL, 1)`,
  `INSERT INTO warehouse.job_employees (account_id, job_number, employee_id, _sweep_id)
    VALUES ($1, 11, 501, 1)`,
  `INSERT INTO warehouse.job_notes (account_id, id, job_number, note, _sweep_id)
    VALUES ($1, 81, 11, 'Ladder', 1)`,
  `INSERT INTO warehouse.time_entries (account_id, id, job_number, employee_id, started_on,
    number_of_hours, _sweep_id)
   VALUES ($1, 91, 11, 501, '2027-01-31 15:00+00', 1.5, 1)`,
  `INSERT INTO warehouse.job_charges (account_id, id, job_number, item_id, quantity, _sweep_id)
    VALUES ($1, 95, 11, 7, 2, 1)`,
  `INSERT INTO warehouse.tasks (account_id, id, name, completed, _sweep_id)
    VALUES ($1, 61, 'Call', false, 1)`,
] as const;

/** @param limits - how long a write waits for a lock */
export async function openPlace({lockTimeoutMs = 1_000} = {}): Promise<Place> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 12, applicationName: 'test'});
  const account = await upsertAccount(pool, {
    name: 'acme',
    apiUrl: 'https://example.com/acme',
    timeZone,
  });
  const stranger = await upsertAccount(pool, {
    name: 'other',
    apiUrl: 'https://example.com/other',
    timeZone,
  });
  for (const {accountId} of [account, stranger]) await fill(pool, accountId);
  const make = async (name: string, {accountId}: Account, role: Role) =>
    (await addApiKey(pool, {name, accountId, role, masks: false}))?.reveal() ?? '';
  const keys = {
    writer: await make('erp', account, 'operator'),
    reader: await make('looker', account, 'viewer'),
    strange: await make('strange', stranger, 'operator'),
  };
  const logged: string[] = [];
  const destination = {write: (line: string) => logged.push(line)};
  const log = createLogger({level: 'debug', secrets: [], destination});
  const pools = openPools(database.url, {lockTimeoutMs});
  const api = await openServer({
    pools,
    log,
    host: '127.0.0.1',
    port: 0,
    console: plainConsole(database.url),
  });
  const call = async (
    method: string,
    path: string,
    {body, key = keys.writer, headers = {}}: Call,
  ) => {
    const answer = await fetch(api.url + path, {
      method,
      headers: {
        ...(key === null ? {} : {authorization: `Bearer ${key}`}),
        ...(body === undefined ? {} : {'content-type': 'application/json'}),
        ...headers,
      },
      ...(body === undefined ? {} : {body: typeof body === 'string' ? body : JSON.stringify(body)}),
    });
    return {status: answer.status, headers: answer.headers, body: await answer.json()};
  };
  return {
    url: api.url,
    databaseUrl: database.url,
    pool,
    writes: pools.writes,
    account,
    stranger,
    keys,
    logged,
    get: (path, options = {}) => call('GET', path, options),
    post: (body, options = {}) => call('POST', options.path ?? '/v1/changes', {...options, body}),
    stop: () => api.close(),
    close: async () => {
      await api.close();
      await pools.close();
      await pool.end();
      await database.drop();
    },
  };
}

async function fill(pool: pg.Pool, accountId: string): Promise<void> {
  await inSweepTransaction(pool, async (client) => {
    for (const statement of rowsOfService) await client.query(statement, [accountId]);
  });
}
