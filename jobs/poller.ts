// The poller makes the queue a matter of speed and no more: every two seconds it finds by the rows alone what should be
// under way, and wakes a worker for it, whatever the queue has forgotten.

import {setTimeout as wait} from 'node:timers/promises';
import {FatalError, NoRoomError} from '../src/base/errors.ts';
import type {Outage} from './queue/outage.ts';

interface Times {
  /** From the end of a round to the next one. */
  readonly roundMs: number;
  readonly outOfReachMs: number;
}

const defaultTimes: Times = {roundMs: 2_000, outOfReachMs: 60_000};

/**
 * Goes round until told to stop. A round that fails is tried again; the first and the last of them are told.
 * @param round - looks once for what is due, and wakes workers for it
 * @returns rejects when no round has succeeded for a minute: somebody must look after the queue or the warehouse, and a
 *   supervisor may start the process anew; never resolves. A warehouse that has no room is waited for: a new process
 *   would find no more
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
        if (!signal.aborted) outage.failed(reason);
        if (cause instanceof NoRoomError) goodAt = performance.now();
        else if (performance.now() - goodAt > times.outOfReachMs) {
          throw new FatalError(
            `the queue or the warehouse has been out of reach for ${times.outOfReachMs / 1000} s: ${reason}; nothing is lost, start again when it is back`,
            {cause},
          );
        }
      }
      await wait(times.roundMs, undefined, {signal});
    }
  };
  const broken = loop().catch((error: unknown): Promise<never> => {
    // After a stop there is nobody left to tell.
    if (signal.aborted) return new Promise<never>(() => {});
    throw error;
  });
  broken.catch(() => {});
  return broken;
}
