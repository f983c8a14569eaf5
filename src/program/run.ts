// The process around the command line: signals stop it, and what is thrown becomes an exit code.

import {exit, exitCodeOf, exitOnStrayErrors, reportError} from '../commands/process/exit.ts';
import {awaitStop} from '../commands/process/stop.ts';
import {buildProgram} from './program.ts';

exitOnStrayErrors();
const signal = awaitStop();

/** Stopped by a person: what was under way goes on at the next start. */
function endStopped(error: unknown): number {
  const exitCode = exitCodeOf(error);
  return exitCode === 70 ? 1 : exitCode;
}

try {
  await buildProgram(signal).parseAsync();
} catch (error) {
  process.exitCode = signal.aborted ? endStopped(error) : reportError(error);
}
await exit(Number(process.exitCode ?? 0), signal);
