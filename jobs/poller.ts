// The poller makes the queue a matter of speed and no more: every two seconds it finds by the rows
// alone the work that is due, and wakes a worker for it, even where the queue has forgotten it.

import {setTimeout as wait} from 'node:timers/promises';
import {FatalError, NoRoomError} from '../src/core/errors.ts';
import type {Outage} from './queue-outage.ts';

interface Times {
  /** From the end of a round to the next one. */
  readonly roundMs: number;
  readonly outOfReachMs: number;
}

const defaultTimes: Times = {roundMs: 2_000, outOfReachMs: 60_000};

/**
 * Goes round until told to stop. A failed round is tried again; an outage is logged at its start
 * and end, with each reason once.
 * @param round - looks once for due work, and wakes workers for it
 * @returns rejects when no round has succeeded for a minute: a person must look after the queue or
 *   the
 *   warehouse, and a supervisor may start the process anew; never resolves. A warehouse that has no room is
 *   waited for: a new process would find no more
 */
export function poll(
  round: () => Promise<void>,
  {
    outage,
    signal,
    times = defaultTimes,
  }: {readonly outage: Outage; readonly signal: AbortSignal; readonly times?: Times},
): Promise<never> {
  const loop = async (): Promise<never> => {
    for (let goodAt = performance.now(); ; ) {
      try {
        await round();
        goodAt = performance.now();
        outage.succeeded();
      } catch (cause) {
        const reason = cause instanceof Error ? cause.message : String(cause);
        if (!signal.aborted) outage.roundFailed(reason);
        if (cause instanceof NoRoomError) goodAt = performance.now();
        else if (performance.now() - goodAt > times.outOfReachMs) {
          throw new FatalError(
            `the queue or the warehouse has been out of reach for ${times.outOfReachMs / 1000} s: ${reason}; nothing is lost, start again when it is back`,
            {cause, kind: 'outage'},
          );
        }
      }
      await wait(times.roundMs, undefined, {signal});
    }
  };
  const broken = loop().catch((error: unknown): Promise<never> => {
    // After a stop the failure has no listener left.
    if (signal.aborted) return new Promise<never>(() => {});
    throw error;
  });
  broken.catch(() => {});
  return broken;
}
