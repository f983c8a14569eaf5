// The weekly report of an owner, as data, and the sentences that its page and its text share. Each
// delivered report stores its figures in mart.reported. The next report to the same receivers lists
// the restated figures, with the jobs behind them. Viewing a report stores nothing.

import type pg from 'pg';
import {formatDuration, showSecond} from '../core/format.ts';
import type {Chart} from './chart.ts';
import {hasWorkingHours} from './member.ts';
import {
  addCurrency,
  compareWeeks,
  describeChange,
  describeMoves,
  type Figure,
  type ReportMetric,
  readFigures,
  readPictures,
  showMoney,
  showNumber,
} from './report-figures.ts';
import {findings} from './tie-outs.ts';

export interface ReportList {
  readonly title: string;
  readonly columns: readonly string[];
  /** Which of them are amounts, by their places. */
  readonly amounts: readonly number[];
  readonly rows: readonly (readonly (string | null)[])[];
  /** The question that gives the whole list. */
  readonly word: string;
  /** The kind of record that the first cell of a row names; null if it names none. */
  readonly stream: 'customers' | 'jobs' | null;
  /** The `row_id` of that record, for each row; null for a total. */
  readonly keys: readonly (string | null)[];
}

export interface Report {
  readonly account: string;
  readonly currency: string | null;
  /** The Monday and the Sunday of the week. */
  readonly from: string;
  readonly to: string;
  /** When the last sweep of the jobs began that proved them complete. */
  readonly freshAsOf: string | null;
  /** How long ago that was, by the clock of the database. */
  readonly ageMs: number | null;
  readonly knownSince: string | null;
  readonly figures: readonly (Figure & ReturnType<typeof compareWeeks>)[];
  /** The changes that are unusual beside the weeks before, in words. */
  readonly moves: readonly string[];
  readonly pictures: readonly Chart[];
  readonly lists: readonly ReportList[];
  readonly restated: readonly RestatedFigure[];
  /** The facts that the service does not send, in words. */
  readonly unseen: readonly string[];
  readonly findings: readonly {
    readonly name: string;
    readonly description: string;
    readonly count: number;
  }[];
}

type ReportHead = Pick<
  Report,
  'account' | 'currency' | 'from' | 'to' | 'freshAsOf' | 'ageMs' | 'knownSince'
> & {
  readonly hasHours: boolean;
};

const unseen: readonly string[] = [
  'Dates of part payments before the mirror began, payment methods, and refunds as such.',
  'Wages and purchase prices, unless they are expenses of a job: `ask margin` counts those jobs.',
  'Travel, absence and holidays: hours are those on jobs.',
  'Why a job was cancelled, and what happened to it between two sweeps.',
];
const unseenUtilisation =
  'How busy each technician was: the service does not know their working hours, ' +
  'and mart.settings has none.';

const listQueries: readonly (Omit<ReportList, 'rows' | 'keys'> & {
  /** The last column is the key of the record. */
  readonly text: string;
  /** Gives the last row: the total of all rows, also of those that are not shown. */
  readonly total?: string;
})[] = [
  {
    title: 'The ten largest debtors',
    columns: ['customer', 'owed', 'of it for more than 90 days'],
    amounts: [1, 2],
    word: 'debtors',
    stream: 'customers',
    text: `SELECT name, owed::text, older::text, customer_key::text FROM mart.ask_debtors AS debtor
        WHERE account_key = $1 ORDER BY debtor.owed DESC, customer_key LIMIT 10`,
    total: `SELECT 'all ' || count(*), sum(owed)::text, sum(older)::text, NULL FROM mart.ask_debtors
        WHERE account_key = $1 HAVING count(*) > 1`,
  },
  {
    title: 'Done and not invoiced',
    columns: ['jobs', 'amount', 'days since the oldest'],
    amounts: [1],
    word: 'unbilled',
    stream: null,
    text: `SELECT jobs::text, amount::text, oldest_days::text, NULL FROM mart.ask_unbilled
        WHERE account_key = $1 AND jobs > 0`,
  },
  {
    title: 'What should have been done: the ten oldest',
    columns: ['job', 'customer', 'what', 'days late'],
    amounts: [],
    word: 'overdue',
    stream: 'jobs',
    text: `SELECT job_number::text, customer, job, days_late::text, job_key::text
         FROM mart.ask_overdue AS late
        WHERE account_key = $1 ORDER BY late.days_late DESC, late.job_number LIMIT 10`,
  },
];

