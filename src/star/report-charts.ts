// The charts of the weekly report, as data: revenue by week, open jobs and what is owed by age, and
// how busy each technician was.

import type pg from 'pg';
import type {Chart} from './chart.ts';
import {addCurrency, type Figure, type WeekValue} from './report-figures.ts';

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
