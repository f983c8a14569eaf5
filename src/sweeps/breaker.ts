// The breaker stops a mass deletion: a service that lost its records, or shows another business,
// must not empty a warehouse. full-sweep.ts asks it.

import type {DeletionLimit} from '../accounts/deletion-limits.ts';
import type {NumberSet} from '../core/number-set.ts';
import {endRun} from './end-run.ts';
import type {Evidence} from './evidence.ts';
import {type Finished, type SweepRun, scopeOf} from './sweep-run.ts';
import {keepSuspects} from './tombstones.ts';

/** A sweep is stopped above the larger of these two, ... */
const usual = {rows: 50, percent: 2};
/**
 * ... and already above the larger of these, so that a short list does not lose most of its rows
 * unseen.
 */
const ofShortList = {rows: 3, percent: 10};

/**
 * How many rows one sweep may mark as deleted without a person.
 * @param set - what the account has set for the stream; null for the default
 */
export function tombstoneLimit(liveRows: number, set: DeletionLimit | null): number {
  const share = (percent: number) => Math.floor((liveRows * percent) / 100);
  if (set !== null) return 'rows' in set ? set.rows : share(set.percent);
  const larger = ({rows, percent}: typeof usual) => Math.max(rows, share(percent));
  return Math.min(larger(usual), larger(ofShortList));
}

/**
 * Ends a sweep as stopped: no row is marked deleted, and the rows that would be are listed for a
 * person.
 */
export async function trip(
  run: SweepRun,
  stopped: {readonly evidence: Evidence; readonly suspects: NumberSet; readonly reason: string},
): Promise<Finished> {
  const {evidence, suspects, reason} = stopped;
  return await endRun(run, {state: 'stopped', reasons: [reason], evidence}, async (client) => {
    await keepSuspects(client, {...scopeOf(run), numbers: [...suspects]});
    return {};
  });
}
