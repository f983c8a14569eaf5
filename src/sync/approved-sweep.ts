import type pg from 'pg';
import {inSweepTransaction} from '../warehouse/database.ts';
import {endSweep} from '../warehouse/sweeps.ts';
import {dropSuspects, type GoneNumber, keepAnswers, listTombstones} from '../warehouse/tombstones.ts';
import {askNumbers} from './ask-numbers.ts';
import {type Ended, pass, type SweepRun} from './sweep-run.ts';
import {markGone} from './write-tombstones.ts';

/**
 * Carries out what a person approved: each suspect is asked for once more, for it may have come back since; what is gone
 * is marked deleted, however much it is.
 */
export async function sweepApproved(run: SweepRun): Promise<Ended> {
  const {deps, sweep, stream} = run;
  const suspects = await listTombstones(deps.pool, sweep.sweepId);
  const about = {accountId: sweep.accountId, stream: stream.name, sweepId: sweep.sweepId};
  const keep = (client: pg.ClientBase, {gone, askedAt}: {gone: readonly GoneNumber[]; askedAt: string}) =>
    keepAnswers(client, {...about, gone, askedAt});
  const back: string[] = [];
  const doubts: string[] = [];
  const open = suspects.filter(({writtenAt}) => writtenAt === null).map(({number}) => number);
  for await (const answers of askNumbers(run, open, keep)) {
    back.push(...answers.found);
    doubts.push(...answers.unclear);
  }
  const reason = `a person let its tombstones through on ${sweep.approvedAt}; the next full sweep is to certify`;
  const end = {state: 'uncertified', reasons: [reason, ...doubts], evidence: sweep.evidence} as const;
  const done = await inSweepTransaction(deps.pool, async (client) => {
    await dropSuspects(client, sweep.sweepId, back);
    const counts = await markGone(client, run);
    await endSweep(client, sweep, {...end, counts: run.tally.with(counts)});
    await pass(run, 'end-written');
    return counts;
  });
  run.tally.add(done);
  await pass(run, 'end-committed');
  return end;
}
