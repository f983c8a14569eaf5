// Questions of revenue: what was earned, week by week, by kind, source and town.

import {
  accountsSource,
  allDates,
  buildAnswerColumns,
  joinAccountKey,
  lastDays,
  mondayOf,
  type Question,
  wholeWeeks,
} from './member.ts';

const revenueCaveat = 'Before tax, on the day of completion.';
const runningCaveat = `${revenueCaveat} The running period is not over.`;

const sumRevenue = (first: string, last: string) =>
  `coalesce(sum(job.completed_amount)
     FILTER (WHERE job.completed_date BETWEEN ${first} AND ${last}), 0)`;

/**
 * The Mondays of the weeks of each account in the period, each with the last day that the week has
 * in it. The backlog of a day that is to come is not known: that of today stands for it.
 */
const weeksOfPeriod = `(
        SELECT account.account_key, day.date AS week,
               least(day.date + 6, {last}, account.today) AS last_day
          FROM ${accountsSource}
          JOIN mart.dim_date AS day ON day.weekday = 1
           AND day.date BETWEEN ${mondayOf('{first}')} AND {last})`;

/**
 * The amounts by which the sum owed for more than 60 days rose and fell, by week. Amounts from
 * before the first week are in the first week.
 */
const receivableSteps = `(
        SELECT job.account_key,
               greatest(${mondayOf('step.date')}, ${mondayOf('{first}')}) AS week,
               step.amount
          FROM {mart.fct_job} AS job ${joinAccountKey('job')}
         CROSS JOIN LATERAL (VALUES (job.invoiced_date + 61,
           CASE WHEN job.paid_date IS NULL THEN job.receivable ELSE job.total END), (job.paid_date,
           -job.total)) AS step (date, amount)
         WHERE job.job_state <> 'cancelled' AND (job.paid_date IS NULL AND job.receivable <> 0
           OR job.paid_date > job.invoiced_date + 60) AND step.date <= {last})`;

/**
 * The last day of the period a year before. The last day of February stays the last one, whichever
 * of the two years is a leap year.
 */
const yearBeforeLast = `greatest(({last} - interval '1 year')::date,
                   ({last} + 1 - interval '1 year')::date - 1)`;

const ticketComments = {
  jobs: 'Jobs completed.',
  revenue: 'Their subtotals.',
  percent: 'Their share of all revenue, in percent.',
  mean_ticket: 'Mean subtotal.',
  median_ticket: 'Median subtotal.',
  new_customers: 'Customers whose first completed job was one of these.',
};
const ticketSums = {
  money: ['revenue', 'mean_ticket', 'median_ticket'],
  totals: ['jobs', 'revenue', 'new_customers'],
};

/**
 * Completed jobs and their subtotals, grouped by some columns. The GROUP BY has them without their
 * aliases.
 */
function groupTickets({columns, from}: {readonly columns: string; readonly from: string}): string {
  return `FROM (
      SELECT tickets.*,
             round(100 * tickets.revenue / nullif(sum(tickets.revenue)
               OVER (PARTITION BY tickets.account_key), 0), 1) AS percent
        FROM (
          SELECT job.account_key, ${columns}, {job.jobs_completed} AS jobs,
                 {job.revenue} AS revenue,
                 round(avg(job.completed_amount), 2) AS mean_ticket,
                 round({job.median_ticket}, 2) AS median_ticket,
                 {job.new_customers} AS new_customers
            FROM {mart.fct_job} AS job ${from} ${joinAccountKey('job')}
           WHERE job.completed_date BETWEEN {first} AND {last}
           GROUP BY job.account_key, ${columns.replace(/\s+AS \w+$/, '')}
        ) AS tickets
    ) AS answer`;
}

