import {allStreams} from '../streams/all.ts';
import type {Account} from '../warehouse/accounts/accounts.ts';
import {
  type ChangeCount,
  countChanges,
  type LateChanges,
  listLateChanges,
} from '../warehouse/changes/change-health.ts';
import {type FieldEvent, readHealth, type WaitingSweep} from '../warehouse/health/health.ts';
import {readStatus, type StreamStatus} from '../warehouse/health/status.ts';
import type {Queryable} from '../warehouse/postgres/database.ts';
import {
  listOverdueSchedules,
  listSchedules,
  type OverdueSchedule,
  type Schedule,
} from '../warehouse/sweeps/schedules.ts';
import type {Sweep} from '../warehouse/sweeps/sweep.ts';

/** One stream of one account. Instants are ISO 8601 in UTC. */
export interface StreamHealth extends StreamStatus {
  /** The last full sweep that came to an end; null before the first. */
  readonly lastEnded: Sweep | null;
  /** When the last certified sweep began: all that lived since is here, and no older. Null: never proven. */
  readonly provenAt: string | null;
}

export interface AccountStatus {
  readonly account: Account;
  readonly streams: readonly StreamHealth[];
  readonly schedules: readonly Schedule[];
  /** Schedules that have not run for two of their intervals. */
  readonly overdue: readonly OverdueSchedule[];
  /** Sweeps that wait for a person's approval. */
  readonly waiting: readonly WaitingSweep[];
  /** How many changes made here are not over, by state; those that need a person first. */
  readonly changes: readonly ChangeCount[];
  /** The changes that need a person, the most urgent first. */
  readonly late: readonly LateChanges[];
  /** Changes in the fields that the service sends, of the last seven days, the newest first. */
  readonly events: readonly FieldEvent[];
}

/**
 * Reads how accounts stand, from the rows alone.
 * @returns with `now`, by the clock that wrote the rows
 */
export async function readAccounts(
  db: Queryable,
  accounts: readonly Account[],
): Promise<{readonly now: string; readonly accounts: readonly AccountStatus[]}> {
  const ids = accounts.map(({accountId}) => accountId);
  const {now, proofs, waiting, events} = await readHealth(db, ids);
  const overdue = await listOverdueSchedules(db, ids);
  const changes = await countChanges(db, ids);
  const late = await listLateChanges(db, ids);
  const read: AccountStatus[] = [];
  for (const account of accounts) {
    const isOwn = (row: {readonly accountId: string}) => row.accountId === account.accountId;
    const own = proofs.filter(isOwn);
    const streams = await readStatus(db, account.accountId, allStreams);
    read.push({
      account,
      streams: streams.map((stream) => {
        const proof = own.find((each) => each.stream === stream.stream);
        return {...stream, lastEnded: proof?.lastEnded ?? null, provenAt: proof?.provenAt ?? null};
      }),
      schedules: await listSchedules(db, account),
      overdue: overdue.filter(isOwn),
      waiting: waiting.filter(isOwn),
      changes: changes.filter(isOwn),
      late: late.filter(isOwn),
      events: events.filter(isOwn),
    });
  }
  return {now, accounts: read};
}
