import {RecordError} from '../errors.ts';
import {isLive} from '../warehouse/held-numbers.ts';
import {keepAnswers} from '../warehouse/tombstones.ts';
import {type Answers, askNumbers} from './ask-numbers.ts';
import {endRun} from './end-run.ts';
import {type Ended, type SweepRun, scopeOf} from './sweep-run.ts';
import {markGone} from './write-tombstones.ts';

/**
 * Asks for one record by its number and brings it into the warehouse; one that is held and gone gets its tombstone.
 * @throws {RecordError} there is no such record and no row of it, or what came cannot be taken
 */
export async function sweepRecord(run: SweepRun): Promise<Ended> {
  const {deps, sweep, stream} = run;
  const number = sweep.recordNumber ?? '';
  const isHeld = await isLive(deps.pool, sweep.accountId, {table: stream.table, number});
  for await (const answers of askNumbers(run, [number], async (client, {gone, askedAt}) => {
    if (isHeld) await keepAnswers(client, {...scopeOf(run), gone, askedAt});
  })) {
    checkAnswer(run, answers, isHeld);
  }
  const end = {state: 'certified', reasons: [], evidence: {}} as const;
  return await endRun(run, end, (client) => markGone(client, run));
}

function checkAnswer({sweep, stream}: SweepRun, answers: Answers, isHeld: boolean): void {
  const {found, gone, unclear} = answers;
  const thing = `${stream.name} ${sweep.recordNumber}`;
  const [absent] = gone;
  if (absent !== undefined && !isHeld)
    throw new RecordError(`${thing}: expected the record, got ${absent.status} "${absent.words}"`);
  if (unclear[0] !== undefined) throw new RecordError(unclear[0]);
  if (found.length + gone.length === 0)
    throw new RecordError(`${thing}: the record came and could not be taken; it is in sync.quarantine`);
}
