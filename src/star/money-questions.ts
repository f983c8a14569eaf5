// Questions of money: what was earned, and what is owed and collected.

import {accountsSource, mondayOf, ofAccount, type Question, told} from './member.ts';

const owedSince = (days: string) =>
  `coalesce(sum(job.receivable) FILTER (WHERE account.today - job.invoiced_date ${days}), 0)`;

export const money: readonly Question[] = [
  {
    name: 'ask_debtors',
    question: 'Who owes us, since when?',
    definition:
      'What is unpaid of invoices that are not cancelled, with tax, by customer and by days since the date of the invoice.',
    caveats: 'From the date of the invoice, not from its terms. The service knows no credit notes.',
    tieOuts: ['T16'],
    order: 'owed DESC, customer_key',
    comment: 'One row for each customer who owes something, by the age of the debt.',
    key: ['account_key', 'customer_key'],
    columns: told(
      {
        customer_key: 'The customer: dim_customer.',
        name: 'Its name.',
        owed: 'Its receivables, with tax.',
        up_to_30_days: 'Invoiced within 30 days.',
        up_to_60_days: 'Invoiced 31 to 60 days ago.',
        up_to_90_days: 'Invoiced 61 to 90 days ago.',
        older: 'Invoiced longer ago.',
      },
      {
        money: ['owed', 'up_to_30_days', 'up_to_60_days', 'up_to_90_days', 'older'],
        maskedBy: {name: 'customer_key'},
      },
    ),
    from: `FROM (
      SELECT job.account_key, customer.customer_key, customer.name, sum(job.receivable) AS owed,
             ${owedSince('<= 30')} AS up_to_30_days,
             ${owedSince('BETWEEN 31 AND 60')} AS up_to_60_days,
             ${owedSince('BETWEEN 61 AND 90')} AS up_to_90_days, ${owedSince('> 90')} AS older
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key ${ofAccount('job')}
       WHERE job.receivable <> 0 GROUP BY job.account_key, customer.customer_key, customer.name
    ) AS answer`,
  },
  {
    name: 'ask_days_to_money',
    question: 'How long from call to done, to invoice, to money?',
    definition:
      'Median days between booking, completion, invoice and payment, by month of completion.',
    caveats:
      'Only what is paid has a date of payment, so recent months look fast: see the share that is paid within 30 days.',
    tieOuts: [],
    order: 'month DESC',
    comment: 'One row for each month of completion: how many days each step took.',
    key: ['account_key', 'month'],
    columns: told({
      month: 'The first day of the month.',
      jobs: 'Jobs completed.',
      booked_to_done: 'Median days from booking to completion.',
      nine_of_ten_done_within: 'Days from booking to completion that nine of ten took at most.',
      done_to_invoice: 'Median days from completion to invoice.',
      invoice_to_paid: 'Median days from invoice to payment in full.',
      percent_paid_in_30: 'Share of the invoices that were paid within 30 days, in percent.',
    }),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
             count(*) AS jobs,
             round((percentile_cont(0.5) WITHIN GROUP (ORDER BY job.completed_date -
               job.booked_date))::numeric, 1) AS booked_to_done,
             round((percentile_cont(0.9) WITHIN GROUP (ORDER BY job.completed_date -
               job.booked_date))::numeric, 1) AS nine_of_ten_done_within,
             round((percentile_cont(0.5) WITHIN GROUP (ORDER BY job.invoiced_date -
               job.completed_date))::numeric, 1) AS done_to_invoice,
             round((percentile_cont(0.5) WITHIN GROUP (ORDER BY job.paid_date -
               job.invoiced_date))::numeric, 1) AS invoice_to_paid,
             round(100.0 * count(*)
               FILTER (WHERE job.paid_date - job.invoiced_date <= 30) /
                 nullif(count(job.invoiced_date), 0), 1) AS percent_paid_in_30
        FROM {mart.fct_job} AS job WHERE job.completed_date IS NOT NULL GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_days_outstanding',
    question: 'How many days of sales are outstanding?',
    definition: 'Receivables, divided by what was invoiced with tax in the last 91 days, times 91.',
    caveats: 'Follows the season: after a busy quarter the figure is low.',
    tieOuts: ['T16', 'T17'],
    order: 'account_key',
    comment: 'One row for each account: days of sales outstanding.',
    key: ['account_key'],
    columns: told(
      {
        owed: 'The receivables.',
        invoiced: 'What was invoiced in the last 91 days, with tax.',
        days: 'Days of sales outstanding.',
      },
      {money: ['owed', 'invoiced']},
    ),
    from: `FROM (
      SELECT sums.*, round(sums.owed / nullif(sums.invoiced, 0) * 91, 1) AS days
        FROM (
          SELECT job.account_key, sum(job.receivable) AS owed,
                 sum(job.invoiced_amount + job.invoiced_tax)
                   FILTER (WHERE job.invoiced_date > account.today - 91) AS invoiced
            FROM {mart.fct_job} AS job ${ofAccount('job')} GROUP BY job.account_key
        ) AS sums
    ) AS answer`,
  },
  {
    name: 'ask_collected',
    question: 'What came in?',
    definition:
      'Payments of the last thirteen whole weeks and of the one that runs, by the week they count on.',
    caveats:
      'A part payment has no date at the service: it counts on the day its fall of the balance was seen, and before the mirror on none.',
    tieOuts: ['T6'],
    order: 'week DESC',
    comment:
      'One row for each of the last thirteen whole weeks and the one that runs: what was collected.',
    key: ['account_key', 'week'],
    columns: told(
      {
        week: 'The Monday of the week.',
        collected: 'What was collected, less what was given back.',
        dated_by_observation: 'How much of it is dated by when it was seen.',
      },
      {money: ['collected', 'dated_by_observation']},
    ),
    from: `FROM (
      SELECT step.account_key, ${mondayOf('step.paid_date')} AS week, sum(step.amount) AS collected,
             coalesce(sum(step.amount) FILTER (WHERE step.dated_by = 'observed'),
               0) AS dated_by_observation
        FROM mart.fct_payment AS step ${ofAccount('step')}
       WHERE step.observed_at <= {now} AND step.paid_date >= ${mondayOf('account.today')} - 7 * 13
         AND step.paid_date <= account.today GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_sales_tax',
    question: 'Which sales tax is due?',
    definition:
      'Tax on the invoices of each month, by tax; beside it the tax of those that are paid.',
    caveats:
      'A pointer for the bookkeeper, and no return: which lines are taxed is not known here.',
    tieOuts: ['T17'],
    order: 'month DESC, name, tax_entity_key',
    comment: 'One row for each month and tax: what was invoiced, and what of it is paid.',
    key: ['account_key', 'month', 'tax_entity_key'],
    columns: told(
      {
        month: 'The first day of the month.',
        tax_entity_key: 'The tax: dim_tax_entity.',
        name: 'Its name.',
        tax_rate: 'Its rate.',
        invoiced_before_tax: 'What was invoiced, before tax.',
        tax_invoiced: 'The tax on it.',
        tax_of_paid: 'The tax of what is paid in full.',
      },
      {money: ['invoiced_before_tax', 'tax_invoiced', 'tax_of_paid']},
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.invoiced_date)::date AS month,
             tax.tax_entity_key, tax.name, tax.tax_rate,
             sum(job.invoiced_amount) AS invoiced_before_tax, sum(job.invoiced_tax) AS tax_invoiced,
             coalesce(sum(job.invoiced_tax) FILTER (WHERE job.balance = 0), 0) AS tax_of_paid
        FROM {mart.fct_job} AS job JOIN {mart.dim_tax_entity} AS tax
          ON tax.tax_entity_key = job.tax_entity_key
       WHERE job.invoiced_date IS NOT NULL GROUP BY 1, 2, 3, 4, 5
    ) AS answer`,
  },
  {
    name: 'ask_items',
    question: 'What do we sell, at which prices?',
    definition: 'Lines of the jobs completed in the last 365 days, by item.',
    caveats: 'The service gives no catalogue: only what was charged is known.',
    tieOuts: ['T2', 'T4'],
    order: 'revenue DESC, item_key',
    comment: 'One row for each item charged in the last 365 days.',
    key: ['account_key', 'item_key'],
    columns: told(
      {
        item_key: 'The item: dim_item.',
        category: 'Its category.',
        name: 'Its name.',
        quantity: 'How much of it was charged.',
        revenue: 'The price of these lines.',
        jobs: 'On how many jobs.',
        percent: 'Its share of all lines, in percent.',
        lowest: 'The lowest price of one.',
        highest: 'The highest price of one.',
      },
      {money: ['revenue', 'lowest', 'highest']},
    ),
    from: `FROM (
      SELECT sums.*, item.category, item.name,
             round(100 * sums.revenue / nullif(sum(sums.revenue)
               OVER (PARTITION BY sums.account_key), 0), 1) AS percent
        FROM (
          SELECT line.account_key, line.item_key, sum(line.quantity) AS quantity,
                 sum(line.amount) AS revenue, count(DISTINCT line.job_key) AS jobs,
                 min(line.price_per_unit) AS lowest, max(line.price_per_unit) AS highest
            FROM {mart.fct_job_charge} AS line
            JOIN {mart.fct_job} AS job ON job.job_key = line.job_key ${ofAccount('job')}
           WHERE job.completed_date > account.today - 365 AND job.completed_date <= account.today
           GROUP BY line.account_key, line.item_key
        ) AS sums
        JOIN {mart.dim_item} AS item ON item.item_key = sums.item_key
    ) AS answer`,
  },
];

