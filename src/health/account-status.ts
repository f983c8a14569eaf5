// How far the warehouse can be trusted: facts of every account at once, the status of each, and the
// work in progress or just ended. All times are by the database's clock: the caller computes ages
// against `now`, which is read from it. Work is described alike for a terminal, a log and a page. A
// line of the log contains no value of a record. It also contains no word of the service on a
// change, because such a word may repeat a value.

import type {Account} from '../accounts/accounts.ts';
import {
  type ChangeCount,
  type ChangeState,
  countChanges,
  countMovingChanges,
  type LateChange,
  type LateChanges,
  listLateChanges,
  listLateChangesSingly,
  nameState,
} from '../changes/states.ts';
import {describeChanges} from '../changes/words.ts';
import {
  describePace,
  formatElapsed,
  formatNumber,
  paceOf,
  type WorkInProgress,
} from '../core/format.ts';
import {readNow} from '../postgres/checks.ts';
import type {Queryable} from '../postgres/database.ts';
import {allStreams} from '../streams/all.ts';
import {wholeList} from '../streams/stream.ts';
import type {ChangeOperation} from '../streams/table.ts';
import {
  listOverdueSchedules,
  listPromisedFreshness,
  listSchedules,
  type OverdueSchedule,
  type PromisedFreshness,
  type Schedule,
} from '../sweeps/schedules.ts';
import {readStreamNotes, type StreamNotes} from '../sweeps/story.ts';
import {
  isEndedFull,
  rowsLeft,
  type Sweep,
  type SweepCounts,
  type SweepEnd,
  type SweepMode,
  type SweepStage,
  sweepColumns,
} from '../sweeps/sweeps.ts';

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

/** A sweep that a worker runs, and the last one of the same kind that read its list to the end. */
interface RunningSweep {
  readonly accountId: string;
  readonly sweepId: string;
  readonly stream: string;
  readonly mode: SweepMode;
  readonly windowName: string | null;
  readonly recordNumber: string | null;
  readonly stage: SweepStage;
  /** Records read up to its checkpoint. */
  readonly records: number;
  readonly elapsedMs: number;
  /** Null if there is none. */
  readonly lastRecords: number | null;
}

async function listRunningSweeps(
  db: Queryable,
  accountIds: readonly string[],
): Promise<RunningSweep[]> {
  const {rows} = await db.query<RunningSweep>(
    `SELECT account_id AS "accountId", sweep_id AS "sweepId", stream, mode,
            window_name AS "windowName",
            record_number AS "recordNumber", stage, records::double precision,
            1000 * extract(epoch FROM now() - started_at)::double precision AS "elapsedMs",
            (SELECT records::double precision FROM sync.sweeps AS last
              WHERE last.account_id = running.account_id AND last.stream = running.stream
                AND last.mode = running.mode
                AND last.window_name IS NOT DISTINCT FROM running.window_name
                AND last.state IN ('certified', 'refreshed', 'uncertified')
              ORDER BY sweep_id DESC LIMIT 1) AS "lastRecords"
       FROM sync.sweeps AS running
      WHERE account_id = ANY ($1) AND state = 'running'
      ORDER BY account_id, sweep_id`,
    [accountIds],
  );
  return rows;
}

/** Reads the work in progress in some accounts from stored rows alone: sweeps first. */
export async function readWorkInProgress(
  db: Queryable,
  accounts: readonly {readonly accountId: string; readonly name: string}[],
): Promise<WorkInProgress[]> {
  const accountIds = accounts.map(({accountId}) => accountId);
  const names = new Map(accounts.map(({accountId, name}) => [accountId, name]));
  const findName = ({accountId}: {readonly accountId: string}) => names.get(accountId) ?? accountId;
  const sweeps = await listRunningSweeps(db, accountIds);
  const changes = await countMovingChanges(db, accountIds);
  return [
    ...sweeps.map((sweep) => describeSweep({...sweep, accountName: findName(sweep)})),
    ...changes.map((movingChanges) =>
      describeChanges({...movingChanges, accountName: findName(movingChanges)}),
    ),
  ];
}

