// Locks, LISTEN and settings that outlive a transaction need a session of our own. A pooler tells
// its clients a process id that it made up, so it shows at the first query; whether it shares
// sessions shows when two of its clients ask.

import pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {describeDatabase} from './database-errors.ts';
import {type SessionLimits, setForSession} from './session-settings.ts';

/**
 * A pooler that picks sessions in turn or at random may show two of its clients different ones for
 * a while.
 */
const looks = 8;
const probeTimeoutMs = 10_000;

/**
 * Makes the settings of each new connection of a pool.
 * @param url - the pool's address
 * @returns rejects with a FatalError where the sessions behind the address are shared; then no
 *   session has our settings
 */
export function makeOwnSession(
  url: string,
  limits: SessionLimits,
): (client: pg.ClientBase) => Promise<void> {
  const settings = setForSession(limits);
  let check: Promise<void> | null = null;
  return async (client) => {
    const {rowCount} = await client.query(
      `${settings} WHERE pg_backend_pid() = ${processIdOf(client)}`,
    );
    if (rowCount === 1) return;
    check ??= refuseSharedSessions(url).catch((error: unknown) => {
      // A probe that failed has shown nothing: the next connection asks again.
      if (!(error instanceof FatalError)) check = null;
      throw error;
    });
    await check;
    await client.query(settings);
  };
}

/** The process that the other side says it is; 0 where it does not say. */
function processIdOf(client: pg.ClientBase): number {
  return 'processID' in client && typeof client.processID === 'number' ? client.processID : 0;
}

async function refuseSharedSessions(url: string): Promise<void> {
  if (!(await areSessionsShared(url))) return;
  throw new FatalError(
    `${describeDatabase(url)}: a pooler in between gives each transaction another session, as PgBouncer does in transaction mode; set DATABASE_DIRECT_URL to the address of Postgres itself, or of a pooler in session mode, for what needs a session of its own`,
    {kind: 'pooler'},
  );
}

/**
 * Two clients that are connected at once never meet in a session of their own, and neither ever
 * changes its session.
 */
async function areSessionsShared(url: string): Promise<boolean> {
  const [one, other] = [openProbe(url), openProbe(url)];
  try {
    await Promise.all([one.connect(), other.connect()]);
    const first = await readProcessId(one);
    for (let look = 0; look < looks; look++) {
      if ((await readProcessId(other)) === first || (await readProcessId(one)) !== first)
        return true;
    }
    return false;
  } finally {
    await Promise.allSettled([one.end(), other.end()]);
  }
}

function openProbe(url: string): pg.Client {
  const client = new pg.Client({
    connectionString: url,
    application_name: 'fieldmirror looks for a pooler',
    connectionTimeoutMillis: probeTimeoutMs,
    query_timeout: probeTimeoutMs,
  });
  client.on('error', () => {});
  return client;
}

async function readProcessId(client: pg.Client): Promise<number | undefined> {
  const {rows} = await client.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  return rows[0]?.pid;
}
