// Carries every due change of an account: plan → begin → send → judge → decide → end. Each step
// takes the result of the one before it; if a step needs no request, the end follows at once. A
// process claims the changes that it has in hand with a lease, and keeps them until they end. If an
// error stopped a change, it is given back.

import {stopAccount} from '../accounts/accounts.ts';
import {judgeAccess} from '../accounts/open-accounts.ts';
import {readRules} from '../changes/authored-rows.ts';
import {type ClaimedChange, claimChanges, renewClaims} from '../changes/claim-changes.ts';
import {giveBackChange} from '../changes/move-changes.ts';
import {AccessError, RecordError, RetryableError} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import {type Clocks, type Lease, Leases, machineClocks} from '../core/lease.ts';
import {backOffMs, pauseAfter} from '../core/pauses.ts';
import {inSpan} from '../core/span.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {findStream, findWrites} from '../streams/all.ts';
import {decide} from './decide.ts';
import {createConflict, defaultSettlePolicy, type ShownRow} from './decision.ts';
import {plan} from './plan.ts';
import {
  atStep,
  OpenedAccount,
  type PushCounts,
  type PushDeps,
  type PushEnd,
  type PushRun,
  SharedReadings,
  StoppedKinds,
  UnsentRequests,
} from './run.ts';
import {begin, beginBatch, end, endBatch, judge, send} from './steps.ts';

/** How long a claim lasts by the database's clock, unless renewed. */
const defaultLeaseMs = 30_000;

/** A change in hand, and how long it is certainly ours. */
interface ChangeInHand {
  readonly change: ClaimedChange;
  readonly lease: Lease;
  /** Just before the change was claimed, by the monotonic clock of this process. */
  readonly claimedMs: number;
  /** Just after the change was claimed, by the same clock. */
  readonly heldMs: number;
}

/** The changes that this process has in hand, claimed some at a time, and kept until they end. */
class Claims {
  readonly #deps: PushDeps;
  readonly #accountId: string;
  readonly #inHand: number;
  readonly #signal: AbortSignal;
  readonly #leaseMs: number;
  readonly #clocks: Clocks;
  readonly #leases: Leases<ClaimedChange>;
  readonly #ready: ChangeInHand[] = [];
  #carried = 0;
  #refill: Promise<void> | null = null;
  #oneEnded = Promise.withResolvers<void>();

