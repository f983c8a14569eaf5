import {type Gone, isGone} from '../api/verdict.ts';
import {readRecord} from '../api/xml-read.ts';
import {RecordError, RetryableError} from '../core/errors.ts';
import {readRows} from '../streams/record-rows.ts';
import {listUnsaid} from '../streams/unsaid-parts.ts';
import {embedCustomer, embedMissing, includeOf, pathOf} from '../sweeps/requests.ts';
import {atStep, type ChangeContext} from './change-context.ts';
import {elementOf, type Remote} from './remote.ts';

/**
 * Reads the record of a change's stream by its number, and the element that the change is about
 * where the record leaves it out.
 * @throws {RecordError} the record came, and cannot be taken
 * @throws {RetryableError} no place tells the element that the change is about, so the change's
 *   fate stays
 *   unknown
 */
export async function readRemote(run: ChangeContext, number: string): Promise<Remote | Gone> {
  const askedAt = performance.now();
  const {deps, change, stream, account, signal} = run;
  const path = pathOf(stream, number);
  const call = {signal, urgency: 'write-back'} as const;
  const answer = await account.api.transport.read({path, query: includeOf(stream), ...call});
  if (isGone(answer)) return answer;
  const thing = `GET ${path} at ${account.api.transport.place}`;
  const shown = readRecord(answer.body, stream, {thing, contentType: answer.contentType});
  const {accountId} = change;
  const hanging = elementOf(run);
  const wanted = [
    ...(hanging === null ? [] : [hanging]),
    ...('employee_ids' in change.fields ? ['employees'] : []),
  ];
  const place = {pool: deps.pool, accountId, account, stream, call};
  const record = await embedMissing(place, await embedCustomer(place, shown), wanted);
  const remote = readRows(stream, record, account);
  if (remote.number !== number)
    throw new RecordError(`${thing}: expected ${stream.item} ${number}, got ${remote.number}`);
  if (hanging !== null && !remote.children.some(({element}) => element === hanging))
    throw new RetryableError(
      `${thing}: expected its ${hanging}, got the record without, and no list told them`,
    );
  return {
    ...remote,
    record,
    unsaid: listUnsaid(stream, record),
    askedAt,
    dateHeader: answer.dateHeader,
  };
}

/** Reads the record that was just written; null when it cannot be read now. */
export async function readBack(run: ChangeContext, number: string): Promise<Remote | null> {
  try {
    const remote = await readRemote(run, number);
    await atStep(run, 'read-back');
    return isGone(remote) ? null : remote;
  } catch (error) {
    run.signal.throwIfAborted();
    const {accountName: account, changeId: change} = run.change;
    run.deps.log.debug(
      {event: 'change.unread', account, change, reason: String(error)},
      'a record that was written could not be read back',
    );
    return null;
  }
}
