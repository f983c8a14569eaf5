// Questions of work: what is open, how old it is, and what is repeated by a plan.

import {
  buildAnswerColumns,
  choosePhone,
  jobColumns,
  jobMasks,
  joinAccountKey,
  lastDays,
  localDate,
  mondayOf,
  phoneComment,
  type Question,
} from './member.ts';
import {openedDate, openSpans} from './past-facts.ts';

/** Counts of the jobs of each age; `age` is in days. */
const countByAge = (age: string) =>
  `count(*) FILTER (WHERE ${age} <= 7) AS up_to_7_days,
   count(*) FILTER (WHERE ${age} BETWEEN 8 AND 30) AS up_to_30_days,
             count(*) FILTER (WHERE ${age} BETWEEN 31 AND 60) AS up_to_60_days,
             count(*) FILTER (WHERE ${age} > 60) AS older`;
const ageComments = {
  up_to_7_days: 'Booked, or won, within 7 days.',
  up_to_30_days: 'Booked, or won, 8 to 30 days ago.',
  up_to_60_days: 'Booked, or won, 31 to 60 days ago.',
  older: 'Booked, or won, longer ago.',
};

/** The first Sunday that is not before a date. */
const findSunday = (date: string) => `${mondayOf(date)} + 6`;

/**
 * The plans: jobs with an interval; of jobs that were repeated from one another, the latest. A
 * repeated job may name the first job or the one before it: both give the same plan. The visits per
 * year are known only for words that have one meaning.
 */
const plans = `(
        WITH repeated AS (
          SELECT job.account_key, job.job_key, job.job_id, job.job_number, job.booked_at,
                 job.customer_key, job.name AS job, job.subtotal, sent.recurring_job_id,
                 btrim(sent.recurring_interval) AS repeated, account.today,
                 job.subtotal * CASE lower(btrim(sent.recurring_interval))
                   WHEN 'weekly' THEN 52 WHEN 'monthly' THEN 12 WHEN 'quarterly' THEN 4
                   WHEN 'yearly' THEN 1 END AS yearly_worth,
                 ${localDate('sent.recurring_date')} AS next_date,
                 ${localDate('sent.recurring_end_date')} AS end_date,
                 coalesce(sent.recurring_ended, false) AS is_ended,
                 CASE WHEN sent.max_recurring_iterator > 0
                      THEN greatest(sent.max_recurring_iterator
                        - coalesce(sent.recurring_iterator, 0), 0) END AS visits_left
            FROM {mart.fct_job} AS job
            JOIN {jobs} AS sent ON sent.row_id = job.job_key ${joinAccountKey('job')}
           WHERE btrim(sent.recurring_interval) <> ''
             AND job.job_state NOT IN ('cancelled', 'lost', 'estimate')
        )
        SELECT DISTINCT ON (plan.account_key, coalesce(plan.recurring_job_id, plan.job_id))
               plan.*, customer.name AS customer,
               ${choosePhone((name) => `client.${name}`)} AS phone
          FROM repeated AS plan
          JOIN {mart.dim_customer} AS customer ON customer.customer_key = plan.customer_key
          LEFT JOIN {customers} AS client ON client.row_id = plan.customer_key
         WHERE NOT EXISTS (SELECT FROM repeated AS next
                            WHERE next.account_key = plan.account_key
                              AND next.recurring_job_id = plan.job_id
                              AND next.job_key <> plan.job_key)
         ORDER BY plan.account_key, coalesce(plan.recurring_job_id, plan.job_id),
                  plan.booked_at DESC NULLS LAST, plan.job_number DESC)`;
const isRunning =
  'NOT plan.is_ended AND plan.visits_left IS DISTINCT FROM 0 ' +
  'AND (plan.end_date IS NULL OR plan.end_date >= plan.today)';

const planCaveats =
  'Jobs that were repeated from one another are one plan, shown by the latest; one that is ' +
  'cancelled, lost or an estimate does not count. How much a plan is worth in a year is known ' +
  'of weekly, monthly, quarterly and yearly ones alone.';
