// What counts in a small business that is made row by row. First, which jobs: jobs are added in
// each state, and each fact and each answer has to change, or to stay as it is; a fact or a
// question that is new needs its line here. Then what one job or one setting does.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {findQuestion, prepareQuestion} from '../../src/star/answer.ts';
import {readReport} from '../../src/star/report.ts';
import {members, questions} from '../../src/star/star.ts';
import {SetUp} from '../support/set-up.ts';
import {openStarWarehouse} from './star-warehouse.ts';

type Row = Readonly<Record<string, string | number | boolean | null | undefined>>;

const setUp = new SetUp();
let client: pg.PoolClient;
let accountId = '';
let otherId = '';

/** A time of day that is the same date in every zone near UTC, so many days ago. */
function ago(days: number): string {
  const noon = new Date();
  noon.setUTCHours(12, 0, 0, 0);
  return new Date(noon.getTime() - days * 86_400_000).toISOString();
}

/**
 * The days of the job that is added: an earlier one of its customer was completed 45 days ago, so
 * it may be a repeat visit. It was completed before this week, on whatever day the test runs.
 */
const [booked, sent, planned, done] = [25, 24, 15, 10].map(ago);
const sold = {estimate_sent_on: sent, won_date: ago(20)};
/** What makes the state of a job, beside its booking and its appointment. */
const states: Readonly<Record<string, Row>> = {
  unscheduled: {status: 'unscheduled', scheduled_on: null},
  scheduled: {status: 'scheduled'},
  in_progress: {status: 'in_progress', started_on: planned},
  completed: {status: 'complete', started_on: planned, completed_on: done},
  cancelled: {status: 'canceled', canceled_on: done},
  lost: {status: 'lost', estimate_sent_on: sent, lost_date: done},
  estimate: {status: 'new', estimate_sent_on: sent},
  'sold, scheduled': {status: 'scheduled', ...sold},
  'sold, completed': {status: 'complete', started_on: planned, completed_on: done, ...sold},
  'estimate, cancelled': {status: 'canceled', canceled_on: done, estimate_sent_on: sent},
};

async function insert(table: string, {account_id: owner = accountId, ...row}: Row): Promise<void> {
  const columns = Object.keys(row);
  await client.query(
    `INSERT INTO warehouse.${table} (account_id, ${columns.join(', ')})
      VALUES ($1, ${columns.map((_, at) => `$${at + 2}`).join(', ')})`,
    [owner, ...Object.values(row)],
  );
}

async function insertJob(number: number, {hours, ...row}: Row): Promise<void> {
  await insert('jobs', {
    job_number: number,
    id: 1000 + number,
    customer_id: 1,
    customer_number: 1,
    job_type_id: 1,
    tax_id: 1,
    name: 'a job',
    duration: 20,
    subtotal: '100.00',
    tax: '8.00',
    total: '108.00',
    balance_remaining: '58.00',
    ...row,
  });
  await insert('job_employees', {job_number: number, employee_id: 1});
  await insert('job_charges', {
    job_number: number,
    job_id: 1000 + number,
    id: number,
    item_id: 1,
    description: 'work',
    quantity: 1,
    price_per_unit: '100.00',
    total: '100.00',
  });
  if (hours !== undefined)
    await insert('time_entries', {
      job_number: number,
      job_id: 1000 + number,
      id: number,
      employee_id: 1,
      started_on: planned,
      number_of_hours: hours,
      billable: true,
    });
}

/** Every row of a fact or of an answer, in one order, as a fingerprint. */
async function fingerprint(name: string, where = 'true'): Promise<string> {
  const {rows} = await client.query(
    `SELECT md5(coalesce(string_agg(to_jsonb(held)::text, ',' ORDER BY to_jsonb(held)::text), ''))
      AS print FROM mart.${name} AS held WHERE ${where}`,
  );
  return rows[0].print;
}

/** In a transaction as a sweep has it, which leaves nothing. */
async function playing<T>(play: () => Promise<T>): Promise<T> {
  await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'; SET LOCAL jit = off`);
  try {
    return await play();
  } finally {
    await client.query('ROLLBACK');
  }
}

beforeAll(async () => {
  const {pool} = await openStarWarehouse(setUp, 2);
  ({accountId} = await upsertAccount(pool, {
    name: 'states',
    apiUrl: 'http://127.0.0.1:1',
    timeZone: 'UTC',
  }));
  ({accountId: otherId} = await upsertAccount(pool, {
    name: 'other',
    apiUrl: 'http://127.0.0.1:2',
    timeZone: 'UTC',
  }));
  client = await setUp.step(
    'opening a session',
    () => pool.connect(),
    async (opened) => opened.release(),
  );
  await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
  await insert('customers', {customer_number: 1, id: 1, name: 'Customer', is_active: true});
  await insert('employees', {
    employee_number: 1,
    id: 1,
    name: 'Technician',
    active: true,
    hired_date: ago(100),
  });
  await insert('job_types', {id: 1, name: 'Repair'});
  await insertJob(1, {
    status: 'complete',
    created_at: ago(60),
    scheduled_on: ago(50),
    started_on: ago(50),
    completed_on: ago(45),
    invoice_date: ago(40),
    updated_at: ago(45),
  });
  await client.query('COMMIT');
  await client.query('INSERT INTO mart.settings (account_key, working_hours) VALUES ($1, $2)', [
    accountId,
    [8, 8, 8, 8, 8, 8, 8],
  ]);
  await client.query('SELECT sync.refresh_star()');
});
afterAll(() => setUp.end());

