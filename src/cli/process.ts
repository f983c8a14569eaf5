// The end of a process, at which an error becomes a sentence and an exit code. Also the lock of a
// `start`: it is the only one in its folder, and it notifies a supervisor that waits for it.

import {execFile} from 'node:child_process';
import {once} from 'node:events';
import {mkdir, open, rm, stat} from 'node:fs/promises';
import {connect, createServer, type Server} from 'node:net';
import {join, relative, resolve} from 'node:path';
import {setTimeout as wait} from 'node:timers/promises';
import {promisify} from 'node:util';
import {CommanderError} from 'commander';
import {
  FatalError,
  RecordError,
  RetryableError,
  seeKind,
  seePage,
  UsageError,
} from '../core/errors.ts';
import type {Logger} from '../core/log.ts';
import {printErr} from '../core/text.ts';
import {describeMissingPackage} from './launch.ts';

const exitCodes = {usage: 2, dependency: 3, bug: 70} as const;

/** raise_exception */
const raised = 'P0001';
/** The first trigger function of the context: it has no arguments, in any language of a server. */
const triggerFunction = /((?:"[^"]*"|[^\s"])+)\(\)/;
const ourFunction = /^(?:warehouse|history|mart|masked|sync|bullmq)\./;

/**
 * Turns the refusal of a trigger or an event trigger that is not ours into a FatalError with its
 * words and its name. Any other error is returned unchanged.
 */
function explainForeignTrigger(error: unknown): unknown {
  if (!(error instanceof Error) || !('code' in error) || error.code !== raised) return error;
  const context = 'where' in error ? String(error.where) : '';
  const [, name] = triggerFunction.exec(context) ?? [];
  if (name === undefined || ourFunction.test(name)) return error;
  return new FatalError(
    `Postgres: the function ${name}, which is not of Fieldmirror, refused a statement: ` +
      `${error.message}; a trigger or an event trigger calls it: let its owner allow the ` +
      `statement, then call the command again (${raised})`,
    {kind: 'warehouse'},
  );
}

/**
 * Reports the error that a command threw.
 * @returns the exit code that docs/operating.md "Exit codes" promises for it
 */
export function reportError(thrown: unknown): number {
  const error = explainForeignTrigger(thrown);
  const exitCode = exitCodeOf(error);
  // Commander has printed its own errors already, but not the reference to the documents.
  if (!(error instanceof CommanderError)) printErr(`${describeError(error, exitCode)}\n`);
  else if (exitCode === exitCodes.usage) printErr(`${seeKind('usage')}\n`);
  return exitCode;
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof FatalError || error instanceof RetryableError) return exitCodes.dependency;
  // A problem in the service's answer is not a bug in this program, whatever it is.
  if (error instanceof RecordError) return exitCodes.dependency;
  if (describeMissingPackage(error) !== null) return exitCodes.usage;
  return exitCodes.bug;
}

function describeError(error: unknown, exitCode: number): string {
  const missing = describeMissingPackage(error);
  if (missing !== null) return `${missing}\n${seeKind('package')}`;
  if (exitCode !== exitCodes.bug) {
    const page = seePage(error);
    const message = error instanceof Error ? error.message : String(error);
    return page === null ? message : `${message}\n${page}`;
  }
  const details = error instanceof Error ? error.stack : String(error);
  return `This is a bug in Fieldmirror; please report it.\n${details}\n${seeKind('bug')}`;
}

/** An unhandled error is a bug, and ends the process as one. */
export function exitOnStrayErrors(): void {
  process.once('uncaughtException', async (error) => {
    const exitCode = reportError(error);
    await flush();
    process.exit(exitCode);
  });
}

/**
 * Ends the process after the reader has received all output, however slow the reader is. A pipe
 * takes 64 KiB at once, and process.exit() alone drops the rest. Open handles (a queue that never
 * closes) do not keep the process running.
 * @param signal - the signal that stopped the command; output that could not be written is no
 *   success
 */
export async function exit(exitCode: number, signal: AbortSignal): Promise<never> {
  await flush();
  if (!(signal.reason instanceof FatalError)) process.exit(exitCode);
  const failureExitCode = reportError(signal.reason);
  await flush();
  process.exit(failureExitCode);
}

