// The life of one sweep in a worker: claimed, run by its mode under a lease, ended or postponed.

import type pg from 'pg';
import {stopAccount} from '../accounts/accounts.ts';
import {judgeAccess} from '../accounts/open-accounts.ts';
import {
  AccessError,
  NoRoomError,
  OlderReadingError,
  RecordError,
  RetryableError,
} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import {Leases, machineClocks} from '../core/lease.ts';
import {backOffMs} from '../core/pauses.ts';
import {inSpan} from '../core/span.ts';
import {inTransaction} from '../postgres/database.ts';
import {explainDatabaseError} from '../postgres/database-errors.ts';
import {isLive} from '../rows/held-rows.ts';
import {findStream} from '../streams/all.ts';
import {type Answers, pauseForNewer, readOlderAgain, requestNumbers} from './ask-numbers.ts';
import type {Evidence} from './evidence.ts';
import {FieldSightings} from './fields.ts';
import {sweepFull} from './full-sweep.ts';
import {describeListDoubts, readFirstPass} from './read-list.ts';
import {
  endRun,
  type Finished,
  markMissingDeleted,
  SweepCounter,
  type SweepDeps,
  type SweepRun,
  scopeOf,
} from './sweep-run.ts';
import {
  type ClaimedSweep,
  claimSweep,
  endSweep,
  postponeSweep,
  renewLease,
  type Sweep,
  type SweepCounts,
} from './sweeps.ts';
import {dropSuspects, type GoneNumber, listTombstones, saveAnswers} from './tombstones.ts';

export type SweepResult =
  | {readonly outcome: 'not-due'}
  | ({
      readonly outcome: 'ended';
      readonly counts: SweepCounts;
    } & Pick<Finished, 'state' | 'reasons' | 'durationMs'> &
      WithClaimedSweep)
  | ({
      readonly outcome: 'postponed';
      readonly error: RetryableError;
      readonly delayMs: number;
    } & WithClaimedSweep)
  | ({
      readonly outcome: 'failed';
      readonly error: Error;
      readonly durationMs: number;
    } & WithClaimedSweep);

/** The result of a sweep that was claimed. */
type ClaimedResult = Exclude<SweepResult, {outcome: 'not-due'}>;

interface WithClaimedSweep {
  /** The sweep as it was claimed. */
  readonly sweep: ClaimedSweep;
}

/** The duration of a lease by the database's clock; the lease of a killed process expires. */
const defaultLeaseMs = 15_000;
const maxAttempts = 5;
const backOff = {firstMs: 5_000, longestMs: 300_000, fixed: 1};
/** How often a sweep checks whether the warehouse has room again. */
const noRoomDelayMs = 60_000;

/**
 * Runs one sweep to its end, if it is due and no other worker holds it. Running it twice, or in two
 * places, leaves the same rows. After a temporary failure the sweep is postponed and keeps its
 * checkpoint; after five failures it ends `failed`. If the warehouse has no room, the sweep waits
 * for it.
 * @param sweepId - a row of sync.sweeps
 * @param signal - aborts at shutdown: the sweep is postponed without a delay
 */
export async function runSweep(
  deps: SweepDeps,
  sweepId: string,
  signal: AbortSignal,
): Promise<SweepResult> {
  const leaseMs = deps.leaseMs ?? defaultLeaseMs;
  const clocksBefore = machineClocks();
  const sweep = await claimSweep(deps.pool, sweepId, leaseMs);
  if (sweep === null) return {outcome: 'not-due'};
  return await inSpan('sweep', attributesOf(sweep), async (addAttributes) => {
    const result = await runOrPostpone(deps, sweep, {leaseMs, since: clocksBefore, signal});
    addAttributes({
      'fieldmirror.outcome': result.outcome === 'ended' ? result.state : result.outcome,
    });
    if (result.outcome === 'ended') addAttributes({'fieldmirror.records': result.counts.records});
    return result;
  });
}

function attributesOf({accountName, stream, sweepId, mode}: ClaimedSweep) {
  return {
    'fieldmirror.account': accountName,
    'fieldmirror.stream': stream,
    'fieldmirror.sweep': sweepId,
    'fieldmirror.mode': mode,
  };
}