  constructor(
    deps: PushDeps,
    accountId: string,
    {inHand, signal}: {readonly inHand: number; readonly signal: AbortSignal},
  ) {
    this.#deps = deps;
    this.#accountId = accountId;
    this.#inHand = inHand;
    this.#signal = signal;
    this.#leaseMs = deps.leaseMs ?? defaultLeaseMs;
    this.#clocks = deps.clocks ?? machineClocks;
    this.#leases = new Leases({
      leaseMs: this.#leaseMs,
      clocks: this.#clocks,
      renew: async (changes) => await renewClaims(deps.pool, changes, this.#leaseMs),
      toLoss: ({changeId}) =>
        new RetryableError(
          `change ${changeId}: its lease was lost: another worker has it, or a person`,
        ),
    });
  }

  /**
   * The next change to carry; null if no change is due, and none in progress could make another
   * due.
   */
  async next(): Promise<ChangeInHand | null> {
    while (!this.#signal.aborted) {
      const changeInHand = this.#ready.shift();
      if (changeInHand !== undefined) {
        this.#carried++;
        return changeInHand;
      }
      const ended = this.#oneEnded.promise;
      this.#refill ??= this.#claim();
      await this.#refill;
      if (this.#ready.length > 0) continue;
      if (this.#carried === 0) return null;
      await ended;
    }
    return null;
  }

  /** Call it once for each change that `next` returned. */
  end({change}: ChangeInHand): void {
    this.#carried--;
    this.#leases.release(change);
    this.#oneEnded.resolve();
    this.#oneEnded = Promise.withResolvers();
  }

  /** Gives back the changes that were claimed and not begun. */
  async close(): Promise<void> {
    this.#leases.close();
    const left = this.#ready.splice(0);
    const delay = {delayMs: 0, isFailure: false, reason: null};
    await Promise.allSettled(
      left.map(({change}) => giveBackChange(this.#deps.pool, change, delay)),
    );
  }

  async #claim(): Promise<void> {
    const leaseMs = this.#leaseMs;
    const since = this.#clocks();
    const claimedMs = performance.now();
    try {
      const claimed = await claimChanges(this.#deps.pool, this.#accountId, {
        limit: this.#inHand,
        leaseMs,
      });
      const heldMs = performance.now();
      for (const change of claimed)
        this.#ready.push({change, claimedMs, heldMs, lease: this.#leases.hold(change, since)});
    } finally {
      this.#refill = null;
    }
  }
}

/** How long a change waits after failures in a row. */
const changeBackOff = {firstMs: 2_000, longestMs: 300_000};

/**
 * Stores the error in the row. A change that was being sent is in doubt: only an answer makes it
 * certain.
 */
async function giveBackFailed(
  deps: PushDeps,
  change: ClaimedChange,
  failure: {readonly error: unknown; readonly isShutdown: boolean},
): Promise<PushEnd> {
  const {isShutdown} = failure;
  const error = explainDatabaseError(failure.error, deps.databaseUrl);
  const isFailure = !isShutdown && !(error instanceof AccessError);
  const delayMs = isFailure ? pauseAfter(error, change.failures, changeBackOff) : 0;
  try {
    if (error instanceof AccessError) await stopAccount(deps.pool, change.accountId, error.message);
    const state = await giveBackChange(deps.pool, change, {
      delayMs,
      isFailure,
      reason: error.message,
    });
    return state === 'in_doubt' ? 'in_doubt' : 'postponed';
  } catch (giveBackError) {
    // The error could not be written, or another worker has the change by now: this claim's lease
    // expires.
    deps.log.debug(
      {event: 'change.abandoned', ...toLogFacts(change), reason: String(giveBackError)},
      'a change is left to its lease',
    );
    return 'postponed';
  } finally {
    deps.log.debug(
      {event: 'change.interrupted', ...toLogFacts(change), reason: error.message},
      'a change is given back',
    );
  }
}

function toLogFacts({accountName, changeId}: ClaimedChange) {
  return {account: accountName, change: changeId};
}

/**
 * How many changes are in hand at once; the account's learned concurrency decides how many of their
 * requests run.
 */
const changesInHand = 128;

/**
 * Carries every due change of an account: changes of one record in order, changes of different
 * records in parallel. Returns when no change is due any more. Any number of processes may do it at
 * once. Once the account is paused, changes that were not sent are given back.
 * @param signal - aborts at shutdown: no change is begun, and a change cut off while it was sent is
 *   in doubt
 */
export async function pushAccount(
  deps: PushDeps,
  accountId: string,
  signal: AbortSignal,
): Promise<PushCounts> {
  const rules = await readRules(deps.pool);
  const counts = {done: 0, rejected: 0, conflict: 0, postponed: 0, inDoubt: 0};
  const stopping = new AbortController();
  const {paused, close} = watchPause(deps, accountId);
  const claims = new Claims(deps, accountId, {
    inHand: changesInHand,
    signal: AbortSignal.any([signal, stopping.signal, paused]),
  });
  const shared = openSharedState(deps, accountId, {rules, signal, paused});
  const runLane = async () => {
    for (
      let changeInHand = await claims.next();
      changeInHand !== null;
      changeInHand = await claims.next()
    ) {
      const {change} = changeInHand;
      const outcome = await inSpan('change', toSpanAttributes(change), async (addAttributes) => {
        const pushEnd = await pushChange(deps, changeInHand, shared).catch(
          async (error: unknown) => {
            if (error instanceof AccessError) stopping.abort();
            return await giveBackFailed(deps, change, {
              error,
              isShutdown: signal.aborted || paused.aborted,
            });
          },
        );
        addAttributes({'fieldmirror.outcome': pushEnd});
        return pushEnd;
      });
      counts[outcome === 'in_doubt' ? 'inDoubt' : outcome]++;
      deps.onCarried?.({
        change,
        end: outcome,
        durationMs: Math.round(performance.now() - changeInHand.claimedMs),
      });
      claims.end(changeInHand);
    }
  };
  // If a lane cannot continue, the others take no more changes, and all lanes are waited for.
  const lanes = Array.from({length: changesInHand}, () =>
    runLane().catch((error: unknown) => {
      stopping.abort();
      throw error;
    }),
  );
  const ends = await Promise.allSettled(lanes);
  close();
  await claims.close();
  const failedLane = ends.find((end) => end.status === 'rejected');
  if (failedLane !== undefined) throw failedLane.reason;
  return counts;
}

function toSpanAttributes({accountName, table, operation, changeId}: ClaimedChange) {
  return {
    'fieldmirror.account': accountName,
    'fieldmirror.table': table,
    'fieldmirror.operation': operation,
    'fieldmirror.change': changeId,
  };
}

type Rules = Awaited<ReturnType<typeof readRules>>;

/** The state that the changes in hand share. */
interface SharedState
  extends Pick<
    PushRun,
    'beginnings' | 'ends' | 'unsent' | 'readings' | 'stops' | 'signal' | 'paused'
  > {
  readonly rules: Rules;
  readonly opened: OpenedAccount;
}

/** Opens the state that the changes of one run share. */
function openSharedState(
  deps: PushDeps,
  accountId: string,
  {rules, signal, paused}: Pick<SharedState, 'rules' | 'signal' | 'paused'>,
): SharedState {
  const stops = new StoppedKinds();
  const unsent = new UnsentRequests();
  return {
    rules,
    signal,
    paused,
    stops,
    unsent,
    opened: new OpenedAccount(() => deps.openAccount(accountId), deps.clocks ?? machineClocks),
    beginnings: beginBatch(deps.pool, unsent),
    ends: endBatch(deps.pool, stops),
    readings: new SharedReadings<ShownRow[]>(signal),
  };
}

/**
 * Carries one change as far as it goes now. @throws the error that stopped it before any decision
 */
async function pushChange(
  deps: PushDeps,
  changeInHand: ChangeInHand,
  shared: SharedState,
): Promise<PushEnd> {
  const {opened} = shared;
  const account = await opened.get(changeInHand.change.accountVersion);
  const run = toRun(deps, changeInHand, {...shared, account});
  await atStep(run, 'claimed');
  try {
    return await carry(run);
  } catch (error) {
    hideInError(error, (text) => account.api.transport.hide(text));
    if (error instanceof AccessError) opened.forget();
    // A value or record that cannot be written or read stays so, however long we wait.
    if (!(error instanceof RecordError)) throw await judgeAccess(error, account);
    return await end(run, createConflict(error.message));
  }
}

async function carry(run: PushRun): Promise<PushEnd> {
  const stop = AbortSignal.any([run.signal, run.paused]);
  run.paused.throwIfAborted();
  const planned = await plan({...run, signal: stop});
  run.paused.throwIfAborted();
  if (planned.what !== 'send') return await end(run, planned);
  const {concurrency} = run.account.api.transport.limiter;
  const leave = await run.unsent.enter(concurrency, stop);
  try {
    const begun = await begin(run, planned);
    if (begun.what !== 'begun') return await end(run, begun);
    const result = await send(run, begun, leave);
    const outcome = await judge(run, begun, result);
    return await end(run, decide(run, outcome));
  } finally {
    leave();
  }
}

function toRun(
  deps: PushDeps,
  {change, lease, claimedMs, heldMs}: ChangeInHand,
  {rules, signal, opened: _, ...shared}: SharedState & Pick<PushRun, 'account'>,
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
    backOffMs: backOffMs(change.failures, changeBackOff),
    signal: AbortSignal.any([signal, lease.lost]),
    ...shared,
  };
}

