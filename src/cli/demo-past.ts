// The past of the demo. Its business is played from night to night, and swept like a real account,
// but first every two weeks, then every week, and only in the last week nightly. The rows that the
// sweeps noted are then dated back to their night. So history, changes of state, payments and
// reports of past weeks exist from the start.

import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import type {Account} from '../accounts/accounts.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {Secret} from '../core/secret.ts';
import {inTransaction} from '../postgres/database.ts';
import {openLife} from '../service/live.ts';
import {startService} from '../service/server.ts';
import {refreshStar} from '../star/mart.ts';
import {saveReported} from '../star/report.ts';
import {readFigures} from '../star/report-figures.ts';
import {allStreams} from '../streams/all.ts';
import {runSweep} from '../sweeps/run-sweep.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {type Counter, countSteps} from './progress.ts';

/** Only this process reads these pages: fewer, larger and uncompressed ones are read faster. */
const pages = {pageSize: 500, compress: false, dialect: 'observed'} as const;

/** A stream, and its window; null means the whole stream. */
type Target = readonly [stream: string, windowName: string | null];

const allTargets: readonly Target[] = allStreams.map(({name}) => [name, null]);
/** The windows of the records that are likely to change. */
const likelyTargets: readonly Target[] = [
  ['jobs', 'uncompleted'],
  ['jobs', 'last_month'],
  ['jobs', 'this_month'],
  ['tasks', 'open'],
  ['tasks', 'this_week'],
];
/** In every seventh of the swept nights the customers, which have no window, are read as well. */
const customersEveryTimes = 7;
/** Of the last weeks every Monday is swept, of those before every second one. */
const weeklyAtEnd = 5;
/** This many of the last nights are swept one by one. */
const nightlyAtEnd = 6;

/** The parts that the sweeps of the demo's past need. */
export type PastDeps = Pick<SweepDeps, 'pool' | 'databaseUrl' | 'pageReader' | 'log'> & {
  readonly signal?: AbortSignal | undefined;
};

interface Past {
  readonly account: Account;
  /** The database of the reference service. */
  readonly databaseUrl: string;
  /** The first day of the made-up business. */
  readonly begin: Temporal.PlainDate;
  readonly nights: number;
}

/**
 * Plays and sweeps the nights before the present one, whose changes are left to the first sweep of
 * the account. If it is interrupted, the nights until then are kept.
 */
export async function playPast(deps: PastDeps, past: Past): Promise<void> {
  const counter = countSteps(`living through ${past.nights} days`, past.nights);
  const pastService = await openPast(deps, past);
  try {
    await playNights(deps, past, {...pastService, counter});
    if (deps.signal?.aborted !== true) {
      await pastService.playUntil(past.nights);
      counter.at(past.nights);
      await requestLastDay(deps.pool, past.account);
    }
  } finally {
    counter.end();
    await pastService.close();
    await refreshStar(deps.pool);
  }
}

/** Leaves the last day to full sweeps that are due at once, with `start --once` and without. */
async function requestLastDay(pool: pg.Pool, {accountId}: Account): Promise<void> {
  for (const {name: stream} of allStreams)
    await requestSweep(pool, {accountId, stream, mode: 'full', requestedBy: 'command'});
}

async function playNights(
  deps: PastDeps,
  past: Past,
  {sweeper, playUntil, counter}: PastService & {readonly counter: Counter},
): Promise<void> {
  const playedNights: Night[] = [];
  try {
    for (const [index, night] of sweptNights(past).entries()) {
      if (deps.signal?.aborted === true) break;
      const moment = await playUntil(night);
      playedNights.push({moment, begun: await readClock(deps.pool)});
      await sweep(sweeper, past.account, targetsOf(past, index, night));
      if (isReportRead(past, night)) await readReport(deps.pool, past, night);
      counter.at(night);
    }
  } finally {
    await dateBack(deps.pool, playedNights);
  }
}

/**
 * The nights that are swept: the first one, some of those to a Monday, and all of the last week,
 * but not the present one.
 */
