// The owner's figures of the weekly report: week by week, with a description of those that are
// unusual in the last week, and how a number is written. Also its charts, as data: revenue by week,
// open jobs and unpaid amounts by age, and how busy each technician was.

import type pg from 'pg';
import type {Chart} from './chart.ts';

/** One figure of the weekly report. */
export interface Figure {
  /** A column of `mart.ask_weeks`. */
  readonly metric: ReportMetric;
  readonly label: string;
  readonly unit: 'money' | 'jobs';
  /** Of each whole week, the oldest first; the last one is the week of the report. */
  readonly weeks: readonly WeekValue[];
}

interface WeekValue {
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

const chartWeeks = 26;
const weeksPerYear = 52;
const meanWeeks = 4;

const backlogAges = ['up to 7 days', '8 to 30', '31 to 60', 'more than 60'];
const receivableAges = ['up to 30 days', '31 to 60', '61 to 90', 'more than 90'];

/** @returns the charts that have any data */
export async function readPictures(
  client: pg.ClientBase,
  {accountKey, currency}: {readonly accountKey: string; readonly currency: string | null},
  figures: readonly Figure[],
): Promise<readonly Chart[]> {
  const revenue = figures.find(({metric}) => metric === 'revenue');
  const pictures = [
    ...(revenue === undefined ? [] : [chartRevenue(revenue, currency)]),
    await readBacklog(client, accountKey),
    await readReceivables(client, accountKey, currency),
    await readUtilisation(client, accountKey),
  ];
  return pictures.filter(({names, series}) => names.length > 0 && series.length > 0);
}

function chartRevenue({weeks}: Figure, currency: string | null): Chart {
  const shownWeeks = weeks.slice(-chartWeeks);
  const first = weeks.length - shownWeeks.length;
  const numbers = weeks.map(({value}) => Number(value));
  return {
    form: 'columns',
    title: addCurrency('Revenue by week', currency),
    sentence:
      `What was completed in each of the last ${shownWeeks.length} whole weeks, before tax; ` +
      `as lines the mean of ${meanWeeks} weeks, and the same weeks a year ago.`,
    names: shownWeeks.map(({week}) => week),
    series: [
      {name: 'revenue', kind: 'bar', values: shownWeeks.map(({value}) => Number(value))},
      {
        name: `mean of ${meanWeeks} weeks`,
        kind: 'line',
        values: shownWeeks.map((_, index) => computeMean(weeks, first + index)),
      },
      {
        name: 'a year ago',
        kind: 'line',
        values: shownWeeks.map((_, index) => numbers[first + index - weeksPerYear] ?? null),
      },
    ],
  };
}

function computeMean(weeks: readonly WeekValue[], at: number): number | null {
  const lastWeeks = weeks.slice(Math.max(0, at - meanWeeks + 1), at + 1);
  if (lastWeeks.length < meanWeeks) return null;
  return (
    Math.round((lastWeeks.reduce((sum, {value}) => sum + Number(value), 0) / meanWeeks) * 100) / 100
  );
}

async function readBacklog(client: pg.ClientBase, accountKey: string): Promise<Chart> {
  const {rows} = await client.query<{date: string; ages: number[]}>(
    `SELECT date::text AS date, ARRAY[up_to_7_days, up_to_30_days, up_to_60_days,
            older]::integer[] AS ages FROM mart.ask_backlog_age AS day WHERE account_key = $1
              ORDER BY day.date`,
    [accountKey],
  );
  return {
    form: 'columns',
    title: 'Open jobs by age',
    sentence: 'Jobs that were open at the end of each Sunday, by the days since they were booked.',
    names: rows.map(({date}) => date),
    series: backlogAges.map((name, index) => ({
      name,
      kind: 'area',
      stack: 'open',
      values: rows.map((row) => row.ages[index] ?? 0),
    })),
  };
}

async function readReceivables(
  client: pg.ClientBase,
  accountKey: string,
  currency: string | null,
): Promise<Chart> {
  const {rows} = await client.query<{ages: number[] | null}>(
    `SELECT ARRAY[sum(up_to_30_days), sum(up_to_60_days), sum(up_to_90_days),
            sum(older)]::float[] AS ages FROM mart.ask_debtors WHERE account_key = $1
              HAVING count(*) > 0`,
    [accountKey],
  );
  return {
    form: 'columns',
    title: addCurrency('What is owed, by age', currency),
    sentence: 'What is unpaid of the invoices, with tax, by the days since their date.',
    names: receivableAges,
    series: rows.map(({ages}) => ({name: 'owed', kind: 'bar', values: ages ?? []})),
  };
}

async function readUtilisation(client: pg.ClientBase, accountKey: string): Promise<Chart> {
  const {rows} = await client.query<{name: string; week: string; percent: number | null}>(
    `SELECT name, week::text AS week, percent::float AS percent FROM mart.ask_utilisation AS busy
      WHERE account_key = $1 AND capacity_hours > 0 ORDER BY busy.name, busy.week`,
    [accountKey],
  );
  const weeks = [...new Set(rows.map(({week}) => week))].toSorted();
  const people = Map.groupBy(rows, ({name}) => name);
  return {
    form: 'heatmap',
    title: 'How busy each technician was',
    sentence: 'Hours on jobs over hours of capacity, in percent, for each of the last whole weeks.',
    names: weeks,
    series: [...people].map(([name, personRows]) => ({
      name,
      kind: 'bar',
      values: weeks.map((week) => personRows.find((row) => row.week === week)?.percent ?? null),
    })),
  };
}