/**
 * @param options.list - the list of addresses with whose earlier reports it is compared; left out:
 *   the reports that were written to files
 * @param options.week - the Monday of its week; left out: of the last whole week
 * @returns the report of a week of an account, by what is known now
 */
export async function readReport(
  client: pg.ClientBase,
  accountKey: string,
  {list = listOfFiles, week = null}: {readonly list?: string; readonly week?: string | null} = {},
): Promise<Report> {
  const {hasHours, ...head} = await readHead(client, accountKey, week);
  const figures = (await readFigures(client, accountKey)).map((figure) => ({
    ...figure,
    weeks: figure.weeks.filter((weekValue) => weekValue.week <= head.from),
  }));
  return {
    ...head,
    figures: figures.map((figure) => ({...figure, ...compareWeeks(figure)})),
    moves: describeMoves(figures),
    pictures: await readPictures(client, {accountKey, currency: head.currency}, figures),
    lists: await readLists(client, accountKey, head.currency),
    restated: await readRestated(client, {accountKey, list}, figures),
    unseen: hasHours ? unseen : [...unseen, unseenUtilisation],
    findings: await countFindings(client, accountKey),
  };
}

/** The value in place of a list of addresses. */
const listOfFiles = '';

async function readHead(
  client: pg.ClientBase,
  accountKey: string,
  week: string | null,
): Promise<ReportHead> {
  const {rows} = await client.query<ReportHead>(
    `SELECT name AS account, currency, monday::text AS "from", (monday + 6)::text AS "to",
            jobs_fresh_as_of AS "freshAsOf",
            (extract(epoch FROM now() - jobs_fresh_as_of) * 1000)::float AS "ageMs",
            known_since AS "knownSince",
            ${hasWorkingHours} AS "hasHours"
       FROM mart.dim_account AS account
      CROSS JOIN LATERAL (
         SELECT coalesce($2::date, date_trunc('week', today)::date - 7) AS monday) AS told
      WHERE account_key = $1`,
    [accountKey, week],
  );
  const [head] = rows;
  if (head === undefined)
    throw new TypeError(`account ${accountKey}: expected a row of mart.dim_account, found none`);
  return head;
}

async function readLists(
  client: pg.ClientBase,
  accountKey: string,
  currency: string | null,
): Promise<ReportList[]> {
  const lists: ReportList[] = [];
  const readRows = async (text: string) => {
    const {rows} = await client.query<(string | null)[]>({
      text,
      values: [accountKey],
      rowMode: 'array',
    } as pg.QueryArrayConfig);
    return rows;
  };
  for (const {text, total, ...list} of listQueries) {
    const columns = list.columns.map((name, index) =>
      list.amounts.includes(index) ? addCurrency(name, currency) : name,
    );
    const foundRows = [
      ...(await readRows(text)),
      ...(total === undefined ? [] : await readRows(total)),
    ];
    const rows = foundRows.map((row) => row.slice(0, -1));
    lists.push({...list, columns, rows, keys: foundRows.map((row) => row.at(-1) ?? null)});
  }
  return lists;
}

/** The figures as every form of the report shows them: one row for each. */
export function tabulateFigures({figures, currency}: Pick<Report, 'figures' | 'currency'>): {
  readonly columns: readonly string[];
  readonly rows: readonly (readonly string[])[];
} {
  return {
    columns: ['', 'this week', 'change', 'the week before', 'a year ago'],
    rows: figures.map(({label, unit, now, before, yearAgo}) => [
      unit === 'money' ? addCurrency(label, currency) : label,
      showNumber(now),
      describeChange(now, before),
      showNumber(before),
      showNumber(yearAgo),
    ]),
  };
}

