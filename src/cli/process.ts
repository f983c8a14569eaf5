// The process around a verb: the requests to stop it, and its end, at which an error is a sentence
// and an exit code.

import {readFileSync} from 'node:fs';
import {CommanderError} from 'commander';
import {
  FatalError,
  RecordError,
  RetryableError,
  seeKind,
  seePage,
  UsageError,
} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';
import {describeMissingPackage} from './launch.ts';

const exitCodes = {usage: 2, dependency: 3, bug: 70} as const;

/**
 * Reports the error that a command threw.
 * @returns the exit code that docs/operating.md "Exit codes" promises for it
 */
export function reportError(error: unknown): number {
  const exitCode = exitCodeOf(error);
  // Commander has reported its own errors already, but for their page.
  if (!(error instanceof CommanderError)) tellAside(`${describe(error, exitCode)}\n`);
  else if (exitCode === exitCodes.usage) tellAside(`${seeKind('usage')}\n`);
  return exitCode;
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : exitCodes.usage;
  if (error instanceof UsageError) return exitCodes.usage;
  if (error instanceof FatalError || error instanceof RetryableError) return exitCodes.dependency;
  // What the service answers is no bug of ours, whatever it is.
  if (error instanceof RecordError) return exitCodes.dependency;
  if (describeMissingPackage(error) !== null) return exitCodes.usage;
  return exitCodes.bug;
}

