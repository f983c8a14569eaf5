// A sweep as a row of sync.sweeps: its states, counts and steps, and the statements that request,
// claim, save, postpone and end sweeps.

import type pg from 'pg';
import {RetryableError} from '../core/errors.ts';
import {markThisProcess, nameThisProcess} from '../core/lease.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {Evidence, Sample} from './evidence.ts';
import type {sweeps} from './tables.ts';

type Row = typeof sweeps.$inferSelect;

/** The names of the counts, in a fixed order. */
export const countNames = [
  'requests',
  'pages',
  'bytes',
  'records',
  'known',
  'asked',
  'inserted',
  'updated',
  'unchanged',
  'revived',
  'tombstoned',
  'vanished',
  'quarantined',
] as const satisfies readonly (keyof Row)[];

/** The counts of a sweep so far; each is explained by the comment of its column. */
export type SweepCounts = Readonly<Pick<Row, (typeof countNames)[number]>>;

const targetColumns = ['account_id', 'stream', 'mode', 'window_name', 'record_number'] as const;

/** The target of a sweep: a stream, a window of it, or one of its records. */
export type SweepTarget = ReadRow<Row, (typeof targetColumns)[number]>;

const columns = [
  ...targetColumns,
  'sweep_id',
  'state',
  'requested_by',
  'due_at',
  'started_at',
  'ended_at',
  'stage',
  'next_page',
  'fence',
  'lease_until',
  'failures',
  'rows',
  'reasons',
  'error',
  'evidence',
  'approved_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.sweeps, whose definition explains each column. */
export interface Sweep extends ReadRow<Row, (typeof columns)[number]> {
  readonly counts: SweepCounts;
}

/** A sweep that was claimed, with the name of its account. */
export interface ClaimedSweep extends Sweep {
  readonly accountName: string;
  /**
   * Whether it is a full sweep of a stream that was never read as a whole: its new rows are not in
   * the feed.
   */
  readonly isFirstLoad: boolean;
}

export type SweepMode = Sweep['mode'];
export type SweepState = Sweep['state'];
export type SweepStage = Sweep['stage'];

/** How a sweep ends. */
export type SweepEnd = Exclude<SweepState, 'due' | 'running'>;

/** The proof that this worker still holds a sweep. */
export type Claim = Pick<Sweep, 'sweepId' | 'fence'>;

/** As SQL, true for a full sweep that ended without failing. */
export const isEndedFull = `mode = 'full' AND state IN ('certified', 'uncertified', 'stopped')`;

/** As SQL, the number of live rows after such a sweep; earlier versions did not count them. */
export const rowsLeft = 'coalesce(rows, records)::double precision';

/**
 * As SQL, true for a full sweep until a later one of its stream ends, because the later one is more
 * reliable.
 * @param sweep - the alias of sync.sweeps in the query
 */
export function isLatestOpinion(sweep: string): string {
  return `NOT EXISTS (
    SELECT FROM sync.sweeps AS later
     WHERE later.account_id = ${sweep}.account_id AND later.stream = ${sweep}.stream
       AND later.sweep_id > ${sweep}.sweep_id AND ${isEndedFull})`;
}

/**
 * The columns for a query that reads a `Sweep`. As JSON the counts arrive as numbers: none reaches
 * 2^53.
 */
export const sweepColumns = `${selectColumns(columns)},
  json_build_object(${countNames.map((name) => `'${name}', ${name}`).join(', ')}) AS counts`;

/**
 * The steps of a sweep between which it can be interrupted. `…-written` is inside the transaction,
 * `…-committed` after it.
 */
export const sweepSteps = [
  'claimed',
  'batch-read',
  'batch-written',
  'batch-committed',
  'list-read',
  'list-verified',
  'numbers-asked',
  'numbers-written',
  'numbers-committed',
  'end-written',
  'end-committed',
] as const;

export type SweepStep = (typeof sweepSteps)[number];

/** A request for a sweep. */
export interface SweepRequest extends Omit<SweepTarget, 'windowName' | 'recordNumber'> {
  readonly windowName?: string | null;
  readonly recordNumber?: string | null;
  readonly requestedBy: Sweep['requestedBy'];
}

/**
 * Requests a sweep that is due at once. If the same sweep is unfinished, no second one is created:
 * the unfinished one is returned, and is due at once if it was waiting.
 */
export async function requestSweep(db: Queryable, request: SweepRequest): Promise<Sweep> {
  const {accountId, stream, mode, windowName = null, recordNumber = null, requestedBy} = request;
  const {rows} = await db.query<Sweep>(
    `INSERT INTO sync.sweeps AS held (account_id, stream, mode, window_name, record_number,
      requested_by)
     VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (account_id, stream, mode, coalesce(window_name, ''),
           coalesce(record_number, 0))
      WHERE state IN ('due', 'running')
         DO UPDATE SET due_at = least(held.due_at, EXCLUDED.due_at)
     RETURNING ${sweepColumns}`,
    [accountId, stream, mode, windowName, recordNumber, requestedBy],
  );
  const [sweep] = rows;
  if (sweep === undefined) throw new TypeError('INSERT … DO UPDATE returns its row');
  return sweep;
}

/**
 * Claims a sweep for the duration of the lease by the database's clock, unless it is renewed.
 * @param claimedBy - the process, for a person who waits for it
 * @returns null if the sweep is not due, another worker has it, its account is paused or stopped,
 *   or this database is a copy
 */
export async function claimSweep(
  db: Queryable,
  sweepId: string,
  leaseMs: number,
  claimedBy = nameThisProcess(),
): Promise<ClaimedSweep | null> {
  const {rows} = await db.query<ClaimedSweep>(
    `UPDATE sync.sweeps
        SET state = 'running', fence = fence + 1, started_at = coalesce(started_at, now()),
            lease_until = now() + $2 * interval '1 millisecond', claimed_by = $3, holder = $4
      WHERE sweep_id = $1
        AND (state = 'due' AND due_at <= now() OR state = 'running' AND lease_until < now())
        AND EXISTS (SELECT FROM sync.accounts AS account
                     WHERE account.account_id = sweeps.account_id AND account.state = 'active')
        AND NOT (SELECT sync.is_copy())
  RETURNING ${sweepColumns},
            (SELECT name FROM sync.accounts AS account
              WHERE account.account_id = sweeps.account_id) AS "accountName",
            ${isFirstLoad('sweeps')} AS "isFirstLoad"`,
    [sweepId, leaseMs, claimedBy, await markThisProcess()],
  );
  return rows[0] ?? null;
}

/** As SQL, true for a full sweep of a stream that was never loaded. */
function isFirstLoad(sweep: string): string {
  return `${sweep}.mode = 'full' AND NOT EXISTS (SELECT FROM sync.feed_starts AS started
     WHERE started.account_id = ${sweep}.account_id AND started.stream = ${sweep}.stream)`;
}

/**
 * Whether another stream of the sweep's account is being loaded for the first time, or is due for
 * that now.
 */
export async function isLoadedBeside(
  db: Queryable,
  {accountId, sweepId}: Pick<Sweep, 'accountId' | 'sweepId'>,
): Promise<boolean> {
  const {rows} = await db.query<{isLoaded: boolean}>(
    `SELECT EXISTS (SELECT FROM sync.sweeps AS other
       WHERE account_id = $1 AND sweep_id <> $2
         AND (state = 'running' OR state = 'due' AND due_at <= now())
         AND ${isFirstLoad('other')}) AS "isLoaded"`,
    [accountId, sweepId],
  );
  return rows[0]?.isLoaded === true;
}

/** A sweep that a process holds. */
export interface HeldSweep extends Pick<Sweep, 'sweepId' | 'stream'> {
  /** As `nameThisProcess` returns it; null if an older version holds the sweep. */
  readonly claimedBy: string | null;
  /** The time until the lease ends, unless it is renewed; by the database's clock. */
  readonly leaseMs: number;
}

/** Those among some sweeps that a process holds at the moment. */
export async function listHeldSweeps(
  db: Queryable,
  sweepIds: readonly string[],
): Promise<HeldSweep[]> {
  const {rows} = await db.query<HeldSweep>(
    `SELECT sweep_id AS "sweepId", stream, claimed_by AS "claimedBy",
            extract(epoch FROM lease_until - now())::double precision * 1000 AS "leaseMs"
       FROM sync.sweeps WHERE sweep_id = ANY ($1) AND state = 'running' AND lease_until > now()
       ORDER BY sweep_id`,
    [sweepIds],
  );
  return rows;
}

/** @returns false if this worker no longer holds the sweep */
export async function renewLease(
  db: Queryable,
  claim: Claim & {readonly leaseMs: number},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.sweeps SET lease_until = now() + $3 * interval '1 millisecond'
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [claim.sweepId, claim.fence, claim.leaseMs],
  );
  return rowCount === 1;
}

