import type pg from 'pg';
import {askNumbers} from './ask-numbers.ts';
import {endRun} from './end-run.ts';
import {markGone} from './mark-gone.ts';
import {type Finished, type SweepRun, scopeOf} from './sweep-run.ts';
import {dropSuspects, type GoneNumber, keepAnswers, listTombstones} from './tombstones.ts';

/**
 * Carries out a person's approval: each suspect is asked for once more, because it may have come
 * back since. All that are gone are marked deleted, however many they are.
 */
export async function sweepApproved(run: SweepRun): Promise<Finished> {
  const {deps, sweep} = run;
  const suspects = await listTombstones(deps.pool, sweep.sweepId);
  const keep = (
    client: pg.ClientBase,
    {gone, askedAt}: {gone: readonly GoneNumber[]; askedAt: string},
  ) => keepAnswers(client, {...scopeOf(run), gone, askedAt});
  const back: string[] = [];
  const doubts: string[] = [];
  const open = suspects.filter(({writtenAt}) => writtenAt === null).map(({number}) => number);
  for await (const answers of askNumbers(run, open, keep)) {
    back.push(...answers.found);
    doubts.push(...answers.unclear);
  }
  const reason = `a person let its tombstones through on ${sweep.approvedAt}; the next full sweep is to certify`;
  const end = {
    state: 'uncertified',
    reasons: [reason, ...doubts],
    evidence: sweep.evidence,
  } as const;
  return await endRun(run, end, async (client) => {
    await dropSuspects(client, sweep.sweepId, back);
    return await markGone(client, run);
  });
}
