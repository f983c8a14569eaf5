// The whole installation in five seconds: is it fine, and what must somebody do.

import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {type ChangeCount, countChanges} from '../changes/change-health.ts';
import type {UnderWay} from '../core/format.ts';
import {type AccountFacts, readAccountFacts} from '../health/account-status.ts';
import {type Hour, listHours, listNights, type Night} from '../health/figures.ts';
import {readUnderWay} from '../health/under-way.ts';
import {allStreams} from '../streams/all.ts';
import {closestPromise, tellPromise} from '../sweeps/freshness.ts';
import type {Schedule} from '../sweeps/schedules.ts';
import type {Problem} from './alerts.ts';
import {findProblems, type HealthInput, readInstallation} from './problems.ts';

/** How old what we know of a stream can be at worst, against how old it may become. */
export interface Freshness {
  readonly account: string;
  readonly stream: string;
  /** When the last certified sweep began; null: never proven. */
  readonly provenAt: string | null;
  /** Two intervals of its full sweep: one night may fail. Null where no schedule sweeps it. */
  readonly targetMs: number | null;
  readonly isFresh: boolean;
  /**
   * The freshness that is promised of it during the day, and whether that is kept; null where none
   * is.
   */
  readonly promise: string | null;
  /** When it is swept in full again; null where that is not planned. */
  readonly nextDueAt: string | null;
  /** Whether a full sweep is under way or due. */
  readonly isUnderWay: boolean;
}

export interface OverviewStory {
  /** By the database's clock. */
  readonly now: string;
  /** `All four streams are fresh; nothing needs you.` */
  readonly sentence: string;
  readonly streams: readonly Freshness[];
  readonly problems: readonly Problem[];
  readonly underWay: readonly UnderWay[];
  /** Changes made here that are not over, by state. */
  readonly changes: readonly ChangeCount[];
  readonly hours: readonly Hour[];
  readonly nights: readonly Night[];
  /** What comes round next, of every account, the soonest first. */
  readonly next: readonly (Schedule & {readonly account: string})[];
}

const shownNext = 6;
const numbers = ['no', 'one', 'two', 'three', 'four'];

/**
 * Reads the overview of some accounts, without a count of their rows.
 * @param pool - its readings wait for each other nowhere, and are made side by side
 */
export async function readOverview(
  pool: pg.Pool,
  accounts: readonly Account[],
  healthInput: HealthInput,
): Promise<OverviewStory> {
  const ids = accounts.map(({accountId}) => accountId);
  const [{now, accounts: facts}, installation, underWay, changes, hours, nights] =
    await Promise.all([
      readAccountFacts(pool, accounts),
      readInstallation(pool, healthInput),
      readUnderWay(pool, accounts),
      countChanges(pool, ids),
      listHours(pool, ids),
      listNights(pool, ids),
    ]);
  const problems = findProblems(facts, installation, now);
  const streams = facts.flatMap((each) => tellFreshness(each, now));
  return {
    now,
    sentence: tellOverview(streams, problems),
    streams,
    problems,
    underWay,
    changes,
    hours,
    nights,
    next: listNext(facts),
  };
}

function tellFreshness(
  {account, streams, schedules, promises}: AccountFacts,
  now: string,
): Freshness[] {
  return allStreams.flatMap(({name}) => {
    const held = streams.find(({stream}) => stream === name);
    const schedule = schedules.find(({stream, mode}) => stream === name && mode === 'full');
    if (held === undefined || (held.provenAt === null && schedule === undefined)) return [];
    const targetMs = schedule === undefined ? null : 2 * schedule.everyMs;
    const promise = closestPromise(promises.filter(({stream}) => stream === name));
    const ageMs = held.provenAt === null ? null : Date.parse(now) - Date.parse(held.provenAt);
    const latest = held.sweeps.find(({mode}) => mode === 'full');
    return {
      account: account.name,
      stream: name,
      provenAt: held.provenAt,
      targetMs,
      isFresh: ageMs !== null && (targetMs === null || ageMs <= targetMs),
      promise: promise === undefined ? null : tellPromise(promise, now),
      nextDueAt: account.state === 'active' ? (schedule?.nextDueAt ?? null) : null,
      isUnderWay: latest !== undefined && latest.endedAt === null,
    };
  });
}

/** Whether all is fine, and how much needs a person, in one sentence. */
export function tellOverview(
  streams: readonly Pick<Freshness, 'isFresh' | 'stream'>[],
  problems: readonly unknown[],
): string {
  const need =
    problems.length === 0
      ? 'nothing needs you'
      : problems.length === 1
        ? 'one thing needs you'
        : `${problems.length} things need you`;
  return `${tellStreams(streams)}; ${need}.`;
}

function tellStreams(streams: readonly Pick<Freshness, 'isFresh' | 'stream'>[]): string {
  if (streams.length === 0) return 'Nothing is mirrored yet';
  const old = [...new Set(streams.filter(({isFresh}) => !isFresh).map(({stream}) => stream))];
  const count = numbers[streams.length] ?? String(streams.length);
  if (old.length === 0)
    return streams.length === 1 ? 'The stream is fresh' : `All ${count} streams are fresh`;
  return `Not fresh: ${old.join(', ')}`;
}

function listNext(facts: readonly AccountFacts[]): OverviewStory['next'] {
  return facts
    .filter(({account}) => account.state === 'active')
    .flatMap(({account, schedules}) =>
      schedules.map((schedule) => ({...schedule, account: account.name})),
    )
    .toSorted((one, other) => (one.nextDueAt < other.nextDueAt ? -1 : 1))
    .slice(0, shownNext);
}
