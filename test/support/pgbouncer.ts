// A real PgBouncer in front of a Postgres, to be killed and started again. It refuses to run as
// root.

import {type ChildProcess, spawn} from 'node:child_process';
import {mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {programRunner} from '../../src/postgres/embedded-server.ts';
import {freePorts} from './free-ports.ts';
import {isOnPath, kill, tie} from './server-process.ts';

export interface PgBouncer {
  /** The way through it to a database, by the address of that database. */
  through(url: string): string;
  /** Breaks every connection, on both sides, and is there again on the same port. */
  restart(): Promise<void>;
  stop(): Promise<void>;
}

/**
 * Transaction mode, with fewer sessions of Postgres than a worker has clients, unless told
 * otherwise.
 */
const usual = {pool_mode: 'transaction', default_pool_size: '2'};
/** Debian keeps it where only root looks. */
const env = {...process.env, PATH: `${process.env.PATH}:/usr/sbin`};

export function isInstalled(): boolean {
  return isOnPath('pgbouncer', env);
}

/**
 * @param postgresUrl - any database of the cluster; its login is the only one that is let in
 * @param settings - of the section [pgbouncer]
 */
export async function startPgBouncer(
  postgresUrl: string,
  settings: Readonly<Record<string, string>> = usual,
): Promise<PgBouncer> {
  const [port = 0] = await freePorts(1);
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-pgbouncer-'));
  const ini = join(folder, 'pgbouncer.ini');
  const users = join(folder, 'users.txt');
  const {hostname, port: postgresPort, username, password} = new URL(postgresUrl);
  await writeFile(users, `"${username}" "${password}"\n`);
  const all = {
    listen_addr: '127.0.0.1',
    listen_port: port,
    unix_socket_dir: '',
    auth_file: users,
    ...settings,
  };
  const lines = Object.entries({auth_type: 'scram-sha-256', ...all}).map(
    ([name, value]) => `${name} = ${value}`,
  );
  await writeFile(
    ini,
    `[databases]\n* = host=${hostname} port=${postgresPort}\n[pgbouncer]\n${lines.join('\n')}\n`,
  );
  const runner = await programRunner(folder);
  for (const path of [folder, ini, users]) await runner.own(path);
  const args = process.getuid?.() === 0 ? ['-u', runner.user, ini] : [ini];
  let server = await run(args);
  return {
    through: (url) => {
      const way = new URL(url);
      way.port = String(port);
      return way.href;
    },
    restart: async () => {
      await kill(server);
      server = await run(args);
    },
    stop: async () => {
      await kill(server);
      await rm(folder, {recursive: true, force: true});
    },
  };
}

/** Resolves when it takes connections. */
async function run(args: readonly string[]): Promise<ChildProcess> {
  const server = tie(spawn('pgbouncer', args, {stdio: ['ignore', 'ignore', 'pipe'], env}));
  await new Promise<void>((done, failed) => {
    let said = '';
    server.stderr.on('data', (chunk: Buffer) => {
      said += chunk.toString();
      if (said.includes('process up')) done();
    });
    server.once('error', failed).once('exit', () => failed(new Error(`pgbouncer: ${said}`)));
  });
  return server;
}