interface LeaseOptions {
  readonly leaseMs: number;
  readonly since: readonly number[];
  readonly signal: AbortSignal;
}

async function runOrPostpone(
  deps: SweepDeps,
  sweep: ClaimedSweep,
  lease: LeaseOptions,
): Promise<ClaimedResult> {
  try {
    return await runLeased(deps, sweep, lease);
  } catch (error) {
    return await postponeFailed(deps, {sweep, error, isShutdown: lease.signal.aborted}).catch(
      (postponeError: unknown): ClaimedResult => {
        // The failure could not be written, or another worker holds the sweep by now: our lease
        // expires.
        const reason = explainDatabaseError(postponeError, deps.databaseUrl).message;
        const leaseError = new RetryableError(reason, {cause: error});
        return {outcome: 'postponed', sweep, error: leaseError, delayMs: lease.leaseMs};
      },
    );
  }
}

/** Runs a sweep while its lease is renewed in the background. */
async function runLeased(
  deps: SweepDeps,
  sweep: ClaimedSweep,
  {leaseMs, since: clocksBefore, signal}: LeaseOptions,
): Promise<ClaimedResult> {
  const leases = new Leases<Sweep>({
    leaseMs,
    clocks: machineClocks,
    renew: async (sweeps) =>
      await Promise.all(sweeps.map((heldSweep) => renewLease(deps.pool, {...heldSweep, leaseMs}))),
    toLoss: () => new Error(`sweep ${sweep.sweepId}: another worker has taken it over`),
  });
  const {lost} = leases.hold(sweep, clocksBefore);
  try {
    return await runClaimed(deps, sweep, AbortSignal.any([signal, lost]));
  } finally {
    leases.close();
  }
}

async function runClaimed(
  deps: SweepDeps,
  sweep: ClaimedSweep,
  signal: AbortSignal,
): Promise<ClaimedResult> {
  await deps.onSweepStep?.('claimed', sweep);
  const account = await deps.openAccount(sweep.accountId);
  const tally = new SweepCounter(sweep.counts);
  const stream = findStream(sweep.stream);
  const run: SweepRun = {
    deps,
    sweep,
    stream,
    account,
    tally,
    fields: new FieldSightings(stream),
    signal,
  };
  const {state, reasons, durationMs} = await runByMode(run).catch(async (error: unknown) => {
    throw hideInError(await judgeAccess(error, account), (text) =>
      account.api.transport.hide(text),
    );
  });
  return {outcome: 'ended', sweep, state, reasons, durationMs, counts: tally.counts};
}

async function runByMode(run: SweepRun): Promise<Finished> {
  const {mode, stage} = run.sweep;
  if (mode === 'record') return await sweepRecord(run);
  if (mode === 'window') return await sweepWindow(run);
  return await (stage === 'approved' ? sweepApproved(run) : sweepFull(run));
}

/** Notes in the sweep's row why it stopped and when it continues, or ends it as failed. */
async function postponeFailed(
  deps: SweepDeps,
  failure: WithClaimedSweep & {readonly error: unknown; readonly isShutdown: boolean},
): Promise<ClaimedResult> {
  const {sweep, isShutdown} = failure;
  const error = explainDatabaseError(failure.error, deps.databaseUrl);
  if (isShutdown) {
    await postponeSweep(deps.pool, sweep, {delayMs: 0, isFailure: false, error: null});
    return {
      outcome: 'postponed',
      sweep,
      error: new RetryableError('the process stops'),
      delayMs: 0,
    };
  }
  if (error instanceof NoRoomError) {
    await postponeSweep(deps.pool, sweep, {
      delayMs: noRoomDelayMs,
      isFailure: false,
      error: error.message,
    });
    return {outcome: 'postponed', sweep, error, delayMs: noRoomDelayMs};
  }
  if (error instanceof OlderReadingError) {
    const delayMs = error.retryAfterMs ?? backOff.firstMs;
    await postponeSweep(deps.pool, sweep, {delayMs, isFailure: false, error: error.message});
    return {outcome: 'postponed', sweep, error, delayMs};
  }
  if (error instanceof RetryableError && sweep.failures + 1 < maxAttempts) {
    const delayMs = Math.min(
      error.retryAfterMs ?? backOffMs(sweep.failures, backOff),
      backOff.longestMs,
    );
    await postponeSweep(deps.pool, sweep, {delayMs, isFailure: true, error: error.message});
    return {outcome: 'postponed', sweep, error, delayMs};
  }
  const durationMs = await inTransaction(deps.pool, async (client) => {
    // Every other request would be refused too: the account is stopped until a person has acted.
    if (error instanceof AccessError) await stopAccount(client, sweep.accountId, error.message);
    return await endSweep(client, sweep, {state: 'failed', error: error.message});
  });
  return {outcome: 'failed', sweep, error, durationMs};
}

