// Answers about two untidy businesses in two zones, each against SQL of its own over the mirrored
// rows: no table and no view of the star is used to tell what is right.

import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {
  answerQuestion,
  beginReading,
  findQuestion,
  groupQuestion,
  prepareQuestion,
  toQuestionWord,
} from '../../src/star/answer.ts';
import {exportedTables, members, questions} from '../../src/star/star.ts';
import {checkClaims} from '../../src/star/tie-outs.ts';
import {queryDuck} from '../delivery/delivery-place.ts';
import {runCommand} from '../support/command.ts';
import {SetUp} from '../support/set-up.ts';
import {openUntidyWarehouse, untidyAccounts} from './untidy-warehouse.ts';

type Values = Readonly<Record<string, unknown>>;

const setUp = new SetUp();
let pool: pg.Pool;
let url: string;
const accounts = untidyAccounts();
const query = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;
type Account = (typeof accounts)[number];

beforeAll(async () => {
  ({pool, url} = await openUntidyWarehouse(setUp, accounts));
});
afterAll(() => setUp.end());

interface Days {
  readonly from?: string;
  readonly to?: string;
}

async function ask(
  {accountId: accountKey}: Account,
  question: (typeof questions)[number],
  {isMasked = false, ...days}: Days & {readonly isMasked?: boolean} = {},
) {
  const client = await pool.connect();
  try {
    await beginReading(client);
    // An analyst's login may ask as well, whatever the days.
    await client.query('SET LOCAL ROLE fieldmirror_reader');
    const asked = await prepareQuestion(client, question, {
      accountKey,
      asOf: undefined,
      isMasked,
      ...days,
    });
    const {answer, fresh} = await answerQuestion(client, asked, 10_000);
    return {...answer.json, currency: fresh.currency};
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/** What is right, by the mirrored rows: `job` has the live jobs with their dates and states. */
async function reckon(
  {accountId, timeZone}: Account,
  select: string,
  days: Days = {},
): Promise<readonly Values[]> {
  const date = (instant: string) => `(${instant} AT TIME ZONE '${timeZone}')::date`;
  const dated = select
    .replaceAll('{first}', `DATE '${days.from}'`)
    .replaceAll('{last}', `DATE '${days.to}'`)
    .replaceAll('{zone}', timeZone)
    .replaceAll('{account}', accountId);
  const {rows} = await pool.query(
    `WITH today AS (SELECT ${date('now()')} AS today),
     known AS (
       SELECT sent.*,
              coalesce(status LIKE 'cancel%', false) OR canceled_on IS NOT NULL AS cancelled,
              coalesce(status = 'lost', false)
                OR lost_date IS NOT NULL AND won_date IS NULL AS lost,
              coalesce(status = 'complete', false) OR completed_on IS NOT NULL AS done,
              ${date('completed_on')} AS done_on, ${date('scheduled_on')} AS planned_on,
              ${date('invoice_date')} AS billed_on, ${date('estimate_sent_on')} AS sent_on,
              ${date('created_at')} AS booked_on, ${date('won_date')} AS won_on,
              ${date('started_on')} AS began_on, ${date('canceled_on')} AS dropped_on
         FROM warehouse.jobs AS sent WHERE account_id = ${accountId} AND _deleted_at IS NULL),
     stated AS (
       SELECT known.*, NOT cancelled AND NOT lost AND done AS completed,
              NOT cancelled AND NOT lost AND NOT done AND started_on IS NULL
                AND status IS DISTINCT FROM 'in_progress' AND won_date IS NULL
                AND (coalesce(status = 'new', false)
                  OR estimate_sent_on IS NOT NULL AND scheduled_on IS NULL) AS estimate
         FROM known),
     job AS (SELECT stated.*, NOT cancelled AND NOT lost AND NOT done AND NOT estimate AS open,
                    estimate OR num_nonnulls(estimate_type, estimate_sent_on, won_date,
                      lost_date) > 0 AS was_estimate
               FROM stated),
     client AS (SELECT * FROM warehouse.customers WHERE account_id = ${accountId}),
     person AS (SELECT * FROM warehouse.employees WHERE account_id = ${accountId}),
     crew AS (SELECT * FROM warehouse.job_employees WHERE account_id = ${accountId})
     ${dated}`,
  );
  return rows;
}

/** Dates are days, amounts have no zeros at their end. */
function plain(rows: readonly Values[], columns: readonly string[]): readonly unknown[][] {
  const value = (held: unknown) => {
    if (held instanceof Date) return held.toISOString().slice(0, 10);
    if (typeof held === 'string' && /^-?\d+(\.\d+)?$/.test(held)) return Number(held);
    return held ?? null;
  };
  return rows.map((row) => columns.map((column) => value(row[column])));
}

/** Days between two numbers of days ago, in the account. */
async function daysAgo({timeZone}: Account, from: number, to: number): Promise<Required<Days>> {
  const {rows} = await pool.query(
    `SELECT (today - $1::integer)::text AS from, (today - $2::integer)::text AS to
       FROM (SELECT (now() AT TIME ZONE $3)::date AS today) AS account`,
    [from, to, timeZone],
  );
  return rows[0];
}

interface Claim {
  readonly word: string;
  readonly by?: string;
  /** From and to how many days ago. */
  readonly days?: readonly [from: number, to: number];
  readonly columns: readonly string[];
  /** The same rows in the same order, by the mirrored rows. */
  readonly sql: string;
}

const sumOver = (group: string) =>
  `SELECT ${group}, count(*) AS jobs, sum(coalesce(subtotal, 0)) AS revenue,
          count(*) FILTER (WHERE job.id = first.id) AS new_customers
     FROM job LEFT JOIN client ON client.id = job.customer_id
     LEFT JOIN (SELECT DISTINCT ON (customer_id) customer_id, job.id
                  FROM job JOIN client ON client.id = customer_id WHERE completed
                 ORDER BY customer_id, completed_on, job_number) AS first
       ON first.customer_id = job.customer_id
    WHERE completed AND done_on BETWEEN {first} AND {last} GROUP BY 1 ORDER BY revenue DESC, 1`;

const ended = `count(*) AS estimates,
       count(*) FILTER (WHERE NOT lost_it AND is_won) AS won,
       count(*) FILTER (WHERE lost_it) AS lost,
       coalesce(sum(subtotal) FILTER (WHERE NOT lost_it AND is_won), 0) AS amount_won,
       coalesce(sum(subtotal) FILTER (WHERE lost_it), 0) AS amount_lost,
       round(100.0 * coalesce(sum(subtotal) FILTER (WHERE NOT lost_it AND is_won), 0)
         / nullif(sum(subtotal) FILTER (WHERE lost_it OR is_won), 0), 1) AS percent_won_by_money
  FROM (SELECT job.*, lost AND NOT cancelled AS lost_it,
               won_date IS NOT NULL OR coalesce(estimate_type = 'won', false) AS is_won FROM job
         WHERE (estimate OR estimate_type IS NOT NULL OR sent_on IS NOT NULL
           OR lost_date IS NOT NULL OR won_date IS NOT NULL)
           AND coalesce(sent_on, booked_on) BETWEEN {first} AND {last})
    AS sent`;
const endings = ['estimates', 'won', 'lost', 'amount_won', 'amount_lost', 'percent_won_by_money'];

const left = ['jobs', 'revenue', 'jobs_unknown', 'jobs_at_0', 'revenue_known', 'expenses'].concat([
  'margin',
  'percent',
]);
/** What is left of the completed jobs; what one cost of which nothing is said is in no sum. */
const leftOf = (group: string) =>
  `SELECT ${group}, count(*) AS jobs, sum(price) AS revenue,
          count(*) - count(cost) AS jobs_unknown, count(*) FILTER (WHERE cost = 0) AS jobs_at_0,
          coalesce(sum(known), 0) AS revenue_known, sum(cost) AS expenses,
          sum(known) - sum(cost) AS margin,
          round(100 * (sum(known) - sum(cost)) / nullif(sum(known), 0), 1) AS percent
     FROM (SELECT coalesce(subtotal, 0) AS price, total_expenses AS cost, done_on, job_type_id,
                  CASE WHEN total_expenses IS NOT NULL THEN coalesce(subtotal, 0) END AS known
             FROM job WHERE completed AND done_on BETWEEN {first} AND {last}) AS done`;

const takenOff = ['jobs', 'jobs_with_discount', 'full_price', 'discount', 'free_of_charge'].concat(
  'percent',
);
/** What was taken off the lines of the completed jobs. */
const takenOffOf = (group: string) =>
  `SELECT ${group}, count(DISTINCT job_number) AS jobs,
          count(DISTINCT CASE WHEN off <> 0 THEN job_number END) AS jobs_with_discount,
          sum(charged + off) AS full_price, sum(off) AS discount,
          sum(CASE WHEN charged = 0 THEN off ELSE 0 END) AS free_of_charge,
          round(100 * sum(off) / nullif(sum(charged + off), 0), 1) AS percent
     FROM (SELECT job.job_number, done_on, job_type_id, job.created_by, job.account_id,
                  coalesce(line.total, 0) AS charged, coalesce(line.discount, 0) AS off
             FROM job JOIN warehouse.job_charges AS line
               ON line.account_id = job.account_id AND line.job_number = job.job_number
            WHERE completed AND done_on BETWEEN {first} AND {last}) AS sold`;

const kindOf = (job: string) =>
  `LEFT JOIN warehouse.job_types AS kind
     ON kind.id = ${job}.job_type_id AND kind.account_id = {account}`;

/** Each plan by its latest job: one that another was repeated from, or one after it, is none. */
const planOf = `, repeating AS (
    SELECT job.*, btrim(recurring_interval) AS repeated, (recurring_date AT TIME ZONE zone)::date
             AS next_on, (recurring_end_date AT TIME ZONE zone)::date AS until,
           CASE btrim(recurring_interval) WHEN 'yearly' THEN subtotal
                WHEN 'Monthly' THEN 12 * subtotal END AS worth,
           CASE WHEN max_recurring_iterator > 0 THEN
             CASE WHEN coalesce(recurring_iterator, 0) >= max_recurring_iterator THEN 0
                  ELSE max_recurring_iterator - coalesce(recurring_iterator, 0) END END AS visits
      FROM job, (SELECT '{zone}'::text AS zone) AS here
     WHERE length(btrim(recurring_interval)) > 0 AND NOT cancelled AND NOT lost AND NOT estimate),
  plan AS (
    SELECT one.*, coalesce(client.name, 'Unknown') AS customer,
           CASE WHEN btrim(client.phone_number) <> '' THEN client.phone_number
                ELSE client.mobile END AS phone
      FROM repeating AS one LEFT JOIN client ON client.id = one.customer_id
     WHERE one.id NOT IN (SELECT recurring_job_id FROM repeating
                           WHERE recurring_job_id IS NOT NULL)
       AND NOT EXISTS (SELECT FROM repeating AS other
                        WHERE other.recurring_job_id = one.recurring_job_id
                          AND other.created_at > one.created_at
                          AND other.id NOT IN (SELECT recurring_job_id FROM repeating
                                                WHERE recurring_job_id IS NOT NULL))),
  running AS (
    SELECT plan.* FROM plan, today
     WHERE recurring_ended IS NOT TRUE AND coalesce(until >= today, true)
       AND coalesce(visits > 0, true))`;
const planSaid = `job_number, customer, phone, repeated, subtotal, worth AS yearly_worth,
  next_on::text AS next_date, visits AS visits_left, until::text AS end_date`;
const planColumns = ['job_number', 'customer', 'phone', 'repeated', 'subtotal'].concat([
  'yearly_worth',
  'next_date',
  'visits_left',
  'end_date',
]);

const claims: readonly Claim[] = [
  {
    word: 'margin',
    days: [400, 30],
    columns: ['month', ...left],
    sql: `${leftOf(`date_trunc('month', done_on)::date::text AS month`)} GROUP BY 1`,
  },
  {
    word: 'margin',
    by: 'type',
    days: [400, 30],
    columns: ['name', ...left],
    sql: `${leftOf(`coalesce(kind.name, 'No type') AS name`)}
      ${kindOf('done')} GROUP BY 1, job_type_id`,
  },
  {
    word: 'discounts',
    days: [400, 30],
    columns: ['month', ...takenOff],
    sql: `${takenOffOf(`date_trunc('month', done_on)::date::text AS month`)} GROUP BY 1`,
  },
  {
    word: 'discounts',
    by: 'seller',
    days: [400, 30],
    columns: ['name', ...takenOff],
    sql: `${takenOffOf(`coalesce(person.name, 'Nobody') AS name`)}
      LEFT JOIN person ON person.id = sold.created_by GROUP BY 1`,
  },
  {
    word: 'discounts',
    by: 'type',
    days: [400, 30],
    columns: ['name', ...takenOff],
    sql: `${takenOffOf(`coalesce(kind.name, 'No type') AS name`)}
      ${kindOf('sold')} GROUP BY 1, job_type_id`,
  },
  {
    word: 'plans',
    columns: [...planColumns, 'days_until_next'],
    sql: `${planOf} SELECT ${planSaid}, next_on - today AS days_until_next FROM running, today`,
  },
  {
    word: 'plans',
    by: 'interval',
    columns: ['repeated', 'plans', 'yearly_worth', 'worth_unknown', 'late'].concat([
      'due_in_30_days',
      'ending_in_90_days',
    ]),
    sql: `${planOf} SELECT repeated, count(*) AS plans, sum(worth) AS yearly_worth,
                 count(*) - count(worth) AS worth_unknown,
                 count(CASE WHEN next_on < today THEN 1 END) AS late,
                 count(CASE WHEN next_on - today BETWEEN 0 AND 29 THEN 1 END) AS due_in_30_days,
                 count(CASE WHEN until - today BETWEEN 0 AND 89 THEN 1 END) AS ending_in_90_days
            FROM running, today GROUP BY 1`,
  },
  {
    word: 'plans',
    by: 'renewal',
    days: [60, -60],
    columns: planColumns,
    sql: `${planOf} SELECT ${planSaid} FROM plan, today WHERE until BETWEEN {first} AND {last}
            AND (until < today OR recurring_ended IS NOT TRUE)`,
  },
  {
    word: 'open-estimates',
    columns: ['job_number', 'customer', 'seller', 'sent_date', 'days', 'subtotal'],
    sql: `SELECT job_number, coalesce(client.name, 'Unknown') AS customer,
                 coalesce(person.name, 'Nobody') AS seller, sent_on::text AS sent_date,
                 today - coalesce(sent_on, booked_on) AS days, subtotal
            FROM job CROSS JOIN today LEFT JOIN client ON client.id = customer_id
            LEFT JOIN person ON person.id = job.created_by WHERE estimate
           ORDER BY days DESC, job_number`,
  },
  {
    word: 'estimates',
    by: 'seller',
    days: [400, 30],
    columns: ['name', ...endings],
    sql: `SELECT coalesce(person.name, 'Nobody') AS name, ${ended}
            LEFT JOIN person ON person.id = created_by GROUP BY 1 ORDER BY amount_won DESC, 1`,
  },
  {
    word: 'estimates',
    by: 'type',
    days: [400, 30],
    columns: ['name', ...endings],
    sql: `SELECT coalesce(kind.name, 'No type') AS name, ${ended}
            LEFT JOIN (SELECT * FROM warehouse.job_types) AS kind
              ON kind.id = job_type_id AND kind.account_id = sent.account_id
           GROUP BY 1, job_type_id ORDER BY amount_won DESC`,
  },
  {
    word: 'unbilled',
    by: 'job',
    columns: ['job_number', 'customer', 'completed_date', 'days', 'amount'],
    sql: `SELECT job_number, coalesce(client.name, 'Unknown') AS customer,
                 done_on::text AS completed_date, today - done_on AS days,
                 coalesce(total, 0) AS amount
            FROM job CROSS JOIN today LEFT JOIN client ON client.id = customer_id
           WHERE completed AND billed_on IS NULL ORDER BY days DESC, job_number`,
  },
  {
    word: 'debtors',
    columns: ['name', 'owed', 'older', 'overdue', 'days_overdue', 'phone'],
    sql: `SELECT name, sum(owed) AS owed, coalesce(sum(owed) FILTER (WHERE today - billed_on > 90),
                 0) AS older, coalesce(sum(owed) FILTER (WHERE today > due), 0) AS overdue,
                 max(today - due) FILTER (WHERE today > due) AS days_overdue, phone
            FROM (SELECT coalesce(client.name, 'Unknown') AS name, balance_remaining AS owed,
                         billed_on, billed_on + CASE btrim(lower(invoice_terms))
                           WHEN 'net 30' THEN 30 WHEN 'net 14' THEN 14 ELSE 0 END AS due,
                         CASE WHEN btrim(client.phone_number) <> '' THEN client.phone_number
                              ELSE client.mobile END AS phone
                    FROM job LEFT JOIN client ON client.id = customer_id
                   WHERE NOT cancelled AND billed_on IS NOT NULL
                     AND balance_remaining <> 0) AS owing
           CROSS JOIN today GROUP BY name, phone ORDER BY owed DESC`,
  },
  {
    word: 'work-mix',
    by: 'lead-source',
    days: [250, 10],
    columns: ['lead_source', 'jobs', 'revenue', 'new_customers'],
    sql: sumOver(`CASE WHEN customer_source_id IS NULL THEN 'No source'
                       WHEN customer_source_id = 1 AND '{name}' = 'here' THEN 'Web page'
                       ELSE 'source ' || customer_source_id END AS lead_source`),
  },
  {
    word: 'work-mix',
    by: 'town',
    days: [250, 10],
    columns: ['town', 'jobs', 'revenue', 'new_customers'],
    sql: sumOver(`CASE WHEN btrim(service_city) <> '' THEN btrim(service_city)
                       ELSE 'No town' END AS town`),
  },
  {
    word: 'week-ahead',
    columns: ['date', 'jobs', 'amount', 'without_price'],
    sql: `SELECT planned_on::text AS date, count(*) AS jobs, coalesce(sum(subtotal), 0) AS amount,
                 count(*) FILTER (WHERE subtotal IS NULL OR subtotal = 0) AS without_price
            FROM job CROSS JOIN today WHERE open AND planned_on BETWEEN today AND today + 6
           GROUP BY 1 ORDER BY 1`,
  },
  {
    word: 'invoiced',
    days: [200, 40],
    columns: ['month', 'invoices', 'invoiced_before_tax', 'tax_invoiced', 'unpaid'],
    sql: `SELECT date_trunc('month', billed_on)::date::text AS month, count(*) AS invoices,
                 coalesce(sum(subtotal), 0) AS invoiced_before_tax,
                 coalesce(sum(tax), 0) AS tax_invoiced,
                 coalesce(sum(balance_remaining), 0) AS unpaid
            FROM job WHERE NOT cancelled AND billed_on BETWEEN {first} AND {last}
           GROUP BY 1 ORDER BY 1 DESC`,
  },
  {
    word: 'revenue-by-month',
    days: [100, 10],
    columns: ['month', 'jobs', 'revenue', 'mean_ticket', 'a_year_before'],
    sql: `SELECT month::text, jobs, revenue, round(revenue / jobs, 2) AS mean_ticket, a_year_before
            FROM (SELECT date_trunc('month', done_on)::date AS month, count(*) AS jobs,
                         sum(coalesce(subtotal, 0)) AS revenue
                    FROM job WHERE completed AND done_on BETWEEN {first} AND {last}
                   GROUP BY 1) AS now
            LEFT JOIN (SELECT date_trunc('month', done_on + interval '1 year')::date AS month,
                              sum(coalesce(subtotal, 0)) AS a_year_before
                         FROM job WHERE completed
                          AND (done_on + interval '1 year')::date BETWEEN {first} AND {last}
                        GROUP BY 1) AS old USING (month) ORDER BY 1 DESC`,
  },
  {
    word: 'backlog',
    days: [150, 5],
    columns: ['date', 'open_jobs', 'open_amount', 'came', 'went'],
    sql: `, span AS (
            SELECT coalesce(subtotal, 0) AS amount, ended,
                   least(CASE WHEN won_on IS NULL THEN booked_on
                              ELSE greatest(booked_on, least(won_on, began_on)) END,
                     ended) AS begun
              FROM (SELECT job.*, CASE WHEN cancelled THEN dropped_on
                                       WHEN completed THEN done_on END AS ended FROM job) AS job
             WHERE open OR completed OR cancelled AND (NOT was_estimate OR won_on IS NOT NULL))
          SELECT day::date::text AS date,
                 count(amount) FILTER (WHERE ended IS NULL OR ended > day) AS open_jobs,
                 coalesce(sum(amount) FILTER (WHERE ended IS NULL OR ended > day),
                   0) AS open_amount,
                 count(amount) FILTER (WHERE begun = day) AS came,
                 count(amount) FILTER (WHERE ended = day) AS went
            FROM generate_series({first}, {last}, interval '1 day') AS day
            LEFT JOIN span ON begun <= day GROUP BY day`,
  },
  {
    word: 'repeat-visits',
    days: [450, 0],
    columns: ['name', 'jobs', 'repeat_visits'],
    sql: `SELECT coalesce(kind.name, 'No type') AS name, count(*) AS jobs,
                 count(*) FILTER (WHERE EXISTS (
                   SELECT FROM job AS next JOIN client ON client.id = next.customer_id
                    WHERE next.customer_id = visit.customer_id
                      AND next.job_type_id IS NOT DISTINCT FROM visit.job_type_id
                      AND (next.open OR next.completed) AND NOT next.was_estimate
                      AND next.recurring_job_id IS NULL AND next.job_number <> visit.job_number
                      AND least(next.created_at, next.completed_on) > visit.completed_on
                      AND next.booked_on <= visit.done_on + 30)) AS repeat_visits
            FROM job AS visit CROSS JOIN today
            LEFT JOIN warehouse.job_types AS kind
              ON kind.id = job_type_id AND kind.account_id = visit.account_id
           WHERE completed AND recurring_job_id IS NULL AND done_on + 30 < today
             AND done_on BETWEEN {first} AND {last} GROUP BY 1, job_type_id`,
  },
  {
    word: 'load-ahead',
    by: 'technician',
    days: [-3, -3],
    columns: ['name', 'capacity_hours', 'planned_hours', 'jobs', 'room_hours'],
    sql: `SELECT name, hours AS capacity_hours, coalesce(jobs, 0) AS jobs,
                 round(coalesce(minutes, 0) / 60.0, 2) AS planned_hours,
                 round(hours - coalesce(minutes, 0) / 60.0, 2) AS room_hours
            FROM (SELECT id, name, CASE WHEN active THEN
                         CASE WHEN extract(isodow FROM {first}) < 6 THEN 8 ELSE 0 END END AS hours
                    FROM person UNION ALL SELECT NULL, 'Nobody', NULL) AS able
            LEFT JOIN (SELECT employee_id, sum(coalesce(duration, 0)) AS minutes, count(*) AS jobs
                         FROM job LEFT JOIN crew USING (job_number)
                        WHERE NOT cancelled AND NOT lost AND NOT estimate AND planned_on = {first}
                        GROUP BY 1) AS planned ON employee_id IS NOT DISTINCT FROM able.id
           WHERE hours IS NOT NULL OR jobs > 0 ORDER BY room_hours DESC NULLS LAST, able.id`,
  },
];

describe.each(accounts)('the account $name in $timeZone', (account) => {
  test.each(claims.map((claim) => [claim.word, claim.by ?? 'as usual', claim] as const))(
    'the answer to %s, by %s, matches the mirrored rows',
    async (word, _, {by, days, columns, sql}) => {
      const asked = days === undefined ? {} : await daysAgo(account, ...days);
      const answer = await ask(account, findQuestion(word, by), asked);
      const right = await reckon(account, sql.replaceAll('{name}', account.name), asked);
      expect(right.length).toBeGreaterThan(1);
      expect(sorted(plain(answer.rows, columns))).toEqual(sorted(plain(right, columns)));
    },
  );

  test('each technician has an even share of the revenue of each day, to the cent', async () => {
    const days = await daysAgo(account, 60, 20);
    const {rows, total} = await ask(account, findQuestion('technicians', 'day'), days);
    const right = await reckon(
      account,
      `SELECT done_on::text AS date, coalesce(person.name, 'Nobody') AS name, count(*) AS jobs,
              sum(coalesce(subtotal, 0) / heads) AS revenue
         FROM (SELECT job.*, greatest(1, (SELECT count(*) FROM crew
                        WHERE crew.job_number = job.job_number)) AS heads FROM job) AS job
         LEFT JOIN crew USING (job_number) LEFT JOIN person ON person.id = crew.employee_id
        WHERE completed AND done_on BETWEEN {first} AND {last} GROUP BY 1, 2`,
      days,
    );
    const shares = new Map(right.map((row) => [`${row.date} ${row.name}`, row]));
    expect(rows.length).toBe(right.length);
    for (const row of rows) {
      const own = shares.get(`${row.date} ${row.name}`);
      expect(Number(row.jobs)).toBe(Number(own?.jobs));
      expect(Math.abs(Number(row.revenue) - Number(own?.revenue))).toBeLessThan(
        0.011 * Number(own?.jobs),
      );
    }
    const revenue = right.reduce((sum, row) => sum + Number(row.revenue), 0);
    expect(Number(total?.revenue)).toBeCloseTo(revenue, 4);
    const [each] = (await ask(account, findQuestion('technicians'), days)).rows;
    const own = rows.filter(({name}) => name === each?.name);
    expect(Number(each?.days)).toBe(own.length);
    expect(Number(each?.revenue_a_day)).toBeCloseTo(Number(each?.revenue) / own.length, 1);
  });
});

describe.each(accounts)('a fact read without a join, in the account $name', (account) => {
  test.each([
    ['fct_job_charge', 'sum(amount)', 'sum(part.total)', 'warehouse.job_charges'],
    ['fct_time_entry', 'sum(hours)', 'sum(part.number_of_hours)', 'warehouse.time_entries'],
    [
      'fct_assignment',
      'count(nullif(employee_key, -1))',
      'count(part.employee_id)',
      'warehouse.job_employees',
    ],
  ])(
    '%s has the customer, the type and the completion date of its job',
    async (fact, sum, own, table) => {
      const columns = ['customer_key', 'job_type_key', 'completed_date', 'sum'];
      const {rows} = await pool.query(
        `SELECT customer_key, job_type_key, completed_date::text, ${sum} AS sum
         FROM mart.${fact} WHERE account_key = $1 GROUP BY 1, 2, 3`,
        [account.accountId],
      );
      const right = await reckon(
        account,
        `SELECT coalesce(client.row_id, -1) AS customer_key,
              coalesce(kind.row_id, -1) AS job_type_key,
              CASE WHEN completed THEN done_on::text END AS completed_date, ${own} AS sum
         FROM job LEFT JOIN client ON client.id = customer_id
         LEFT JOIN warehouse.job_types AS kind
           ON kind.account_id = job.account_id AND kind.id = job_type_id
         ${fact === 'fct_assignment' ? 'LEFT ' : ''}JOIN ${table} AS part
           ON part.account_id = job.account_id AND part.job_number = job.job_number
        GROUP BY 1, 2, 3`,
      );
      expect(right.length).toBeGreaterThan(50);
      expect(sorted(plain(rows, columns))).toEqual(sorted(plain(right, columns)));
    },
  );
});

/** In an order that does not depend on how ties are broken. */
function sorted(rows: readonly unknown[][]): readonly unknown[][] {
  return rows.toSorted((one, other) => (JSON.stringify(one) < JSON.stringify(other) ? -1 : 1));
}

const everything = questions.flatMap((question) =>
  [undefined, ...Object.keys(question.by ?? {})].map((by) => ({
    label: by === undefined ? toQuestionWord(question) : `${toQuestionWord(question)} --by ${by}`,
    question: groupQuestion(question, by),
  })),
);
const here = accounts[0] as Account;

describe('the period of an answer', () => {
  const withPeriod = everything.filter(({question}) => question.period !== undefined);
  const adding = withPeriod.filter(({question}) => question.totals.length > 0);

  test.each(adding.map(({label, question}) => [label, question] as const))(
    'of %s can be split: the totals of two parts add up to the whole',
    async (_, question) => {
      const [part, rest, whole] = await Promise.all(
        [
          [200, 71],
          [70, 20],
          [200, 20],
        ].map(async ([from = 0, to = 0]) => {
          const days = await daysAgo(here, from, to);
          const {rows} = await ask(here, question, days);
          return question.totals.map((name) =>
            rows.reduce((sum, row) => sum + Number(row[name] ?? 0), 0),
          );
        }),
      );
      for (const [at, name] of question.totals.entries())
        expect((part?.[at] ?? 0) + (rest?.[at] ?? 0), name).toBeCloseTo(whole?.[at] ?? -1, 1);
    },
  );

  test.each(withPeriod.map(({label, question}) => [label, question] as const))(
    'of %s gives the same answer if its default dates are given explicitly',
    async (_, question) => {
      const {rows: usual} = await pool.query(
        `SELECT (${question.period?.first})::text AS first, (${question.period?.last})::text AS last
           FROM mart.dim_account AS account WHERE account_key = $1`,
        [here.accountId],
      );
      const from = usual[0].first === '-infinity' ? '2000-01-01' : usual[0].first;
      const to = usual[0].last === 'infinity' ? '2049-12-31' : usual[0].last;
      const [one, other] = [await ask(here, question), await ask(here, question, {from, to})];
      expect(other.rows).toEqual(one.rows);
      expect(other.total).toEqual(one.total);
    },
  );

  test('is compared with as many days before it, or with as many months', async () => {
    const revenue = findQuestion('revenue-by-month');
    const {before} = await ask(here, revenue, {from: '2026-03-01', to: '2026-03-31'});
    expect(before).toMatchObject({from: '2026-02-01', to: '2026-02-28'});
    const days = await daysAgo(here, 29, 10);
    const earlier = await daysAgo(here, 49, 30);
    const answer = await ask(here, revenue, days);
    const compared = await ask(here, revenue, earlier);
    expect(answer.before).toMatchObject(earlier);
    const sum = compared.rows.reduce((all, row) => all + Number(row.revenue), 0);
    expect(Number(answer.before?.total.revenue)).toBeCloseTo(sum, 4);
    const ahead = await ask(here, findQuestion('week-ahead'));
    expect(ahead.before).toBeNull();
  });

  test.each([
    [
      'debtors',
      {from: '2026-10-01'},
      'debtors has no period: its answer is about one point in time',
    ],
    ['items', {from: '2026-02-30'}, '--from: expected a day of 2000 to 2049'],
    ['items', {to: '9999-01-01'}, '--to: expected a day of 2000 to 2049'],
    ['items', {from: '2026-02-02', to: '2026-02-01'}, 'expected --from not after --to'],
  ] as const)('of %s: %j is rejected', async (word, days, words) => {
    await expect(ask(here, findQuestion(word), days)).rejects.toThrow(words);
  });
});

test('an unknown grouping is rejected, and the error lists the valid ones', () => {
  expect(() => findQuestion('work-mix', 'colour')).toThrow('expected lead-source or town');
  expect(() => findQuestion('weeks', 'town')).toThrow('expected no --by');
});

test.each(everything.map(({label, question}) => [label, question] as const))(
  '%s has its currency, its total, and the total of the previous period',
  async (_, question) => {
    const {period, totals} = question;
    // Fifty days are whole months on no date: those would be compared with as many months.
    const days = period === undefined ? {} : await daysAgo(here, 79, 30);
    const {rows, total, before, currency} = await ask(here, question, days);
    expect(currency).toBe('USD');
    // One row is its own total.
    expect(Object.keys(total ?? {})).toEqual(rows.length < 2 ? [] : totals);
    const isCompared = period !== undefined && rows.length > 0;
    expect(Object.keys(before?.total ?? {})).toEqual(isCompared ? totals : []);
    if (before !== null) expect(before).toMatchObject(await daysAgo(here, 129, 80));
  },
);

test('every tie-out holds, and the businesses have the cases that the tie-outs check', async () => {
  const broken = (await inTransaction(pool, checkClaims)).filter((tie) => tie.broken > 0);
  expect(broken).toEqual([]);
  const [found] = await query(
    `SELECT count(*) FILTER (WHERE technicians = 3) AS crews,
            count(*) FILTER (WHERE job_state = 'cancelled') AS cancelled,
            count(*) FILTER (WHERE is_repeated_by_schedule) AS planned,
            count(*) FILTER (WHERE planned_minutes = 20) AS short,
            count(*) FILTER (WHERE scale(trim_scale(subtotal)) > 4) AS fine
       FROM mart.fct_job`,
  );
  for (const count of Object.values(found)) expect(Number(count)).toBeGreaterThan(2);
});

test('account_key is in each row of a fact, and null only in row -1 of a dimension', async () => {
  const held = members.filter(({columns}) => columns.some(([name]) => name === 'account_key'));
  for (const {name, columns, missing} of held) {
    const [rows] = await query(
      `SELECT count(*) FILTER (WHERE account_key IS NULL)::integer AS without,
              count(*) FILTER (WHERE account_key IS NULL
                AND ${columns[0]?.[0]}::text = '-1')::integer AS missing FROM mart.${name}`,
    );
    const expected = missing === undefined ? 0 : 1;
    expect(rows, name).toEqual({without: expected, missing: expected});
  }
});

test.each(['parquet', 'csv'])('the export as %s has every row and every amount', async (format) => {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-untidy-'));
  try {
    expect(await runCommand(['export', format, folder], {DATABASE_URL: url})).toMatchObject({
      code: 0,
    });
    for (const {name} of exportedTables) {
      const file = join(folder, `${name}.${format}`);
      const amounts = await query(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = $1::regclass AND attnum > 0
          AND atttypid = 'numeric'::regtype ORDER BY attnum`,
        [`mart.${name}`],
      );
      const sums = amounts.map(
        (column) =>
          `CAST(sum(CAST(${column.name} AS decimal(38, 9))) AS double precision) AS ${column.name}`,
      );
      const select = ['CAST(count(*) AS integer) AS rows', ...sums].join(', ');
      const read = format === 'csv' ? `read_csv('${file}', header = true)` : `'${file}'`;
      const [held] = await query(`SELECT ${select} FROM mart.${name}`);
      const [written] = await queryDuck(`SELECT ${select} FROM ${read}`);
      expect(written, name).toEqual(held);
    }
  } finally {
    await rm(folder, {recursive: true, force: true});
  }
});

test('a total covers all rows, and amounts have their currency', async () => {
  const answer = await ask(here, findQuestion('debtors'));
  const sum = answer.rows.reduce((all, row) => all + Number(row.owed), 0);
  expect(Number(answer.total?.owed)).toBeCloseTo(sum, 4);
  expect(answer.currency).toBe('USD');
});

test.each(everything.map(({label, question}) => [label, question] as const))(
  'masked %s has no phone number and no name of a customer, a job or a person',
  async (label, question) => {
    const {rows} = await ask(here, question, {isMasked: true});
    expect(JSON.stringify(rows)).not.toMatch(/Customer \d|Person \d|Job \d|555-0/);
    if (['debtors', 'open-estimates', 'plans', 'unbilled --by job'].includes(label))
      expect(JSON.stringify(rows)).toMatch(/(customer|job) \d/);
  },
);