/**
 * Writes complete in order, so the last one ends after all others; its error is reported a moment
 * later.
 */
async function flush(): Promise<void> {
  const streams = [process.stdout, process.stderr];
  const flushOne = (stream: NodeJS.WriteStream) =>
    new Promise<void>((done) => stream.write('', () => setImmediate(done)));
  await Promise.all(streams.map(flushOne));
}

// Only one `start` runs for each folder of local state. The process listens on a socket in the
// folder, which the kernel closes when the process ends, however it ends. A socket file without a
// listener is a leftover, and does not count.

/** The lock of the only `start` of a folder, held by this process. */
export interface StartLock {
  /** Sets the address of the console, which a second start prints. */
  setConsole(url: string | null): void;
  release(): Promise<void>;
}

interface RunningStart {
  readonly pid: number;
  readonly console: string | null;
}

const socketFileName = 'start.sock';
/** The longest path of a socket: 108 bytes on Linux, 104 on macOS, with the zero at the end. */
const longestPathBytes = 100;
const answerMs = 2_000;
const attempts = 100;
const pauseMs = 50;
/** Removing a file takes far less time. */
const guardMs = 3_000;

/**
 * Takes the lock of the only `start` of the folder.
 * @param home - FIELDMIRROR_HOME
 * @throws {FatalError} another start is running in this folder
 */
export async function takeStartLock(home: string): Promise<StartLock> {
  const folder = resolve(home);
  // If the folder cannot be created, the creation of Postgres in it reports the reason.
  await mkdir(folder, {recursive: true}).catch(() => {});
  const shortPath = await openShortPath(folder);
  if (shortPath === null) return noLock;
  const running: {pid: number; console: string | null} = {pid: process.pid, console: null};
  const path = join(shortPath.path, socketFileName);
  try {
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const server = await listen(path, () => JSON.stringify(running));
      if (server === 'denied') return noLock;
      if (server !== 'taken')
        return {
          setConsole: (url) => {
            running.console = url;
          },
          release: () => close(server, shortPath),
        };
      const otherStart = await readRunningStart(path);
      if (otherStart !== null) throw describeRunning(home, otherStart);
      await removeLeftOver(path);
    }
  } catch (error) {
    await shortPath.close();
    throw error;
  }
  await shortPath.close();
  throw new FatalError(
    `start: expected no other start in ${home}, got several that begin at once; start again`,
    {kind: 'in-use'},
  );
}

/** If no socket can be created, a second start is not detected. */
const noLock: StartLock = {setConsole: () => {}, release: async () => {}};

function describeRunning(home: string, {pid, console}: RunningStart): FatalError {
  const consoleText = console === null ? 'it has no console yet' : `its console is at ${console}`;
  return new FatalError(
    `start: already running in ${home}: pid ${pid}; ${consoleText}, ` +
      'and fieldmirror open prints a link that signs in. Nothing was started; ' +
      'stop that one first, or set FIELDMIRROR_HOME to another folder',
    {kind: 'in-use'},
  );
}

/** A path to the folder that is short enough for a socket; null if there is none. */
async function openShortPath(
  folder: string,
): Promise<{path: string; close: () => Promise<void>} | null> {
  const short = [folder, relative(process.cwd(), folder) || '.'].toSorted(
    (a, b) => a.length - b.length,
  )[0];
  if (short !== undefined && Buffer.byteLength(join(short, socketFileName)) <= longestPathBytes)
    return {path: short, close: async () => {}};
  if (process.platform !== 'linux') return null;
  const handle = await open(folder).catch(() => null);
  return handle === null ? null : {path: `/proc/self/fd/${handle.fd}`, close: () => handle.close()};
}

async function listen(path: string, answer: () => string): Promise<Server | 'taken' | 'denied'> {
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.end(answer());
  });
  const listening = Promise.withResolvers<Server | 'taken' | 'denied'>();
  server.once('error', (error: NodeJS.ErrnoException) =>
    listening.resolve(error.code === 'EADDRINUSE' ? 'taken' : 'denied'),
  );
  server.listen(path, () => listening.resolve(server));
  const result = await listening.promise;
  server.on('error', () => {});
  server.unref();
  return result;
}

/**
 * Reads which process listens; null if none does. A process that listens and does not answer counts
 * as running.
 */