/** Without the facts that no job is in. */
const counted = [...members, ...questions]
  .map(({name}) => name)
  .filter(
    (name) =>
      !name.startsWith('dim_') && !['ask_freshness', 'fct_task', 'ask_late_tasks'].includes(name),
  );

const everyState = Object.keys(states);
const openStates = ['unscheduled', 'scheduled', 'in_progress', 'sold, scheduled'];
const completedStates = ['completed', 'sold, completed'];
const openOnce = everyState.filter(
  (state) => !['lost', 'estimate', 'estimate, cancelled'].includes(state),
);
const decided = everyState.filter((state) => /^sold|^lost|estimate/.test(state));
const without = (...names: string[]) => everyState.filter((state) => !names.includes(state));
const withAppointment = [
  'scheduled',
  'in_progress',
  'completed',
  'sold, scheduled',
  'sold, completed',
];

/** A visit that is planned or done; what was sold is no repeat. */
const repeats = ['unscheduled', 'scheduled', 'in_progress', 'completed'];

/** Revenue to date is that since January. */
const isOfThisYear = (day = '') => day.slice(0, 4) === ago(0).slice(0, 4);

/**
 * The states in which a job with an invoice and hours, and one without an invoice, change a fact or
 * an answer.
 */
const expected: Readonly<Record<string, readonly string[]>> = {
  fct_job: everyState,
  fct_job_charge: everyState,
  fct_time_entry: everyState,
  fct_assignment: everyState,
  fct_job_status_change: everyState,
  fct_reschedule: [],
  fct_payment: everyState,
  fct_open_job_day: openOnce,
  fct_backlog_day: openOnce,
  fct_employee_day: everyState,
  fct_repeat_visit: [...repeats, 'sold, completed'],
  ask_revenue_by_week: completedStates,
  ask_revenue_by_month: completedStates,
  ask_revenue_to_date: isOfThisYear(done) ? completedStates : [],
  ask_work_mix: completedStates,
  ask_bookings: everyState,
  ask_weeks: openOnce,
  ask_largest_customers: completedStates,
  ask_new_customers: completedStates,
  ask_retention: [],
  ask_cohorts: completedStates,
  ask_lapsed_customers: [],
  ask_open_jobs: openStates,
  ask_backlog: openOnce,
  ask_backlog_age: openOnce,
  ask_unscheduled: ['unscheduled'],
  ask_overdue: ['scheduled', 'in_progress', 'sold, scheduled'],
  ask_unbilled: completedStates,
  ask_debtors: without('cancelled', 'estimate, cancelled'),
  ask_days_to_money: completedStates,
  ask_days_outstanding: without('cancelled', 'estimate, cancelled'),
  ask_collected: [],
  ask_invoiced: without('cancelled', 'estimate, cancelled'),
  ask_sales_tax: everyState,
  ask_items: completedStates,
  ask_margin: completedStates,
  ask_discounts: completedStates,
  ask_plans: [],
  ask_utilisation: everyState,
  ask_technicians: [...repeats, 'sold, completed'],
  ask_planned_lengths: completedStates,
  ask_repeat_visits: repeats,
  ask_punctuality: ['in_progress', ...completedStates],
  ask_load_ahead: [],
  ask_week_ahead: [],
  ask_open_estimates: ['estimate'],
  ask_rush_hours: withAppointment,
  ask_estimates: decided,
  ask_cancellations: everyState,
  ask_reschedules: [],
};

describe('the job states that change a fact or an answer', () => {
  const changed = new Map<string, string[]>(counted.map((name) => [name, []]));

  beforeAll(async () => {
    const before = new Map<string, string>();
    for (const name of counted) before.set(name, await fingerprint(name));
    for (const [state, row] of Object.entries(states))
      await playing(async () => {
        const job = {created_at: booked, scheduled_on: planned, updated_at: done, ...row};
        await insertJob(2, job);
        await insertJob(3, {...job, invoice_date: done, hours: 2});
        await client.query('SELECT sync.refresh_star()');
        for (const name of counted)
          if (before.get(name) !== (await fingerprint(name))) changed.get(name)?.push(state);
      });
  });

  test('are listed for every fact and answer', () => {
    expect(Object.keys(expected).toSorted()).toEqual(counted.toSorted());
  });

  test.each(counted)('are those listed for %s', (name) => {
    expect(changed.get(name)).toEqual(
      everyState.filter((state) => expected[name]?.includes(state)),
    );
  });
});

const ask = async (name: string, columns: string, where = 'true') =>
  (await client.query(`SELECT ${columns} FROM mart.${name} AS answer WHERE ${where}`)).rows;

