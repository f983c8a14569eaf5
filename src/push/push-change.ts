// The way of one change: plan → begin → send → judge → decide → end. Each step takes the result of
// the one before it; a step that needs no request leads to the end at once.

import {judgeAccess} from '../accounts/open-accounts.ts';
import type {readRules} from '../changes/write-rules.ts';
import {AccessError, RecordError} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import {machineClocks} from '../core/lease.ts';
import {findStream, findWrites} from '../streams/all.ts';
import {backOffMs} from './back-off-ms.ts';
import {beginBatch} from './begin-batch.ts';
import {begin} from './begin-send.ts';
import {atStep} from './change-context.ts';
import type {Held} from './claims.ts';
import {decide} from './decide.ts';
import {conflict} from './decision.ts';
import {endBatch} from './end-batch.ts';
import {end} from './end-change.ts';
import {OpenedAccount} from './opened-account.ts';
import {plan} from './plan-change.ts';
import {defaultSettlePolicy, type PushDeps, type PushEnd} from './push-deps.ts';
import type {PushRun} from './push-run.ts';
import type {ShownRow} from './remote.ts';
import {judge, send} from './send.ts';
import {SharedReadings} from './shared-readings.ts';
import {StoppedKinds} from './stopped-kinds.ts';

type Rules = Awaited<ReturnType<typeof readRules>>;

/** The state that the changes in hand share. */
export interface Together
  extends Pick<PushRun, 'beginnings' | 'ends' | 'readings' | 'stops' | 'signal' | 'paused'> {
  readonly rules: Rules;
  readonly opened: OpenedAccount;
}

/** Opens the state that the changes of one run share. */
export function bringTogether(
  deps: PushDeps,
  accountId: string,
  {rules, signal, paused}: Pick<Together, 'rules' | 'signal' | 'paused'>,
): Together {
  const stops = new StoppedKinds();
  return {
    rules,
    signal,
    paused,
    stops,
    opened: new OpenedAccount(() => deps.openAccount(accountId), deps.clocks ?? machineClocks),
    beginnings: beginBatch(deps.pool),
    ends: endBatch(deps.pool, stops),
    readings: new SharedReadings<ShownRow[]>(signal),
  };
}

/**
 * Carries one change as far as it goes now. @throws the error that stopped it before any decision
 */
export async function pushChange(deps: PushDeps, held: Held, together: Together): Promise<PushEnd> {
  const {opened} = together;
  const account = await opened.get(held.change.accountVersion);
  const run = toRun(deps, held, {...together, account});
  await atStep(run, 'claimed');
  try {
    return await carry(run);
  } catch (error) {
    hideInError(error, (text) => account.api.transport.hide(text));
    if (error instanceof AccessError) opened.forget();
    // A value or record that cannot be written or read stays so, however long we wait.
    if (!(error instanceof RecordError)) throw await judgeAccess(error, account);
    return await end(run, conflict(error.message));
  }
}

async function carry(run: PushRun): Promise<PushEnd> {
  run.paused.throwIfAborted();
  const planned = await plan({...run, signal: AbortSignal.any([run.signal, run.paused])});
  run.paused.throwIfAborted();
  if (planned.what !== 'send') return await end(run, planned);
  const begun = await begin(run, planned);
  if (begun.what !== 'begun') return await end(run, begun);
  const result = await send(run, begun);
  const outcome = await judge(run, begun, result);
  return await end(run, decide(run, outcome));
}

function toRun(
  deps: PushDeps,
  {change, lease, claimedMs, heldMs}: Held,
  {rules, signal, opened: _, ...together}: Together & Pick<PushRun, 'account'>,
): PushRun {
  const writes = findWrites(change.table);
  return {
    deps,
    change,
    lease,
    claimedMs,
    heldMs,
    writes,
    stream: findStream(writes.stream),
    rules: rules.get(change.table) ?? new Map(),
    settle: {...defaultSettlePolicy, ...deps.settle},
    backOffMs: backOffMs(change.failures),
    signal: AbortSignal.any([signal, lease.lost]),
    ...together,
  };
}
