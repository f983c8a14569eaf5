// The requests to stop a command: signals, output that no one reads, and the end of the npm that
// runs it.

import {readFileSync} from 'node:fs';
import {FatalError} from '../core/errors.ts';
import {printErr} from '../core/text.ts';

/** After the first request to stop, a clean stop gets this long. */
const stopMs = 9_000;

const stopping = new AbortController();

/** Aborts when the command must stop; its reason is a FatalError if output cannot be written. */
export const stopSignal = stopping.signal;

/**
 * Lets signals to the process, and output that cannot be written, abort `stopSignal`. A second
 * signal, or a stop that takes too long, ends the process at once.
 */
export function awaitStop(): AbortSignal {
  const stop = (reason: Error) => {
    if (stopping.signal.aborted) return;
    stopping.abort(reason);
    setTimeout(() => process.exit(toExitCode(reason)), stopMs).unref();
  };
  const stopOrEnd = (signal: StopSignal) => {
    if (stopping.signal.aborted) process.exit(codeOfSignal(signal));
    // A person is watching, and the stop may take seconds.
    if (signal === 'SIGINT') printErr('\nStopping. Ctrl-C again ends at once.\n');
    stop(new StoppedError('stopped', signal));
  };
  process.on('SIGINT', () => stopOrEnd('SIGINT'));
  process.on('SIGTERM', () => stopOrEnd('SIGTERM'));
  // Without a listener a broken pipe would end the process with a stack trace.
  process.stdout.on('error', (error) => stop(explainOutputError(error)));
  process.stderr.on('error', () => {});
  watchParent(process.env, () => stop(new StoppedError('npm has ended', null)));
  return stopSignal;
}

/**
 * Waits for what a person types, but only until the command must stop.
 * @param outcome - printed after a stop: what was not done
 * @throws the reason of the stop
 */
export async function awaitTyped<T>(typed: Promise<T>, outcome: string): Promise<T> {
  const stopped = Promise.withResolvers<never>();
  const stop = () => {
    printErr(`${outcome}\n`);
    stopped.reject(stopSignal.reason);
  };
  if (stopSignal.aborted) stop();
  else stopSignal.addEventListener('abort', stop, {once: true});
  try {
    return await Promise.race([stopped.promise, typed]);
  } finally {
    stopSignal.removeEventListener('abort', stop);
  }
}

/** A prompt that reads each key itself receives Ctrl-C as a key: this makes it a signal. */
export function signalCtrlC(): void {
  process.kill(process.pid, 'SIGINT');
}

function toExitCode(reason: Error): number {
  return reason instanceof StoppedError ? codeOfSignal(reason.signal) : 1;
}

/** A reader that stops reading, as `| head -1` does, has received all it wanted. */
function explainOutputError(cause: NodeJS.ErrnoException): Error {
  if (cause.code === 'EPIPE') return new StoppedError('no one reads on', null, cause);
  return new FatalError(
    'standard output: expected it to take all that is printed, ' +
      `got ${cause.code ?? cause.message}; make room there, or print to another place`,
    {cause},
  );
}

/** The signals that request a command to stop. */
type StopSignal = 'SIGINT' | 'SIGTERM';

/** A command received a request to stop, and ends before it has finished. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  /** The signal that requested it; null if the output has no reader, or npm has ended. */
  readonly signal: StopSignal | null;

  constructor(message: string, signal: StopSignal | null, cause?: unknown) {
    super(message, {cause});
    this.signal = signal;
  }
}

/** As shells do: 128 plus the number of the signal. */
export function codeOfSignal(signal: StopSignal | null): number {
  if (signal === null) return 1;
  return signal === 'SIGINT' ? 130 : 143;
}

/**
 * The exit code of a program that runs until it is stopped. If its output lost its reader, such as
 * the journal that a supervisor keeps, the supervisor must start it again.
 */
export function codeOfStop({reason}: AbortSignal): number {
  return reason instanceof StoppedError && reason.cause !== undefined ? 3 : 0;
}

// A signal to npm is meant for the program that npm runs, but npm cannot forward a SIGKILL. `start`
// and `http` would then continue as orphans, and keep their ports. So a process that npm runs ends
// with its npm. Any other process continues when its parent ends: it was put into the background on
// purpose (nohup, setsid, a supervisor). Standard input is no evidence here: cron closes it at
// once.

/**
 * A process and its parent, as they were at the start. After the parent has ended, the process gets
 * another parent.
 */
interface Link {
  readonly pid: number;
  readonly parentPid: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const parentCheckEveryMs = 1_000;
const shells = new Set(['sh', 'ash', 'dash', 'bash', 'zsh']);
const detachPattern = /\b(nohup|setsid|daemonize|systemd-run)\b|&\s*$/;

/** Calls `onEnd` once when the npm that runs this process has ended; never if no npm runs it. */
function watchParent(env: Environment, onEnd: () => void): void {
  if (!isRunByNpm(env)) return;
  const links = listLinksToNpm();
  const timer = setInterval(() => {
    if (links.every(({pid, parentPid}) => readParentPid(pid) === parentPid)) return;
    clearInterval(timer);
    onEnd();
  }, parentCheckEveryMs);
  timer.unref();
}

/**
 * Whether npm (or pnpm, yarn) runs a script that is this program, and that does not detach it on
 * purpose.
 */
export function isRunByNpm({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script = '',
}: Environment): boolean {
  return event !== undefined && /fieldmirror|main\.ts/.test(script) && !detachPattern.test(script);
}

/**
 * npm runs a script in a shell. Some shells stay between npm and this process, others are replaced
 * by it.
 */
function listLinksToNpm(): Link[] {
  const own = {pid: process.pid, parentPid: process.ppid};
  const shellParentPid = shells.has(readProcessName(own.parentPid))
    ? readParentPid(own.parentPid)
    : null;
  return shellParentPid === null ? [own] : [own, {pid: own.parentPid, parentPid: shellParentPid}];
}

/** @returns null if the parent is not known */
function readParentPid(pid: number): number | null {
  if (pid === process.pid) return process.ppid;
  // In "9182 (sh) S 9171 …" the name may contain blanks and brackets.
  const parent = readProcess(pid, 'stat')?.replace(/^.*\) \S /s, '');
  return parent === undefined ? null : Number.parseInt(parent, 10);
}

function readProcessName(pid: number): string {
  return readProcess(pid, 'comm')?.trim() ?? '';
}

/** Only Linux has these files. Elsewhere the program replaces `sh`, and our own parent is npm. */
function readProcess(pid: number, file: 'stat' | 'comm'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