/** A pause is noticed within this time. */
const checkEveryMs = 400;

/**
 * Checks every `checkEveryMs` whether the account of a run is still active. A person who pauses it
 * wants the changes in hand to stop as well: those whose requests wait for their turn, not those in
 * progress.
 */
function watchPause(
  {pool, log}: Pick<PushDeps, 'pool' | 'log'>,
  accountId: string,
): {readonly paused: AbortSignal; readonly close: () => void} {
  const stop = new AbortController();
  let isChecking = false;
  const checkPause = async () => {
    if (isChecking || stop.signal.aborted) return;
    isChecking = true;
    try {
      const {rows} = await pool.query<{name: string; state: string}>(
        'SELECT name, state FROM sync.accounts WHERE account_id = $1',
        [accountId],
      );
      const [account] = rows;
      if (account !== undefined && account.state !== 'active')
        stop.abort(new RetryableError(`account ${account.name}: it is ${account.state}`));
    } catch (error) {
      // If the database is unavailable, the run itself gets an error.
      log.debug(
        {event: 'push.pause_unknown', reason: String(error)},
        'whether the account is paused could not be read',
      );
    } finally {
      isChecking = false;
    }
  };
  const timer = setInterval(() => void checkPause(), checkEveryMs);
  timer.unref();
  return {paused: stop.signal, close: () => clearInterval(timer)};
}
