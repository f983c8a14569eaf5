// A supervisor that waits to be told, as systemd does for a unit of Type=notify: when the work can
// begin, that the process still runs, that it stops. Node has no sockets for datagrams;
// systemd-notify, which is where systemd is, passes each word on.

import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {setTimeout as wait} from 'node:timers/promises';
import {promisify} from 'node:util';
import type {Logger} from '../core/log.ts';

/** The socket of a supervisor, and how long it bears silence; null where it does not care. */
export interface Supervisor {
  readonly socket: string;
  readonly patienceMs: number | null;
}

export interface Watched {
  /** Whether the work can be done. */
  readonly isReady: () => Promise<boolean>;
  /** Aborts when the process begins to stop. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const run = promisify(execFile);
const lookEveryMs = 500;
/** Longer than systemd-notify waits for systemd to have taken a word. */
const tellMs = 6_000;

/**
 * Takes the address of the supervisor out of the environment, so that a Postgres that we start does
 * not answer in our place.
 * @returns null where nothing waits to be told
 */
export function takeSupervisor(env: NodeJS.ProcessEnv): Supervisor | null {
  const {
    NOTIFY_SOCKET: socket,
    WATCHDOG_USEC: patience,
    WATCHDOG_PID: pid = String(process.pid),
  } = env;
  for (const name of ['NOTIFY_SOCKET', 'WATCHDOG_USEC', 'WATCHDOG_PID']) delete env[name];
  if (socket === undefined || socket === '') return null;
  const patienceMs = Number(patience) / 1_000;
  return {socket, patienceMs: pid === String(process.pid) && patienceMs > 0 ? patienceMs : null};
}

/**
 * Tells a supervisor that the work can begin, then that the event loop runs, three times in its
 * patience, and in the end that the process stops. Returns after the last word; it never fails, for
 * the work does not hang on who watches.
 */
export async function tellSupervisor(
  {socket, patienceMs}: Supervisor,
  watched: Watched,
): Promise<void> {
  const {signal, isReady, log} = watched;
  const tell = async (...words: string[]) => {
    try {
      const env = {...process.env, NOTIFY_SOCKET: socket};
      await run('systemd-notify', words, {env, timeout: tellMs});
    } catch (error) {
      log.warn(
        {event: 'supervisor.not_told', words, reason: String(error)},
        'the supervisor was not told: systemd-notify is to be on the PATH, and NotifyAccess=all in the unit',
      );
    }
  };
  while (!signal.aborted && !(await isReady())) await pause(lookEveryMs, signal);
  if (!signal.aborted) await tell('READY=1', 'STATUS=At work');
  while (!signal.aborted) {
    if (patienceMs === null) await once(signal, 'abort');
    else {
      await pause(patienceMs / 3, signal);
      if (!signal.aborted) await tell('WATCHDOG=1');
    }
  }
  await tell('STOPPING=1', 'STATUS=Stopping');
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, {signal}).catch(() => {});
}
