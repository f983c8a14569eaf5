// The second step of a change: its request is composed and noted, before its first byte.

import type {WriteRequest} from '../api/transport.ts';
import {composeRequest} from '../changes/compose-request.ts';
import type {Begun} from '../changes/move-changes.ts';
import {RetryableError} from '../core/errors.ts';
import type {Secret} from '../core/secret.ts';
import type {Beginning} from './begin-batch.ts';
import {atStep} from './change-context.ts';
import {type Decision, postpone, type SendPlan} from './decision.ts';
import type {ChangeFacts} from './facts.ts';
import {kindsOf} from './kinds.ts';
import type {PushRun} from './push-run.ts';
import type {Remote} from './remote.ts';
import {type Unmasked, unmask} from './send-password.ts';

/** A request that is noted, and may be sent. */
export interface Sendable {
  readonly what: 'begun';
  readonly plan: SendPlan;
  readonly begun: Begun;
  /** With its password, where it has one. */
  readonly request: Pick<WriteRequest, 'method' | 'path' | 'body'>;
  readonly password: Secret | null;
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
  const unmasked = await unmask(run, plan.fields);
  if ('what' in unmasked) return unmasked;
  const {password, fields} = unmasked;
  const {writes, account, change} = run;
  const compose = (given: Unmasked['fields']) =>
    composeRequest(writes, plan.subject, {fields: given, timeZone: account.timeZone});
  const request = compose(fields);
  const kinds = kindsOf(run, fields);
  const begun = await note(run, plan, {
    kinds,
    shown: password === null ? request : compose(unmasked.shown),
  });
  if (begun === 'lost')
    throw new RetryableError(
      `change ${change.changeId}: another worker has taken it over, its account is paused, or the service has just altered such a value`,
    );
  if (begun === 'twin')
    return postpone('another create with the same content is on its way', twinDelayMs);
  await atStep(run, 'sending-committed');
  return {what: 'begun', plan, begun, request, password, kinds};
}

async function note(
  run: PushRun,
  {narrowed, conflicts, before}: SendPlan,
  {shown, kinds}: {readonly shown: Sendable['request']; readonly kinds: readonly string[]},
): Promise<Beginning> {
  const {method, path, body: request = null} = shown;
  const readAt = before === null ? null : readingTime(run, before);
  const sending = {claim: run.change, method, path, request, narrowed, conflicts, kinds, readAt};
  return await run.beginnings.do({run, sending});
}

/** When a record was asked for, by the database's clock; rather too early than too late. */
function readingTime({change, heldMs}: ChangeFacts, {askedAt}: Remote): string {
  return new Date(Date.parse(change.claimedAt) + askedAt - heldMs).toISOString();
}