export const revenueQuestions: readonly Question[] = [
  {
    name: 'ask_revenue_by_week',
    question: 'What did we earn, week by week?',
    definition:
      'The subtotals of completed jobs by the week of their completion, for the last thirteen ' +
      'whole weeks.',
    caveats: revenueCaveat,
    tieOuts: ['T1', 'T14'],
    period: wholeWeeks(13),
    order: 'week DESC',
    comment: 'One row for each of the last thirteen whole weeks: jobs completed and revenue.',
    key: ['account_key', 'week'],
    ...buildAnswerColumns(
      {
        week: 'The Monday of the week.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        four_week_mean: 'Mean revenue of this week and the three before.',
        mean_ticket: 'Mean subtotal of a job; null if there was none.',
      },
      {money: ['revenue', 'four_week_mean', 'mean_ticket'], totals: ['jobs', 'revenue']},
    ),
    from: `FROM (
      SELECT account.account_key, {first} AS first, day.week, {job.jobs_completed} AS jobs,
             coalesce({job.revenue}, 0) AS revenue,
             round(avg(coalesce({job.revenue}, 0))
               OVER (PARTITION BY account.account_key ORDER BY day.week ROWS 3 PRECEDING),
               2) AS four_week_mean,
             round({job.revenue} / nullif({job.jobs_completed}, 0), 2) AS mean_ticket
        FROM ${accountsSource}
        JOIN mart.dim_date AS day ON day.date >= ${mondayOf('{first}')} - 7 * 3
         AND day.date <= {last} AND (day.date >= {first} OR day.week < ${mondayOf('{first}')})
        LEFT JOIN {mart.fct_job} AS job ON job.account_key = account.account_key
         AND job.completed_date = day.date
       GROUP BY account.account_key, account.today, day.week
    ) AS answer
   WHERE answer.week >= ${mondayOf('answer.first')}`,
  },
  {
    name: 'ask_revenue_by_month',
    question: 'How does each month compare with a year before?',
    definition:
      'The subtotals of completed jobs by the month of their completion, beside the same month ' +
      'of the year before.',
    caveats: runningCaveat,
    tieOuts: ['T1', 'T14'],
    period: allDates,
    order: 'month DESC',
    comment:
      'One row for each month with completed jobs: revenue, and that of the same month a year ' +
      'before.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        a_year_before:
          'Revenue of the same month of the year before; null if the jobs do not reach back so ' +
          'far.',
        mean_ticket: 'Mean subtotal of a job.',
      },
      {money: ['revenue', 'a_year_before', 'mean_ticket'], totals: ['jobs', 'revenue']},
    ),
    from: `FROM (
      SELECT month.*, before.revenue AS a_year_before
        FROM (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
                     {job.jobs_completed} AS jobs,
                     {job.revenue} AS revenue,
                     round(avg(job.completed_amount), 2) AS mean_ticket
                FROM {mart.fct_job} AS job WHERE job.completed_date BETWEEN {first} AND {last}
               GROUP BY 1, 2) AS month
        LEFT JOIN (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
                          {job.revenue} AS revenue
                FROM {mart.fct_job} AS job
               WHERE job.completed_date BETWEEN ({first} - interval '1 year')::date
                 AND ${yearBeforeLast}
               GROUP BY 1, 2) AS before
          ON before.account_key = month.account_key
         AND before.month = (month.month - interval '1 year')::date
    ) AS answer`,
  },
  {
    name: 'ask_revenue_to_date',
    question: 'How do this month and year compare, like for like?',
    definition: 'Revenue of this month and this year up to today, and of the same days a year ago.',
    caveats: runningCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'account_key',
    comment: 'One row for each account: revenue of this month and year up to today.',
    key: ['account_key'],
    ...buildAnswerColumns(
      {
        month_to_date: 'Revenue of this month up to today.',
        same_days_last_year: 'Revenue of the same days of the same month a year ago.',
        year_to_date: 'Revenue of this year up to today.',
        year_to_date_last_year: 'Revenue of last year up to the same day.',
      },
      {money: ['month_to_date', 'same_days_last_year', 'year_to_date', 'year_to_date_last_year']},
    ),
    from: `FROM (
      SELECT account.account_key,
             ${sumRevenue('account.month', 'account.today')} AS month_to_date,
             ${sumRevenue('account.month_before', 'account.today_before')}
               AS same_days_last_year,
             ${sumRevenue('account.year', 'account.today')} AS year_to_date,
             ${sumRevenue('account.year_before', 'account.today_before')}
               AS year_to_date_last_year
        FROM (SELECT known.account_key, known.today,
                     date_trunc('month', known.today)::date AS month,
                     date_trunc('year', known.today)::date AS year,
                     (known.today - interval '1 year')::date AS today_before,
                     date_trunc('month', known.today - interval '1 year')::date AS month_before,
                     date_trunc('year', known.today - interval '1 year')::date AS year_before
                FROM {mart.dim_account} AS known OFFSET 0) AS account
        LEFT JOIN {mart.fct_job} AS job ON job.account_key = account.account_key
         AND job.completed_date BETWEEN account.year_before AND account.today
       GROUP BY account.account_key
    ) AS answer`,
  },
  {
    name: 'ask_work_mix',
    question: 'What kind of work brings the money, and how large is a ticket?',
    definition:
      'Revenue of the last 365 days by kind of job, with its share and the mean and median ' +
      'subtotal of a job.',
    caveats:
      'Jobs at 0, such as warranty work, count. The median leads: a few large jobs pull the mean.',
    tieOuts: ['T1'],
    period: lastDays(365),
    order: 'revenue DESC, job_type_key',
    comment:
      'One row for each kind of job of the last 365 days: jobs, revenue, and the size of a ticket.',
    key: ['account_key', 'job_type_key'],
    ...buildAnswerColumns(
      {
        job_type_key: 'The kind of job: dim_job_type.',
        name: 'Its name.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        percent: 'Their share of all revenue, in percent.',
        mean_ticket: 'Mean subtotal.',
        median_ticket: 'Median subtotal.',
      },
      {money: ['revenue', 'mean_ticket', 'median_ticket'], totals: ['jobs', 'revenue']},
    ),
    from: groupTickets({
      columns: 'job.job_type_key, kind.name',
      from: `JOIN {mart.dim_job_type} AS kind ON kind.job_type_key = job.job_type_key`,
    }),
    by: {
      'lead-source': {
        question: 'Which sources bring customers and money?',
        definition:
          'Revenue of the last 365 days by the source of the customer, with the customers ' +
          'served for the first time.',
        caveats:
          'The service sends a number for each source: mart.labels has their names, once a ' +
          'person entered them. Before the first job that is known here every customer is new.',
        tieOuts: ['T1', 'T12'],
        order: 'revenue DESC, lead_source',
        key: ['account_key', 'lead_source'],
        ...buildAnswerColumns(
          {lead_source: 'The source of the customer.', ...ticketComments},
          ticketSums,
        ),
        from: groupTickets({
          columns: `coalesce(label.label, 'source ' || customer.customer_source_id, 'No source')
               AS lead_source`,
          from: `JOIN {mart.dim_customer} AS customer ON customer.customer_key = job.customer_key
        LEFT JOIN mart.labels AS label ON label.account_key = job.account_key
         AND label.kind = 'customer_source' AND label.id = customer.customer_source_id`,
        }),
      },
      town: {
        question: 'Which towns bring the money?',
        definition:
          'Revenue of the last 365 days by the city of the service address of the customer.',
        caveats: 'As the city is written: two spellings are two towns.',
        order: 'revenue DESC, town',
        key: ['account_key', 'town'],
        ...buildAnswerColumns(
          {town: 'The city of the service address.', ...ticketComments},
          ticketSums,
        ),
        from: groupTickets({
          columns: `coalesce(customer.city, 'No town') AS town`,
          from: 'JOIN {mart.dim_customer} AS customer ON customer.customer_key = job.customer_key',
        }),
      },
    },
  },
  {
    name: 'ask_bookings',
    question: 'How much work comes in?',
    definition:
      'Jobs booked in each of the last thirteen whole weeks and in the one that runs, with ' +
      'their subtotals.',
    caveats: 'At the price of today, not of that day. A job that was deleted is not counted.',
    tieOuts: ['T1'],
    period: {first: `${mondayOf('account.today')} - 7 * 13`, last: 'account.today'},
    order: 'week DESC',
    comment:
      'One row for each of the last thirteen whole weeks and the one that runs: jobs booked.',
    key: ['account_key', 'week'],
    ...buildAnswerColumns(
      {
        week: 'The Monday of the week.',
        booked: 'Jobs booked.',
        amount_by_now: 'Their subtotals today, without what is cancelled, lost or an estimate.',
        cancelled_since: 'How many of them are cancelled by now.',
      },
      {money: ['amount_by_now'], totals: ['booked', 'amount_by_now', 'cancelled_since']},
    ),
    from: `FROM (
      SELECT job.account_key, ${mondayOf('job.booked_date')} AS week, {job.jobs_booked} AS booked,
             {job.booked_amount} AS amount_by_now,
             {job.jobs_cancelled} AS cancelled_since
        FROM {mart.fct_job} AS job ${joinAccountKey('job')}
       WHERE job.booked_date BETWEEN {first} AND {last}
       GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_weeks',
    question: 'How do the weeks compare?',
    definition:
      'Revenue, jobs completed, bookings, receivables older than 60 days and the open jobs, of ' +
      'each of the last 78 whole weeks.',
    caveats:
      'Restated by what is known now. The receivables of a past day are derived from the dates ' +
      'of the invoices: an invoice that was paid in parts counts in full until the day on ' +
      'which it was paid in full.',
    tieOuts: ['T1', 'T8', 'T14'],
    period: wholeWeeks(78),
    order: 'week DESC',
    comment:
      'One row for each of the last 78 whole weeks: the figures of an owner. The weekly report ' +
      'is made from it.',
    key: ['account_key', 'week'],
    ...buildAnswerColumns(
      {
        week: 'The Monday of the week.',
        revenue: 'Subtotals of the jobs completed in it.',
        completed: 'Jobs completed in it.',
        booked:
          'Subtotals of the jobs booked in it, without what is cancelled, lost or an estimate.',
        owed_over_60_days: 'Receivables at its end older than 60 days, with tax.',
        open_jobs: 'Jobs open at its end, or today if it has not ended.',
      },
      {
        money: ['revenue', 'booked', 'owed_over_60_days'],
        totals: ['revenue', 'completed', 'booked'],
      },
    ),
    from: `FROM (
      SELECT weeks.account_key, weeks.week, coalesce(done.revenue, 0) AS revenue,
             coalesce(done.completed, 0) AS completed, coalesce(come.booked, 0) AS booked,
             coalesce(owed.owed, 0) AS owed_over_60_days,
             coalesce(backlog.open_jobs, 0) AS open_jobs
        FROM ${weeksOfPeriod} AS weeks
        LEFT JOIN (SELECT job.account_key, ${mondayOf('job.completed_date')} AS week,
                          {job.revenue} AS revenue, {job.jobs_completed} AS completed
                     FROM {mart.fct_job} AS job ${joinAccountKey('job')}
                    WHERE job.completed_date BETWEEN {first} AND {last}
                    GROUP BY 1, 2) AS done
                      ON done.account_key = weeks.account_key AND done.week = weeks.week
        LEFT JOIN (SELECT job.account_key, ${mondayOf('job.booked_date')} AS week,
                          {job.booked_amount} AS booked
                     FROM {mart.fct_job} AS job ${joinAccountKey('job')}
                    WHERE job.booked_date BETWEEN {first} AND {last}
                    GROUP BY 1, 2) AS come
                      ON come.account_key = weeks.account_key AND come.week = weeks.week
        LEFT JOIN (SELECT weeks.account_key, weeks.week,
                          sum(sum(step.amount)) OVER (PARTITION BY weeks.account_key
                            ORDER BY weeks.week) AS owed
                     FROM ${weeksOfPeriod} AS weeks
                     LEFT JOIN ${receivableSteps} AS step ON step.account_key = weeks.account_key
                      AND step.week = weeks.week
                    GROUP BY 1, 2) AS owed ON owed.account_key = weeks.account_key
                      AND owed.week = weeks.week
        LEFT JOIN {mart.fct_backlog_day} AS backlog ON backlog.account_key = weeks.account_key
         AND backlog.date = weeks.last_day
    ) AS answer`,
  },
];
