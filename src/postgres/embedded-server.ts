// The server of the embedded Postgres: found running, or started.

import {readFile, stat} from 'node:fs/promises';
import {createServer} from 'node:net';
import {join} from 'node:path';
import pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {type EmbeddedPlace, owner} from './embedded-data.ts';
import {explainStartFailure} from './embedded-errors.ts';

const startAttempts = 3;

/** A server that may be running. */
export interface EmbeddedServer {
  readonly port: number;
  readonly password: string;
}

export function addressOf(server: EmbeddedServer, database: string): string {
  return `postgres://${owner}:${server.password}@127.0.0.1:${server.port}/${database}`;
}

/**
 * @param onStart - called before a start, which takes a while
 * @returns its port
 * @throws {FatalError} it does not start, or does not let us in: its own words and the mend are in
 *   the message
 */
export async function startOrJoin(
  place: EmbeddedPlace,
  password: string,
  onStart: () => void,
): Promise<number> {
  let said = '';
  let failure: unknown;
  for (let attempt = 1; attempt <= startAttempts; attempt++) {
    const running = await readPort(place.dataFolder);
    const refusal = running === null ? 'no server' : await findRefusal({port: running, password});
    if (running !== null && refusal === null) return running;
    const port = await freePort();
    onStart();
    try {
      await start(place, port);
      await expectAnswer(place, {port, password});
      return port;
    } catch (error) {
      failure = error;
      said += `${refusal}\n${error instanceof Error ? error.message : String(error)}\n`;
    }
  }
  throw explainStartFailure({dataFolder: place.dataFolder, user: place.runner.user}, said, failure);
}

/**
 * Starts a server.
 * @throws {FatalError} with all that Postgres' programs said
 */
export async function start(
  {dataFolder, programs, runner}: EmbeddedPlace,
  port: number,
): Promise<void> {
  const log = join(dataFolder, 'postgres.log');
  const before = await sizeOf(log);
  try {
    await runner.run(programs.pg_ctl, startArguments({dataFolder, log, port}));
  } catch (cause) {
    if (!(cause instanceof FatalError)) throw cause;
    throw new FatalError(`${cause.message}\n${await readFrom(log, before)}`, {cause});
  }
}

/** A server that runs but refuses us is of no use: it is stopped again. */
async function expectAnswer(
  {dataFolder, programs, runner}: EmbeddedPlace,
  server: EmbeddedServer,
): Promise<void> {
  const refusal = await findRefusal(server);
  if (refusal === null) return;
  await runner.run(programs.pg_ctl, ['stop', '-D', dataFolder, '-m', 'fast', '-w']);
  throw new FatalError(refusal, {kind: 'embedded-postgres'});
}

function startArguments({
  dataFolder,
  log,
  port,
}: {
  dataFolder: string;
  log: string;
  port: number;
}): string[] {
  const settings = [
    `port=${port}`,
    'listen_addresses=127.0.0.1',
    "unix_socket_directories=''",
    'max_connections=200',
    'shared_buffers=256MB',
    'max_wal_size=2GB',
    'timezone=UTC',
    // Our statements can carry text that people typed; the log of a demo needs none of it.
    'log_min_error_statement=panic',
    'log_parameter_max_length_on_error=0',
  ];
  const options = settings.map((setting) => `-c ${setting}`).join(' ');
  return ['start', '-D', dataFolder, '-w', '-t', '60', '-l', log, '-o', options];
}

/**
 * The port of the server that holds the data folder, by the file it keeps there; null when none
 * does.
 */
export async function readPort(dataFolder: string): Promise<number | null> {
  try {
    const lines = (await readFile(join(dataFolder, 'postmaster.pid'), 'utf8')).split('\n');
    return lines[3] === undefined ? null : Number(lines[3]);
  } catch {
    return null;
  }
}

/** @returns null where the server answers and lets us in; else its error */
export async function findRefusal(server: EmbeddedServer): Promise<string | null> {
  try {
    await withClient(addressOf(server, 'postgres'), (client) => client.query('SELECT 1'));
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((done, failed) =>
    server.once('error', failed).listen(0, '127.0.0.1', done),
  );
  const address = server.address();
  await new Promise((done) => server.close(done));
  if (address === null || typeof address === 'string')
    throw new FatalError('no free port on 127.0.0.1');
  return address.port;
}

async function sizeOf(file: string): Promise<number> {
  return (await stat(file).catch(() => null))?.size ?? 0;
}

/** The text added to a file; empty where the file cannot be read. */
async function readFrom(file: string, offset: number): Promise<string> {
  const bytes = await readFile(file).catch(() => Buffer.alloc(0));
  return bytes.subarray(offset).toString('utf8').trim();
}

/** @param name - how the session is named where the server lists its sessions */
export async function withClient<T>(
  url: string,
  use: (client: pg.Client) => Promise<T>,
  name = 'fieldmirror',
): Promise<T> {
  const client = new pg.Client({
    connectionString: url,
    application_name: name,
    connectionTimeoutMillis: 5_000,
  });
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}
