import {RecordError} from '../core/errors.ts';
import {isLive} from '../rows/held-numbers.ts';
import {type Answers, askNumbers} from './ask-numbers.ts';
import {endRun} from './end-run.ts';
import type {Evidence} from './evidence.ts';
import {markGone} from './mark-gone.ts';
import {pauseForNewer} from './read-older-again.ts';
import {type Finished, type SweepRun, scopeOf} from './sweep-run.ts';
import {keepAnswers} from './tombstones.ts';

/**
 * Asks for one record by its number and brings it into the warehouse. A held record that is gone
 * gets its tombstone. "No such record" is an answer too: where no row of it is held, both sides
 * agree already.
 * @throws {RecordError} the record that came cannot be taken, or the answer is not about it
 */
export async function sweepRecord(run: SweepRun): Promise<Finished> {
  const {deps, sweep, stream} = run;
  const number = sweep.recordNumber ?? '';
  const isHeld = await isLive(deps.pool, sweep.accountId, {table: stream.table, number});
  let evidence: Evidence = {};
  const reasons: string[] = [];
  for await (const answers of askNumbers(run, [number], async (client, {gone, askedAt}) => {
    if (isHeld) await keepAnswers(client, {...scopeOf(run), gone, askedAt});
  })) {
    if (answers.older.length > 0) await pauseForNewer(run);
    checkAnswer(run, answers);
    reasons.push(...answers.untold);
    const [gone] = answers.gone;
    if (gone !== undefined) evidence = {absent: {status: gone.status, words: gone.words}};
  }
  const state = reasons.length === 0 ? 'certified' : 'uncertified';
  return await endRun(run, {state, reasons, evidence}, (client) => markGone(client, run));
}

function checkAnswer({sweep, stream}: SweepRun, {found, gone, unclear}: Answers): void {
  const thing = `${stream.name} ${sweep.recordNumber}`;
  if (unclear[0] !== undefined) throw new RecordError(unclear[0]);
  if (found.length + gone.length === 0)
    throw new RecordError(
      `${thing}: the record came and could not be taken: fieldmirror quarantine list`,
    );
}
