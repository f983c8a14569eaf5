import type pg from 'pg';
import {RetryableError} from '../errors.ts';
import type {Queryable} from './database.ts';
import {
  type Claim,
  countNames,
  type Sweep,
  type SweepCounts,
  type SweepEnd,
  type SweepTarget,
  sweepColumns,
} from './sweep.ts';

/** A wish for a sweep. */
export interface SweepRequest extends Omit<SweepTarget, 'windowName' | 'recordNumber'> {
  readonly windowName?: string | null;
  readonly recordNumber?: string | null;
  readonly requestedBy: Sweep['requestedBy'];
}

/**
 * Asks for a sweep that is due at once. While the same one is unfinished there is no second: it is returned, and is
 * due at once if it was waiting.
 */
export async function requestSweep(db: Queryable, request: SweepRequest): Promise<Sweep> {
  const {accountId, stream, mode, windowName = null, recordNumber = null, requestedBy} = request;
  const {rows} = await db.query<Sweep>(
    `INSERT INTO sync.sweeps AS held (account_id, stream, mode, window_name, record_number, requested_by)
     VALUES ($1, $2, $3, $4, $5, $6)
         ON CONFLICT (account_id, stream, mode, coalesce(window_name, ''), coalesce(record_number, 0))
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
 * Takes a sweep up, for as long as the lease says by the database's clock, unless it is renewed.
 * @returns null when it is not due, or somebody else has it
 */
export async function claimSweep(db: Queryable, sweepId: string, leaseMs: number): Promise<Sweep | null> {
  const {rows} = await db.query<Sweep>(
    `UPDATE sync.sweeps
        SET state = 'running', fence = fence + 1, started_at = coalesce(started_at, now()),
            lease_until = now() + $2 * interval '1 millisecond'
      WHERE sweep_id = $1 AND ((state = 'due' AND due_at <= now()) OR (state = 'running' AND lease_until < now()))
  RETURNING ${sweepColumns}`,
    [sweepId, leaseMs],
  );
  return rows[0] ?? null;
}

/** @returns false when the sweep is no longer ours */
export async function renewLease(db: Queryable, claim: Claim & {readonly leaseMs: number}): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.sweeps SET lease_until = now() + $3 * interval '1 millisecond'
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [claim.sweepId, claim.fence, claim.leaseMs],
  );
  return rowCount === 1;
}

/**
 * Notes how far the sweep has come, in the transaction that wrote the batch: both are kept, or neither.
 * @param done - the page to go on with, and the counts of the whole sweep
 * @throws {RetryableError} the sweep is no longer ours: roll the batch back
 */
export async function saveCheckpoint(
  client: pg.ClientBase,
  claim: Claim,
  done: {readonly nextPage: number; readonly counts: SweepCounts},
): Promise<void> {
  const {rowCount} = await client.query(
    `UPDATE sync.sweeps
        SET next_page = $3, failures = 0, ${countNames.map((name, at) => `${name} = $${at + 4}`).join(', ')}
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [claim.sweepId, claim.fence, done.nextPage, ...countNames.map((name) => done.counts[name])],
  );
  if (rowCount !== 1) throw lost(claim);
}

/**
 * Ends a sweep. The row itself demands reasons of an uncertified one, an error of a failed one, and neither of a
 * certified one.
 * @throws {RetryableError} the sweep is no longer ours
 */
export async function endSweep(
  db: Queryable,
  claim: Claim,
  end: {readonly state: SweepEnd; readonly reasons?: readonly string[]; readonly error?: string | null},
): Promise<void> {
  const {rowCount} = await db.query(
    `UPDATE sync.sweeps SET state = $3, reasons = $4, error = $5, ended_at = now(), lease_until = NULL
      WHERE sweep_id = $1 AND fence = $2 AND state = 'running'`,
    [claim.sweepId, claim.fence, end.state, end.reasons ?? [], end.error ?? null],
  );
  if (rowCount !== 1) throw lost(claim);
}

/**
 * Gives a sweep back, to be taken up again from its checkpoint after a while.
 * @param delay - `isFailure` false for a clean stop, which is not counted against it
 * @returns false when the sweep is no longer ours, and so is somebody else's to give back
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

/** Sweeps that somebody should take up now: due, or left behind by a worker whose lease ran out. The oldest first. */
export async function listDueSweeps(db: Queryable, accountId: string): Promise<Sweep[]> {
  const {rows} = await db.query<Sweep>(
    `SELECT ${sweepColumns} FROM sync.sweeps
      WHERE account_id = $1 AND state IN ('due', 'running') AND coalesce(lease_until, due_at) <= now()
      ORDER BY due_at, sweep_id`,
    [accountId],
  );
  return rows;
}

/** The sweep of that number, null when there is none. */
export async function readSweep(db: Queryable, sweepId: string): Promise<Sweep | null> {
  const {rows} = await db.query<Sweep>(`SELECT ${sweepColumns} FROM sync.sweeps WHERE sweep_id = $1`, [
    sweepId,
  ]);
  return rows[0] ?? null;
}

function lost({sweepId, fence}: Claim): RetryableError {
  return new RetryableError(
    `sweep ${sweepId}: expected fence ${fence}, but another worker has taken it over or it has ended`,
  );
}