/**
 * Loads the records that a filter lets through. The others are not read, so absence proves nothing
 * and no window is certified: a window that was read completely is refreshed.
 */
async function sweepWindow(run: SweepRun): Promise<Finished> {
  const firstPass = await readFirstPass(run);
  await readOlderAgain(run, async () => {});
  const {lastPage, endedBy, seen} = firstPass;
  const evidence = {firstPass: {lastPage, endedBy, numbers: seen.size}};
  const reasons = describeListDoubts(run, firstPass);
  return await endRun(run, {
    state: reasons.length === 0 ? 'refreshed' : 'uncertified',
    reasons,
    evidence,
  });
}

/**
 * Requests one record by its number and loads it into the warehouse. If a stored record is gone,
 * its row gets a tombstone. "No such record" is also a valid answer: if no row of it is stored,
 * both sides already agree.
 * @throws {RecordError} the returned record is invalid, or the answer is not about it
 */
async function sweepRecord(run: SweepRun): Promise<Finished> {
  const {deps, sweep, stream} = run;
  const number = sweep.recordNumber ?? '';
  const isStored = await isLive(deps.pool, sweep.accountId, {table: stream.table, number});
  let evidence: Evidence = {};
  const reasons: string[] = [];
  for await (const answers of requestNumbers(run, [number], async (client, {gone, requestedAt}) => {
    if (isStored) await saveAnswers(client, {...scopeOf(run), gone, requestedAt});
  })) {
    if (answers.older.length > 0) await pauseForNewer(run);
    checkAnswer(run, answers);
    reasons.push(...answers.untold);
    const [gone] = answers.gone;
    if (gone !== undefined) evidence = {absent: {status: gone.status, message: gone.message}};
  }
  const state = reasons.length === 0 ? 'certified' : 'uncertified';
  return await endRun(run, {state, reasons, evidence}, (client) => markMissingDeleted(client, run));
}

function checkAnswer({sweep, stream}: SweepRun, {found, gone, unclear}: Answers): void {
  const recordName = `${stream.name} ${sweep.recordNumber}`;
  if (unclear[0] !== undefined) throw new RecordError(unclear[0]);
  if (found.length + gone.length === 0)
    throw new RecordError(
      `${recordName}: the record came and could not be taken: fieldmirror quarantine list`,
    );
}

/**
 * Executes a person's approval: requests each suspect again, because it may have come back since.
 * All that are gone are marked deleted, however many they are.
 */
async function sweepApproved(run: SweepRun): Promise<Finished> {
  const {deps, sweep} = run;
  const suspects = await listTombstones(deps.pool, sweep.sweepId);
  const saveMissing = (
    client: pg.ClientBase,
    {gone, requestedAt}: {gone: readonly GoneNumber[]; requestedAt: string},
  ) => saveAnswers(client, {...scopeOf(run), gone, requestedAt});
  const foundAgain: string[] = [];
  const doubts: string[] = [];
  const openNumbers = suspects
    .filter(({writtenAt}) => writtenAt === null)
    .map(({number}) => number);
  for await (const answers of requestNumbers(run, openNumbers, saveMissing)) {
    foundAgain.push(...answers.found);
    doubts.push(...answers.unclear);
  }
  const reason =
    `a person let its tombstones through on ${sweep.approvedAt}; ` +
    'the next full sweep is to certify';
  const end = {
    state: 'uncertified',
    reasons: [reason, ...doubts],
    evidence: sweep.evidence,
  } as const;
  return await endRun(run, end, async (client) => {
    await dropSuspects(client, sweep.sweepId, foundAgain);
    return await markMissingDeleted(client, run);
  });
}
