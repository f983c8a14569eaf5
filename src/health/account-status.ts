// How far the warehouse can be trusted: facts of every account at once, and the status of each. The
// caller computes ages against `now`, which is read from the clock of the database. All rows read
// here were written by the same clock.

import type {Account} from '../accounts/accounts.ts';
import {
  type ChangeCount,
  countChanges,
  type LateChange,
  type LateChanges,
  listLateChanges,
  listLateChangesSingly,
} from '../changes/change-health.ts';
import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {wholeList} from '../streams/stream.ts';
import {
  listOverdueSchedules,
  listPromisedFreshness,
  listSchedules,
  type OverdueSchedule,
  type PromisedFreshness,
  type Schedule,
} from '../sweeps/schedules.ts';
import {readStreamNotes, type StreamNotes} from '../sweeps/story.ts';
import {isEndedFull, rowsLeft, type Sweep, sweepColumns} from '../sweeps/sweeps.ts';

/** The stored facts of one stream of one account. Instants are ISO 8601 in UTC. */
export interface StreamFacts extends StreamNotes {
  /** The last full sweep that ended; null before the first. */
  readonly lastEnded: Sweep | null;
  /**
   * When the last certified sweep began: no record that lived from then on is missing here, or
   * older than that. Null: never proven.
   */
  readonly provenAt: string | null;
  /**
   * The number of live rows, of records that the service has, when the last full sweep ended that
   * did not fail; null before the first.
   */
  readonly rows: number | null;
}

/** The stored facts of an account: enough to find what is wrong with it. */
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
   * The changes that need a person, the most urgent first: those of a kind together, or each one
   * separately.
   */
  readonly late: readonly (LateChanges | LateChange)[];
  /** Changes in the fields that the service sends, of the last seven days, the newest first. */
  readonly events: readonly FieldNews[];
}

/** The status of an account, for a person who checks it. */
export interface AccountStatus extends AccountFacts {
  /** How many changes made here have not ended, by state; those that need a person first. */
  readonly changes: readonly ChangeCount[];
}

interface TimedAccounts<T> {
  /** By the clock that wrote the rows. */
  readonly now: string;
  readonly accounts: readonly T[];
}

const streamNames = allStreams.map(({name}) => name);

/**
 * Reads the status of accounts from stored facts alone: it costs the same however many rows the
 * accounts have.
 */
export async function readAccounts(
  db: Queryable,
  accounts: readonly Account[],
): Promise<TimedAccounts<AccountStatus>> {
  const ids = accounts.map(({accountId}) => accountId);
  const changes = await countChanges(db, ids);
  const lateChanges = await listLateChanges(db, ids);
  const {now, accounts: allFacts} = await readFacts(db, accounts, lateChanges);
  return {
    now,
    accounts: allFacts.map((status) => ({
      ...status,
      changes: changes.filter(({accountId}) => accountId === status.account.accountId),
    })),
  };
}

/** Reads the same facts, each late change separately. */
export async function readAccountFacts(
  db: Queryable,
  accounts: readonly Account[],
): Promise<TimedAccounts<AccountFacts>> {
  const ids = accounts.map(({accountId}) => accountId);
  return await readFacts(db, accounts, await listLateChangesSingly(db, ids));
}

async function readFacts(
  db: Queryable,
  accounts: readonly Account[],
  lateChanges: AccountFacts['late'],
): Promise<TimedAccounts<AccountFacts>> {
  const ids = accounts.map(({accountId}) => accountId);
  const {now, proofs, waiting, events} = await readHealth(db, ids);
  const overdue = await listOverdueSchedules(db, ids);
  const allFacts: AccountFacts[] = [];
  for (const account of accounts) {
    const isOfAccount = (row: {readonly accountId: string}) => row.accountId === account.accountId;
    const accountProofs = proofs.filter(isOfAccount);
    const streams = await readStreamNotes(db, account.accountId, streamNames);
    allFacts.push({
      account,
      streams: streams.map((stream) => {
        const proof = accountProofs.find((candidate) => candidate.stream === stream.stream);
        return {
          ...stream,
          lastEnded: proof?.lastEnded ?? null,
          provenAt: proof?.provenAt ?? null,
          rows: proof?.rows ?? null,
        };
      }),
      schedules: await listSchedules(db, account),
      overdue: overdue.filter(isOfAccount),
      promises: await listPromisedFreshness(db, account, wholeList),
      waiting: waiting.filter(isOfAccount),
      late: lateChanges.filter(isOfAccount),
      events: events.filter(isOfAccount),
    });
  }
  return {now, accounts: allFacts};
}

/**
 * The full sweeps of one stream of one account, by what they prove. Instants are ISO 8601 in UTC.
 */