/** The cells of a list as every form of the report shows them. */
export function formatCells({rows, amounts}: ReportList): readonly (readonly string[])[] {
  return rows.map((row) =>
    row.map((cell, index) => (amounts.includes(index) ? showMoney(cell) : (cell ?? ''))),
  );
}

async function countFindings(
  client: pg.ClientBase,
  accountKey: string,
): Promise<Report['findings']> {
  const countedFindings: {name: string; description: string; count: number}[] = [];
  for (const {name, description, sql} of findings) {
    const {rows} = await client.query<{count: number}>(
      `SELECT count(*)::integer AS count FROM (${sql}) AS found WHERE found.account_key = $1`,
      [accountKey],
    );
    countedFindings.push({name, description, count: rows[0]?.count ?? 0});
  }
  return countedFindings.filter(({count}) => count > 0);
}

interface RestatedFigure {
  readonly metric: ReportMetric;
  readonly week: string;
  /** As it was last reported. */
  readonly reported: string;
  readonly knownAsOf: string;
  readonly now: string;
  /** The jobs that make the difference; empty for a figure that is no sum over jobs of a week. */
  readonly jobs: readonly RestatedJob[];
}

interface RestatedJob {
  readonly jobNumber: string;
  /** The amount that it contributed then and now; null if it did not count. */
  readonly reported: string | null;
  readonly now: string | null;
}

/** The amount that a job contributes to a figure, and the date that determines its week. */
const figureAmounts: Readonly<
  Partial<Record<ReportMetric, {readonly amount: string; readonly date: string}>>
> = {
  revenue: {amount: 'completed_amount', date: 'completed_date'},
  completed: {amount: '1', date: 'completed_date'},
  booked: {amount: 'booked_amount', date: 'booked_date'},
};

/**
 * @returns the figures that earlier reports gave otherwise than they are known now, the latest week
 *   first
 */
async function readRestated(
  client: pg.ClientBase,
  {accountKey, list}: {readonly accountKey: string; readonly list: string},
  figures: readonly Figure[],
): Promise<readonly RestatedFigure[]> {
  const flatFigures = flattenFigures(figures);
  const {rows} = await client.query<Omit<RestatedFigure, 'jobs'>>(
    `SELECT figure.metric, figure.week::text AS week, trim_scale(told.value)::text AS reported,
            told.known_as_of::text AS "knownAsOf", figure.value::text AS now
       FROM unnest($2::text[], $3::date[], $4::numeric[]) AS figure (metric, week, value)
      CROSS JOIN LATERAL (SELECT value, known_as_of FROM mart.reported AS told
                           WHERE told.account_key = $1 AND told.metric = figure.metric
                             AND told.week = figure.week AND told.list = $5
                           ORDER BY known_as_of DESC LIMIT 1) AS told
      WHERE told.value <> figure.value ORDER BY figure.week DESC, figure.metric`,
    [accountKey, flatFigures.metrics, flatFigures.weeks, flatFigures.values, list],
  );
  const restated: RestatedFigure[] = [];
  for (const row of rows) restated.push({...row, jobs: await readJobs(client, accountKey, row)});
  return restated;
}

async function readJobs(
  client: pg.ClientBase,
  accountKey: string,
  {metric, week, knownAsOf}: Omit<RestatedFigure, 'jobs'>,
): Promise<readonly RestatedJob[]> {
  const figureAmount = figureAmounts[metric];
  if (figureAmount === undefined) return [];
  const selectJobs = (source: string) =>
    `(SELECT job_key, job_number, ${figureAmount.amount} AS amount FROM ${source} AS job
       WHERE account_key = $1 AND ${figureAmount.date} BETWEEN $2::date AND $2::date + 6
         AND ${figureAmount.amount} <> 0)`;
  const {rows} = await client.query<RestatedJob>(
    `SELECT coalesce(present.job_number, past.job_number)::text AS "jobNumber",
            past.amount::text AS reported, present.amount::text AS now
       FROM ${selectJobs('mart.fct_job')} AS present
       FULL JOIN ${selectJobs('mart.fct_job_as_of($3)')} AS past USING (job_key)
      WHERE present.amount IS DISTINCT FROM past.amount
      ORDER BY abs(coalesce(present.amount, 0) - coalesce(past.amount, 0)) DESC, 1 LIMIT 10`,
    [accountKey, week, knownAsOf],
  );
  return rows;
}

