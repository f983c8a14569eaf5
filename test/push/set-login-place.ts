// A service behind a door that may lose answers, a warehouse with its employees, and the HTTP API
// of a process that opens accounts.

import {addApiKey} from '../../src/accounts/access.ts';
import {saveEmployee} from '../../src/accounts/accounts.ts';
import {openServer} from '../../src/console/server.ts';
import {createLogger} from '../../src/core/log.ts';
import type {Role} from '../../src/core/names.ts';
import {Secret} from '../../src/core/secret.ts';
import {openPools} from '../../src/http/api.ts';
import {openPool} from '../../src/postgres/database.ts';
import {pushAccount} from '../../src/push/push.ts';
import {type LoginRequest, type LoginResult, setLogin} from '../../src/push/set-login.ts';
import {isPassword} from '../../src/service/foundation.ts';
import {plainConsole} from '../support/plain-console.ts';
import {giveBackAsItCame, openProxy} from '../support/proxy.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

/**
 * The fate of writing requests at the door: `busy` and `echo` refuse, the second with the text that
 * was sent, `mumble` returns that text as a success, `lost` loses the answer, `swallowed` the
 * request.
 */
type Weather = 'fair' | 'busy' | 'echo' | 'mumble' | 'lost' | 'swallowed';

export interface SetLoginPlace extends TestWorld {
  readonly service: TestService;
  /** Address of the HTTP API. */
  readonly url: string;
  /** Numbers of the employees; the first one's token is in use, and known to be. */
  readonly numbers: readonly string[];
  /** Lines of the log at its most verbose level, and not scrubbed. */
  readonly lines: string[];
  /** Bodies of writing requests as received. */
  readonly bodies: string[];
  weather: Weather;
  set(number: string, password: string, given?: Partial<LoginRequest>): Promise<LoginResult>;
  /** A key of the HTTP API; of all accounts where it is an admin's. */
  key(name: string, role: Role): Promise<string>;
  put(number: string, body: unknown, key: string): Promise<{status: number; text: string}>;
  /** Whether an employee can log in with a password, as the service says. */
  opens(number: string, password: string): Promise<boolean>;
  /** What the warehouse has of an employee. */
  row(number: string): Promise<Readonly<Record<string, unknown>> | undefined>;
  audit(): Promise<Readonly<Record<string, unknown>>[]>;
}

/** @param options.fresh - the number of employees made beside the existing ones */
export async function openSetLoginPlace({
  opensAccounts = true,
  fresh = 14,
} = {}): Promise<SetLoginPlace> {
  const service = await openService();
  const held = {weather: 'fair' as Weather};
  const bodies: string[] = [];
  const lines: string[] = [];
  const door = await openProxy(service.url, {
    receive: ({method, headers, body: bytes}, response) => {
      if (method === 'GET') return false;
      const body = bytes.toString();
      bodies.push(body);
      const fault = held.weather;
      if (fault === 'swallowed') response.destroy();
      if (fault === 'swallowed') return true;
      if (fault !== 'busy' && fault !== 'echo' && fault !== 'mumble') return false;
      const sent = /<password>([^<]*)</.exec(body)?.[1] ?? '';
      const basic = Buffer.from((headers.authorization ?? '').slice(6), 'base64').toString();
      const status = {busy: 503, echo: 422, mumble: 200}[fault];
      response.writeHead(status, {'content-type': 'application/xml'});
      response.end(`<errors><error>Password "${sent}" of ${basic} is too good</error></errors>`);
      return true;
    },
    giveBack: (answer, response, {method}) => {
      if (method !== 'GET' && held.weather === 'lost')
        answer.resume().on('end', () => response.destroy());
      else giveBackAsItCame(answer, response);
    },
  });
  const world = await openWorld({...service, url: door.url});
  await world.sweep('employees');
  await world.pool.query(
    `INSERT INTO warehouse.employees (name) SELECT 'New ' || n FROM generate_series(1, $1) AS n`,
    [fresh],
  );
  const log = createLogger({
    level: 'debug',
    secrets: [],
    destination: {write: (line) => void lines.push(line)},
  });
  const {pool, account, databaseUrl} = world;
  const {accountId} = account;
  const truth = openPool(service.databaseUrl, {max: 1, applicationName: 'test'});
  const deps = {...world, log, checkDelaysMs: [0, 50]};
  const {signal} = new AbortController();
  const pools = openPools(databaseUrl, {lockTimeoutMs: 1_000});
  const server = await openServer({
    pools,
    log,
    host: '127.0.0.1',
    port: 0,
    console: plainConsole(databaseUrl),
    ...(opensAccounts ? {setLogin: (asked: LoginRequest) => setLogin(deps, asked, signal)} : {}),
  });
  await pushAccount({...world, log}, accountId, signal);
  const {rows} = await pool.query<{id: string; number: string}>(
    `SELECT id, employee_number AS number FROM warehouse.employees
      WHERE active ORDER BY employee_number`,
  );
  await saveEmployee(pool, accountId, rows[0]?.id ?? '');
  bodies.length = 0;
  const place: SetLoginPlace = {
    ...world,
    service,
    lines,
    bodies,
    url: server.url,
    get weather() {
      return held.weather;
    },
    set weather(weather) {
      held.weather = weather;
    },
    numbers: rows.map(({number}) => number),
    set: async (number, password, given = {}) =>
      await setLogin(
        deps,
        {
          accountId,
          number,
          username: `user${number}`,
          by: null,
          password: new Secret(password),
          ...given,
        },
        signal,
      ),
    key: async (name, role) => {
      const opens = {accountId: role === 'admin' ? null : accountId};
      return (await addApiKey(pool, {name, role, masks: false, ...opens}))?.reveal() ?? '';
    },
    put: async (number, body, key) => {
      const answer = await fetch(`${server.url}/v1/employees/${number}/login`, {
        method: 'PUT',
        headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
        body: typeof body === 'string' ? body : JSON.stringify(body),
      });
      return {status: answer.status, text: await answer.text()};
    },
    opens: async (number, password) => {
      const text = 'SELECT password_hash AS hash FROM service.employees WHERE employee_number = $1';
      const held = await truth.query<{hash: string | null}>(text, [number]);
      const hash = held.rows[0]?.hash;
      return hash != null && (await isPassword(password, hash));
    },
    row: async (number) => {
      const text = `SELECT username, can_login, _pending, _change_id, _sweep_id IS NOT NULL AS swept
        FROM warehouse.employees WHERE employee_number = $1`;
      return (await pool.query(text, [number])).rows[0];
    },
    audit: async () =>
      (
        await pool.query(
          `SELECT name, role, action, subject, before, after FROM sync.audit ORDER BY audit_id`,
        )
      ).rows,
    close: async () => {
      await server.close();
      await pools.close();
      await truth.end();
      await world.close();
      await door.close();
      await service.close();
    },
  };
  return place;
}
