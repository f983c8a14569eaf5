// What an earlier report told differently: each report that is delivered keeps its figures in
// mart.reported, and the next one says what of them is restated, with the jobs behind it. To look
// at a report keeps nothing.

import type pg from 'pg';
import type {Figure, Metric} from './report-figures.ts';

export interface Restated {
  readonly metric: Metric;
  readonly week: string;
  /** As it was told last. */
  readonly reported: string;
  readonly knownAsOf: string;
  readonly now: string;
  /** The jobs that make the difference; empty for a figure that is no sum over jobs of a week. */
  readonly jobs: readonly RestatedJob[];
}

export interface RestatedJob {
  readonly jobNumber: string;
  /** What it counted with then and now; null where it did not count. */
  readonly reported: string | null;
  readonly now: string | null;
}

/** What a job counts with in a figure, and in the week of which of its dates. */
const sums: Readonly<Partial<Record<Metric, {readonly amount: string; readonly date: string}>>> = {
  revenue: {amount: 'completed_amount', date: 'completed_date'},
  completed: {amount: '1', date: 'completed_date'},
  booked: {amount: 'booked_amount', date: 'booked_date'},
};

/** @returns what earlier reports told otherwise than it is known now, the latest week first */
export async function readRestated(
  client: pg.ClientBase,
  accountKey: string,
  figures: readonly Figure[],
): Promise<readonly Restated[]> {
  const known = flatten(figures);
  const {rows} = await client.query<Omit<Restated, 'jobs'>>(
    `SELECT figure.metric, figure.week::text AS week, trim_scale(told.value)::text AS reported, told.known_as_of::text AS "knownAsOf", figure.value::text AS now
       FROM unnest($2::text[], $3::date[], $4::numeric[]) AS figure (metric, week, value)
      CROSS JOIN LATERAL (SELECT value, known_as_of FROM mart.reported AS told
                           WHERE told.account_key = $1 AND told.metric = figure.metric AND told.week = figure.week ORDER BY known_as_of DESC LIMIT 1) AS told
      WHERE told.value <> figure.value ORDER BY figure.week DESC, figure.metric`,
    [accountKey, known.metrics, known.weeks, known.values],
  );
  const restated: Restated[] = [];
  for (const row of rows) restated.push({...row, jobs: await readJobs(client, accountKey, row)});
  return restated;
}

async function readJobs(
  client: pg.ClientBase,
  accountKey: string,
  {metric, week, knownAsOf}: Omit<Restated, 'jobs'>,
): Promise<readonly RestatedJob[]> {
  const sum = sums[metric];
  if (sum === undefined) return [];
  const counted = (source: string) =>
    `(SELECT job_key, job_number, ${sum.amount} AS amount FROM ${source} AS job WHERE account_key = $1 AND ${sum.date} BETWEEN $2::date AND $2::date + 6 AND ${sum.amount} <> 0)`;
  const {rows} = await client.query<RestatedJob>(
    `SELECT coalesce(present.job_number, past.job_number)::text AS "jobNumber", past.amount::text AS reported, present.amount::text AS now
       FROM ${counted('mart.fct_job')} AS present FULL JOIN ${counted('mart.fct_job_as_of($3)')} AS past USING (job_key)
      WHERE present.amount IS DISTINCT FROM past.amount
      ORDER BY abs(coalesce(present.amount, 0) - coalesce(past.amount, 0)) DESC, 1 LIMIT 10`,
    [accountKey, week, knownAsOf],
  );
  return rows;
}

/**
 * Keeps every figure of a report that is delivered. An edit under way at that moment counts as of
 * when it began.
 */
export async function keepReported(
  client: pg.ClientBase,
  accountKey: string,
  figures: readonly Figure[],
): Promise<void> {
  const known = flatten(figures);
  await client.query(
    `INSERT INTO mart.reported (account_key, metric, week, value, known_as_of)
     SELECT $1, figure.*, now() FROM unnest($2::text[], $3::date[], $4::numeric[]) AS figure ON CONFLICT DO NOTHING`,
    [accountKey, known.metrics, known.weeks, known.values],
  );
}

function flatten(
  figures: readonly Figure[],
): Readonly<Record<'metrics' | 'weeks' | 'values', string[]>> {
  const cells = figures.flatMap(({metric, weeks}) => weeks.map((week) => ({metric, ...week})));
  return {
    metrics: cells.map(({metric}) => metric),
    weeks: cells.map(({week}) => week),
    values: cells.map(({value}) => value),
  };
}
