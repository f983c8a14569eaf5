import type {Account} from '../accounts/accounts.ts';
import {
  type ChangeCount,
  countChanges,
  type LateChange,
  type LateChanges,
  listLateChanges,
  listLateChangesSingly,
} from '../changes/change-health.ts';
import type {Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {wholeList} from '../streams/windows.ts';
import {
  listOverdueSchedules,
  listPromisedFreshness,
  listSchedules,
  type OverdueSchedule,
  type PromisedFreshness,
  type Schedule,
} from '../sweeps/schedules.ts';
import {readStatus, readStreamNotes, type StreamNotes} from '../sweeps/story.ts';
import type {Sweep} from '../sweeps/sweep.ts';
import {type FieldEvent, readHealth, type WaitingSweep} from './health.ts';

/** What is noted of one stream of one account. Instants are ISO 8601 in UTC. */
export interface StreamFacts extends StreamNotes {
  /** The last full sweep that came to an end; null before the first. */
  readonly lastEnded: Sweep | null;
  /**
   * When the last certified sweep began: all that lived since is here, and no older. Null: never
   * proven.
   */
  readonly provenAt: string | null;
  /** Rows that live, of records that the service has; left out where they were not counted. */
  readonly rows?: number;
}

/** One stream of one account, its rows counted. */
export interface StreamHealth extends StreamFacts {
  readonly rows: number;
}

/** What is noted of an account: enough to tell what is wrong with it. */
export interface AccountFacts {
  readonly account: Account;
  readonly streams: readonly StreamFacts[];
  readonly schedules: readonly Schedule[];
  /** Schedules that have not run for two of their intervals. */
  readonly overdue: readonly OverdueSchedule[];
  /** The freshness that was promised of streams, and when their whole lists were last read. */
  readonly promises: readonly PromisedFreshness[];
  /** Sweeps that wait for a person's approval. */
  readonly waiting: readonly WaitingSweep[];
  /**
   * The changes that need a person, the most urgent first: those of a kind together, or each by
   * itself.
   */
  readonly late: readonly (LateChanges | LateChange)[];
  /** Changes in the fields that the service sends, of the last seven days, the newest first. */
  readonly events: readonly FieldEvent[];
}

/** How an account stands, for a person who looks at it. */
export interface AccountStatus extends AccountFacts {
  readonly streams: readonly StreamHealth[];
  /** How many changes made here are not over, by state; those that need a person first. */
  readonly changes: readonly ChangeCount[];
}

interface Read<T> {
  /** By the clock that wrote the rows. */
  readonly now: string;
  readonly accounts: readonly T[];
}

/** Facts whose streams hold what was read of each. */
interface FactsWith<S extends StreamNotes> extends AccountFacts {
  readonly streams: readonly (S & StreamFacts)[];
}

const streamNames = allStreams.map(({name}) => name);

/** Reads how accounts stand, from the rows alone. */
export async function readAccounts(
  db: Queryable,
  accounts: readonly Account[],
): Promise<Read<AccountStatus>> {
  const ids = accounts.map(({accountId}) => accountId);
  const changes = await countChanges(db, ids);
  const late = await listLateChanges(db, ids);
  const {now, accounts: read} = await readEach(db, accounts, {
    late,
    readStreams: (accountId) => readStatus(db, accountId, allStreams),
  });
  return {
    now,
    accounts: read.map((status) => ({
      ...status,
      changes: changes.filter(({accountId}) => accountId === status.account.accountId),
    })),
  };
}

/**
 * Reads the same, each late change by itself, without a count of the rows: cheap however large the
 * account is.
 */
export async function readAccountFacts(
  db: Queryable,
  accounts: readonly Account[],
): Promise<Read<AccountFacts>> {
  const ids = accounts.map(({accountId}) => accountId);
  return await readEach(db, accounts, {
    late: await listLateChangesSingly(db, ids),
    readStreams: (accountId) => readStreamNotes(db, accountId, streamNames),
  });
}

async function readEach<S extends StreamNotes>(
  db: Queryable,
  accounts: readonly Account[],
  {
    late,
    readStreams,
  }: {
    readonly late: AccountFacts['late'];
    readonly readStreams: (accountId: string) => Promise<readonly S[]>;
  },
): Promise<Read<FactsWith<S>>> {
  const ids = accounts.map(({accountId}) => accountId);
  const {now, proofs, waiting, events} = await readHealth(db, ids);
  const overdue = await listOverdueSchedules(db, ids);
  const read: FactsWith<S>[] = [];
  for (const account of accounts) {
    const isOwn = (row: {readonly accountId: string}) => row.accountId === account.accountId;
    const own = proofs.filter(isOwn);
    const streams = await readStreams(account.accountId);
    read.push({
      account,
      streams: streams.map((stream) => {
        const proof = own.find((each) => each.stream === stream.stream);
        return {...stream, lastEnded: proof?.lastEnded ?? null, provenAt: proof?.provenAt ?? null};
      }),
      schedules: await listSchedules(db, account),
      overdue: overdue.filter(isOwn),
      promises: await listPromisedFreshness(db, account, wholeList),
      waiting: waiting.filter(isOwn),
      late: late.filter(isOwn),
      events: events.filter(isOwn),
    });
  }
  return {now, accounts: read};
}
