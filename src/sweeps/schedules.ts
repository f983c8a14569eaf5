// Schedules: rows of sync.schedules, and those that an account begins with.

import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {type StreamName, wholeList} from '../streams/stream.ts';
import {listLatestSweeps} from './story.ts';
import {requestSweep, type Sweep} from './sweeps.ts';
import type {schedules} from './tables.ts';

type Row = typeof schedules.$inferSelect;

const columns = [
  'schedule_id',
  'account_id',
  'name',
  'stream',
  'mode',
  'window_name',
  'next_due_at',
  'last_requested_at',
] as const satisfies readonly (keyof Row)[];

/** A recurring sweep: a row of sync.schedules, whose definition explains each column. */
export interface Schedule extends ReadRow<Row, (typeof columns)[number]> {
  readonly everyMs: number;
}

/** A schedule to create. */
export interface SchedulePlan extends Pick<Schedule, 'name' | 'stream' | 'mode' | 'everyMs'> {
  readonly windowName?: string | null;
  /** When it is due for the first time, an instant as ISO text. */
  readonly firstDueAt: string;
}

const scheduleColumns = `${selectColumns(columns)}, every_ms::double precision AS "everyMs"`;

const isActive = `EXISTS (
  SELECT FROM sync.accounts AS account WHERE account.account_id = schedules.account_id
  AND account.state = 'active')`;

/**
 * Creates the schedules whose names the account does not have yet. Existing ones stay as they are,
 * because a person may have changed them.
 */
