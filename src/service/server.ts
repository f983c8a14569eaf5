// The reference service: a person can run it as a demo or a sandbox, and the tests as the other
// side of the wire.

import type {Temporal} from 'temporal-polyfill';
import {FatalError} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {AccountTime} from './account-time.ts';
import {openDatabase} from './database.ts';
import {addFaults, type Faults} from './faults.ts';
import {ensureFoundation} from './foundation.ts';
import {createHttp} from './http.ts';
import {Lists} from './lists.ts';
import {startLive} from './live.ts';
import type {ListOrder, Service} from './records.ts';
import {Dialect, type DialectName, XmlWriter} from './xml-write.ts';

export interface ServiceOptions {
  /** Its own Postgres database; the schema `service` in it is made when it is missing. */
  readonly databaseUrl: string;
  /** 0, the default, takes any free port. */
  readonly port?: number;
  /** The host name or address to listen at; 127.0.0.1 unless told otherwise. */
  readonly host?: string;
  /** A path before every other, as real accounts have one: `/acme`. None unless told otherwise. */
  readonly basePath?: string;
  readonly dialect?: DialectName;
  /**
   * Records per page of customers, jobs and tasks: 30 by the specification; the real service was
   * seen with 50 for jobs.
   */
  readonly pageSize?: number;
  /** By number, by number backwards, or last changed first. */
  readonly order?: ListOrder;
  /**
   * False where `include` holds for lists alone, which is all that the specification promises; true
   * unless told otherwise.
   */
  readonly showsEmbed?: boolean;
  /** The account's IANA zone. */
  readonly timeZone?: string;
  /** The clock: milliseconds since 1970, or an instant. */
  readonly now?: () => number | Temporal.Instant;
  /**
   * Plays the made-up business on, by the clock or so many times faster; it stands still where this
   * is absent.
   */
  readonly speed?: number;
  /** What goes wrong on purpose; nothing unless told otherwise. */
  readonly faults?: Faults;
  /** False answers without gzip even to clients that offer it. */
  readonly compress?: boolean;
  readonly log?: Logger;
}

export interface RunningService {
  /** The base URL, without a slash at its end. */
  readonly url: string;
  readonly port: number;
  /**
   * The API token of the account's owner, the first employee, as it was when the service started.
   */
  readonly token: string;
  /**
   * The present token of an employee: the service's users read it in the employee management, which
   * has no endpoint.
   */
  tokenOf(employeeNumber: string | number): Promise<string | null>;
  /** Answers what has begun, then lets go of the port and the database. */
  close(): Promise<void>;
}

/**
 * Starts the reference service. All of its records are in its database: a restart loses nothing.
 * @throws {FatalError} the database cannot be used, or the port is taken
 * @throws {UsageError} the time zone is not an IANA zone
 */
export async function startService(options: ServiceOptions): Promise<RunningService> {
  const {
    databaseUrl,
    host = '127.0.0.1',
    port = 0,
    basePath = '',
    timeZone = 'America/New_York',
    log,
  } = options;
  const now = skewed(options);
  const time = new AccountTime(timeZone, now);
  const database = await openDatabase(databaseUrl, log);
  const lists = new Lists(database, databaseUrl, log);
  let live = {stop: async () => {}};
  const stop = async () => {
    await live.stop();
    await lists.close();
    await database.end();
  };
  try {
    const token = await ensureFoundation(database);
    await lists.listen();
    if (options.speed !== undefined) live = await startLive(database, {speed: options.speed, log});
    const writer = new XmlWriter(new Dialect(options.dialect ?? 'observed', time));
    const service: Service = {
      database,
      lists,
      time,
      writer,
      pageSize: options.pageSize ?? 30,
      order: options.order ?? 'number',
      showsEmbed: options.showsEmbed ?? true,
    };
    const http = createHttp(service, {
      basePath,
      compress: options.compress ?? true,
      ...(log === undefined ? {} : {log}),
    });
    if (options.faults !== undefined) addFaults(http, options.faults, {now, log});
    await listen(http, {port, host});
    const address = http.server.address();
    const taken = typeof address === 'object' && address !== null ? address.port : port;
    log?.info({event: 'service.listening', port: taken, host}, 'the reference service listens');
    return {
      url: `http://${host.includes(':') ? `[${host}]` : host}:${taken}${basePath}`,
      port: taken,
      token,
      tokenOf: (employeeNumber) => selectToken(service, String(employeeNumber)),
      close: async () => {
        await http.close();
        await stop();
      },
    };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The clock of a service, ahead or behind by what its faults say. */
function skewed({now = Date.now, faults}: ServiceOptions): () => number {
  const aheadMs = (faults?.skew ?? 0) * 1000;
  return () => {
    const value = now();
    return (typeof value === 'number' ? value : value.epochMilliseconds) + aheadMs;
  };
}

async function listen(
  http: ReturnType<typeof createHttp>,
  {port, host}: {readonly port: number; readonly host: string},
): Promise<void> {
  try {
    await http.listen({port, host});
  } catch (cause) {
    await http.close();
    const code = cause instanceof Error && 'code' in cause ? cause.code : null;
    const reason =
      code === 'EADDRINUSE'
        ? 'it is in use. Stop what listens there, or give another port (0 takes any)'
        : String(cause);
    throw new FatalError(
      `reference service: cannot listen on port ${port} of ${host}: ${reason}.`,
      {
        cause,
        kind: 'port',
      },
    );
  }
}

async function selectToken({database}: Service, employeeNumber: string): Promise<string | null> {
  const text = 'SELECT token FROM service.employees WHERE employee_number = $1';
  const {rows} = await database.query<{token: string}>(text, [employeeNumber]);
  return rows[0]?.token ?? null;
}
