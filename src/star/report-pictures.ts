// The pictures of the weekly report: answers of the star, as charts.

import type pg from 'pg';
import type {Chart} from './chart.ts';
import type {Figure, WeekValue} from './report-figures.ts';

const shownWeeks = 26;
const yearOfWeeks = 52;
const meanOf = 4;

const ages = ['up to 7 days', '8 to 30', '31 to 60', 'more than 60'];
const owedAges = ['up to 30 days', '31 to 60', '61 to 90', 'more than 90'];

/** @returns the charts for which there is anything to draw */
export async function readPictures(
  client: pg.ClientBase,
  accountKey: string,
  figures: readonly Figure[],
): Promise<readonly Chart[]> {
  const revenue = figures.find(({metric}) => metric === 'revenue');
  const pictures = [
    ...(revenue === undefined ? [] : [drawRevenue(revenue)]),
    await readBacklog(client, accountKey),
    await readOwed(client, accountKey),
    await readUtilisation(client, accountKey),
  ];
  return pictures.filter(({names, series}) => names.length > 0 && series.length > 0);
}

function drawRevenue({weeks}: Figure): Chart {
  const shown = weeks.slice(-shownWeeks);
  const first = weeks.length - shown.length;
  const numbers = weeks.map(({value}) => Number(value));
  return {
    form: 'columns',
    title: 'Revenue by week',
    sentence: `What was completed in each of the last ${shown.length} whole weeks, before tax; as lines the mean of ${meanOf} weeks, and the same weeks a year ago.`,
    names: shown.map(({week}) => week),
    series: [
      {name: 'revenue', kind: 'bar', values: shown.map(({value}) => Number(value))},
      {
        name: `mean of ${meanOf} weeks`,
        kind: 'line',
        values: shown.map((_, at) => meanUpTo(weeks, first + at)),
      },
      {
        name: 'a year ago',
        kind: 'line',
        values: shown.map((_, at) => numbers[first + at - yearOfWeeks] ?? null),
      },
    ],
  };
}

function meanUpTo(weeks: readonly WeekValue[], at: number): number | null {
  const part = weeks.slice(Math.max(0, at - meanOf + 1), at + 1);
  if (part.length < meanOf) return null;
  return Math.round((part.reduce((sum, {value}) => sum + Number(value), 0) / meanOf) * 100) / 100;
}

async function readBacklog(client: pg.ClientBase, accountKey: string): Promise<Chart> {
  const {rows} = await client.query<{date: string; ages: number[]}>(
    `SELECT date::text AS date, ARRAY[up_to_7_days, up_to_30_days, up_to_60_days, older]::integer[] AS ages FROM mart.ask_backlog_age AS day WHERE account_key = $1 ORDER BY day.date`,
    [accountKey],
  );
  return {
    form: 'columns',
    title: 'Open jobs by age',
    sentence: 'Jobs that were open at the end of each Sunday, by the days since they were booked.',
    names: rows.map(({date}) => date),
    series: ages.map((name, at) => ({
      name,
      kind: 'area',
      stack: 'open',
      values: rows.map((row) => row.ages[at] ?? 0),
    })),
  };
}

async function readOwed(client: pg.ClientBase, accountKey: string): Promise<Chart> {
  const {rows} = await client.query<{ages: number[] | null}>(
    `SELECT ARRAY[sum(up_to_30_days), sum(up_to_60_days), sum(up_to_90_days), sum(older)]::float[] AS ages FROM mart.ask_debtors WHERE account_key = $1 HAVING count(*) > 0`,
    [accountKey],
  );
  return {
    form: 'columns',
    title: 'What is owed, by age',
    sentence: 'What is unpaid of the invoices, with tax, by the days since their date.',
    names: owedAges,
    series: rows.map(({ages}) => ({name: 'owed', kind: 'bar', values: ages ?? []})),
  };
}

async function readUtilisation(client: pg.ClientBase, accountKey: string): Promise<Chart> {
  const {rows} = await client.query<{name: string; week: string; percent: number | null}>(
    `SELECT name, week::text AS week, percent::float AS percent FROM mart.ask_utilisation AS busy WHERE account_key = $1 AND capacity_hours > 0 ORDER BY busy.name, busy.week`,
    [accountKey],
  );
  const weeks = [...new Set(rows.map(({week}) => week))].toSorted();
  const people = Map.groupBy(rows, ({name}) => name);
  return {
    form: 'heatmap',
    title: 'How busy each technician was',
    sentence: 'Hours on jobs over hours of capacity, in percent, for each of the last whole weeks.',
    names: weeks,
    series: [...people].map(([name, held]) => ({
      name,
      kind: 'bar',
      values: weeks.map((week) => held.find((row) => row.week === week)?.percent ?? null),
    })),
  };
}