type WithAccountName = {readonly accountName: string};

const stages = {read: '', verify: ', now verified', approved: ', as a person approved'} as const;

/** `sweep 12 of jobs (acme): 1,500 of about 3,000 records, 310 a second, 5 s left` */
export function describeSweep(sweep: RunningSweep & WithAccountName): WorkInProgress {
  const {accountName: account, records, lastRecords, elapsedMs, stage} = sweep;
  // After a list is read to its end, no rate predicts how long its verification takes.
  const pace =
    stage === 'read'
      ? paceOf({done: records, total: lastRecords, elapsedMs})
      : {done: records, total: null, perSecond: null, leftMs: null};
  const progress =
    stage === 'read'
      ? describePace(pace, {things: 'records'})
      : `${formatNumber(records)} records read`;
  return {account, pace, text: `${nameSweep(sweep)}: ${progress}${stages[stage]}`};
}

type NamedSweep = Pick<Sweep, 'sweepId' | 'stream' | 'windowName' | 'recordNumber'> & {
  readonly accountName: string;
};

/**
 * `sweep 12 of jobs (acme)`; of a window `sweep 13 of jobs, scheduled=today (acme)`, of a record
 * `sweep 14 of jobs 4711 (acme)`.
 */
export function nameSweep({
  sweepId,
  stream,
  windowName,
  recordNumber,
  accountName,
}: NamedSweep): string {
  const record = recordNumber === null ? '' : ` ${recordNumber}`;
  const window = windowName === null ? '' : `, ${windowName}`;
  return `sweep ${sweepId} of ${stream}${record}${window} (${accountName})`;
}

/** `sweep 12 of jobs (acme) certified: 3,332 records, 4 changed, in 2.1 s` */
export function describeSweepEnd(
  sweep: NamedSweep,
  {
    state,
    counts,
    durationMs,
  }: {readonly state: SweepEnd; readonly counts: SweepCounts; readonly durationMs: number},
): string {
  return `${nameSweep(sweep)} ${state}: ${describeCounts(counts)}, in ${formatElapsed(durationMs)}`;
}

function describeCounts(counts: SweepCounts): string {
  const {records, inserted, updated, revived, tombstoned, quarantined} = counts;
  const changes = [
    [inserted, 'new'],
    [updated, 'changed'],
    [revived, 'back'],
    [tombstoned, 'gone'],
    [quarantined, 'in quarantine'],
  ] as const;
  const changeTexts = changes.flatMap(([count, label]) =>
    count === 0 ? [] : [`${formatNumber(count)} ${label}`],
  );
  const recordsText = `${formatNumber(records)} ${records === 1 ? 'record' : 'records'}`;
  return [recordsText, ...(changeTexts.length === 0 ? ['nothing changed'] : changeTexts)].join(
    ', ',
  );
}

/** A change, by names that its log line may contain: the key at the ERP is not among them. */
interface NamedChange {
  readonly changeId: string;
  readonly operation: ChangeOperation;
  readonly table: string;
  readonly number: string | null;
  readonly rowId: string;
  readonly accountName: string;
}

/** `change 17, update customers 12 (acme), done in 0.4 s` */
export function describeChangeEnd(
  {changeId, operation, table, number, rowId, accountName}: NamedChange,
  {state, durationMs}: {readonly state: ChangeState; readonly durationMs: number},
): string {
  const record = number === null ? `, row ${rowId}` : ` ${number}`;
  const outcome = state === 'rejected' ? 'refused' : nameState(state);
  const subject = `change ${changeId}, ${operation} ${table}${record} (${accountName})`;
  return `${subject}, ${outcome} in ${formatElapsed(durationMs)}`;
}