function sweptNights(past: Past): readonly number[] {
  const {nights} = past;
  const isSwept = (night: number) => {
    const weeksAgo = countWeeksSince(past, night);
    const isWeekSwept = weeksAgo <= weeklyAtEnd || weeksAgo % 2 === 0;
    return night === 0 || night >= nights - nightlyAtEnd || (isMonday(past, night) && isWeekSwept);
  };
  return Array.from({length: nights}, (_, night) => night).filter(isSwept);
}

function isMonday({begin}: Past, night: number): boolean {
  return begin.add({days: night}).dayOfWeek === 1;
}

/** The whole weeks from a night to the present one. */
function countWeeksSince({nights}: Past, night: number): number {
  return Math.floor((nights - night) / 7);
}

/**
 * The first and the last night get full sweeps. A full sweep costs as much as four of the others.
 */
function targetsOf({nights}: Past, index: number, night: number): readonly Target[] {
  if (night === 0 || night === nights - 1) return allTargets;
  return index % customersEveryTimes === 0
    ? [...likelyTargets, ['customers', null]]
    : likelyTargets;
}

interface PastService {
  readonly sweeper: SweepDeps;
  /** @returns the moment of that night */
  playUntil(night: number): Promise<string>;
  close(): Promise<void>;
}

/** Opens the business and its service, whose clock shows the night that is being played. */
async function openPast(
  {signal: _, ...deps}: PastDeps,
  {account: {timeZone}, databaseUrl, begin}: Past,
): Promise<PastService> {
  const life = await openLife(databaseUrl);
  let moment = life.playedUntil ?? nightOf(begin, timeZone);
  const now = () => Temporal.Instant.from(moment);
  const service = await startService({databaseUrl, timeZone, now, ...pages, log: deps.log});
  const token = new Secret(service.token);
  const transport = createTransport({baseUrl: service.url, token, allowHttp: true});
  const api = createClient(transport);
  return {
    sweeper: {...deps, openAccount: async () => ({api, timeZone})},
    playUntil: async (night) => {
      // The mirror begins as soon as the business exists, in the morning of its first day.
      if (night > 0) moment = nightOf(begin.add({days: night}), timeZone);
      await life.playUntil(moment);
      return moment;
    },
    close: async () => {
      await transport.close();
      await service.close();
      await life.close();
    },
  };
}

/**
 * Plays the business up to the last night. A second run on the same day finds nothing new, because
 * the business does not advance within a day.
 */
export async function playUntilToday(
  databaseUrl: string,
  {today, timeZone}: {readonly today: Temporal.PlainDate; readonly timeZone: string},
): Promise<void> {
  const life = await openLife(databaseUrl);
  try {
    await life.playUntil(nightOf(today, timeZone));
  } finally {
    await life.close();
  }
}

function nightOf(day: Temporal.PlainDate, timeZone: string): string {
  return day.toZonedDateTime({timeZone, plainTime: sweptAt}).toInstant().toString();
}

/**
 * Sweeps the streams in parallel, as workers do, and the windows of a stream one after the other.
 */
async function sweep(
  deps: SweepDeps,
  {accountId}: Account,
  targets: readonly Target[],
): Promise<void> {
  const byStream = Map.groupBy(targets, ([stream]) => stream);
  await Promise.all(
    [...byStream.values()].map(async (streamTargets) => {
      for (const [stream, windowName] of streamTargets) {
        const {sweepId} = await requestSweep(deps.pool, {
          accountId,
          stream,
          windowName,
          mode: windowName === null ? 'full' : 'window',
          requestedBy: 'schedule',
        });
        await runSweep(deps, sweepId, new AbortController().signal);
      }
    }),
  );
}

/** The owner read a report on a Monday a week ago, so the next one has something to restate. */
function isReportRead(past: Past, night: number): boolean {
  return isMonday(past, night) && countWeeksSince(past, night) === 1;
}

