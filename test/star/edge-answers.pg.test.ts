// Answers about jobs at the edges of their questions.

import {afterAll, beforeAll, beforeEach, expect, test} from 'vitest';
import {
  answerQuestion,
  beginReading,
  findQuestion,
  prepareQuestion,
} from '../../src/star/answer.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  await world.author('DELETE FROM mart.settings');
});

interface Days {
  readonly from: string;
  readonly to: string;
}

/** The answer for these days, with its rows and what it is compared with. */
async function ask(word: string, days: Days, by?: string) {
  const client = await world.pool.connect();
  try {
    await beginReading(client);
    const asked = await prepareQuestion(client, findQuestion(word, by), {
      accountKey: world.accountId,
      asOf: undefined,
      isMasked: false,
      from: days.from,
      to: days.to,
    });
    return (await answerQuestion(client, asked, 1000)).answer.json;
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

type Job = Readonly<Record<string, unknown>>;

/** The jobs of the warehouse, by the numbers 1, 2, 3, and so on, in the star. */
async function sendJobs(jobs: readonly Job[]): Promise<void> {
  for (const [at, job] of jobs.entries()) {
    const number = {job_number: String(at + 1), id: String(at + 1)};
    await world.sent('jobs', Object.assign({}, number, job));
  }
  await world.author('SELECT sync.refresh_star()');
}

/** A job that was completed at noon of a day. */
const complete = (day: string, subtotal = '10'): Job => ({
  status: 'complete',
  completed_on: `${day}T12:00:00-05:00`,
  subtotal,
});

/** Noon of a day, so many days after today in the account. */
const inDays = (days: number) => {
  const day = new Date(Date.now() + days * 86_400_000);
  const date = day.toLocaleDateString('sv-SE', {timeZone: 'America/New_York'});
  return `${date}T12:00:00-05:00`;
};

test('a job in progress is overdue by its appointment if its begin was not entered', async () => {
  const status = 'in_progress';
  await sendJobs([
    {status, scheduled_on: inDays(-10)},
    {status, scheduled_on: inDays(-1)},
    {status},
    {status, started_on: inDays(-4)},
    {status, started_on: inDays(-4), scheduled_on: inDays(-6)},
  ]);
  expect(
    await world.author(
      `SELECT job_number::integer, scheduled_date IS NOT NULL AS "isPlanned", days_late
         FROM mart.ask_overdue ORDER BY job_number`,
    ),
  ).toEqual([
    {job_number: 1, isPlanned: true, days_late: 10},
    {job_number: 4, isPlanned: false, days_late: 4},
    {job_number: 5, isPlanned: true, days_late: 6},
  ]);
});

test('a job in progress with an appointment that is still to come is not overdue', async () => {
  const begun = {status: 'in_progress', started_on: inDays(-20)};
  await sendJobs(
    [inDays(30), inDays(0), inDays(-1)].map((scheduled_on) => Object.assign({scheduled_on}, begun)),
  );
  expect(await world.author('SELECT job_number::integer, days_late FROM mart.ask_overdue')).toEqual(
    [{job_number: 3, days_late: 1}],
  );
});

test('a plan runs while it has a visit left, or no limit of visits', async () => {
  const plan = {
    status: 'scheduled',
    scheduled_on: inDays(3),
    recurring_interval: 'monthly',
    subtotal: '10',
  };
  await sendJobs(
    [
      {recurring_iterator: 5, max_recurring_iterator: 5},
      {recurring_iterator: 4, max_recurring_iterator: 5},
      {recurring_iterator: 5, max_recurring_iterator: 0},
      {recurring_iterator: 5},
    ].map((visits) => Object.assign({}, plan, visits)),
  );
  expect(
    await world.author(
      'SELECT job_number::integer, visits_left::integer FROM mart.ask_plans ORDER BY job_number',
    ),
  ).toEqual([
    {job_number: 2, visits_left: 1},
    {job_number: 3, visits_left: null},
    {job_number: 4, visits_left: null},
  ]);
});

test.each([
  ['2025-02-28', '2024-02-29', 11],
  ['2025-02-27', '2024-02-27', 1],
  ['2024-02-29', '2023-02-28', 100],
  ['2024-02-28', '2023-02-28', 100],
])('February up to %s is compared with that up to %s', async (to, _, before) => {
  await sendJobs([
    complete('2025-02-03'),
    complete('2024-02-27', '1'),
    complete('2024-02-29', '10'),
    complete('2023-02-28', '100'),
  ]);
  const {rows} = await ask('revenue-by-month', {from: `${to.slice(0, 7)}-01`, to});
  expect(rows.map(({a_year_before}) => Number(a_year_before))).toEqual([before]);
});

test('the statement for missing working hours works, also if other settings exist', async () => {
  const days = {from: '2026-12-07', to: '2026-12-08'};
  await world.author(
    `INSERT INTO mart.settings (account_key, currency) SELECT account_key, 'CHF'
       FROM mart.dim_account`,
  );
  const error = await ask('load-ahead', days).then(
    () => '',
    (caught: unknown) => String(caught),
  );
  const statement = error.slice(error.indexOf('INSERT INTO'));
  await world.author(statement);
  await ask('load-ahead', days);
  expect(await world.author('SELECT currency, working_hours::float[] FROM mart.settings')).toEqual([
    {currency: 'CHF', working_hours: [8, 8, 8, 8, 8, 0, 0]},
  ]);
});

test('a week that the given days cut has the days within them alone', async () => {
  const jobs = ['2026-10-04', '2026-10-05', '2026-10-07', '2026-10-13', '2026-10-14'];
  await sendJobs(
    jobs.map((day, at) =>
      Object.assign(
        {created_at: `${day}T10:00:00-04:00`, total: '10', balance_remaining: '10'},
        // Sixty days after its invoice, on the day itself, it counts as old.
        {invoice_date: new Date(Date.parse(day) - 60.5 * 86_400_000).toISOString()},
        complete(day, String(10 ** at)),
      ),
    ),
  );
  const {rows, before} = await ask('weeks', {from: '2026-10-07', to: '2026-10-13'});
  expect(
    rows.map(({week, revenue, booked, owed_over_60_days: owed, open_jobs: open}) => ({
      week,
      sums: [revenue, booked, owed, open].map(Number),
    })),
  ).toEqual([
    {week: '2026-10-12', sums: [1000, 1000, 40, 0]},
    {week: '2026-10-05', sums: [100, 100, 30, 0]},
  ]);
  expect(before).toMatchObject({from: '2026-09-30', to: '2026-10-06'});
  expect(Number(before?.total.revenue)).toBe(11);
});

test.each([
  ['day', undefined],
  ['technician', 'technician'],
])('load-ahead by %s states after how many days it has no rows', async (_, by) => {
  await world.author(
    `INSERT INTO mart.settings (account_key, working_hours)
       SELECT account_key, '{8,8,8,8,8,8,8}' FROM mart.dim_account`,
  );
  await world.sent('employees', {employee_number: 1, id: 1, name: 'a', active: true});
  await sendJobs([27, 28, 29].map((days) => ({scheduled_on: inDays(days)})));
  const days = {from: inDays(26).slice(0, 10), to: inDays(40).slice(0, 10)};
  const {rows} = await ask('load-ahead', days, by);
  const {caveats} = findQuestion('load-ahead', by);
  const last = rows
    .map(({date}) => String(date))
    .toSorted()
    .at(-1);
  const [{ahead} = {}] = await world.author(
    'SELECT $1::date - today AS ahead FROM mart.dim_account',
    [last],
  );
  expect(caveats).toContain(`reach ${ahead} days ahead: later days have no row`);
});
