// The past of the demo: its business is played from night to night, and swept each night as a real
// account is. What the sweeps saw is then dated back to its night, so that history, changes of
// state, payments and reports of past weeks are there within the first minute.

import type pg from 'pg';
import {Temporal} from 'temporal-polyfill';
import type {Account} from '../accounts/accounts.ts';
import {createClient} from '../api/client.ts';
import {createTransport} from '../api/transport.ts';
import {Secret} from '../core/secret.ts';
import {inTransaction} from '../postgres/database.ts';
import {openLife} from '../service/live.ts';
import {startService} from '../service/server.ts';
import {refreshStar} from '../star/refresh-star.ts';
import {keepReported} from '../star/report.ts';
import {readFigures} from '../star/report-figures.ts';
import {allStreams} from '../streams/all.ts';
import {runSweep} from '../sweeps/run-sweep.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import {requestSweep} from '../sweeps/sweeps.ts';
import {type Counter, countSteps} from './count-steps.ts';
import {sweptAt} from './demo-latest-night.ts';
import {type Night, setBack} from './demo-set-back.ts';

/** Its pages are for us alone: fewer, larger and plain ones are read faster. */
const pages = {pageSize: 500, compress: false, dialect: 'observed'} as const;

/** A stream, and the window of it; null is all of it. */
type Target = readonly [stream: string, windowName: string | null];

/**
 * Now and then, and in the last nights, everything is read; in the nights between, all that is
 * likely to change.
 */
const fullEveryNights = 15;
const lastNights = 7;
const everything: readonly Target[] = allStreams.map(({name}) => [name, null]);
const likely: readonly Target[] = [
  ['jobs', 'uncompleted'],
  ['jobs', 'last_month'],
  ['jobs', 'this_month'],
  ['tasks', 'open'],
  ['tasks', 'this_week'],
];
/** Streams that are read in full every hour: as of the last night they would be old. */
const hourly: readonly Target[] = [['employees', null]];

/** The parts that the past of the demo is swept with. */
export type PastDeps = Pick<SweepDeps, 'pool' | 'databaseUrl' | 'pageReader' | 'log'> & {
  readonly signal?: AbortSignal | undefined;
};

export interface Past {
  readonly account: Account;
  /** Of the reference service. */
  readonly databaseUrl: string;
  /** The day on which the business was made up. */
  readonly begin: Temporal.PlainDate;
  readonly nights: number;
}

/**
 * Lives through the nights, up to the last; what was seen until then is kept where it is cut off.
 */
export async function livePast(deps: PastDeps, past: Past): Promise<void> {
  const counter = countSteps(
    `living through ${past.nights} days, with a sweep each night`,
    past.nights,
  );
  const world = await openPast(deps, past);
  try {
    await liveNights(deps, past, {...world, counter});
    if (deps.signal?.aborted !== true) await sweep(world.sweeper, past.account, hourly);
  } finally {
    counter.end();
    await world.close();
    await refreshStar(deps.pool);
  }
}

async function liveNights(
  deps: PastDeps,
  past: Past,
  {sweeper, playUntil, counter}: World & {readonly counter: Counter},
): Promise<void> {
  const lived: Night[] = [];
  try {
    for (let night = 0; night <= past.nights && deps.signal?.aborted !== true; night++) {
      const moment = await playUntil(night);
      lived.push({moment, begun: await readClock(deps.pool)});
      const isFull = night % fullEveryNights === 0 || night > past.nights - lastNights;
      await sweep(sweeper, past.account, isFull ? everything : likely);
      if (isReportRead(past, night)) await readReport(deps.pool, past, night);
      counter.at(night);
    }
  } finally {
    await setBack(deps.pool, lived);
  }
}

interface World {
  readonly sweeper: SweepDeps;
  /** @returns the moment of that night */
  playUntil(night: number): Promise<string>;
  close(): Promise<void>;
}

/** The business and its service, whose clock shows the night that is lived through. */
async function openPast(
  {signal: _, ...deps}: PastDeps,
  {account: {timeZone}, databaseUrl, begin}: Past,
): Promise<World> {
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
      // The mirror begins as soon as the business is there, in the morning of its first day.
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
 * Plays the business up to the last night. It stands still on a day, so that a second run finds
 * nothing new.
 */
export async function playOn(
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

async function sweep(
  deps: SweepDeps,
  {accountId}: Account,
  targets: readonly Target[],
): Promise<void> {
  for (const [stream, windowName] of targets) {
    const {sweepId} = await requestSweep(deps.pool, {
      ...{accountId, stream, windowName},
      mode: windowName === null ? 'full' : 'window',
      requestedBy: 'schedule',
    });
    await runSweep(deps, sweepId, new AbortController().signal);
  }
}

/** The owner read a report a week ago, on a Monday: so the next one has something to restate. */
function isReportRead({begin, nights}: Past, night: number): boolean {
  return begin.add({days: night}).dayOfWeek === 1 && Math.floor((nights - night) / 7) === 1;
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
    // By the clock of Postgres it is later: there are weeks that nobody could ask about then.
    const told = figures.map(({weeks, ...figure}) => ({
      ...figure,
      weeks: weeks.filter(({week}) => week < day),
    }));
    await keepReported(client, accountId, told);
  });
}

async function readClock(pool: pg.Pool): Promise<string> {
  const {rows} = await pool.query<{now: string}>('SELECT clock_timestamp()::text AS now');
  return rows[0]?.now ?? '';
}
