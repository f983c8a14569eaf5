// The breaker stops a mass deletion: a service that lost its records, or shows another business, must not empty a warehouse.
// full-sweep.ts asks it.

import type {NumberSet} from '../../base/memory/number-set.ts';
import type {Evidence} from '../../warehouse/sweeps/evidence.ts';
import {keepSuspects} from '../../warehouse/sweeps/tombstones.ts';
import {endRun} from './end-run.ts';
import {type Finished, type SweepRun, scopeOf} from './sweep-run.ts';

const alwaysAllowed = 50;
const share = 0.02;

/** How many tombstones one sweep may write without a person. */
export function tombstoneLimit(liveRows: number): number {
  return Math.max(alwaysAllowed, Math.floor(liveRows * share));
}

/** Ends a sweep as stopped: no row is marked deleted, and the rows that would be are listed for a person. */
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