async function readReport(
  pool: pg.Pool,
  {account: {accountId}, begin}: Past,
  night: number,
): Promise<void> {
  const day = begin.add({days: night}).toString();
  await refreshStar(pool);
  await inTransaction(pool, async (client) => {
    const figures = await readFigures(client, accountId);
    // Weeks from that day on are left out: the clock of Postgres is later, and they did not exist
    // then.
    const pastFigures = figures.map(({weeks, ...figure}) => ({
      ...figure,
      weeks: weeks.filter(({week}) => week < day),
    }));
    await saveReported(client, accountId, {figures: pastFigures});
  });
}

async function readClock(pool: pg.Pool): Promise<string> {
  const {rows} = await pool.query<{now: string}>('SELECT clock_timestamp()::text AS now');
  return rows[0]?.now ?? '';
}

/** A past night, which was played within a moment. */
interface Night {
  /** The moment that the night is dated to: `2026-11-02T07:30:00Z`. */
  readonly moment: string;
  /** The moment when its sweeps began, by the database's clock. */
  readonly begun: string;
}

/**
 * Dates back all times that the warehouse has noted: to the night in which they were noted, with
 * the same distance from its beginning. Rows of the service keep the times that the service gave
 * them. This is only for the demo: it needs a superuser, and no trigger runs.
 * @param nights - in the order of time
 */
async function dateBack(pool: pg.Pool, nights: readonly Night[]): Promise<void> {
  if (nights.length === 0) return;
  await inTransaction(pool, async (client) => {
    await client.query(`SET LOCAL session_replication_role = replica;
      SET LOCAL statement_timeout = 0;
      CREATE TEMPORARY TABLE nights (begun timestamptz PRIMARY KEY, moment timestamptz NOT NULL)
        ON COMMIT DROP`);
    await client.query(
      'INSERT INTO nights SELECT * FROM unnest($1::timestamptz[], $2::timestamptz[])',
      [nights.map(({begun}) => begun), nights.map(({moment}) => moment)],
    );
    await client.query(`CREATE FUNCTION pg_temp.set_back(noted timestamptz) RETURNS timestamptz
      LANGUAGE sql STABLE AS $$
        SELECT coalesce((SELECT noted - begun + moment FROM nights WHERE begun <= noted
          ORDER BY begun DESC LIMIT 1),
                        (SELECT noted - begun + moment FROM nights ORDER BY begun LIMIT 1))
                          WHERE noted IS NOT NULL $$`);
    for (const {place, columns} of await listNotedTimes(client)) {
      const assignments = columns
        .map((column) => `${column} = pg_temp.set_back(${column})`)
        .join(', ');
      await client.query(`UPDATE ${place} SET ${assignments}`);
    }
    await client.query(`UPDATE sync.sweeps
      SET evidence = jsonb_set(evidence, '{readAt}',
            to_jsonb(pg_temp.set_back((evidence->>'readAt')::timestamptz)))
      WHERE evidence ? 'readAt'`);
    await client.query('INSERT INTO sync.stale_jobs DEFAULT VALUES');
  });
}

/**
 * The columns with times that Fieldmirror has noted. In rows of the service their names begin with
 * an underscore.
 */
async function listNotedTimes(
  client: pg.ClientBase,
): Promise<{readonly place: string; readonly columns: readonly string[]}[]> {
  const {rows} = await client.query<{place: string; columns: string[]}>(`
    SELECT format('%I.%I', nspname, relname) AS place,
      array_agg(format('%I', attname) ORDER BY attnum) AS columns
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
      JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped AND atttypid = 'timestamptz'::regtype
       AND (nspname = 'sync' OR attname = 'known_as_of' AND nspname = 'mart'
         OR (nspname IN ('warehouse', 'history')
         AND (attname LIKE '\\_%' OR attname IN ('valid_to', 'at'))))
     GROUP BY nspname, relname ORDER BY 1`);
  return rows;
}

/** The time of a night's sweeps, in the zone of the business. */
const sweptAt = Temporal.PlainTime.from('02:30');

/**
 * The day of the latest night that has passed. Times dated back to a later night would be in the
 * future.
 */
export function latestNight(now: Temporal.ZonedDateTime): Temporal.PlainDate {
  const today = now.toPlainDate();
  return Temporal.PlainTime.compare(now.toPlainTime(), sweptAt) < 0
    ? today.subtract({days: 1})
    : today;
}