test('an estimate counts as an open job from the day when it was won or work began', async () => {
  await playing(async () => {
    await insertJob(2, {
      status: 'unscheduled',
      created_at: ago(60),
      estimate_sent_on: ago(58),
      won_date: ago(8),
    });
    await insertJob(3, {
      status: 'in_progress',
      created_at: ago(60),
      estimate_sent_on: ago(58),
      started_on: ago(9),
      won_date: ago(8),
    });
    await client.query('SELECT sync.refresh_star()');
    const days = await ask(
      'ask_backlog',
      `(current_date - answer.date)::integer AS ago, open_jobs::integer AS jobs, came::integer`,
      'current_date - answer.date IN (30, 10, 9, 8, 0) ORDER BY 1 DESC',
    );
    expect(days).toEqual([
      {ago: 30, jobs: 0, came: 0},
      {ago: 10, jobs: 0, came: 0},
      {ago: 9, jobs: 1, came: 1},
      {ago: 8, jobs: 2, came: 1},
      {ago: 0, jobs: 2, came: 0},
    ]);
    expect(await ask('ask_unscheduled', 'days')).toEqual([{days: 8}]);
    expect(await ask('ask_open_jobs', 'sum(up_to_30_days)::integer AS jobs')).toEqual([{jobs: 2}]);
  });
});

test('a percentage is calculated from unrounded hours', async () => {
  await playing(async () => {
    const job = {
      status: 'complete',
      created_at: booked,
      scheduled_on: planned,
      started_on: planned,
      completed_on: done,
    };
    for (const number of [2, 3]) await insertJob(number, {...job, hours: 1});
    await client.query('SELECT sync.refresh_star()');
    expect(await ask('ask_planned_lengths', 'planned_hours, hours, percent_over')).toEqual([
      {planned_hours: '0.7', hours: '2', percent_over: '200.0'},
    ]);
  });
});

test.each([
  ['0.00', [{name: 'Customer'}]],
  ['58.00', []],
])('if a lapsed customer owes %s, the list of customers to call is %j', async (owed, called) => {
  await playing(async () => {
    await client.query('DELETE FROM warehouse.jobs');
    for (const number of [2, 3])
      await insertJob(number, {
        status: 'complete',
        created_at: ago(420),
        completed_on: ago(410 - number),
        invoice_date: ago(400),
        balance_remaining: owed,
      });
    await client.query('SELECT sync.refresh_star()');
    expect(await ask('ask_lapsed_customers', 'name')).toEqual(called);
  });
});

describe('another account with the same record numbers', () => {
  const utilisation = findQuestion('utilisation');
  const setHours = async () => {
    await insert('employees', {
      account_id: otherId,
      employee_number: 1,
      id: 1,
      name: 'Other',
      active: true,
      hired_date: ago(50),
    });
    await client.query(
      `INSERT INTO mart.capacity (employee_key, working_hours)
       SELECT row_id, $2 FROM warehouse.employees WHERE account_id = $1`,
      [otherId, [1, 1, 1, 1, 1, 1, 1]],
    );
  };

  test('changes no row of the first account', async () => {
    await playing(async () => {
      const own = `held.account_key = ${accountId}`;
      const before = new Map<string, string>();
      for (const name of counted) before.set(name, await fingerprint(name, own));
      await setHours();
      await insert('customers', {account_id: otherId, customer_number: 1, id: 1, name: 'Other'});
      await insert('jobs', {
        account_id: otherId,
        job_number: 1,
        id: 1001,
        customer_id: 1,
        job_type_id: 1,
        status: 'complete',
        created_at: booked,
        completed_on: done,
        subtotal: '7.00',
      });
      await insert('job_employees', {account_id: otherId, job_number: 1, employee_id: 1});
      await client.query(
        `INSERT INTO mart.settings (account_key, repeat_visit_days) VALUES ($1, 1)`,
        [otherId],
      );
      await client.query(
        `INSERT INTO mart.closed_days (account_key, date, name) SELECT $1, current_date - back,
          'closed' FROM generate_series(0, 60) AS back`,
        [otherId],
      );
      await client.query('SELECT sync.refresh_star()');
      for (const name of counted) expect(await fingerprint(name, own), name).toBe(before.get(name));
    });
  });

  test('has separate working hours, which do not count for the first account', async () => {
    await playing(async () => {
      const needsHours = () =>
        prepareQuestion(client, utilisation, {accountKey: accountId, asOf: undefined});
      await client.query('DELETE FROM mart.settings');
      await expect(needsHours()).rejects.toThrow('needs the working hours');
      await setHours();
      await expect(needsHours()).rejects.toThrow('needs the working hours');
      await expect(
        prepareQuestion(client, utilisation, {accountKey: otherId, asOf: undefined}),
      ).resolves.toBeDefined();
      const unseen = async (accountKey: string) =>
        (await readReport(client, accountKey)).unseen.join(' ');
      expect(await unseen(accountId)).toContain('How busy each technician was');
      expect(await unseen(otherId)).not.toContain('How busy each technician was');
    });
  });
});
