// The second to the fourth step of a change: its request is composed and noted before its first
// byte, then sent, once; then the record is read for what the answer leaves open. Requests that are
// about to be sent beside each other are noted in one transaction.

import type pg from 'pg';
import {sendWrite, type WriteResult} from '../api/client.ts';
import type {WriteRequest} from '../api/transport.ts';
import {type Begun, beginSending, onItsWay} from '../changes/move-changes.ts';
import {composeRequest, type Subject} from '../changes/request.ts';
import {RetryableError} from '../core/errors.ts';
import {inTransaction} from '../postgres/database.ts';
import {violatedConstraint} from '../postgres/database-errors.ts';
import {numberOf} from '../streams/record-rows.ts';
import type {SendOutcome} from './decide.ts';
import {type Decision, postpone, type SendPlan} from './decision.ts';
import {type ChangeFacts, kindsOf, type Remote} from './facts.ts';
import {remoteNumberOf, remoteNumberOfCreated} from './plan.ts';
import {readBack} from './remote.ts';
import {atStep, Batcher, type Beginning, type Beginnings, type PushRun} from './run.ts';

/** A request that is noted, and may be sent. */
interface Sendable {
  readonly what: 'begun';
  readonly plan: SendPlan;
  readonly begun: Begun;
  readonly request: Pick<WriteRequest, 'method' | 'path' | 'body'>;
  /** The kinds of the values that the request bears. */
  readonly kinds: readonly string[];
}

/** A twin of a create waits until the fate of the other is known. */
const twinDelayMs = 5_000;

/**
 * Notes the request of a change.
 * @throws {RetryableError} the change is no longer ours
 * @throws {RecordError} a value that cannot be written
 */
export async function begin(run: PushRun, plan: SendPlan): Promise<Sendable | Decision> {
  const {fields, subject} = plan;
  const {writes, account, change} = run;
  const request = composeRequest(writes, subject, {fields, timeZone: account.timeZone});
  const kinds = kindsOf(run, fields);
  const begun = await note(run, plan, {kinds, request});
  if (begun === 'lost')
    throw new RetryableError(
      `change ${change.changeId}: another worker has taken it over, its account is paused, ` +
        'or the service has just altered such a value',
    );
  if (begun === 'twin')
    return postpone('another create with the same content is on its way', twinDelayMs);
  await atStep(run, 'sending-committed');
  return {what: 'begun', plan, begun, request, kinds};
}

async function note(
  run: PushRun,
  {narrowed, conflicts, before}: SendPlan,
  {request: {method, path, body}, kinds}: Pick<Sendable, 'request' | 'kinds'>,
): Promise<Beginning> {
  const readAt = before === null ? null : readingTime(run, before);
  const sending = {
    claim: run.change,
    method,
    path,
    request: body ?? null,
    narrowed,
    conflicts,
    kinds,
    readAt,
  };
  return await run.beginnings.do({run, sending});
}

/** When a record was asked for, by the database's clock; rather too early than too late. */
function readingTime({change, heldMs}: ChangeFacts, {askedAt}: Remote): string {
  return new Date(Date.parse(change.claimedAt) + askedAt - heldMs).toISOString();
}

export function beginBatch(pool: pg.Pool): Beginnings {
  return new Batcher(async (items) => {
    try {
      return await inTransaction(pool, async (client) => {
        const begun = await beginSending(
          client,
          items.map(({sending}) => sending),
        );
        for (const {run} of items) await atStep(run, 'sending-written');
        return begun.map((one): Beginning => one ?? 'lost');
      });
    } catch (error) {
      if (items.length === 1 && violatedConstraint(error) === onItsWay) return ['twin'];
      throw error;
    }
  });
}

type Written = Extract<WriteResult, {outcome: 'done'}>;

/** Sends a request, once, when its turn has come. */
export async function send(run: PushRun, {request, kinds}: Sendable): Promise<WriteResult> {
  const {writes, account, signal, paused} = run;
  const names = {list: writes.list, item: writes.resource};
  // The request may wait long for its turn, behind others or while the process sleeps. By then
  // another worker may have sent the change again.
  const guard = {
    onTurn: () => atStep(run, 'turn'),
    mayStart: () => run.lease.isHeld() && !run.stops.areAmong(kinds) && !paused.aborted,
    leave: AbortSignal.any([signal, paused]),
  };
  const result = await sendWrite(account.api.transport, {...request, ...guard, signal}, names);
  await atStep(run, 'answered');
  return result;
}

/** Reads the record after a request that the service has done. */
export async function judge(
  run: PushRun,
  sent: Sendable,
  result: WriteResult,
): Promise<SendOutcome> {
  const {plan, begun} = sent;
  const outcome = {plan, begun, result, created: null, after: null};
  if (result.outcome !== 'done') return outcome;
  const {subject} = plan;
  const created = subject.operation === 'create' ? numberIn(run, result) : null;
  const remoteNumber = numberToRead(run, subject, created);
  return {
    ...outcome,
    created,
    after: remoteNumber === null ? null : await readBack(run, remoteNumber),
  };
}

/**
 * The number of the record that shows the write; null where there is none any more, or its number
 * is unknown.
 */
function numberToRead(run: PushRun, subject: Subject, created: string | null): string | null {
  if (subject.operation === 'delete') return null;
  if (subject.operation === 'update') return remoteNumberOf(subject);
  return created === null ? null : remoteNumberOfCreated(run, subject, created);
}

function numberIn({writes, stream}: PushRun, {record, locatedNumber}: Written): string | null {
  if (record === null) return locatedNumber;
  return numberOf(writes.isNested ? {...stream, key: writes.key} : stream, record) ?? locatedNumber;
}