interface Proof {
  readonly accountId: string;
  readonly stream: string;
  /** The last full sweep that ended, whatever its result. */
  readonly lastEnded: Sweep;
  /**
   * When the last certified sweep began: no record that lived from then on is missing or older than
   * that. Null if nothing was ever proven.
   */
  readonly provenAt: string | null;
  /** See `StreamFacts`. */
  readonly rows: number | null;
}

/** A sweep that would mark so many rows deleted that a person must approve it. */
interface WaitingSweep {
  readonly sweepId: string;
  readonly accountId: string;
  readonly stream: string;
  readonly endedAt: string;
  /** How many rows would be marked deleted. */
  readonly rows: number;
  readonly reasons: readonly string[];
}

/** A change in the fields that the service sends. */
export interface FieldNews {
  readonly at: string;
  readonly accountId: string;
  readonly table: string;
  readonly field: string;
  readonly kind: 'new' | 'vanished' | 'returned' | 'retyped';
  readonly detail: string;
}

interface Health {
  readonly now: string;
  readonly proofs: readonly Proof[];
  readonly waiting: readonly WaitingSweep[];
  /** Of the last seven days, the newest first. */
  readonly events: readonly FieldNews[];
}

/** Reads the health of some accounts, and the clock once for all of them. */
export async function readHealth(db: Queryable, accountIds: readonly string[]): Promise<Health> {
  return {
    now: await readNow(db),
    proofs: await listProofs(db, accountIds),
    waiting: await listWaitingSweeps(db, accountIds),
    events: await listFieldEvents(db, accountIds),
  };
}

/** Each fact of a stream is that of one sweep, which an index finds: past sweeps are not read. */
async function listProofs(db: Queryable, accountIds: readonly string[]): Promise<Proof[]> {
  const {rows} = await db.query<Sweep & {provenAt: string | null; rowsLeft: number | null}>(
    `SELECT ended.*, proven.started_at AS "provenAt", opinion.rows AS "rowsLeft"
       FROM ${accountStreams}
      CROSS JOIN LATERAL (SELECT ${sweepColumns} FROM ${fullSweeps} AND ended_at IS NOT NULL
        ORDER BY sweep_id DESC LIMIT 1) AS ended
       LEFT JOIN LATERAL (SELECT started_at FROM ${fullSweeps} AND state = 'certified'
        ORDER BY sweep_id DESC LIMIT 1) AS proven ON true
       LEFT JOIN LATERAL (SELECT ${rowsLeft} AS rows FROM ${fullSweeps} AND ${isEndedFull}
        ORDER BY sweep_id DESC LIMIT 1) AS opinion ON true
      ORDER BY asked.account_id, asked.stream`,
    [accountIds, streamNames],
  );
  return rows.map(({provenAt, rowsLeft: rows, ...lastEnded}) => ({
    accountId: lastEnded.accountId,
    stream: lastEnded.stream,
    lastEnded,
    provenAt,
    rows,
  }));
}

const accountStreams = `(SELECT account_id, stream FROM unnest($1::bigint[]) AS account (account_id)
  CROSS JOIN unnest($2::text[]) AS kind (stream)) AS asked`;
const fullSweeps = `sync.sweeps AS sweep WHERE sweep.account_id = asked.account_id
  AND sweep.stream = asked.stream AND sweep.mode = 'full'`;

/**
 * After a later sweep has ended, its result counts: the earlier sweep can no longer be approved.
 */
async function listWaitingSweeps(
  db: Queryable,
  accountIds: readonly string[],
): Promise<WaitingSweep[]> {
  const {rows} = await db.query<WaitingSweep>(
    `SELECT stopped.sweep_id AS "sweepId", stopped.account_id AS "accountId", stopped.stream,
            stopped.ended_at AS "endedAt", stopped.reasons,
            (SELECT count(*)::integer FROM sync.tombstones AS tombstone
              WHERE tombstone.sweep_id = stopped.sweep_id AND tombstone.written_at IS NULL) AS rows
       FROM ${accountStreams}
      CROSS JOIN LATERAL (SELECT * FROM ${fullSweeps} AND ${isEndedFull}
        ORDER BY sweep_id DESC LIMIT 1) AS stopped
      WHERE stopped.state = 'stopped' ORDER BY stopped.account_id, stopped.sweep_id`,
    [accountIds, streamNames],
  );
  return rows;
}

async function listFieldEvents(db: Queryable, accountIds: readonly string[]): Promise<FieldNews[]> {
  const {rows} = await db.query<FieldNews>(
    `SELECT at, account_id AS "accountId", table_name AS table, field, kind, detail
       FROM sync.field_events WHERE account_id = ANY ($1) AND at > now() - interval '7 days'
      ORDER BY at DESC, event_id DESC`,
    [accountIds],
  );
  return rows;
}
