// The end of a command: an error becomes a sentence and an exit code, and all output is written
// before the process ends.

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
import {describeMissingPackage} from './missing-package.ts';

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
