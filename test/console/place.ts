// A console on a warehouse of two accounts, with rows as a sweep writes them, and people who are
// signed in to it.

import type pg from 'pg';
import {inject} from 'vitest';
import {type ApiKey, addApiKey} from '../../src/accounts/access.ts';
import {type Account, upsertAccount} from '../../src/accounts/accounts.ts';
import type {ConsoleOptions} from '../../src/console/page.ts';
import {openServer, type Route} from '../../src/console/server.ts';
import {createLogger} from '../../src/core/log.ts';
import {openPools} from '../../src/http/api.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {rowsOfService} from '../http/place.ts';
import {plainConsole} from '../support/plain-console.ts';
import {createDatabase} from '../support/postgres.ts';

/** An answer of the console. */
export interface Page {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Somebody with a browser: cookies are kept, and forms are sent as they were drawn. */
export interface Person {
  /** The cookies, as a header. */
  cookies(): string;
  get(path: string, headers?: Readonly<Record<string, string>>): Promise<Page>;
  /** The story of a page. */
  // biome-ignore lint/suspicious/noExplicitAny: what a stranger reads from JSON
  json(path: string): Promise<any>;
  /**
   * Sends a form to an action.
   * @param fields - beside the token of the form, which is taken from the overview unless it is
   *   given
   * @param headers - beside the cookies
   */
  post(
    path: string,
    fields?: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Page>;
}

export interface Place {
  readonly url: string;
  /** Every address of the server. */
  readonly routes: readonly Route[];
  readonly databaseUrl: string;
  readonly pool: pg.Pool;
  readonly account: Account;
  /** An account that those who are bound to `account` do not see. */
  readonly stranger: Account;
  readonly logged: string[];
  /** Signs somebody in with a key of that role; of `account` alone unless `isOfAll`. */
  person(
    given?: Partial<Pick<ApiKey, 'role' | 'masks'>> & {readonly isOfAll?: boolean},
  ): Promise<Person>;
  close(): Promise<void>;
}

/**
 * @param options - how the console is set up
 * @param host - the address that the server listens on
 */
export async function openPlace(
  options: Partial<ConsoleOptions> = {},
  host = '127.0.0.1',
): Promise<Place> {
  const database = await createDatabase(inject('warehouseTemplate'));
  const pool = openPool(database.url, {max: 12, applicationName: 'test'});
  const timeZone = 'America/New_York';
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
  for (const {accountId} of [account, stranger]) {
    await inSweepTransaction(pool, async (client) => {
      for (const statement of rowsOfService) await client.query(statement, [accountId]);
    });
  }
  const logged: string[] = [];
  const log = createLogger({
    level: 'debug',
    secrets: [],
    destination: {write: (line: string) => logged.push(line)},
  });
  const pools = openPools(database.url);
  const console = {...plainConsole(database.url), ...options};
  const server = await openServer({pools, log, host, port: 0, console});
  let made = 0;
  const makeKey = async ({role = 'operator' as const, masks = false, isOfAll = false} = {}) => {
    const accountId = isOfAll ? null : account.accountId;
    const key = await addApiKey(pool, {name: `person-${++made}`, accountId, role, masks});
    return key?.reveal() ?? '';
  };
  return {
    url: server.url,
    routes: server.routes,
    databaseUrl: database.url,
    pool,
    account,
    stranger,
    logged,
    person: async (given = {}) => {
      const person = makePerson(server.url);
      const isOfAll = given.isOfAll ?? given.role === 'admin';
      await person.post('/sign-in', {
        key: await makeKey({...given, isOfAll} as Parameters<typeof makeKey>[0]),
      });
      return person;
    },
    close: async () => {
      await server.close();
      await pools.close();
      await pool.end();
      await database.drop();
    },
  };
}

/** What a page says, with the words of its links and without the links. */
export function withoutLinks(text: string): string {
  return text.replaceAll(/<\/?a\b[^>]*>/g, '');
}

/** Somebody with a browser, who is not signed in. */
export function makePerson(url: string): Person {
  const cookies = new Map<string, string>();
  const header = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const call = async (path: string, init: RequestInit): Promise<Page> => {
    const answer = await fetch(url + path, {
      ...init,
      redirect: 'manual',
      headers: {cookie: header(), ...init.headers},
    });
    for (const cookie of answer.headers.getSetCookie()) {
      const [, name = '', value = ''] = /^([^=]+)=([^;]*)/.exec(cookie) ?? [];
      if (value === '') cookies.delete(name);
      else cookies.set(name, value);
    }
    return {status: answer.status, headers: answer.headers, text: await answer.text()};
  };
  const get: Person['get'] = (path, headers = {}) => call(path, {headers});
  const formToken = async () =>
    / name="form" value="([^"]+)"/.exec((await get('/health')).text)?.[1] ?? '';
  return {
    cookies: header,
    get,
    json: async (path) =>
      JSON.parse((await get(`${path}${path.includes('?') ? '&' : '?'}as=json`)).text),
    post: async (path, fields = {}, headers = {}) => {
      const form = fields.form ?? (path === '/sign-in' ? '' : await formToken());
      const body = new URLSearchParams({...fields, form}).toString();
      const type = {'content-type': 'application/x-www-form-urlencoded'};
      return await call(path, {method: 'POST', body, headers: {...type, ...headers}});
    },
  };
}

/** A time entry of one employee for each completed job of an account. */
export async function writeHours(client: pg.ClientBase, accountId: string): Promise<void> {
  await client.query(
    `INSERT INTO warehouse.time_entries (account_id, id, job_number, job_id, employee_id,
       started_on, number_of_hours, _sweep_id)
     SELECT account_id, id, job_number, id, 501, completed_on, 1.25, 1 FROM warehouse.jobs
      WHERE account_id = $1 AND completed_on IS NOT NULL`,
    [accountId],
  );
}