export async function insertSchedules(
  db: Queryable,
  accountId: string,
  plans: readonly SchedulePlan[],
): Promise<void> {
  await db.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, window_name, every_ms, next_due_at)
     SELECT $1, plan.* FROM unnest($2::text[], $3::text[], $4::text[], $5::text[], $6::bigint[],
       $7::timestamptz[]) AS plan
         ON CONFLICT (account_id, name) DO NOTHING`,
    [
      accountId,
      plans.map((plan) => plan.name),
      plans.map((plan) => plan.stream),
      plans.map((plan) => plan.mode),
      plans.map((plan) => plan.windowName ?? null),
      plans.map((plan) => plan.everyMs),
      plans.map((plan) => plan.firstDueAt),
    ],
  );
}

/** The schedules of an account, the next due first. */
export async function listSchedules(
  db: Queryable,
  {accountId}: {readonly accountId: string},
): Promise<Schedule[]> {
  const {rows} = await db.query<Schedule>(
    `SELECT ${scheduleColumns} FROM sync.schedules WHERE account_id = $1
     ORDER BY next_due_at, schedule_id`,
    [accountId],
  );
  return rows;
}

/** The due schedules of those accounts that are active, the longest due first. */
export async function listDueSchedules(
  db: Queryable,
  accountIds: readonly string[],
): Promise<Schedule[]> {
  const {rows} = await db.query<Schedule>(
    `SELECT ${scheduleColumns} FROM sync.schedules
      WHERE account_id = ANY ($1) AND next_due_at <= now() AND ${isActive}
      ORDER BY next_due_at, schedule_id`,
    [accountIds],
  );
  return rows;
}

/** A schedule that should have run. */
export interface OverdueSchedule extends Schedule {
  readonly accountName: string;
  /**
   * Since when it waits, an instant as ISO text: for a worker to process it, or for one to claim
   * its sweep.
   */
  readonly waitsSince: string;
}

/**
 * The schedules of active accounts that have not run for two of their intervals: no worker checked
 * them, or none claimed the sweep that was created.
 * @param accountIds - only of these accounts; of all if not given
 */
export async function listOverdueSchedules(
  db: Queryable,
  accountIds?: readonly string[],
): Promise<OverdueSchedule[]> {
  const {rows} = await db.query<OverdueSchedule>(
    `SELECT held.*, account.name AS "accountName",
      least(held."nextDueAt", sweep.due_at) AS "waitsSince"
       FROM (SELECT ${scheduleColumns} FROM sync.schedules) AS held
       JOIN sync.accounts AS account ON account.account_id = held."accountId"
       AND account.state = 'active'
       LEFT JOIN sync.sweeps AS sweep
              ON sweep.account_id = held."accountId" AND sweep.stream = held.stream
                AND sweep.mode = held.mode
             AND sweep.window_name IS NOT DISTINCT FROM held."windowName" AND sweep.state = 'due'
      WHERE ($1::bigint[] IS NULL OR held."accountId" = ANY ($1))
        AND (held."nextDueAt" + held."everyMs" * interval '1 millisecond' < now()
             OR sweep.due_at + 2 * held."everyMs" * interval '1 millisecond' < now())
      ORDER BY held."scheduleId"`,
    [accountIds ?? null],
  );
  return rows;
}

/** A schedule that reads a whole list, and so promises a maximum age for the data of its stream. */
export interface PromisedFreshness extends Schedule {
  /**
   * When the latest first pass began that read the list to its end, in any sweep; null if none is
   * known.
   */
  readonly lastReadAt: string | null;
  /**
   * When a sweep that would keep the promise was first requested, among the sweeps still stored;
   * null if none was yet.
   */
  readonly requestedAt: string | null;
  /** The error or the first reason of the last such sweep that ended; null if it had none. */
  readonly lastError: string | null;
}

/**
 * The promises of an account, or of all accounts.
 * @param wholeListName - the name of the window that is a whole list
 */
export async function listPromisedFreshness(
  db: Queryable,
  {accountId}: {readonly accountId: string | null},
  wholeListName: string,
): Promise<PromisedFreshness[]> {
  const select = (value: string, condition: string, order: 'ASC' | 'DESC') =>
    `(SELECT ${value} FROM sync.sweeps AS sweep
       WHERE sweep.account_id = held."accountId" AND sweep.stream = held.stream AND ${condition}
       ORDER BY sweep_id ${order} LIMIT 1)`;
  const isComplete = "evidence->'firstPass'->>'endedBy' IN ('empty-page', 'whole-answer')";
  const isOwn = "mode = 'window' AND window_name = $2";
  const {rows} = await db.query<PromisedFreshness>(
    `SELECT held.*, ${select('due_at', isOwn, 'ASC')} AS "requestedAt",
            greatest(${select('started_at', `mode = 'full' AND ${isComplete}`, 'DESC')},
                     ${select('started_at', `${isOwn} AND ${isComplete}`, 'DESC')}) AS "lastReadAt",
            ${select('coalesce(error, reasons[1])', `${isOwn} AND ended_at IS NOT NULL`, 'DESC')}
              AS "lastError"
       FROM (SELECT ${scheduleColumns} FROM sync.schedules) AS held
      WHERE ($1::bigint IS NULL OR held."accountId" = $1) AND held."windowName" = $2
      ORDER BY held."scheduleId"`,
    [accountId, wholeListName],
  );
  return rows;
}

/**
 * Creates the sweep of a due schedule. The sweep and the schedule's next time are committed
 * together, so no sweep is lost and none is created twice.
 * @returns the sweep; null if the schedule is not due, does not exist, or its account is not active
 */
export async function requestDueSchedule(pool: pg.Pool, scheduleId: string): Promise<Sweep | null> {
  return await inTransaction(pool, async (client) => {
    const schedule = await advanceSchedule(client, scheduleId);
    return schedule === null
      ? null
      : await requestSweep(client, {...schedule, requestedBy: 'schedule'});
  });
}

/** Moves a due schedule on to its next time; missed times are not made up for. */
async function advanceSchedule(
  client: pg.ClientBase,
  scheduleId: string,
): Promise<Schedule | null> {
  const {rows} = await client.query<Schedule>(
    `UPDATE sync.schedules
        SET last_requested_at = now(),
            next_due_at = next_due_at + every_ms * interval '1 millisecond'
                        * (1 + floor(extract(epoch FROM now() - next_due_at) * 1000
                                     / every_ms))::double precision
      WHERE schedule_id = $1 AND next_due_at <= now() AND ${isActive}
  RETURNING ${scheduleColumns}`,
    [scheduleId],
  );
  return rows[0] ?? null;
}

/** A schedule as written in a settings file. */
interface ScheduleSetting extends Pick<Schedule, 'name' | 'stream' | 'windowName' | 'everyMs'> {
  readonly account: string;
  /**
   * The time of day at which it is due, in UTC to the second; null if its interval is not a number
   * of whole days.
   */
  readonly at: string | null;
}

/** The name of the schedule that sets the freshness of a stream. */
export function nameFreshnessSchedule(stream: string): string {
  return `${stream} fresh`;
}

/** The schedules of every account. */
export async function listScheduleSettings(db: Queryable): Promise<ScheduleSetting[]> {
  const {rows} = await db.query<ScheduleSetting>(
    `SELECT account.name AS account, schedule.name, stream, window_name AS "windowName",
      every_ms::double precision AS "everyMs",
            CASE WHEN every_ms % 86400000 = 0 THEN to_char(next_due_at AT TIME ZONE 'UTC',
              'HH24:MI:SS') END AS at
       FROM sync.schedules AS schedule JOIN sync.accounts AS account USING (account_id)
      ORDER BY account.name, schedule_id`,
  );
  return rows;
}

/**
 * Creates a schedule, or changes the one of that name. With a time of day, it is due at the next
 * such time. Without one, an existing schedule stays due when it was, unless its new interval ends
 * sooner.
 * @param isDueNow - whether the first sweep is due at once
 */
export async function writeSchedule(
  db: Queryable,
  schedule: ScheduleSetting,
  {isDueNow = false}: {readonly isDueNow?: boolean} = {},
): Promise<void> {
  const {account, name, stream, windowName, everyMs, at} = schedule;
  await db.query(
    `WITH next AS (
       SELECT CASE WHEN $7 THEN now() WHEN $6::time IS NULL
         THEN now() + $5::bigint * interval '1 millisecond'
                   ELSE (day + $6::time + CASE WHEN day + $6::time <= moment THEN interval '1 day'
                     ELSE interval '0' END) AT TIME ZONE 'UTC'
              END AS due_at
         FROM (SELECT now() AT TIME ZONE 'UTC' AS moment,
           date_trunc('day', now() AT TIME ZONE 'UTC') AS day) AS today
     )
     INSERT INTO sync.schedules AS held (account_id, name, stream, mode, window_name, every_ms,
       next_due_at)
     SELECT account_id, $2::text, $3::text,
       CASE WHEN $4::text IS NULL THEN 'full' ELSE 'window' END, $4::text, $5::bigint, due_at
       FROM sync.accounts, next WHERE accounts.name = $1
         ON CONFLICT (account_id, name) DO UPDATE
        SET stream = EXCLUDED.stream, mode = EXCLUDED.mode, window_name = EXCLUDED.window_name,
          every_ms = EXCLUDED.every_ms,
            next_due_at = CASE WHEN $6::time IS NULL
              THEN least(held.next_due_at, EXCLUDED.next_due_at) ELSE EXCLUDED.next_due_at END`,
    [account, name, stream, windowName, everyMs, at, isDueNow],
  );
}

/** Deletes a schedule; a sweep that it has already created continues. */
export async function deleteSchedule(
  db: Queryable,
  {account, name}: Pick<ScheduleSetting, 'account' | 'name'>,
): Promise<void> {
  await db.query(
    `DELETE FROM sync.schedules AS held USING sync.accounts AS account
      WHERE account.account_id = held.account_id AND account.name = $1 AND held.name = $2`,
    [account, name],
  );
}

/** Whether a freshness promise sets the schedule; it is then not listed among the schedules. */
export function isFreshnessSchedule({
  name,
  stream,
  windowName,
}: Pick<ScheduleSetting, 'name' | 'stream' | 'windowName'>): boolean {
  return name === nameFreshnessSchedule(stream) && windowName === wholeList;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
const dayMs = 24 * hourMs;
/**
 * Full sweeps run at night: from three in the morning at the account, one stream after the other.
 */
const nightlyHour = 3;
/** The accounts of one zone do not all begin at three; they are spread over this period. */
const nightSpreadMs = 2 * hourMs;
const nightly: readonly StreamName[] = ['customers', 'jobs', 'tasks'];
const windowPlans: readonly {stream: StreamName; window: string; everyMs: number}[] = [
  {stream: 'jobs', window: 'in_progress', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'today', everyMs: 5 * minuteMs},
  {stream: 'jobs', window: 'tomorrow', everyMs: 15 * minuteMs},
  {stream: 'jobs', window: 'this_week', everyMs: 30 * minuteMs},
  {stream: 'tasks', window: 'open', everyMs: 10 * minuteMs},
  {stream: 'tasks', window: 'today', everyMs: 10 * minuteMs},
  {stream: 'tasks', window: 'this_week', everyMs: 30 * minuteMs},
];

/**
 * The schedules that an account begins with. Afterwards they are rows of sync.schedules and can be
 * changed there.
 * @param now - the present moment
 * @param timeZone - the account's IANA zone. The nightly hour is fixed in UTC by today's offset: a
 *   change of clocks moves it by an hour and never skips or repeats it
 * @param accountId - different accounts are due at different moments, each always at the same one
 */
export function planSchedules(now: Date, timeZone: string, accountId = '0'): SchedulePlan[] {
  const share = shareOf(accountId);
  const night = nextNight(now, timeZone).getTime() + Math.floor(share * nightSpreadMs);
  const nextDueAt = (everyMs: number) =>
    new Date(now.getTime() + Math.ceil(everyMs * (1 - share))).toISOString();
  const fullSchedules = nightly.map((stream, at) => ({
    name: `${stream} nightly`,
    stream,
    mode: 'full' as const,
    windowName: null,
    everyMs: dayMs,
    firstDueAt: new Date(night + at * 5 * minuteMs).toISOString(),
  }));
  const employeesSchedule = {
    name: 'employees hourly',
    stream: 'employees',
    mode: 'full' as const,
    windowName: null,
    everyMs: hourMs,
    firstDueAt: nextDueAt(hourMs),
  };
  const windowSchedules = windowPlans.map(({stream, window, everyMs}) => ({
    name: `${stream} ${window}`,
    stream,
    mode: 'window' as const,
    windowName: window,
    everyMs,
    firstDueAt: nextDueAt(everyMs),
  }));
  return [...fullSchedules, employeesSchedule, ...windowSchedules];
}

/**
 * A share with 0 ≤ x < 1, by the golden ratio: it spreads consecutive accounts evenly, however many
 * there are.
 */
function shareOf(accountId: string): number {
  return (Number(accountId) * 0.618_033_988_749_895) % 1;
}

function nextNight(now: Date, timeZone: string): Date {
  const clock = new Intl.DateTimeFormat('en', {
    timeZone,
    hour: 'numeric',
    minute: 'numeric',
    hourCycle: 'h23',
  });
  const parts = clock.formatToParts(now);
  const readPart = (type: string) => Number(parts.find((part) => part.type === type)?.value);
  const untilNightMs =
    nightlyHour * hourMs - readPart('hour') * hourMs - readPart('minute') * minuteMs;
  const night = now.getTime() - (now.getTime() % minuteMs) + untilNightMs;
  return new Date(untilNightMs > 0 ? night : night + dayMs);
}

/**
 * Gives an account without schedules those that every account begins with, and requests a full
 * sweep of each stream that never had one. A second call changes nothing: a schedule that a person
 * deleted stays deleted.
 * @param streams - names of the streams to sweep
 */
export async function beginAccount(
  db: Queryable,
  account: Pick<Account, 'accountId' | 'timeZone'>,
  streams: readonly string[],
): Promise<void> {
  const {accountId, timeZone} = account;
  const ownSchedules = (await listSchedules(db, {accountId})).filter(
    (schedule) => !isFreshnessSchedule(schedule),
  );
  if (ownSchedules.length === 0)
    await insertSchedules(db, accountId, planSchedules(new Date(), timeZone, accountId));
  const latest = await listLatestSweeps(db, accountId);
  for (const stream of streams) {
    const isSwept = latest.some((sweep) => sweep.stream === stream && sweep.mode === 'full');
    if (!isSwept) await requestSweep(db, {accountId, stream, mode: 'full', requestedBy: 'command'});
  }
}
