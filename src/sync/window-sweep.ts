import {endSweep} from '../warehouse/sweeps.ts';
import {readList} from './read-list.ts';
import type {Ended, SweepRun} from './sweep-run.ts';

/** Brings what a filter lets through. What it does not let through is not looked at, so nothing follows from absence. */
export async function sweepWindow(run: SweepRun): Promise<Ended> {
  const {lastPage, endedBy, seen} = await readList(run);
  const evidence = {firstPass: {lastPage, endedBy, numbers: seen.size}};
  const reasons = ['a window shows a part of the stream, and proves nothing of the rest'];
  await endSweep(run.deps.pool, run.sweep, {
    state: 'uncertified',
    reasons,
    evidence,
    counts: run.tally.counts,
  });
  return {state: 'uncertified', reasons, evidence};
}
