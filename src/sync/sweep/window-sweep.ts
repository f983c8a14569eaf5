import {readFirstPass} from '../load/read-list.ts';
import {doubtsOfList} from '../verify/list-doubts.ts';
import {endRun} from './end-run.ts';
import type {Ended, SweepRun} from './sweep-run.ts';

/**
 * Brings what a filter lets through. What it does not let through is not looked at, so nothing follows from absence, and
 * no window is certified: one that was read as a whole is refreshed.
 */
export async function sweepWindow(run: SweepRun): Promise<Ended> {
  const first = await readFirstPass(run);
  const {lastPage, endedBy, seen} = first;
  const evidence = {firstPass: {lastPage, endedBy, numbers: seen.size}};
  const reasons = doubtsOfList(run, first);
  return await endRun(run, {state: reasons.length === 0 ? 'refreshed' : 'uncertified', reasons, evidence});
}
