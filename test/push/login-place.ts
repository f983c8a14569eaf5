// A service behind a door that can be shut, a warehouse with its employees, and the keys to their
// passwords.

import {randomBytes} from 'node:crypto';
import {learnEmployee} from '../../src/accounts/accounts.ts';
import type {AccountApi} from '../../src/accounts/open-accounts.ts';
import {createClient} from '../../src/api/client.ts';
import {createTransport, type Transport} from '../../src/api/transport.ts';
import {createLogger} from '../../src/core/log.ts';
import {parseKeys, Secret} from '../../src/core/secret.ts';
import {openPool} from '../../src/postgres/database.ts';
import {Passwords} from '../../src/push/passwords.ts';
import {pushAccount} from '../../src/push/push.ts';
import type {PushCounts, PushDeps} from '../../src/push/run.ts';
import {isPassword} from '../../src/service/foundation.ts';
import type {LocalServer} from '../support/local-server.ts';
import {giveBackAsItCame, openProxy} from '../support/proxy.ts';
import {
  openService,
  openWorld,
  type TestService,
  type TestWorld,
  timeZone,
} from '../support/world.ts';

/**
 * The fate of writing requests at the door: `echo` refuses with the text that was sent, `mumble`
 * returns that text as a success, `lost` loses the answer.
 */
export type Weather = 'fair' | 'busy' | 'echo' | 'mumble' | 'lost';

export interface LoginPlace extends TestWorld {
  readonly service: TestService;
  /** Numbers of the employees; the first one's token is in use, and known to be. */
  readonly numbers: readonly string[];
  readonly passwords: Passwords;
  readonly openPassword: (changeId: string) => Promise<Secret | null>;
  /** Lines of the log at its most verbose level, and not scrubbed. */
  readonly lines: string[];
  /** Bodies of writing requests as received. */
  readonly bodies: string[];
  weather: Weather;
  set(number: string, username: string, password: string, force?: boolean): Promise<Login>;
  push(deps?: Partial<PushDeps>): Promise<PushCounts>;
  /** Whether an employee can log in with a password, as the service says. */
  opens(number: string, password: string): Promise<boolean>;
  change(changeId: string | null): Promise<Record<string, unknown>>;
  /** Refuses every request and connection at the door. */
  shut(): Promise<void>;
  reopen(): Promise<void>;
  /** The API opened with the present token of an employee. */
  openWith(number: string): Promise<AccountApi>;
}

export interface Login {
  readonly change_id: string | null;
  readonly refused: string | null;
}

/** @param fresh - the number of employees made beside the existing ones */
export async function openLoginPlace(fresh: number): Promise<LoginPlace> {
  const service = await openService();
  const bodies: string[] = [];
  const numbers: string[] = [];
  const door = await openDoor(service.url, {bodies, weather: () => place.weather});
  const world = await openWorld({...service, url: door.url});
  await world.sweep('employees');
  const lines: string[] = [];
  const log = createLogger({
    level: 'debug',
    secrets: [],
    destination: {write: (line) => void lines.push(line)},
  });
  const {pool, account} = world;
  const keys = parseKeys(randomBytes(32).toString('base64'));
  const passwords = new Passwords({pool, keys});
  await passwords.makeReady();
  const transports: Transport[] = [];
  const truth = openPool(service.databaseUrl, {max: 1, applicationName: 'test'});
  const openPassword = (changeId: string) => passwords.open(changeId);
  const place: LoginPlace = {
    ...world,
    service,
    numbers,
    passwords,
    openPassword,
    log,
    lines,
    bodies,
    weather: 'fair',
    set: async (number, username, password, force = false) => {
      const text = 'SELECT * FROM sync.set_employee_login($1, $2, $3, force => $4)';
      return (await pool.query<Login>(text, [number, username, password, force])).rows[0] as Login;
    },
    push: async (deps = {}) =>
      await pushAccount(
        {...world, log, openPassword, ...deps},
        account.accountId,
        new AbortController().signal,
      ),
    opens: async (number, password) => {
      const text = 'SELECT password_hash AS hash FROM service.employees WHERE employee_number = $1';
      const {rows} = await truth.query<{hash: string | null}>(text, [number]);
      return rows[0]?.hash != null && (await isPassword(password, rows[0].hash));
    },
    change: async (changeId) => {
      const {rows} = await pool.query(
        `SELECT state, reason, failures, fields,
          EXISTS (SELECT FROM sync.employee_logins WHERE change_id = $1) AS "isKept"
           FROM sync.changes WHERE change_id = $1`,
        [changeId],
      );
      return rows[0];
    },
    shut: door.close,
    reopen: door.reopen,
    openWith: async (number) => {
      const text = 'SELECT token FROM service.employees WHERE employee_number = $1';
      const token = new Secret((await truth.query(text, [number])).rows[0].token);
      const transport = createTransport({baseUrl: door.url, token, retry: {attempts: 1}});
      transports.push(transport);
      return {api: createClient(transport), timeZone};
    },
    close: async () => {
      await passwords.close();
      for (const transport of transports) await transport.close();
      await truth.end();
      await world.close();
      await door.close();
      await service.close();
    },
  };
  await pool.query(
    `INSERT INTO warehouse.employees (name) SELECT 'New ' || n FROM generate_series(1, $1) AS n`,
    [fresh],
  );
  await place.push();
  const {rows} = await pool.query<{id: string; number: string}>(
    'SELECT id, employee_number AS number FROM warehouse.employees WHERE active ORDER BY employee_number',
  );
  numbers.push(...rows.map(({number}) => number));
  await learnEmployee(pool, account.accountId, rows[0]?.id ?? '');
  return place;
}

async function openDoor(
  target: string,
  {bodies, weather}: {readonly bodies: string[]; readonly weather: () => Weather},
): Promise<LocalServer> {
  return await openProxy(target, {
    receive: ({method, headers, body: bytes}, response) => {
      if (method === 'GET') return false;
      const body = bytes.toString();
      bodies.push(body);
      const fault = weather();
      if (fault !== 'busy' && fault !== 'echo' && fault !== 'mumble') return false;
      const sent = /<password>([^<]*)</.exec(body)?.[1] ?? '';
      const basic = Buffer.from((headers.authorization ?? '').slice(6), 'base64').toString();
      const words =
        fault === 'busy' ? 'Come back later' : `Password "${sent}" of ${basic} is too good`;
      const status = {busy: 503, echo: 422, mumble: 200}[fault];
      response.writeHead(status, {'content-type': 'application/xml'});
      response.end(`<errors><error>${words}</error></errors>`);
      return true;
    },
    giveBack: (answer, response, {method}) => {
      if (method !== 'GET' && weather() === 'lost')
        answer.resume().on('end', () => response.destroy());
      else giveBackAsItCame(answer, response);
    },
  });
}
