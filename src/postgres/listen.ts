import {setTimeout as wait} from 'node:timers/promises';
import pg from 'pg';

const againMs = 5_000;
const keepAliveAfterMs = 10_000;

interface Listening {
  readonly onNotice: (payload: string) => void;
  /** Told each time that a session listens: notices given before were not heard. */
  readonly onListening?: () => void;
  readonly signal: AbortSignal;
}

/**
 * Listens to a channel of Postgres on a session of its own until told to stop. A notice given while
 * the session is lost is not heard: the listener must look by itself now and then.
 * @param onFailure - told each time that no session can be had
 */
export async function listen(
  databaseUrl: string,
  channel: string,
  {onFailure, ...listening}: Listening & {readonly onFailure: (error: unknown) => void},
): Promise<void> {
  const {signal} = listening;
  while (!signal.aborted) {
    await listenOnce(databaseUrl, channel, listening).catch((error: unknown) => {
      if (!signal.aborted) onFailure(error);
    });
    await wait(againMs, undefined, {signal, ref: false}).catch(() => {});
  }
}

async function listenOnce(
  databaseUrl: string,
  channel: string,
  {onNotice, onListening, signal}: Listening,
): Promise<void> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: 'fieldmirror listens',
    keepAlive: true,
    keepAliveInitialDelayMillis: keepAliveAfterMs,
  });
  const broken = Promise.withResolvers<void>();
  const stop = () => broken.resolve();
  client.on('error', stop);
  client.on('end', stop);
  client.on('notification', ({payload = ''}) => onNotice(payload));
  signal.addEventListener('abort', stop);
  try {
    await client.connect();
    await client.query(`LISTEN ${pg.escapeIdentifier(channel)}`);
    onListening?.();
    await broken.promise;
  } finally {
    signal.removeEventListener('abort', stop);
    await client.end().catch(() => {});
  }
}
