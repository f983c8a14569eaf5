import {endRun} from './end-run.ts';
import {doubtsOfList} from './list-doubts.ts';
import {readFirstPass} from './read-list.ts';
import {readOlderAgain} from './read-older-again.ts';
import type {Finished, SweepRun} from './sweep-run.ts';

/**
 * Brings the records that a filter lets through. The others are not looked at, so nothing follows
 * from absence, and no window is certified: a window that was read as a whole is refreshed.
 */
export async function sweepWindow(run: SweepRun): Promise<Finished> {
  const first = await readFirstPass(run);
  await readOlderAgain(run, async () => {});
  const {lastPage, endedBy, seen} = first;
  const evidence = {firstPass: {lastPage, endedBy, numbers: seen.size}};
  const reasons = doubtsOfList(run, first);
  return await endRun(run, {
    state: reasons.length === 0 ? 'refreshed' : 'uncertified',
    reasons,
    evidence,
  });
}
