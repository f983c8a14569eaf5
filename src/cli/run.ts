// The process around the command line: signals stop it, and what is thrown becomes an exit code.

import {exit, exitCodeOf, exitOnStrayErrors, reportError} from './exit.ts';
import {buildProgram} from './program.ts';
import {awaitStop} from './stop.ts';
import {codeOfSignal, StoppedError} from './stopped.ts';

exitOnStrayErrors();
const signal = awaitStop();

/** Stopped by a person: what was under way goes on at the next start. */
function endStopped(error: unknown): number {
  const exitCode = exitCodeOf(error);
  if (exitCode !== 70) return exitCode;
  return signal.reason instanceof StoppedError ? codeOfSignal(signal.reason.signal) : 1;
}

try {
  await buildProgram(signal).parseAsync();
} catch (error) {
  process.exitCode = signal.aborted ? endStopped(error) : reportError(error);
}
await exit(Number(process.exitCode ?? 0), signal);
