// The row has recorded the sweep's outcome; the queue is told only that the job was taken. So this is the one
// place that turns results into log lines for an operator.

import {AccessError} from '../src/base/errors.ts';
import type {Logger} from '../src/base/log.ts';
import type {SweepResult} from '../src/sync/sweep/run-sweep.ts';

export function reportOutcome(log: Logger, sweepId: string, result: SweepResult): void {
  if (result.outcome === 'not-due') {
    log.debug({sweepId}, 'the sweep is not due, or another worker has it');
  } else if (result.outcome === 'ended') {
    log.info({sweepId, state: result.state, ...result.counts}, 'the sweep ended');
  } else if (result.outcome === 'postponed') {
    const {delayMs, error} = result;
    // Without a delay nothing failed: the process was told to stop, and said so.
    const level = delayMs === 0 ? 'info' : 'warn';
    log[level]({sweepId, delayMs, reason: error.message}, 'the sweep waits and goes on');
  } else if (result.error instanceof AccessError) {
    // All sweeps under way of the account end so; the account's own line says it once.
    log.debug({sweepId, reason: result.error.message}, 'the sweep failed: its account is refused');
  } else {
    const {name, message} = result.error;
    log.error({sweepId, kind: name, reason: message}, 'the sweep failed');
  }
}