function describe(error: unknown, exitCode: number): string {
  const missing = describeMissingPackage(error);
  if (missing !== null) return `${missing}\n${seeKind('package')}`;
  if (exitCode !== exitCodes.bug) {
    const page = seePage(error);
    const message = error instanceof Error ? error.message : String(error);
    return page === null ? message : `${message}\n${page}`;
  }
  const told = error instanceof Error ? error.stack : String(error);
  return `This is a bug in Fieldmirror; please report it.\n${told}\n${seeKind('bug')}`;
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
 * Ends the process after all output is with its reader, however slow the reader is: a pipe takes 64
 * KiB at once, and process.exit() alone drops the rest. Handles that are still open (a queue that
 * never closes) do not keep the process.
 * @param signal - the signal that stopped the command; output that could not be written is no
 *   success
 */
export async function exit(exitCode: number, signal: AbortSignal): Promise<never> {
  await flush();
  if (!(signal.reason instanceof FatalError)) process.exit(exitCode);
  const failed = reportError(signal.reason);
  await flush();
  process.exit(failed);
}

/**
 * Writes come in order, so the last one ends after all others; its error is told a moment later.
 */
async function flush(): Promise<void> {
  const streams = [process.stdout, process.stderr];
  const flushOne = (stream: NodeJS.WriteStream) =>
    new Promise<void>((done) => stream.write('', () => setImmediate(done)));
  await Promise.all(streams.map(flushOne));
}

/** After the first request a clean stop gets this long. */
const stopMs = 9_000;

/**
 * Aborts when the command shall stop. A second signal, or a stop that takes too long, ends the
 * process at once.
 * @returns a signal; its reason is a FatalError where output cannot be written
 */
export function awaitStop(): AbortSignal {
  const stopping = new AbortController();
  const stop = (reason: Error) => {
    if (stopping.signal.aborted) return;
    stopping.abort(reason);
    setTimeout(() => process.exit(codeOf(reason)), stopMs).unref();
  };
  const stopOrEnd = (signal: StopSignal) => {
    if (stopping.signal.aborted) process.exit(codeOfSignal(signal));
    // A person looks on, and whatever comes next may take seconds.
    if (signal === 'SIGINT') tellAside('\nStopping. Ctrl-C again ends at once.\n');
    stop(new StoppedError('stopped', signal));
  };
  process.on('SIGINT', () => stopOrEnd('SIGINT'));
  process.on('SIGTERM', () => stopOrEnd('SIGTERM'));
  // Without a listener a broken pipe would end the process with a stack.
  process.stdout.on('error', (error) => stop(explainOutputError(error)));
  process.stderr.on('error', () => {});
  watchParent(process.env, () => stop(new StoppedError('npm has ended', null)));
  return stopping.signal;
}

function codeOf(reason: Error): number {
  return reason instanceof StoppedError ? codeOfSignal(reason.signal) : 1;
}

/** A reader that stops reading, as `| head -1` does, has what it wants. */
function explainOutputError(cause: NodeJS.ErrnoException): Error {
  if (cause.code === 'EPIPE') return new StoppedError('nobody reads on', null, cause);
  return new FatalError(
    'standard output: expected it to take all that is printed, ' +
      `got ${cause.code ?? cause.message}; make room there, or print to another place`,
    {cause},
  );
}

/** The signals that ask a command to stop. */
type StopSignal = 'SIGINT' | 'SIGTERM';

/** A command was asked to stop, and ends before it has done what it was asked for. */
export class StoppedError extends Error {
  override readonly name = 'StoppedError';
  /** The signal that asked; null where nobody reads the output, or npm has ended. */
  readonly signal: StopSignal | null;

  constructor(message: string, signal: StopSignal | null, cause?: unknown) {
    super(message, {cause});
    this.signal = signal;
  }
}

/** As shells have it: 128 and the number of the signal. */
export function codeOfSignal(signal: StopSignal | null): number {
  if (signal === null) return 1;
  return signal === 'SIGINT' ? 130 : 143;
}

// A signal to npm is meant for the program that npm runs, but npm cannot pass a SIGKILL on: `start`
// and `http` would go on as orphans, and keep their ports. So a process that npm runs ends with its
// npm. Any other process lives on when its parent ends: it was put into the background on purpose
// (nohup, setsid, a supervisor). Standard input tells nothing here: cron closes it at once.

/**
 * A process and its parent, as they were at the start; after the parent's end another one takes its
 * place.
 */
interface Link {
  readonly pid: number;
  readonly parentPid: number;
}

type Environment = Readonly<Record<string, string | undefined>>;

const lookEveryMs = 1_000;
const shells = new Set(['sh', 'ash', 'dash', 'bash', 'zsh']);
const detaching = /\b(nohup|setsid|daemonize|systemd-run)\b|&\s*$/;

/** Calls back once when the npm that runs this process has ended; never where no npm runs it. */
function watchParent(env: Environment, onEnd: () => void): void {
  if (!isRunByNpm(env)) return;
  const links = linksToNpm();
  const timer = setInterval(() => {
    if (links.every(({pid, parentPid}) => parentOf(pid) === parentPid)) return;
    clearInterval(timer);
    onEnd();
  }, lookEveryMs);
  timer.unref();
}

/**
 * Whether npm (or pnpm, yarn) runs a script that is this program, and not one that leaves it behind
 * on purpose.
 */
export function isRunByNpm({
  npm_lifecycle_event: event,
  npm_lifecycle_script: script = '',
}: Environment): boolean {
  return event !== undefined && /fieldmirror|main\.ts/.test(script) && !detaching.test(script);
}

/**
 * npm runs a script in a shell. Some shells stay between npm and us, others give us their place.
 */
function linksToNpm(): Link[] {
  const own = {pid: process.pid, parentPid: process.ppid};
  const above = shells.has(nameOf(own.parentPid)) ? parentOf(own.parentPid) : null;
  return above === null ? [own] : [own, {pid: own.parentPid, parentPid: above}];
}

/** Null where it cannot be told. */
function parentOf(pid: number): number | null {
  if (pid === process.pid) return process.ppid;
  // "9182 (sh) S 9171 …": the name may hold blanks and brackets.
  const parent = readProcess(pid, 'stat')?.replace(/^.*\) \S /s, '');
  return parent === undefined ? null : Number.parseInt(parent, 10);
}

function nameOf(pid: number): string {
  return readProcess(pid, 'comm')?.trim() ?? '';
}

/**
 * Linux alone has these files. Elsewhere `sh` gives its place to the program, and our own parent is
 * npm.
 */
function readProcess(pid: number, file: 'stat' | 'comm'): string | undefined {
  try {
    return readFileSync(`/proc/${pid}/${file}`, 'utf8');
  } catch {
    return undefined;
  }
}
