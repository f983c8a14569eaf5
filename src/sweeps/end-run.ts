import type pg from 'pg';
import {inSweepTransaction} from '../postgres/database.ts';
import type {SweepCounts} from './sweep.ts';
import {type Ended, type Finished, pass, type SweepRun} from './sweep-run.ts';
import {endSweep} from './sweeps.ts';

/**
 * Writes the end of a sweep, in one transaction with the writes that belong to it.
 * @param conclude - makes those writes; returns the counts they add
 */
export async function endRun(
  run: SweepRun,
  end: Ended,
  conclude: (client: pg.ClientBase) => Promise<Partial<SweepCounts>> = async () => ({}),
): Promise<Finished> {
  const {deps, sweep, tally, account} = run;
  // A reason may name an element or a word that the service sent.
  const reasons = end.reasons.map((reason) => account.api.transport.hide(reason));
  const {counts, durationMs} = await inSweepTransaction(deps.pool, async (client) => {
    const counts = await conclude(client);
    const durationMs = await endSweep(client, sweep, {...end, reasons, counts: tally.with(counts)});
    await pass(run, 'end-written');
    return {counts, durationMs};
  });
  tally.add(counts);
  await pass(run, 'end-committed');
  return {...end, reasons, durationMs};
}