/** The contents of a checkpoint; a field left out stays as it is. */
interface Checkpoint {
  readonly stage?: SweepStage;
  /** The page to continue with. */
  readonly nextPage?: number;
  /** Of the whole sweep. */
  readonly counts: SweepCounts;
  readonly evidence?: Evidence;
}

/**
 * Stores the progress of the sweep in the transaction that wrote the batch: both are committed, or
 * neither.
 * @throws {RetryableError} this worker no longer holds the sweep: roll the batch back
 */
export async function saveCheckpoint(
  client: pg.ClientBase,
  claim: Claim,
  checkpoint: Checkpoint,
): Promise<void> {
  const {rowCount} = await client.query(
    `UPDATE sync.sweeps
        SET stage = coalesce($3, stage), next_page = coalesce($4, next_page),
            evidence = evidence || coalesce($5::jsonb, '{}')
              || CASE $3 WHEN 'verify' THEN jsonb_build_object('readAt', clock_timestamp())
                         ELSE '{}' END,
            failures = 0, ${setCounts(6)}
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [
      claim.sweepId,
      claim.fence,
      checkpoint.stage ?? null,
      checkpoint.nextPage ?? null,
      checkpoint.evidence ?? null,
      ...countValues(checkpoint.counts),
    ],
  );
  if (rowCount !== 1) throw makeLostError(claim);
}

/** The end of a sweep, and its results. */
interface EndedSweep {
  readonly state: SweepEnd;
  /** Why it is not certified. */
  readonly reasons?: readonly string[];
  /** The error with which it failed. */
  readonly error?: string | null;
  readonly counts?: SweepCounts;
  readonly evidence?: Evidence;
  /** The number of live rows of the stream, if they were counted. */
  readonly rows?: number | null;
}

/**
 * Ends a sweep. The table's constraints require reasons if it is uncertified or stopped, an error
 * if it failed, and neither if it is certified or refreshed.
 * @returns how long the sweep took, in milliseconds, from its first claim
 * @throws {RetryableError} this worker no longer holds the sweep
 */
export async function endSweep(db: Queryable, claim: Claim, end: EndedSweep): Promise<number> {
  const {rows} = await db.query<{durationMs: number}>(
    `WITH ended AS (
       UPDATE sync.sweeps
          SET state = $3, reasons = $4, error = $5, ended_at = now(),
              evidence = coalesce(jsonb_strip_nulls(jsonb_build_object('readAt',
                evidence->'readAt')) || $6, evidence),
              lease_until = NULL, rows = $7
              ${end.counts === undefined ? '' : `, ${setCounts(8)}`}
        WHERE sweep_id = $1 AND fence = $2 AND state = 'running'
    RETURNING sweep_id, round(1000 * extract(epoch FROM ended_at - started_at))::double precision
      AS "durationMs"), forgotten AS (
       DELETE FROM sync.sightings WHERE sweep_id IN (SELECT sweep_id FROM ended))
     SELECT "durationMs" FROM ended`,
    [
      claim.sweepId,
      claim.fence,
      end.state,
      end.reasons ?? [],
      end.error ?? null,
      end.evidence ?? null,
      end.rows ?? null,
      ...(end.counts === undefined ? [] : countValues(end.counts)),
    ],
  );
  const [ended] = rows;
  if (ended === undefined) throw makeLostError(claim);
  return ended.durationMs;
}

function setCounts(firstParameter: number): string {
  return countNames.map((name, at) => `${name} = $${firstParameter + at}`).join(', ');
}

function countValues(counts: SweepCounts): number[] {
  return countNames.map((name) => counts[name]);
}

/**
 * Postpones a sweep: after a while a worker can claim it again, and it continues from its
 * checkpoint.
 * @param delay - `isFailure` is false for a clean stop, which does not count as a failure
 * @returns false if this worker no longer holds the sweep
 */
export async function postponeSweep(
  db: Queryable,
  claim: Claim,
  delay: {readonly delayMs: number; readonly isFailure: boolean; readonly error: string | null},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.sweeps
        SET state = 'due', due_at = now() + $3 * interval '1 millisecond', lease_until = NULL,
            failures = failures + $4::boolean::integer, error = $5
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [claim.sweepId, claim.fence, delay.delayMs, delay.isFailure, delay.error],
  );
  return rowCount === 1;
}

/** A sweep that is due, with the name of its account. */
export type DueSweep = Sweep & Pick<ClaimedSweep, 'accountName'>;

/**
 * Sweeps that a worker should claim now: due, or abandoned by a worker whose lease expired. Each
 * active account gets no more than it may run at once. Sweeps that keep data fresh come before full
 * ones. The accounts take turns, so that a busy account does not delay the others.
 * @param perAccount - the maximum of sweeps of one account at once, including running ones
 */
export async function listDueSweeps(
  db: Queryable,
  accountIds: readonly string[],
  perAccount: number,
): Promise<DueSweep[]> {
  const {rows} = await db.query<DueSweep>(
    `WITH due AS (
       SELECT sweeps.*, account.name AS account_name, row_number() OVER (
                PARTITION BY account_id ORDER BY mode = 'full', due_at, sweep_id) AS turn
         FROM sync.sweeps JOIN sync.accounts AS account USING (account_id)
        WHERE account_id = ANY ($1) AND account.state = 'active' AND NOT (SELECT sync.is_copy())
          AND sweeps.state IN ('due', 'running') AND coalesce(lease_until, due_at) <= now())
     SELECT ${sweepColumns}, account_name AS "accountName" FROM due
      WHERE turn <= $2 - (SELECT count(*) FROM sync.sweeps AS busy
                           WHERE busy.account_id = due.account_id AND busy.state = 'running'
                           AND busy.lease_until > now())
      ORDER BY turn, mode = 'full', due_at, sweep_id`,
    [accountIds, perAccount],
  );
  return rows;
}

/**
 * The result of the last pass over the same list: its numbers of pages and records, and its sample;
 * null if unknown.
 */
export async function readLastPass(
  db: Queryable,
  sweep: SweepTarget,
  isOfWholeList: boolean,
): Promise<{
  readonly pages: number | null;
  readonly records: number | null;
  readonly sample: Sample | null;
}> {
  const {rows} = await db.query<{
    pages: number | null;
    records: number | null;
    sample: Sample | null;
  }>(
    `SELECT (evidence->'firstPass'->>'lastPage')::integer AS pages,
            (evidence->'firstPass'->>'numbers')::integer AS records, evidence->'sample' AS sample
              FROM sync.sweeps
      WHERE account_id = $1 AND stream = $2
        AND (mode = $3 AND window_name IS NOT DISTINCT FROM $4 OR $5 AND mode = 'full')
        AND state IN ('certified', 'refreshed', 'uncertified')
      ORDER BY sweep_id DESC LIMIT 1`,
    [sweep.accountId, sweep.stream, sweep.mode, sweep.windowName, isOfWholeList],
  );
  return rows[0] ?? {pages: null, records: null, sample: null};
}

/**
 * Ends as failed the sweeps that no worker claims any more because their account is not active: due
 * ones, and those that a dead worker still holds.
 */
export async function failIdleSweeps(db: Queryable, sweepIds: readonly string[]): Promise<void> {
  await db.query(
    `UPDATE sync.sweeps SET state = 'failed', ended_at = now(), lease_until = NULL,
            error = coalesce(account.state_reason,
              format('account %s is %s; fieldmirror accounts resume %s', name, account.state, name))
       FROM sync.accounts AS account
      WHERE sweep_id = ANY ($1) AND account.account_id = sweeps.account_id
      AND account.state <> 'active'
        AND (sweeps.state = 'due' OR sweeps.state = 'running' AND sweeps.lease_until < now())`,
    [sweepIds],
  );
}

/** The ended ones among some sweeps, in the order in which they ended. */
export async function listEndedSweeps(
  db: Queryable,
  sweepIds: readonly string[],
): Promise<Sweep[]> {
  const {rows} = await db.query<Sweep>(
    `SELECT ${sweepColumns} FROM sync.sweeps WHERE sweep_id = ANY ($1) AND ended_at IS NOT NULL
      ORDER BY ended_at, sweep_id`,
    [sweepIds],
  );
  return rows;
}

/** The sweep of that number, null when there is none. */
export async function readSweep(db: Queryable, sweepId: string): Promise<Sweep | null> {
  const {rows} = await db.query<Sweep>(
    `SELECT ${sweepColumns} FROM sync.sweeps WHERE sweep_id = $1`,
    [sweepId],
  );
  return rows[0] ?? null;
}

function makeLostError({sweepId, fence}: Claim): RetryableError {
  return new RetryableError(
    `sweep ${sweepId}: expected fence ${fence}, ` +
      'but another worker has taken it over or it has ended',
  );
}
