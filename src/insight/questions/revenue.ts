import {ofAccount, type Question, told} from './question.ts';

const revenueCaveat = 'Before tax, on the day of completion. The running period is not over.';

export const revenue: readonly Question[] = [
  {
    name: 'ask_revenue_by_week',
    question: 'What did we earn, week by week?',
    definition:
      'The subtotals of completed jobs by the week of their completion, for the last thirteen whole weeks.',
    caveats: revenueCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'week',
    comment: 'One row for each of the last thirteen whole weeks: jobs completed and revenue.',
    key: ['account_key', 'week'],
    columns: told({
      week: 'The Monday of the week.',
      jobs: 'Jobs completed.',
      revenue: 'Their subtotals.',
      four_week_mean: 'Mean revenue of this week and the three before.',
    }),
    from: `FROM (
      SELECT account.account_key, day.week, count(job.job_key) AS jobs, coalesce(sum(job.completed_amount), 0) AS revenue,
             round(avg(coalesce(sum(job.completed_amount), 0)) OVER (PARTITION BY account.account_key ORDER BY day.week ROWS 3 PRECEDING), 2) AS four_week_mean
        FROM {mart.dim_account} AS account
        JOIN mart.dim_date AS day ON day.date >= date_trunc('week', account.today)::date - 91 AND day.date < date_trunc('week', account.today)::date
        LEFT JOIN {mart.fct_job} AS job ON job.account_key = account.account_key AND job.completed_date = day.date
       GROUP BY account.account_key, day.week
    ) AS answer`,
  },
  {
    name: 'ask_revenue_by_month',
    question: 'And against the same month a year ago?',
    definition:
      'The subtotals of completed jobs by the month of their completion, beside the same month of the year before.',
    caveats: revenueCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'month DESC',
    comment: 'One row for each month with completed jobs: revenue, and that of the same month a year before.',
    key: ['account_key', 'month'],
    columns: told({
      month: 'The first day of the month.',
      jobs: 'Jobs completed.',
      revenue: 'Their subtotals.',
      a_year_before:
        'Revenue of the same month of the year before; null where the jobs do not reach back so far.',
    }),
    from: `FROM (
      SELECT month.*, before.revenue AS a_year_before
        FROM (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month, count(*) AS jobs, sum(job.completed_amount) AS revenue
                FROM {mart.fct_job} AS job WHERE job.completed_date IS NOT NULL GROUP BY 1, 2) AS month
        LEFT JOIN (SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month, sum(job.completed_amount) AS revenue
                FROM {mart.fct_job} AS job WHERE job.completed_date IS NOT NULL GROUP BY 1, 2) AS before
          ON before.account_key = month.account_key AND before.month = (month.month - interval '1 year')::date
    ) AS answer`,
  },
  {
    name: 'ask_revenue_to_date',
    question: 'Where do we stand this month and year, like for like?',
    definition: 'Revenue of this month and this year up to today, and of the same days a year ago.',
    caveats: revenueCaveat,
    tieOuts: ['T1', 'T14'],
    order: 'account_key',
    comment: 'One row for each account: revenue of this month and year up to today.',
    key: ['account_key'],
    columns: told({
      month_to_date: 'Revenue of this month up to today.',
      same_days_last_year: 'Revenue of the same days of the same month a year ago.',
      year_to_date: 'Revenue of this year up to today.',
      year_to_date_last_year: 'Revenue of last year up to the same day.',
    }),
    from: `FROM (
      SELECT account.account_key,
             coalesce(sum(job.completed_amount) FILTER (WHERE job.completed_date BETWEEN date_trunc('month', account.today) AND account.today), 0) AS month_to_date,
             coalesce(sum(job.completed_amount) FILTER (WHERE job.completed_date BETWEEN date_trunc('month', account.today - interval '1 year') AND account.today - interval '1 year'), 0) AS same_days_last_year,
             coalesce(sum(job.completed_amount) FILTER (WHERE job.completed_date BETWEEN date_trunc('year', account.today) AND account.today), 0) AS year_to_date,
             coalesce(sum(job.completed_amount) FILTER (WHERE job.completed_date BETWEEN date_trunc('year', account.today - interval '1 year') AND account.today - interval '1 year'), 0) AS year_to_date_last_year
        FROM {mart.dim_account} AS account LEFT JOIN {mart.fct_job} AS job ON job.account_key = account.account_key
       GROUP BY account.account_key
    ) AS answer`,
  },
  {
    name: 'ask_work_mix',
    question: 'What kind of work brings the money, and how large is a ticket?',
    definition:
      'Revenue of the last 365 days by kind of job, with its share and the mean and median subtotal of a job.',
    caveats: 'Jobs at 0, such as warranty work, count. The median leads: a few large jobs pull the mean.',
    tieOuts: ['T1'],
    order: 'revenue DESC, job_type_key',
    comment: 'One row for each kind of job of the last 365 days: jobs, revenue, and the size of a ticket.',
    key: ['account_key', 'job_type_key'],
    columns: told({
      job_type_key: 'The kind of job: dim_job_type.',
      name: 'Its name.',
      jobs: 'Jobs completed.',
      revenue: 'Their subtotals.',
      percent: 'Their share of all revenue, in percent.',
      mean_ticket: 'Mean subtotal.',
      median_ticket: 'Median subtotal.',
    }),
    from: `FROM (
      SELECT job.account_key, job.job_type_key, kind.name, count(*) AS jobs, sum(job.completed_amount) AS revenue,
             round(100 * sum(job.completed_amount) / nullif(sum(sum(job.completed_amount)) OVER (PARTITION BY job.account_key), 0), 1) AS percent,
             round(avg(job.completed_amount), 2) AS mean_ticket,
             round((percentile_cont(0.5) WITHIN GROUP (ORDER BY job.completed_amount))::numeric, 2) AS median_ticket
        FROM {mart.fct_job} AS job JOIN {mart.dim_job_type} AS kind ON kind.job_type_key = job.job_type_key ${ofAccount('job')}
       WHERE job.completed_date > account.today - 365 AND job.completed_date <= account.today
       GROUP BY job.account_key, job.job_type_key, kind.name
    ) AS answer`,
  },
  {
    name: 'ask_bookings',
    question: 'How much work comes in?',
    definition: 'Jobs booked in each of the last thirteen weeks, with their subtotals.',
    caveats: 'At the price of today, not of that day. A job that was deleted is not counted.',
    tieOuts: ['T1'],
    order: 'week',
    comment: 'One row for each of the last thirteen weeks: jobs booked.',
    key: ['account_key', 'week'],
    columns: told({
      week: 'The Monday of the week.',
      booked: 'Jobs booked.',
      amount_by_now: 'Their subtotals today, without what is cancelled, lost or an estimate.',
      cancelled_since: 'How many of them are cancelled by now.',
    }),
    from: `FROM (
      SELECT job.account_key, date_trunc('week', job.booked_date)::date AS week, count(*) AS booked, sum(job.booked_amount) AS amount_by_now,
             count(*) FILTER (WHERE job.job_state = 'cancelled') AS cancelled_since
        FROM {mart.fct_job} AS job ${ofAccount('job')}
       WHERE job.booked_date > account.today - 91 AND job.booked_date <= account.today
       GROUP BY 1, 2
    ) AS answer`,
  },
];