/**
 * Stores every figure of a delivered report. An edit that is in progress at that moment counts as
 * of when it began.
 * @param options.list - the list of addresses that gets the report; left out: it was written to a
 *   file
 */
export async function saveReported(
  client: pg.ClientBase,
  accountKey: string,
  {figures, list = listOfFiles}: {readonly figures: readonly Figure[]; readonly list?: string},
): Promise<void> {
  const flatFigures = flattenFigures(figures);
  await client.query(
    `INSERT INTO mart.reported (account_key, metric, week, value, known_as_of, list)
     SELECT $1, figure.*, now(), $5 FROM unnest($2::text[], $3::date[], $4::numeric[]) AS figure
         ON CONFLICT DO NOTHING`,
    [accountKey, flatFigures.metrics, flatFigures.weeks, flatFigures.values, list],
  );
}

function flattenFigures(
  figures: readonly Figure[],
): Readonly<Record<'metrics' | 'weeks' | 'values', string[]>> {
  const cells = figures.flatMap(({metric, weeks}) => weeks.map((week) => ({metric, ...week})));
  return {
    metrics: cells.map(({metric}) => metric),
    weeks: cells.map(({week}) => week),
    values: cells.map(({value}) => value),
  };
}

const maxAgeMs = 86_400_000;

/** Why a report should not be made from data of this age; null if it may. */
export function describeAge({
  freshAsOf,
  ageMs,
}: Pick<Report, 'freshAsOf' | 'ageMs'>): string | null {
  if (freshAsOf === null || ageMs === null) return 'the jobs were never proven complete';
  return ageMs <= maxAgeMs ? null : `the jobs were proven complete ${formatDuration(ageMs)} ago`;
}

export function describeReportFreshness({
  freshAsOf,
  ageMs,
}: Pick<Report, 'freshAsOf' | 'ageMs'>): string {
  if (freshAsOf === null || ageMs === null) return 'Never proven complete.';
  const age = formatDuration(ageMs);
  return `Proven complete as of ${showSecond(freshAsOf)}, ${age} before this report.`;
}

/** The figures that earlier reports gave otherwise, with the jobs behind them. */
export function describeRestated(report: Pick<Report, 'restated' | 'figures'>): readonly string[] {
  return report.restated.map((row) => {
    const label = report.figures.find(({metric}) => metric === row.metric)?.label ?? row.metric;
    const jobs =
      row.jobs.length === 0 ? '' : ` (${row.jobs.map((job) => describeJob(row, job)).join('; ')})`;
    const title = `${label}, week of ${row.week}`;
    return `${title}: reported as ${showNumber(row.reported)}, is ${showNumber(row.now)}${jobs}.`;
  });
}

function describeJob({metric}: RestatedFigure, {jobNumber, reported, now}: RestatedJob): string {
  if (reported === null)
    return metric === 'completed'
      ? `job ${jobNumber} came`
      : `job ${jobNumber} came with ${showNumber(now)}`;
  if (now === null)
    return metric === 'completed'
      ? `job ${jobNumber} went`
      : `job ${jobNumber} went with ${showNumber(reported)}`;
  return `job ${jobNumber} from ${showNumber(reported)} to ${showNumber(now)}`;
}

export function describeFindings({findings}: Pick<Report, 'findings'>): readonly string[] {
  return findings.map(
    ({name, description, count}) =>
      `${name}, ${count} ${count === 1 ? 'time' : 'times'}: ${description}`,
  );
}