const revenueCaveat = 'Before tax, on the day of completion.';
const runningCaveat = `${revenueCaveat} The running period is not over.`;

const revenueBetween = (first: string, last: string) =>
  `coalesce(sum(job.completed_amount)
     FILTER (WHERE job.completed_date BETWEEN ${first} AND ${last}), 0)`;

/** The Mondays of the last 78 whole weeks of each account. */
const wholeWeeks = `(
        SELECT account.account_key, day.date AS week
          FROM ${accountsSource}
          JOIN mart.dim_date AS day ON day.weekday = 1
           AND day.date >= ${mondayOf('account.today')} - 7 * 78
           AND day.date < ${mondayOf('account.today')})`;

/**
 * By how much what is owed for more than 60 days rose and fell, each by the week; what came before
 * the first week stands in it.
 */
const owedSteps = `(
        SELECT job.account_key,
               greatest(${mondayOf('step.date')}, ${mondayOf('account.today')} - 7 * 78) AS week,
               step.amount
          FROM {mart.fct_job} AS job ${ofAccount('job')}
         CROSS JOIN LATERAL (VALUES (job.invoiced_date + 61,
           CASE WHEN job.paid_date IS NULL THEN job.receivable ELSE job.total END), (job.paid_date,
           -job.total)) AS step (date, amount)
         WHERE job.job_state <> 'cancelled' AND (job.paid_date IS NULL AND job.receivable <> 0
           OR job.paid_date > job.invoiced_date + 60) AND step.date IS NOT NULL)`;

