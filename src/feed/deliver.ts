// Sends messages at least once, to subscribers of the feed and to receivers of alerts. The sender
// holds a lease of the row by the database's clock, and stores the outcome after the receiver has
// answered. If a worker is killed in between, its lease stays until it expires, and another worker
// sends the same message again, by the same id. If a receiver does not accept a message, it is sent
// again after growing delays, until it is given up.

import type pg from 'pg';
import {FatalError, RetryableError, UsageError} from '../core/errors.ts';
import {markThisProcess} from '../core/lease.ts';
import {type BackOff, pauseAfter} from '../core/pauses.ts';
import type {Queryable} from '../postgres/database.ts';

/**
 * A table whose rows are to be sent, with the columns `due_at`, `fence`, `lease_until`, `holder`.
 */
interface SendQueue {
  readonly table: string;
  /** The column of its number. */
  readonly id: string;
  /** SQL for further columns to set when a row is claimed, and when it is given back. */
  readonly onClaim?: string;
  readonly onRelease?: string;
}

/** A row that this worker has claimed. */
export interface SendClaim {
  readonly id: string;
  readonly fence: number;
  /** How many tries before this one failed. */
  readonly failures: number;
}

/** Longer than any try takes. */
export const sendLease = "now() + interval '1 minute'";

/**
 * Claims rows that are due, the longest waiting first, and those whose worker was lost.
 * @param select - parts of a query in which the row is `due`; its parameters begin with `$2`, and
 *   `"keyId"` and `bytes` are among its columns
 */
export async function claimDue<C extends SendClaim>(
  db: Queryable,
  {table, id, onClaim = ''}: SendQueue,
  select: {readonly columns: string; readonly joins?: string; readonly where: string},
  values: readonly [limit: number, ...others: unknown[]],
): Promise<C[]> {
  const {rows} = await db.query<pg.QueryResultRow>(
    `WITH due AS (
       SELECT due.${id} AS id, ${select.columns} FROM ${table} AS due ${select.joins ?? ''}
        WHERE due.due_at <= now() AND coalesce(due.lease_until <= now(), true) AND ${select.where}
        ORDER BY due.due_at, due.${id} LIMIT $1 FOR UPDATE OF due SKIP LOCKED)
     UPDATE ${table} AS claimed SET fence = fence + 1, lease_until = ${sendLease},
            holder = $${values.length + 1} ${onClaim}
       FROM due WHERE claimed.${id} = due.id RETURNING claimed.fence, due.*`,
    [...values, await markThisProcess()],
  );
  return rows.map(({keyId, bytes, ...row}) => ({
    ...row,
    sealed: keyId === null ? null : {keyId, bytes},
  })) as unknown as C[];
}

/** Stores the outcome of a claim. @returns whether the claim still held */
export async function noteClaim(
  db: Queryable,
  {table, id}: SendQueue,
  claim: SendClaim,
  changes: string,
  values: readonly unknown[] = [],
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE ${table} AS claimed SET ${changes}
      WHERE ${id} = $1 AND fence = $2 AND lease_until IS NOT NULL`,
    [claim.id, claim.fence, ...values],
  );
  return rowCount === 1;
}

/**
 * Why a receiver did not accept a message, how long the next try waits, and whether it was the
 * last.
 */
export interface FailedTry {
  readonly error: string;
  readonly afterMs: number;
  readonly isLast: boolean;
}

/** The error of a message that can never be sent as it is: the message is given up at once. */
export class UndeliverableError extends FatalError {}

/**
 * Sends a claimed message. If the receiver does not accept it, it is due again later, or given up.
 * If there is nothing more to send, or the try was interrupted, the claim is given back.
 * @param plan.send - sends, and stores that it was accepted; returns null if there is nothing more
 *   to send
 * @param plan.refuse - stores that it was not accepted
 * @returns the result of `send`; null if it failed
 * @throws errors of the database: they are no failure of the receiver
 */
export async function deliverClaim<C extends SendClaim, T>(
  {pool, signal}: {readonly pool: pg.Pool; readonly signal?: AbortSignal | undefined},
  {queue, backOff, mostTries, send, refuse}: DeliveryPlan<C, T>,
  claim: C,
): Promise<T | null> {
  const release = () =>
    noteClaim(pool, queue, claim, `lease_until = NULL ${queue.onRelease ?? ''}`);
  try {
    const result = await send(claim);
    if (result === null) await release();
    return result;
  } catch (cause) {
    if (signal?.aborted === true || !isReceiverError(cause)) {
      await release();
      if (signal?.aborted === true) return null;
      throw cause;
    }
    const {failures} = claim;
    const isLast = cause instanceof UndeliverableError || failures + 1 >= mostTries;
    const afterMs = pauseAfter(cause, failures, backOff);
    await refuse(claim, {error: cause.message, afterMs, isLast});
    return null;
  }
}

/**
 * Delivers everything that is due. Each message that ends makes room for the next one, so a slow
 * receiver delays no other. After an error no more is claimed, and all that was begun ends first.
 * @param options.atOnce - how many messages are sent at the same time
 * @param claim - claims at most so many rows
 * @param deliver - sends one of them, as `deliverClaim`
 * @throws the first error of `claim` or `deliver`
 */
export async function deliverDue<C extends SendClaim>(
  {signal, atOnce}: {readonly signal?: AbortSignal | undefined; readonly atOnce: number},
  claim: (limit: number) => Promise<readonly C[]>,
  deliver: (claim: C) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const claimUpTo = async (limit: number) =>
    signal?.aborted === true || errors.length > 0 ? [] : await claim(limit);
  const deliverAll = async (first: C) => {
    for (let next: C | undefined = first; next !== undefined; [next] = await claimUpTo(1))
      await deliver(next);
  };
  const lanes = (await claimUpTo(atOnce)).map(deliverAll);
  await Promise.all(lanes.map((lane) => lane.catch((error: unknown) => errors.push(error))));
  if (errors.length > 0) throw errors[0];
}

function isReceiverError(error: unknown): error is Error {
  return [RetryableError, UsageError, FatalError].some((kind) => error instanceof kind);
}

/** How the rows of a queue are sent. */
interface DeliveryPlan<C extends SendClaim, T> {
  readonly queue: SendQueue;
  readonly backOff: BackOff;
  readonly mostTries: number;
  readonly send: (claim: C) => Promise<T>;
  readonly refuse: (claim: C, failed: FailedTry) => Promise<void>;
}
