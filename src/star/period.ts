// The days and the moment of an answer: those of its question, or those that a person requested.
// Also the days before them, with which they are compared.

import type pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {isCalendarDay, showSecond} from '../core/format.ts';
import type {Question} from './member.ts';

/** Days such as `2026-10-31`. */
export interface Days {
  readonly from: string;
  readonly to: string;
}

export interface AnswerPeriod {
  /** Null: from the first date that is known. */
  readonly from: string | null;
  /** Null: to the last date that is known. */
  readonly to: string | null;
  /** Whether a person requested these days; otherwise they are those of the question. */
  readonly isGiven: boolean;
  /** Whether it begins today or later: a plan is not compared with days that have passed. */
  readonly isAhead: boolean;
}

/** Days as they were typed. */
export interface TypedDays {
  readonly from?: string | undefined;
  readonly to?: string | undefined;
}

/**
 * Finds the days that a question is about. The caller has begun to read.
 * @param account - the source of the account, at the requested moment, as SQL
 * @returns null if the answer is about a moment alone
 * @throws {UsageError} days were typed for such an answer, a typed day is invalid, or the first day
 *   is after the last one
 */
export async function findPeriod(
  client: pg.ClientBase,
  {period, name}: Pick<Question, 'period' | 'name'>,
  {account, accountKey, from, to}: TypedDays & {account: string; accountKey: string},
): Promise<AnswerPeriod | null> {
  const isGiven = from !== undefined || to !== undefined;
  if (period === undefined) {
    if (!isGiven) return null;
    throw new UsageError(
      `${name.replace('ask_', '').replaceAll('_', '-')} has no period: its answer is about ` +
        'one point in time; leave out --from and --to, or ask with --as-of and a past day',
    );
  }
  checkDay('--from', from);
  checkDay('--to', to);
  const {rows} = await client.query<{first: string | null; last: string | null; today: string}>(
    `SELECT nullif(${period.first}, '-infinity')::text AS first,
            nullif(${period.last}, 'infinity')::text AS last, account.today::text AS today
       FROM ${account} AS account WHERE account_key = $1`,
    [accountKey],
  );
  const days = {from: from ?? rows[0]?.first ?? null, to: to ?? rows[0]?.last ?? null};
  if (days.from !== null && days.to !== null && days.from > days.to) {
    const usualEnd = to === undefined ? ', the last day unless --to names another' : '';
    throw new UsageError(
      `expected --from not after --to, got ${days.from} to ${days.to}${usualEnd}`,
    );
  }
  const isAhead = days.from !== null && days.from >= (rows[0]?.today ?? '');
  return {...days, isGiven, isAhead};
}

/** The calendar of the star has the years 2000 to 2049. */
const dayPattern = /^20[0-4]\d-\d{2}-\d{2}$/;

function checkDay(option: string, typed: string | undefined): void {
  if (typed === undefined || (dayPattern.test(typed) && isCalendarDay(typed))) return;
  throw new UsageError(
    `${option}: expected a day of 2000 to 2049 such as 2026-10-31, got "${typed}"`,
  );
}

/**
 * The days before a period: as many months if it consists of whole months, else as many days.
 * @returns null if the period has no first or no last day, or is ahead
 */
export function daysBefore({from, to, isAhead}: AnswerPeriod): Days | null {
  if (from === null || to === null || isAhead) return null;
  const [first, dayAfter] = [toDate(from), addDays(toDate(to), 1)];
  const last = addDays(first, -1);
  if (first.getUTCDate() !== 1 || dayAfter.getUTCDate() !== 1) {
    const days = (dayAfter.getTime() - first.getTime()) / dayMs;
    return {from: toDay(addDays(first, -days)), to: toDay(last)};
  }
  const months =
    (dayAfter.getUTCFullYear() - first.getUTCFullYear()) * 12 +
    dayAfter.getUTCMonth() -
    first.getUTCMonth();
  const before = new Date(first);
  before.setUTCMonth(before.getUTCMonth() - months);
  return {from: toDay(before), to: toDay(last)};
}

const dayMs = 86_400_000;
const toDate = (day: string) => new Date(`${day}T00:00:00Z`);
const toDay = (date: Date) => date.toISOString().slice(0, 10);
const addDays = (date: Date, days: number) => new Date(date.getTime() + days * dayMs);

/** A period for a person, such as `2026-10-01 to 2026-10-31`. */
export function describePeriod({from, to}: Pick<AnswerPeriod, 'from' | 'to'>): string {
  if (from === null) return to === null ? 'all dates' : `up to ${to}`;
  return to === null ? `from ${from}` : `${from} to ${to}`;
}

/**
 * Finds the moment that a person typed: the end of a day of the account, or an instant.
 * @returns null for the present
 * @throws {UsageError} the text is no day and no instant, or the moment is in the future or before
 *   the mirror knew the account
 */
export async function findAsOf(
  client: pg.ClientBase,
  accountKey: string,
  typed: string | undefined,
): Promise<string | null> {
  if (typed === undefined) return null;
  const isDay = /^\d{4}-\d{2}-\d{2}$/.test(typed);
  if (!isMoment(typed, isDay))
    throw new UsageError(
      '--as-of: expected a day such as 2026-10-31, or an instant with its offset such as ' +
        `2026-10-31T17:00:00Z, got "${typed}"`,
    );
  // A day ends a microsecond before the next one begins, so that ages are counted to its own date.
  const endOfDay = `(($2::date + 1)::timestamp AT TIME ZONE time_zone) - interval '1 microsecond'`;
  const {rows} = await client.query<{
    moment: string;
    knownSince: string | null;
    isKnown: boolean | null;
    isToCome: boolean;
  }>(
    `SELECT moment, known_since AS "knownSince", moment >= known_since AS "isKnown",
            moment > now() AS "isToCome"
       FROM (SELECT known_since,
                    ${isDay ? endOfDay : '$2::timestamptz'} AS moment
               FROM mart.dim_account WHERE account_key = $1) AS asked`,
    [accountKey, typed],
  );
  const [momentRow] = rows;
  if (momentRow === undefined) return null;
  if (momentRow.isToCome) throw new UsageError(`--as-of ${typed}: expected a time that has passed`);
  if (momentRow.isKnown !== true)
    throw new UsageError(
      momentRow.knownSince === null
        ? `--as-of ${typed}: the mirror knows nothing yet: jobs, customers and employees were ` +
            'never all proven complete; run fieldmirror sync'
        : `--as-of ${typed}: the mirror knows the account since ` +
            `${showSecond(momentRow.knownSince)}; ask for that time or a later one`,
    );
  return momentRow.moment;
}

/**
 * Postgres has neither the year 0 nor the days that JavaScript moves into the next month, such as
 * February 30.
 */
function isMoment(typed: string, isDay: boolean): boolean {
  if (!/^(?!0000)\d{4}-\d{2}-\d{2}(?:$|[T ])/.test(typed)) return false;
  if (!isCalendarDay(typed.slice(0, 10))) return false;
  return (
    isDay || (/(Z|[+-](?:0\d|1[0-4]):?[0-5]\d)$/.test(typed) && !Number.isNaN(Date.parse(typed)))
  );
}