async function readRunningStart(path: string): Promise<RunningStart | null> {
  const socket = connect(path);
  const ending = new AbortController();
  const whenReceived = new Promise<string | null>((done) => {
    let received = '';
    socket.on('data', (chunk) => (received += chunk));
    socket.on('end', () => done(received));
    socket.on('error', () => done(null));
  });
  const timeout = wait(answerMs, '', {signal: ending.signal}).catch(() => '');
  const response = await Promise.race([whenReceived, timeout]);
  ending.abort();
  socket.destroy();
  if (response === null) return null;
  try {
    return JSON.parse(response) as RunningStart;
  } catch {
    return {pid: 0, console: null};
  }
}

/**
 * Removes a socket file without a listener. Two starts that begin at once both find it. One of them
 * removes it, and checks once more before: a file that another start has bound meanwhile must stay.
 */
async function removeLeftOver(path: string): Promise<void> {
  const guard = `${path}.removing`;
  const guardHandle = await open(guard, 'wx').catch(() => null);
  if (guardHandle === null) {
    await removeStaleGuard(guard);
    await wait(pauseMs);
    return;
  }
  try {
    if ((await readRunningStart(path)) === null) await rm(path, {force: true});
  } finally {
    await guardHandle.close();
    await rm(guard, {force: true});
  }
}

/** Removes a guard file whose process was killed during the removal. */
async function removeStaleGuard(guard: string): Promise<void> {
  const {mtimeMs} = await stat(guard).catch(() => ({mtimeMs: Date.now()}));
  if (Date.now() - mtimeMs > guardMs) await rm(guard, {force: true});
}

async function close(
  server: Server,
  shortPath: {readonly close: () => Promise<void>},
): Promise<void> {
  // Closing the server removes the file, too.
  await new Promise<void>((done) => server.close(() => done()));
  await shortPath.close();
}

// A supervisor that waits for notices, as systemd does for a unit of Type=notify: when the work can
// begin, that the process still runs, that it stops. Node has no sockets for datagrams. So
// systemd-notify, which exists wherever systemd does, sends each notice.

/** The socket of a supervisor, and the longest silence that it allows; null if it has no limit. */
export interface Supervisor {
  readonly socket: string;
  readonly patienceMs: number | null;
}

interface Watched {
  /** Whether the work can be done. */
  readonly isReady: () => Promise<boolean>;
  /** Aborts when the process begins to stop. */
  readonly signal: AbortSignal;
  readonly log: Logger;
}

const run = promisify(execFile);
const readinessCheckEveryMs = 500;
/** Longer than systemd-notify waits until systemd has received a notice. */
const notifyTimeoutMs = 6_000;

/**
 * Takes the address of the supervisor out of the environment, so that a Postgres that we start does
 * not send notices in our place.
 * @returns null if no supervisor waits for notices
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
 * Notifies a supervisor that the work can begin, then three times in its limit that the event loop
 * runs, and at the end that the process stops. It returns after the last notice. It never fails,
 * because the work does not depend on the supervisor.
 */
export async function notifySupervisor(
  {socket, patienceMs}: Supervisor,
  watched: Watched,
): Promise<void> {
  const {signal, isReady, log} = watched;
  const notify = async (...words: string[]) => {
    try {
      const env = {...process.env, NOTIFY_SOCKET: socket};
      await run('systemd-notify', words, {env, timeout: notifyTimeoutMs});
    } catch (error) {
      log.warn(
        {event: 'supervisor.not_notified', words, reason: String(error)},
        'the supervisor could not be notified: put systemd-notify on the PATH and ' +
          'NotifyAccess=all in the unit',
      );
    }
  };
  while (!signal.aborted && !(await isReady())) await pause(readinessCheckEveryMs, signal);
  if (!signal.aborted) await notify('READY=1', 'STATUS=Running');
  while (!signal.aborted) {
    if (patienceMs === null) await once(signal, 'abort');
    else {
      await pause(patienceMs / 3, signal);
      if (!signal.aborted) await notify('WATCHDOG=1');
    }
  }
  await notify('STOPPING=1', 'STATUS=Stopping');
}

async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await wait(ms, undefined, {signal}).catch(() => {});
}