const planComments = {
  ...jobColumns,
  phone: phoneComment,
  repeated: 'How often it is repeated, as the service says it.',
  subtotal: 'The price of a visit before tax: that of the latest.',
  yearly_worth: 'The same for all visits of a year; null if it is not known how many there are.',
  next_date: 'When it is repeated next; null if the service gives no date.',
  visits_left: 'How often it is still to be repeated; null without a limit.',
  end_date: 'Until when it is repeated; null without an end.',
};
const planSums = {
  money: ['subtotal', 'yearly_worth'],
  totals: ['subtotal', 'yearly_worth'],
  maskedBy: {...jobMasks, phone: 'job_key'},
};

export const workQuestions: readonly Question[] = [
  {
    name: 'ask_open_jobs',
    question: 'Which jobs are open, and how old are they?',
    definition:
      'The open jobs by state, with their subtotals and their age since they were booked, or won.',
    caveats:
      'Estimates are not open. The price is often not known before the visit. What is on hold ' +
      'is open, too.',
    tieOuts: ['T7'],
    order: 'place',
    comment: 'One row for each state of open jobs: how many, how much, and how old.',
    key: ['account_key', 'place'],
    ...buildAnswerColumns(
      {
        place: 'Its place in the life of a job.',
        state: 'The state.',
        jobs: 'Open jobs.',
        on_hold: 'How many of them are on hold.',
        amount: 'Their subtotals.',
        ...ageComments,
      },
      {
        money: ['amount'],
        totals: [
          'jobs',
          'on_hold',
          'amount',
          'up_to_7_days',
          'up_to_30_days',
          'up_to_60_days',
          'older',
        ],
      },
    ),
    from: `FROM (
      SELECT job.account_key, state.place, state.label AS state, {job.open_jobs} AS jobs,
             {job.jobs_on_hold} AS on_hold,
             {job.open_amount} AS amount, ${countByAge(`account.today - (${openedDate})`)}
        FROM {mart.fct_job} AS job JOIN mart.dim_job_state AS state
          ON state.job_state = job.job_state ${joinAccountKey('job')}
       WHERE job.is_open GROUP BY job.account_key, state.place, state.label
    ) AS answer`,
  },
  {
    name: 'ask_backlog',
    question: 'Is the backlog growing?',
    definition: 'The jobs open on the end of each of the last 91 days, and how many came and went.',
    caveats:
      'Restated from the times of the jobs, at the prices of today. An estimate counts from ' +
      'the day on which it was won.',
    tieOuts: ['T7', 'T8'],
    period: lastDays(91),
    order: 'date DESC',
    comment: 'One row for each of the last 91 days: open jobs, and what came and went.',
    key: ['account_key', 'date'],
    ...buildAnswerColumns(
      {
        date: 'The day.',
        open_jobs: 'Jobs open on its end.',
        open_amount: 'Their subtotals.',
        came: 'Jobs booked, and estimates won.',
        went: 'Jobs completed or cancelled.',
      },
      {money: ['open_amount'], totals: ['came', 'went']},
    ),
    from: `FROM (
      SELECT day.* FROM {mart.fct_backlog_day} AS day ${joinAccountKey('day')}
       WHERE day.date BETWEEN {first} AND {last}
    ) AS answer`,
  },
  {
    name: 'ask_backlog_age',
    question: 'Is the backlog getting older?',
    definition:
      'The jobs open on the end of each of the last 26 Sundays, by their age since they were ' +
      'booked, or won.',
    caveats: 'Restated from the times of the jobs.',
    tieOuts: ['T8'],
    period: lastDays(182),
    order: 'date DESC',
    comment: 'One row for each of the last 26 Sundays: open jobs by their age.',
    key: ['account_key', 'date'],
    ...buildAnswerColumns({date: 'The Sunday.', ...ageComments}),
    from: `FROM (
      SELECT span.account_key, sunday.date, ${countByAge('sunday.date - span.opened')}
        FROM (SELECT span.account_key, span.opened,
                     ${findSunday('greatest(span.opened, {first})')} AS first,
                     least(coalesce(span.closed - 1, span.today), {last}) AS last
                FROM ${openSpans} AS span ${joinAccountKey('span')}) AS span
       CROSS JOIN LATERAL (SELECT span.first + days AS date
                             FROM generate_series(0, span.last - span.first, 7) AS days) AS sunday
       GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_unscheduled',
    question: 'Which jobs wait for a date?',
    definition: 'The open jobs without an appointment, the oldest first.',
    caveats: 'A job on hold waits, too, and says so.',
    tieOuts: ['T7'],
    order: 'days DESC, job_number',
    comment: 'One row for each job that waits for a date.',
    key: ['job_key'],
    ...buildAnswerColumns(
      {
        ...jobColumns,
        days: 'Days since it was booked, or won.',
        subtotal: 'Its price before tax.',
        is_on_hold: 'True while it is on hold.',
        custom_status: "Its status of the account's own making.",
      },
      {money: ['subtotal'], totals: ['subtotal'], maskedBy: jobMasks},
    ),
    from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, account.today - (${openedDate}) AS days, job.subtotal,
             job.is_on_hold, status.name AS custom_status
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key
        JOIN {mart.dim_job_status} AS status
          ON status.job_status_key = job.job_status_key ${joinAccountKey('job')}
       WHERE job.job_state = 'unscheduled'
    ) AS answer`,
  },
  {
    name: 'ask_overdue',
    question: 'Which jobs should have been done?',
    definition:
      'Jobs whose appointment has passed and that have not begun, and jobs in progress for ' +
      'more than a day without an appointment that is still to come.',
    caveats:
      'A forgotten click cannot be distinguished from work that is late. Work whose begin was ' +
      'not entered counts from its appointment.',
    tieOuts: ['T13'],
    order: 'scheduled_date, job_number',
    comment: 'One row for each job that should have been done.',
    key: ['job_key'],
    ...buildAnswerColumns(
      {
        ...jobColumns,
        state: 'Its state.',
        scheduled_date: 'When it was to be done; null without an appointment.',
        days_late: 'Days since then, or since it began if it has no appointment.',
        subtotal: 'Its price before tax.',
      },
      {money: ['subtotal'], totals: ['subtotal'], maskedBy: jobMasks},
    ),
    from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, state.label AS state, job.scheduled_date,
             account.today - coalesce(job.scheduled_date, job.started_date) AS days_late,
             job.subtotal
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key
        JOIN mart.dim_job_state AS state ON state.job_state = job.job_state ${joinAccountKey('job')}
       WHERE coalesce(job.scheduled_date < account.today, true)
         AND (job.job_state = 'scheduled' OR job.job_state = 'in_progress'
           AND coalesce(job.started_date, job.scheduled_date) < account.today - 1)
    ) AS answer`,
  },
  {
    name: 'ask_unbilled',
    question: 'What is done and not invoiced?',
    definition: 'Completed jobs without an invoice, with their totals.',
    caveats: 'Work that is free of charge, such as warranty, is included at 0.',
    tieOuts: ['T1'],
    order: 'account_key',
    comment: 'One row for each account: completed jobs without an invoice.',
    key: ['account_key'],
    ...buildAnswerColumns(
      {
        jobs: 'Completed jobs without an invoice.',
        amount: 'Their totals, with tax.',
        oldest_days: 'Days since the oldest was completed.',
      },
      {money: ['amount'], totals: ['jobs', 'amount']},
    ),
    from: `FROM (
      SELECT job.account_key, {job.unbilled_jobs} AS jobs, {job.unbilled_amount} AS amount,
             max(account.today - job.completed_date) AS oldest_days
        FROM {mart.fct_job} AS job ${joinAccountKey('job')}
       WHERE job.job_state = 'completed' AND job.invoiced_date IS NULL GROUP BY job.account_key
    ) AS answer`,
    by: {
      job: {
        question: 'Which jobs are done and not invoiced?',
        definition: 'Completed jobs without an invoice, the oldest first, with their totals.',
        order: 'days DESC, job_number',
        key: ['job_key'],
        ...buildAnswerColumns(
          {
            ...jobColumns,
            completed_date: 'When it was completed.',
            days: 'Days since then.',
            amount: 'Its total, with tax.',
          },
          {
            money: ['amount'],
            totals: ['amount'],
            maskedBy: jobMasks,
          },
        ),
        from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, job.completed_date, account.today - job.completed_date AS days,
             job.unbilled AS amount
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key ${joinAccountKey('job')}
       WHERE job.job_state = 'completed' AND job.invoiced_date IS NULL
    ) AS answer`,
      },
    },
  },
  {
    name: 'ask_plans',
    question: 'Which plans run, and which visit is due next?',
    definition:
      'Jobs that are repeated by an interval, have not ended and have a visit left, the next ' +
      'visit first, with the price of a visit and of a year.',
    caveats: planCaveats,
    tieOuts: ['T1'],
    order: 'next_date NULLS LAST, job_number',
    comment: 'One row for each plan that runs: its customer, its worth, and what is due.',
    key: ['job_key'],
    ...buildAnswerColumns(
      {...planComments, days_until_next: 'Days until the next visit; below 0 if it is late.'},
      planSums,
    ),
    from: `FROM (
      SELECT plan.*, plan.next_date - plan.today AS days_until_next FROM ${plans} AS plan
       WHERE ${isRunning}
    ) AS answer`,
    by: {
      interval: {
        question: 'What are our plans worth in a year?',
        definition:
          'Jobs that are repeated by an interval, have not ended and have a visit left, by the ' +
          'interval: their worth in a year, and how many are due and end soon.',
        order: 'yearly_worth DESC NULLS LAST, repeated',
        key: ['account_key', 'repeated'],
        ...buildAnswerColumns(
          {
            repeated: 'How often they are repeated, as the service says it.',
            plans: 'Plans that run.',
            yearly_worth: 'Prices of all visits of a year before tax; null if none is known.',
            worth_unknown: 'Plans of which that is not known.',
            late: 'Plans whose next visit should have been.',
            due_in_30_days: 'Plans whose next visit is within 30 days, today included.',
            ending_in_90_days: 'Plans that end within 90 days, today included.',
          },
          {
            money: ['yearly_worth'],
            totals: [
              ...['plans', 'yearly_worth', 'worth_unknown'],
              ...['late', 'due_in_30_days', 'ending_in_90_days'],
            ],
          },
        ),
        from: `FROM (
      SELECT plan.account_key, plan.repeated, count(*) AS plans,
             sum(plan.yearly_worth) AS yearly_worth,
             count(*) FILTER (WHERE plan.yearly_worth IS NULL) AS worth_unknown,
             count(*) FILTER (WHERE plan.next_date < plan.today) AS late,
             count(*) FILTER (WHERE plan.next_date BETWEEN plan.today AND plan.today + 29)
               AS due_in_30_days,
             count(*) FILTER (WHERE plan.end_date BETWEEN plan.today AND plan.today + 89)
               AS ending_in_90_days
        FROM ${plans} AS plan WHERE ${isRunning} GROUP BY plan.account_key, plan.repeated
    ) AS answer`,
      },
      renewal: {
        question: 'Whom should we call to renew a plan?',
        definition:
          'Jobs that are repeated by an interval until a day within the next 90 days, the first ' +
          'to end first.',
        caveats:
          planCaveats +
          ' What was stopped before its end is left out. A plan that ends after ' +
          'a number of visits has no day.',
        period: {first: 'account.today', last: 'account.today + 89'},
        order: 'end_date, job_number',
        key: ['job_key'],
        ...buildAnswerColumns(planComments, planSums),
        from: `FROM (
      SELECT plan.* FROM ${plans} AS plan ${joinAccountKey('plan')}
       WHERE plan.end_date BETWEEN {first} AND {last}
         AND NOT (plan.is_ended AND plan.end_date >= plan.today)
    ) AS answer`,
      },
    },
  },
];
