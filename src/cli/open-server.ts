import {isIP} from 'node:net';
import {makeSignInCode} from '../accounts/access.ts';
import type {Doings} from '../console/doings.ts';
import {openServer as open, type ServerOptions} from '../console/server.ts';
import type {Config} from '../core/config.ts';
import {Secret} from '../core/secret.ts';
import {tellAside} from '../core/text.ts';
import {openPools} from '../http/pools.ts';
import {toLooker} from './looker.ts';
import type {Warehouse} from './with-warehouse.ts';

/** Where the console and the HTTP API are, unless somebody asks for another port. */
export const usualPort = 8086;

export interface Listening {
  readonly port: number;
  readonly host: string;
  /** Another port is taken where this one is in use. */
  readonly mayMove: boolean;
}

export interface OpenedServer {
  /** The address by which people reach it, without a slash at its end. */
  readonly url: string;
  /** A link that signs in once, as the terminal that prints it may. */
  readonly makeLink: () => Promise<string>;
  close(): Promise<void>;
}

/**
 * Opens the console, the HTTP API and what tells whether all is well, on one port.
 * @throws {FatalError} the port is taken, or the host is none of this machine
 */
export async function openServer(
  config: Config,
  {databaseUrl, directUrl, pool}: Pick<Warehouse, 'databaseUrl' | 'directUrl' | 'pool'>,
  {log, telemetry = {}, ...listening}: Listening & Pick<ServerOptions, 'log' | 'telemetry'>,
): Promise<OpenedServer> {
  const pools = openPools(databaseUrl, {sharesSessions: directUrl !== databaseUrl});
  const {consoleUrl: publicUrl, hostNames, proxy} = config;
  const doings = makeDoings(config, {pool, directUrl});
  const running = await open({
    ...{pools, log, telemetry, ...listening},
    console: {publicUrl, hostNames, proxy, directUrl, doings},
  }).catch(async (error: unknown) => {
    await pools.close();
    throw error;
  });
  if (!isLoopback(listening.host) && publicUrl?.protocol !== 'https:')
    tellAside(
      `http: ${listening.host} can be reached by other machines, and what comes and goes there, keys too, can be read on the way: put TLS in front of it\n`,
    );
  const url = publicUrl === null ? running.url : publicUrl.href.replace(/\/$/, '');
  return {
    url,
    makeLink: async () => linkOf(url, await makeSignInCode(pool, 'admin')),
    close: async () => {
      await running.close();
      await pools.close();
    },
  };
}

/** The address that a code signs in at. */
export function linkOf(url: string, code: Secret): string {
  return `${url}/sign-in?code=${code.reveal()}`;
}

function makeDoings(
  config: Config,
  {pool, directUrl}: Pick<Warehouse, 'pool' | 'directUrl'>,
): Doings {
  return {
    looker: toLooker(config),
    examine: async () => (await import('./doctor.ts')).examine(config),
    listSettings: async () => (await import('./list-settings.ts')).listSettings(config, pool),
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
    planRule: async (rule) => (await import('./filled-alert-rule.ts')).planFilledRule(config, rule),
    testRule: async (name) => {
      const {testRule} = await import('./alerts.ts');
      const {target, answer, ms} = await testRule(config, pool, {name});
      return `${target} took it: ${answer}, in ${ms} ms.`;
    },
    sendLetter: async (name, letterId) => {
      const {sendDeadLetter} = await import('./hooks.ts');
      const {target, answer} = await sendDeadLetter(config, pool, {name, letterId});
      return `${target} took dead letter ${letterId}: ${answer}.`;
    },
    clearUpForgotten: async (forgotten) =>
      (await import('./forget.ts')).clearUp(directUrl, forgotten),
  };
}

function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
