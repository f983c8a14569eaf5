import {AccessError, RecordError, RetryableError} from '../../errors.ts';
import {findStream, findWrites} from '../../streams/all.ts';
import {stopAccount} from '../../warehouse/accounts.ts';
import {giveBackChange} from '../../warehouse/carry-changes.ts';
import type {ClaimedChange} from '../../warehouse/claim-changes.ts';
import {explainDatabaseError} from '../../warehouse/database-errors.ts';
import {readRules} from '../../warehouse/write-rules.ts';
import {judgeAccess} from '../judge-access.ts';
import type {AccountApi} from '../sweep-deps.ts';
import {backOffMs} from './back-off.ts';
import {beginTogether} from './begin-together.ts';
import {carryCreate} from './carry-create.ts';
import {carryDelete} from './carry-delete.ts';
import {carryUpdate} from './carry-update.ts';
import {Claims, type Held} from './claims.ts';
import {endTogether} from './end-together.ts';
import {finishConflict} from './finish.ts';
import {kindsOf, Stops} from './kinds.ts';
import {defaultSettlePolicy, type PushCounts, type PushDeps} from './push-deps.ts';
import {type PushEnd, type PushRun, pass} from './push-run.ts';
import {holdStopped, waitForCalm} from './send.ts';
import {settleDoubt} from './settle-doubt.ts';

/** The account's own measure says how many requests run at once; so many changes are in hand for it. */
const inHand = 128;

/**
 * Carries every change of an account that is due, those of one record in order, those of different records beside each
 * other, and returns when nothing is due any more. Any number of processes may do it at once.
 * @param signal - aborts at shutdown: nothing new is begun, and what was cut off while it was sent is in doubt
 */
export async function pushAccount(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  const rules = await readRules(deps.pool);
  const counts = {done: 0, rejected: 0, conflict: 0, postponed: 0, inDoubt: 0};
  const stopping = new AbortController();
  const claims = new Claims(deps, accountId, {inHand, signal: AbortSignal.any([signal, stopping.signal])});
  const stops = new Stops();
  const together = {
    rules,
    signal,
    stops,
    beginnings: beginTogether(deps.pool),
    ends: endTogether(deps.pool, stops),
  };
  const work = async () => {
    for (let held = await claims.next(); held !== null; held = await claims.next()) {
      const {change} = held;
      const end = await carry(deps, held, together).catch(async (error: unknown) => {
        if (error instanceof AccessError) stopping.abort();
        return await settleFailure(deps, change, {error, isShutdown: signal.aborted});
      });
      counts[end === 'in_doubt' ? 'inDoubt' : end]++;
      claims.end(held);
    }
  };
  // One that cannot go on stops the others from taking more, and nobody is left behind at work.
  const lanes = Array.from({length: inHand}, () =>
    work().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(lanes);
  await claims.close();
  const failed = ends.find((end) => end.status === 'rejected');
  if (failed !== undefined) throw failed.reason;
  return counts;
}

/** What the changes in hand share. */
interface Together extends Pick<PushRun, 'beginnings' | 'ends' | 'stops' | 'signal'> {
  readonly rules: Awaited<ReturnType<typeof readRules>>;
}

async function carry(
  deps: PushDeps,
  {change, lease, claimedMs}: Held,
  {rules, signal, ...together}: Together,
): Promise<PushEnd> {
  const writes = findWrites(change.table);
  const account: AccountApi = await deps.openAccount(change.accountId);
  const run: PushRun = {
    deps,
    change,
    lease,
    claimedMs,
    writes,
    stream: findStream(writes.stream),
    account,
    rules: rules.get(change.table) ?? new Map(),
    settle: {...defaultSettlePolicy, ...deps.settle},
    signal: AbortSignal.any([signal, lease.lost]),
    ...together,
  };
  await pass(run, 'claimed');
  try {
    if (change.state === 'in_doubt') return await settleDoubt(run);
    run.stops.learn(change);
    const stopped = kindsOf(run, change.fields).find((kind) => change.stoppedKinds.includes(kind));
    if (stopped !== undefined) return await holdStopped(run, stopped);
    const calmMs = run.settle.quarantineMs - (change.sentAgainAgoMs ?? Number.POSITIVE_INFINITY);
    if (calmMs > 0) return await waitForCalm(run, calmMs);
    if (change.operation === 'create') return await carryCreate(run);
    return await (change.operation === 'update' ? carryUpdate(run) : carryDelete(run));
  } catch (error) {
    // What cannot be written down, or read, does not change by waiting.
    if (!(error instanceof RecordError)) throw await judgeAccess(error, account);
    return await finishConflict(run, {reason: error.message});
  }
}

/** Notes in the row what stopped it. What was being sent is in doubt: only an answer makes it certain. */
async function settleFailure(
  deps: PushDeps,
  change: ClaimedChange,
  failed: {readonly error: unknown; readonly isShutdown: boolean},
): Promise<PushEnd> {
  const {isShutdown} = failed;
  const error = explainDatabaseError(failed.error, deps.databaseUrl);
  const retryAfterMs = error instanceof RetryableError ? error.retryAfterMs : null;
  const isFailure = !isShutdown && !(error instanceof AccessError);
  const delayMs = isFailure ? Math.max(backOffMs(change.failures), retryAfterMs ?? 0) : 0;
  try {
    if (error instanceof AccessError) await stopAccount(deps.pool, change.accountId, error.message);
    const state = await giveBackChange(deps.pool, change, {delayMs, isFailure, reason: error.message});
    return state === 'in_doubt' ? 'in_doubt' : 'postponed';
  } catch (unsettled) {
    // Not even that could be written, or the change is somebody else's by now: the lease runs out by itself.
    deps.log.debug({change: change.changeId, reason: String(unsettled)}, 'a change is left to its lease');
    return 'postponed';
  } finally {
    deps.log.debug({change: change.changeId, reason: error.message}, 'a change is put back');
  }
}
