import type pg from 'pg';
import {inSweepTransaction} from '../../warehouse/postgres/database.ts';
import type {SweepCounts} from '../../warehouse/sweeps/sweep.ts';
import {endSweep} from '../../warehouse/sweeps/sweeps.ts';
import {type Ended, pass, type SweepRun} from './sweep-run.ts';

/**
 * Writes how a sweep ends, in one transaction with what belongs to its end.
 * @param conclude - writes that; returns what it adds to the counts
 */
export async function endRun(
  run: SweepRun,
  end: Ended,
  conclude: (client: pg.ClientBase) => Promise<Partial<SweepCounts>> = async () => ({}),
): Promise<Ended> {
  const {deps, sweep, tally} = run;
  const done = await inSweepTransaction(deps.pool, async (client) => {
    const counts = await conclude(client);
    await endSweep(client, sweep, {...end, counts: tally.with(counts)});
    await pass(run, 'end-written');
    return counts;
  });
  tally.add(done);
  await pass(run, 'end-committed');
  return end;
}
