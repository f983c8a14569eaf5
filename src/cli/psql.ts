// The verb `psql`: the client of the system, on the warehouse. It hears the address by its
// environment: arguments of a process are there for every user of the machine to read.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {constants} from 'node:os';
import type {Config} from '../core/config.ts';
import {UsageError} from '../core/errors.ts';
import {withWarehouse} from './with-warehouse.ts';

/** Parameters of an address that psql takes from its environment. */
const variables: Readonly<Record<string, string>> = {
  host: 'PGHOST',
  port: 'PGPORT',
  user: 'PGUSER',
  password: 'PGPASSWORD',
  sslmode: 'PGSSLMODE',
  sslrootcert: 'PGSSLROOTCERT',
  sslcert: 'PGSSLCERT',
  sslkey: 'PGSSLKEY',
  sslnegotiation: 'PGSSLNEGOTIATION',
  channel_binding: 'PGCHANNELBINDING',
  options: 'PGOPTIONS',
  connect_timeout: 'PGCONNECT_TIMEOUT',
};

/** What psql is started with. */
export interface PsqlStart {
  /** For psql as they are. */
  readonly args: readonly string[];
  /**
   * A user whose password psql asks for, or takes from PGPASSWORD; null: the one of the address,
   * the owner.
   */
  readonly role: string | null;
  readonly signal: AbortSignal;
}

/**
 * Starts psql, and waits until it ends; the embedded Postgres runs for as long.
 * @returns the exit code of psql
 * @throws {UsageError} there is no psql
 */
export async function psql(config: Config, {args, role, signal}: PsqlStart): Promise<number> {
  return await withWarehouse(config, {migrates: false}, async ({pool, directUrl}) => {
    // Our own words for a Postgres that does not answer, before psql has any.
    await pool.query('SELECT 1');
    const owner = environmentOf(directUrl);
    const {PGPASSWORD: _, ...address} = owner;
    const asRole = role === null ? owner : {...address, PGUSER: role};
    return await run(args, asRole, signal);
  });
}

/** An address as the variables that psql reads. */
export function environmentOf(address: string): Readonly<Record<string, string>> {
  const {hostname, port, username, password, pathname, searchParams} = new URL(address);
  const parameters = Object.entries(variables).flatMap(([name, variable]) => {
    const value = searchParams.get(name);
    return value === null ? [] : [[variable, value] as const];
  });
  const given = [
    ['PGHOST', hostname.replace(/^\[(.*)\]$/, '$1')],
    ['PGPORT', port],
    ['PGUSER', username],
    ['PGPASSWORD', password],
    ['PGDATABASE', pathname.slice(1)],
  ] as const;
  const told = given.filter(([, value]) => value !== '');
  return Object.fromEntries([
    ...told.map(([name, value]) => [name, decodeURIComponent(value)]),
    ...parameters,
  ]);
}

async function run(
  args: readonly string[],
  address: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<number> {
  // Ctrl-C reaches psql as well, which ends a statement by it and stays.
  process.removeAllListeners('SIGINT').on('SIGINT', () => {});
  const child = spawn('psql', args, {stdio: 'inherit', env: {...process.env, ...address}});
  signal.addEventListener('abort', () => child.kill());
  try {
    const [code, killedBy] = await once(child, 'close');
    return typeof code === 'number'
      ? code
      : 128 + (constants.signals[killedBy as NodeJS.Signals] ?? 0);
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'ENOENT')) throw cause;
    throw new UsageError(
      'psql: expected it to be installed, found none in PATH; it is part of the package postgresql-client on Debian and Ubuntu, postgresql on Fedora and Alpine, libpq of Homebrew. Any other client takes the address that fieldmirror url prints',
      {cause},
    );
  }
}
