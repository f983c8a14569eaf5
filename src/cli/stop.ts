// The requests to stop a command: the signal of a person or a supervisor, the closed pipe of its
// output's reader, the end of the npm that started it.

import {FatalError} from '../core/errors.ts';
import {tellAside} from '../core/text.ts';
import {watchParent} from './parent.ts';
import {codeOfSignal, StoppedError, type StopSignal} from './stopped.ts';

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
    `standard output: expected it to take all that is printed, got ${cause.code ?? cause.message}; make room there, or print to another place`,
    {cause},
  );
}