export const revenue: readonly Question[] = [
  {
    name: 'ask_revenue_by_week',
    question: 'What did we earn, week by week?',
    definition:
      'The subtotals of completed jobs by the week of their completion, for the last thirteen whole weeks.',
    caveats: revenueCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'week DESC',
    comment: 'One row for each of the last thirteen whole weeks: jobs completed and revenue.',
    key: ['account_key', 'week'],
    columns: told(
      {
        week: 'The Monday of the week.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        four_week_mean: 'Mean revenue of this week and the three before.',
      },
      {money: ['revenue']},
    ),
    from: `FROM (
      SELECT account.account_key, account.today, day.week, count(job.job_key) AS jobs,
             coalesce(sum(job.completed_amount), 0) AS revenue,
             round(avg(coalesce(sum(job.completed_amount), 0))
               OVER (PARTITION BY account.account_key ORDER BY day.week ROWS 3 PRECEDING),
               2) AS four_week_mean
        FROM ${accountsSource}
        JOIN mart.dim_date AS day ON day.date >= ${mondayOf('account.today')} - 7 * 16
         AND day.date < ${mondayOf('account.today')}
        LEFT JOIN {mart.fct_job} AS job ON job.account_key = account.account_key
         AND job.completed_date = day.date
       GROUP BY account.account_key, account.today, day.week
    ) AS answer
   WHERE answer.week >= ${mondayOf('answer.today')} - 7 * 13`,
  },
  {
    name: 'ask_revenue_by_month',
    question: 'And against the same month a year ago?',
    definition:
      'The subtotals of completed jobs by the month of their completion, beside the same month of the year before.',
    caveats: runningCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'month DESC',
    comment:
      'One row for each month with completed jobs: revenue, and that of the same month a year before.',
    key: ['account_key', 'month'],
    columns: told(
      {
        month: 'The first day of the month.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        a_year_before:
          'Revenue of the same month of the year before; null if the jobs do not reach back so far.',
      },
      {money: ['revenue', 'a_year_before']},
    ),
    from: `FROM (
      SELECT month.*, before.revenue AS a_year_before
        FROM (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
                     count(*) AS jobs, sum(job.completed_amount) AS revenue
                FROM {mart.fct_job} AS job WHERE job.completed_date IS NOT NULL
               GROUP BY 1, 2) AS month
        LEFT JOIN (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
                          sum(job.completed_amount) AS revenue
                FROM {mart.fct_job} AS job WHERE job.completed_date IS NOT NULL
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
    columns: told(
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
             ${revenueBetween('account.month', 'account.today')} AS month_to_date,
             ${revenueBetween('account.month_before', 'account.today_before')}
               AS same_days_last_year,
             ${revenueBetween('account.year', 'account.today')} AS year_to_date,
             ${revenueBetween('account.year_before', 'account.today_before')}
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
      'Revenue of the last 365 days by kind of job, with its share and the mean and median subtotal of a job.',
    caveats:
      'Jobs at 0, such as warranty work, count. The median leads: a few large jobs pull the mean.',
    tieOuts: ['T1'],
    order: 'revenue DESC, job_type_key',
    comment:
      'One row for each kind of job of the last 365 days: jobs, revenue, and the size of a ticket.',
    key: ['account_key', 'job_type_key'],
    columns: told(
      {
        job_type_key: 'The kind of job: dim_job_type.',
        name: 'Its name.',
        jobs: 'Jobs completed.',
        revenue: 'Their subtotals.',
        percent: 'Their share of all revenue, in percent.',
        mean_ticket: 'Mean subtotal.',
        median_ticket: 'Median subtotal.',
      },
      {money: ['revenue']},
    ),
    from: `FROM (
      SELECT job.account_key, job.job_type_key, kind.name, count(*) AS jobs,
             sum(job.completed_amount) AS revenue,
             round(100 * sum(job.completed_amount) / nullif(sum(sum(job.completed_amount))
               OVER (PARTITION BY job.account_key), 0), 1) AS percent,
             round(avg(job.completed_amount), 2) AS mean_ticket,
             round((percentile_cont(0.5) WITHIN GROUP (ORDER BY job.completed_amount))::numeric,
               2) AS median_ticket
        FROM {mart.fct_job} AS job JOIN {mart.dim_job_type} AS kind
          ON kind.job_type_key = job.job_type_key ${ofAccount('job')}
       WHERE job.completed_date > account.today - 365 AND job.completed_date <= account.today
       GROUP BY job.account_key, job.job_type_key, kind.name
    ) AS answer`,
  },
  {
    name: 'ask_bookings',
    question: 'How much work comes in?',
    definition:
      'Jobs booked in each of the last thirteen whole weeks and in the one that runs, with their subtotals.',
    caveats: 'At the price of today, not of that day. A job that was deleted is not counted.',
    tieOuts: ['T1'],
    order: 'week DESC',
    comment:
      'One row for each of the last thirteen whole weeks and the one that runs: jobs booked.',
    key: ['account_key', 'week'],
    columns: told(
      {
        week: 'The Monday of the week.',
        booked: 'Jobs booked.',
        amount_by_now: 'Their subtotals today, without what is cancelled, lost or an estimate.',
        cancelled_since: 'How many of them are cancelled by now.',
      },
      {money: ['amount_by_now']},
    ),
    from: `FROM (
      SELECT job.account_key, ${mondayOf('job.booked_date')} AS week, count(*) AS booked,
             sum(job.booked_amount) AS amount_by_now,
             count(*) FILTER (WHERE job.job_state = 'cancelled') AS cancelled_since
        FROM {mart.fct_job} AS job ${ofAccount('job')}
       WHERE job.booked_date >= ${mondayOf('account.today')} - 7 * 13
         AND job.booked_date <= account.today
       GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_weeks',
    question: 'How do the weeks compare?',
    definition:
      'Revenue, jobs completed, bookings, receivables older than 60 days and the open jobs, of each of the last 78 whole weeks.',
    caveats:
      'Restated by what is known now. The receivables of a past day are derived from the dates of the invoices: an invoice that was paid in parts counts in full until the day on which it was paid in full.',
    tieOuts: ['T1', 'T8', 'T14'],
    order: 'week DESC',
    comment:
      'One row for each of the last 78 whole weeks: the figures of an owner. The weekly report is made from it.',
    key: ['account_key', 'week'],
    columns: told(
      {
        week: 'The Monday of the week.',
        revenue: 'Subtotals of the jobs completed in it.',
        completed: 'Jobs completed in it.',
        booked:
          'Subtotals of the jobs booked in it, without what is cancelled, lost or an estimate.',
        owed_over_60_days: 'Receivables at its end older than 60 days, with tax.',
        open_jobs: 'Jobs open at its end.',
      },
      {money: ['revenue', 'booked', 'owed_over_60_days']},
    ),
    from: `FROM (
      SELECT weeks.account_key, weeks.week, coalesce(done.revenue, 0) AS revenue,
             coalesce(done.completed, 0) AS completed, coalesce(come.booked, 0) AS booked,
             coalesce(owed.owed, 0) AS owed_over_60_days,
             coalesce(backlog.open_jobs, 0) AS open_jobs
        FROM ${wholeWeeks} AS weeks
        LEFT JOIN (SELECT job.account_key, ${mondayOf('job.completed_date')} AS week,
                          sum(job.completed_amount) AS revenue, count(*) AS completed
                     FROM {mart.fct_job} AS job ${ofAccount('job')}
                    WHERE job.completed_date >= account.today - 7 * 79 GROUP BY 1, 2) AS done
                      ON done.account_key = weeks.account_key AND done.week = weeks.week
        LEFT JOIN (SELECT job.account_key, ${mondayOf('job.booked_date')} AS week,
                          sum(job.booked_amount) AS booked
                     FROM {mart.fct_job} AS job ${ofAccount('job')}
                    WHERE job.booked_date >= account.today - 7 * 79 GROUP BY 1, 2) AS come
                      ON come.account_key = weeks.account_key AND come.week = weeks.week
        LEFT JOIN (SELECT weeks.account_key, weeks.week,
                          sum(sum(step.amount)) OVER (PARTITION BY weeks.account_key
                            ORDER BY weeks.week) AS owed
                     FROM ${wholeWeeks} AS weeks
                     LEFT JOIN ${owedSteps} AS step ON step.account_key = weeks.account_key
                      AND step.week = weeks.week
                    GROUP BY 1, 2) AS owed ON owed.account_key = weeks.account_key
                      AND owed.week = weeks.week
        LEFT JOIN {mart.fct_backlog_day} AS backlog ON backlog.account_key = weeks.account_key
         AND backlog.date = weeks.week + 6
    ) AS answer`,
  },
];
