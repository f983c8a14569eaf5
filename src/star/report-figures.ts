// The owner's figures week by week, a description of the figures that are unusual in the last week,
// and how a number is written.

import type pg from 'pg';

/** One figure of the weekly report. */
export interface Figure {
  /** A column of `mart.ask_weeks`. */
  readonly metric: ReportMetric;
  readonly label: string;
  readonly unit: 'money' | 'jobs';
  /** Of each whole week, the oldest first; the last one is the week of the report. */
  readonly weeks: readonly WeekValue[];
}

export interface WeekValue {
  /** Its Monday. */
  readonly week: string;
  /** Exact, as Postgres writes it. */
  readonly value: string;
}

export type ReportMetric = 'revenue' | 'completed' | 'booked' | 'owed_over_60_days' | 'open_jobs';

/** Every figure of a week, by its name and unit. */
export const figureKinds: readonly Omit<Figure, 'weeks'>[] = [
  {metric: 'revenue', label: 'Revenue', unit: 'money'},
  {metric: 'completed', label: 'Jobs completed', unit: 'jobs'},
  {metric: 'booked', label: 'Booked', unit: 'money'},
  {metric: 'owed_over_60_days', label: 'Owed for more than 60 days', unit: 'money'},
  {metric: 'open_jobs', label: 'Open jobs', unit: 'jobs'},
];

/** @returns every figure of the last 78 whole weeks of an account */
export async function readFigures(
  client: pg.ClientBase,
  accountKey: string,
): Promise<readonly Figure[]> {
  const columns = figureKinds
    .map(({metric}) => `trim_scale(${metric}::numeric)::text AS ${metric}`)
    .join(', ');
  const {rows} = await client.query<Readonly<Record<ReportMetric | 'week', string>>>(
    `SELECT week::text AS week, ${columns} FROM mart.ask_weeks AS weeks WHERE account_key = $1
      ORDER BY weeks.week`,
    [accountKey],
  );
  return figureKinds.map((kind) => ({
    ...kind,
    weeks: rows.map((row) => ({week: row.week, value: row[kind.metric]})),
  }));
}

/**
 * A figure of the last week, of the week before it, and of the same week a year ago; null if there
 * is none.
 */
export function compareWeeks({
  weeks,
}: Figure): Readonly<Record<'now' | 'before' | 'yearAgo', string | null>> {
  const findValue = (weeksBack: number) => weeks.at(-1 - weeksBack)?.value ?? null;
  return {now: findValue(0), before: findValue(1), yearAgo: findValue(52)};
}

/**
 * How a figure changed since the week before, with an arrow: `▲ 12.5 %`. A change from 0 has no
 * percentage, so it is the arrow alone. Empty if there is nothing to compare with.
 */
export function describeChange(now: string | null, before: string | null): string {
  if (now === null || before === null) return '';
  const [value, base] = [Number(now), Number(before)];
  if (value === base) return '=';
  const arrow = value > base ? '▲' : '▼';
  if (base === 0) return arrow;
  const percent = Math.abs((value - base) / base) * 100;
  return `${arrow} ${percent >= 999.5 ? 'over 999' : percent.toFixed(1)} %`;
}

/** The number of weeks that a week is compared with. */
const usualWeeks = 26;
/** A usual week is at most this many standard deviations off the mean. */
const usualDeviations = 2;

/**
 * The usual range of a figure, from the weeks before its last one; null if there are too few, or
 * all are equal.
 */
function findUsualRange({weeks}: Figure): {readonly least: number; readonly most: number} | null {
  const pastValues = weeks.slice(-1 - usualWeeks, -1).map(({value}) => Number(value));
  if (pastValues.length < usualWeeks) return null;
  const mean = pastValues.reduce((sum, value) => sum + value, 0) / pastValues.length;
  const variance =
    pastValues.reduce((sum, value) => sum + (value - mean) ** 2, 0) / (pastValues.length - 1);
  const tolerance = usualDeviations * Math.sqrt(variance);
  return variance === 0 ? null : {least: mean - tolerance, most: mean + tolerance};
}

/** Describes the figures that moved by more than in a usual week; empty if none did. */
export function describeMoves(figures: readonly Figure[]): readonly string[] {
  return figures.flatMap((figure) => {
    const usual = findUsualRange(figure);
    const last = Number(figure.weeks.at(-1)?.value);
    if (usual === null || (last >= usual.least && last <= usual.most)) return [];
    const formatRounded = (value: number) =>
      showNumber(value.toFixed(figure.unit === 'money' ? 2 : 0));
    const direction = last > usual.most ? 'above' : 'below';
    const range = `${formatRounded(Math.max(0, usual.least))} and ${formatRounded(usual.most)}`;
    return [
      `${figure.label}: ${showNumber(String(last))} is ${direction} what is usual. ` +
        `In the ${usualWeeks} weeks before, nearly all lay between ${range}.`,
    ];
  });
}

/** 1234567.5 becomes 1,234,567.50: no digit is lost, and a fraction has at least two places. */
export function showNumber(number: string | null): string {
  if (number === null) return '';
  const [whole = '', fraction] = number.split('.');
  const grouped = whole.replaceAll(/\B(?=(\d{3})+$)/g, ',');
  return fraction === undefined ? grouped : `${grouped}.${fraction.padEnd(2, '0')}`;
}

/** The same with at least two places, also for a whole amount: 0 becomes 0.00. */
export function showMoney(amount: string | null): string {
  return amount === null || amount.includes('.') ? showNumber(amount) : `${showNumber(amount)}.00`;
}

/** The name of an amount with its currency, such as `Revenue (USD)`. */
export function addCurrency(name: string, currency: string | null): string {
  return currency === null ? name : `${name} (${currency})`;
}
