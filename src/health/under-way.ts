// The work in progress and the work that has just ended, described alike for a terminal, a log and
// a page. Times are by the database's clock. A line of the log contains no value of a record. It
// also contains no word of the service on a change, because such a word may repeat a value.

import {countMovingChanges} from '../changes/change-health.ts';
import {type ChangeState, nameState} from '../changes/states.ts';
import {describeChanges} from '../changes/words.ts';
import {
  describePace,
  formatElapsed,
  formatNumber,
  paceOf,
  type WorkInProgress,
} from '../core/format.ts';
import type {Queryable} from '../postgres/database.ts';
import type {ChangeOperation} from '../streams/table.ts';
import type {Sweep, SweepCounts, SweepEnd, SweepMode, SweepStage} from '../sweeps/sweeps.ts';

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
