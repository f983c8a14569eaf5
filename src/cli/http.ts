// The console and the HTTP API, which `http` and `start` open. The verb `open` signs in anybody who
// can reach the database, as this command does.

import {once} from 'node:events';
import {isIP} from 'node:net';
import {makeSignInCode} from '../accounts/access.ts';
import {listWorkers} from '../accounts/workers.ts';
import {toHealthInput} from '../alerts/problems.ts';
import type {ConsoleServices, RuleForm} from '../console/page.ts';
import {openServer as listen, type ServerOptions} from '../console/server.ts';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {parseInterval} from '../core/format.ts';
import {createLogger} from '../core/log.ts';
import type {Role} from '../core/names.ts';
import {Secret} from '../core/secret.ts';
import {printErr} from '../core/text.ts';
import {openPools} from '../http/api.ts';
import type {PlannedRule} from './alerts.ts';
import {codeOfStop} from './stop.ts';
import {callOf, print} from './terminal.ts';
import {type Warehouse, withWarehouse} from './warehouse.ts';

/** The port of the console and the HTTP API, unless another one is given. */
export const usualPort = 8086;

interface Listening {
  readonly port: number;
  readonly host: string;
  /** Whether another port is used if this one is in use. */
  readonly mayMove: boolean;
}

export interface OpenedServer {
  /** The address by which people reach it, without a slash at its end. */
  readonly url: string;
  /** Creates a link that signs in once, as admin. */
  readonly makeLink: () => Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens the console, the HTTP API and the health checks, on one port.
 * @throws {FatalError} the port is in use, or the host is not an address of this machine
 */
export async function openHttpServer(
  config: Config,
  {databaseUrl, directUrl, pool}: Pick<Warehouse, 'databaseUrl' | 'directUrl' | 'pool'>,
  {telemetry = {}, ...listening}: Listening & Pick<ServerOptions, 'log' | 'telemetry' | 'setLogin'>,
): Promise<OpenedServer> {
  const pools = openPools(databaseUrl, {sharesSessions: directUrl !== databaseUrl});
  const {consoleUrl: publicUrl, hostNames, proxy} = config;
  const services = makeConsoleServices(config, {pool, directUrl});
  const server = await listen({
    pools,
    telemetry,
    ...listening,
    console: {publicUrl, hostNames, proxy, directUrl, services},
  }).catch(async (error: unknown) => {
    await pools.close();
    throw error;
  });
  if (!isLoopback(listening.host) && publicUrl?.protocol !== 'https:')
    printErr(
      `http: ${listening.host} can be reached by other machines, ` +
        'and all traffic there, keys too, can be read on the way: ' +
        'put TLS in front of it\n',
    );
  const url = publicUrl === null ? server.url : publicUrl.href.replace(/\/$/, '');
  return {
    url,
    makeLink: async () => linkOf(url, await makeSignInCode(pool, 'admin')),
    close: async () => {
      await server.close();
      await pools.close();
    },
  };
}

/** The link that signs in with a code. */
function linkOf(url: string, code: Secret): string {
  return `${url}/sign-in?code=${code.reveal()}`;
}

function makeConsoleServices(
  config: Config,
  {pool, directUrl}: Pick<Warehouse, 'pool' | 'directUrl'>,
): ConsoleServices {
  return {
    healthInput: toHealthInput(config),
    examine: async () => (await import('./doctor.ts')).examine(config),
    listSettings: async () => (await import('./settings.ts')).listSettings(config, pool),
    checkAccount: async (name) =>
      (await import('./accounts-check.ts')).checkAccount(config, pool, name),
    tryAccount: async ({name, url, timeZone, token}) => {
      const {tryAccount} = await import('./accounts-add.ts');
      return await tryAccount(config, pool, {
        name,
        ...(url === null ? {} : {url}),
        ...(timeZone === null ? {} : {timeZone}),
        findToken: async () => new Secret(token),
      });
    },
    planRule: async (rule) => await planFilledRule(config, rule),
    testRule: async (name) => {
      const {alertsTest} = await import('./alerts.ts');
      const {target, answer, ms} = await alertsTest(config, pool, {name});
      return `${target} took it: ${answer}, in ${ms} ms.`;
    },
    sendLetter: async (name, letterId) => {
      const {sendDeadLetter} = await import('./hooks.ts');
      const {target, answer} = await sendDeadLetter(config, pool, {name, letterId});
      return `${target} took dead letter ${letterId}: ${answer}.`;
    },
    clearUpForgotten: async (forgotten) =>
      (await import('./retention.ts')).clearUp(directUrl, forgotten),
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}

interface HttpCommand {
  /** If left out: the usual port, or any other if that one is in use, for example by a `start`. */
  readonly port?: number;
  readonly host: string;
  readonly json: boolean;
}

/**
 * Serves the console and the HTTP API without a worker, until it is stopped.
 * @returns the exit code
 */
export async function http(
  config: Config,
  {port, host, json}: HttpCommand,
  signal: AbortSignal,
): Promise<number> {
  return await withWarehouse(config, {migrates: true}, async (warehouse) => {
    const secrets = config.token === null ? [] : [config.token];
    const log = createLogger({level: config.logLevel, secrets, isPretty: process.stderr.isTTY});
    const listening = {host, port: port ?? usualPort, mayMove: port === undefined};
    const server = await openHttpServer(config, warehouse, {...listening, log});
    try {
      const {url} = server;
      const text =
        `The HTTP API of ${warehouse.place} is open at ${url}, and the console with it; ` +
        'fieldmirror keys add NAME makes a key. Ctrl-C stops.';
      print(json, {json: {url}, text});
      if (!signal.aborted) await once(signal, 'abort');
    } finally {
      await server.close();
    }
    return codeOfStop(signal);
  });
}

interface OpenOptions {
  readonly role: Role;
  /** The address of the console; if left out, it is looked up. */
  readonly at?: string;
  readonly json: boolean;
}

/**
 * Prints a link that signs in once, within ten minutes. @throws {UsageError} no console is known
 */
export async function open(config: Config, {role, at, json}: OpenOptions): Promise<number> {
  return await withWarehouse(config, {migrates: true}, async (warehouse) => {
    const url = (at ?? config.consoleUrl?.href ?? (await findConsole(warehouse))).replace(
      /\/$/,
      '',
    );
    const link = linkOf(url, await makeSignInCode(warehouse.pool, role));
    print(json, {
      json: {link},
      text: `${link}\n\nIt signs in once, as ${role}, within ten minutes.`,
    });
    return 0;
  });
}

/** The address of the console of a live `start`. */
async function findConsole({pool}: Warehouse): Promise<string> {
  const workers = await listWorkers(pool);
  const url = workers.find(({isAlive, consoleUrl}) => isAlive && consoleUrl !== null)?.consoleUrl;
  if (url !== null && url !== undefined) return url;
  throw new UsageError(
    `open: no start with a console is alive: begin one with ${callOf('start')}, ` +
      'or say where the console is with --at http://127.0.0.1:8086',
  );
}

// A rule that was entered in a form of the console, in the form of `alerts add`.

/** @throws {UsageError} the errors of `planRule`, or a span is invalid */
export async function planFilledRule(
  config: Pick<Config, 'keys' | 'allowsHttp'>,
  rule: RuleForm,
): Promise<PlannedRule> {
  const {planRule} = await import('./alerts.ts');
  const {name, receiver, address, smtp, every, quiet, causes} = rule;
  return planRule(config, name, {
    [receiver]: address,
    cause: causes,
    ...(smtp === null ? {} : {smtp}),
    ...(every === null ? {} : {everyMs: readSpan('how often', every)}),
    ...(quiet === null ? {} : {quietMs: readSpan('quiet time', quiet)}),
  });
}

function readSpan(what: string, text: string): number {
  const ms = parseInterval(text);
  if (ms !== null) return ms;
  throw new UsageError(
    `${what}: expected a span such as 30s, 5m, 4h or 2d, got ${JSON.stringify(text)}`,
  );
}
