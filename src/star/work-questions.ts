// Questions of work: what is open, and what is planned.

import {openedDate, openSpans} from './day-facts.ts';
import {daysOfAccounts, mondayOf, ofAccount, type Question, told} from './member.ts';

/** Counts of the jobs of each age; `age` is in days. */
const agesOf = (age: string) =>
  `count(*) FILTER (WHERE ${age} <= 7) AS up_to_7_days,
   count(*) FILTER (WHERE ${age} BETWEEN 8 AND 30) AS up_to_30_days,
             count(*) FILTER (WHERE ${age} BETWEEN 31 AND 60) AS up_to_60_days,
             count(*) FILTER (WHERE ${age} > 60) AS older`;
const ages = {
  up_to_7_days: 'Booked, or won, within 7 days.',
  up_to_30_days: 'Booked, or won, 8 to 30 days ago.',
  up_to_60_days: 'Booked, or won, 31 to 60 days ago.',
  older: 'Booked, or won, longer ago.',
};

/** The first Sunday that is not before a date. */
const sundayFrom = (date: string) => `${mondayOf(date)} + 6`;

export const backlog: readonly Question[] = [
  {
    name: 'ask_open_jobs',
    question: 'What is open, and how old?',
    definition:
      'The open jobs by state, with their subtotals and their age since they were booked, or won.',
    caveats:
      'Estimates are not open. The price is often not known before the visit. What is on hold is open, too.',
    tieOuts: ['T7'],
    order: 'place',
    comment: 'One row for each state of open jobs: how many, how much, and how old.',
    key: ['account_key', 'place'],
    columns: told(
      {
        place: 'Its place in the life of a job.',
        state: 'The state.',
        jobs: 'Open jobs.',
        on_hold: 'How many of them are on hold.',
        amount: 'Their subtotals.',
        ...ages,
      },
      {money: ['amount']},
    ),
    from: `FROM (
      SELECT job.account_key, state.place, state.label AS state, count(*) AS jobs,
             count(*) FILTER (WHERE job.is_on_hold) AS on_hold,
             sum(job.open_amount) AS amount, ${agesOf(`account.today - (${openedDate})`)}
        FROM {mart.fct_job} AS job JOIN mart.dim_job_state AS state
          ON state.job_state = job.job_state ${ofAccount('job')}
       WHERE job.is_open GROUP BY job.account_key, state.place, state.label
    ) AS answer`,
  },
  {
    name: 'ask_backlog',
    question: 'Is the backlog growing?',
    definition: 'The jobs open on the end of each of the last 91 days, and how many came and went.',
    caveats:
      'Restated from the times of the jobs, at the prices of today. An estimate counts from the day on which it was won.',
    tieOuts: ['T7', 'T8'],
    order: 'date DESC',
    comment: 'One row for each of the last 91 days: open jobs, and what came and went.',
    key: ['account_key', 'date'],
    columns: told(
      {
        date: 'The day.',
        open_jobs: 'Jobs open on its end.',
        open_amount: 'Their subtotals.',
        came: 'Jobs booked, and estimates won.',
        went: 'Jobs completed or cancelled.',
      },
      {money: ['open_amount']},
    ),
    from: `FROM (
      SELECT day.* FROM {mart.fct_backlog_day} AS day ${ofAccount('day')}
       WHERE day.date > account.today - 91
    ) AS answer`,
  },
  {
    name: 'ask_backlog_age',
    question: 'Is it getting older?',
    definition:
      'The jobs open on the end of each of the last 26 Sundays, by their age since they were booked, or won.',
    caveats: 'Restated from the times of the jobs.',
    tieOuts: ['T8'],
    order: 'date DESC',
    comment: 'One row for each of the last 26 Sundays: open jobs by their age.',
    key: ['account_key', 'date'],
    columns: told({date: 'The Sunday.', ...ages}),
    from: `FROM (
      SELECT span.account_key, sunday.date, ${agesOf('sunday.date - span.opened')}
        FROM (SELECT span.account_key, span.opened,
                     ${sundayFrom('greatest(span.opened, span.today - 181)')} AS first,
                     coalesce(span.closed - 1, span.today) AS last
                FROM ${openSpans} AS span) AS span
       CROSS JOIN LATERAL (SELECT span.first + days AS date
                             FROM generate_series(0, span.last - span.first, 7) AS days) AS sunday
       GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_unscheduled',
    question: 'What waits for a date?',
    definition: 'The open jobs without an appointment, the oldest first.',
    caveats: 'A job on hold waits, too, and says so.',
    tieOuts: ['T7'],
    order: 'days DESC, job_number',
    comment: 'One row for each job that waits for a date.',
    key: ['job_key'],
    columns: told(
      {
        job_key: 'The job: fct_job.',
        job_number: 'Its number.',
        customer: 'Its customer.',
        job: 'Its title.',
        days: 'Days since it was booked, or won.',
        subtotal: 'Its price before tax.',
        is_on_hold: 'True while it is on hold.',
        custom_status: "Its status of the account's own making.",
      },
      {money: ['subtotal'], maskedBy: {customer: 'job_key', job: 'job_key'}},
    ),
    from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, account.today - (${openedDate}) AS days, job.subtotal,
             job.is_on_hold, status.name AS custom_status
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key
        JOIN {mart.dim_job_status} AS status
          ON status.job_status_key = job.job_status_key ${ofAccount('job')}
       WHERE job.job_state = 'unscheduled'
    ) AS answer`,
  },
  {
    name: 'ask_overdue',
    question: 'What should have been done?',
    definition:
      'Jobs whose appointment has passed and that have not begun, and jobs in progress for more than a day.',
    caveats: 'A forgotten click cannot be distinguished from work that is late.',
    tieOuts: ['T13'],
    order: 'scheduled_date, job_number',
    comment: 'One row for each job that should have been done.',
    key: ['job_key'],
    columns: told(
      {
        job_key: 'The job: fct_job.',
        job_number: 'Its number.',
        customer: 'Its customer.',
        job: 'Its title.',
        state: 'Its state.',
        scheduled_date: 'When it was to be done.',
        days_late: 'Days since then.',
        subtotal: 'Its price before tax.',
      },
      {money: ['subtotal'], maskedBy: {customer: 'job_key', job: 'job_key'}},
    ),
    from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, state.label AS state, job.scheduled_date,
             account.today - coalesce(job.scheduled_date, job.started_date) AS days_late,
             job.subtotal
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key
        JOIN mart.dim_job_state AS state ON state.job_state = job.job_state ${ofAccount('job')}
       WHERE job.job_state = 'scheduled' AND job.scheduled_date < account.today
          OR job.job_state = 'in_progress' AND job.started_date < account.today - 1
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
    columns: told(
      {
        jobs: 'Completed jobs without an invoice.',
        amount: 'Their totals, with tax.',
        oldest_days: 'Days since the oldest was completed.',
      },
      {money: ['amount']},
    ),
    from: `FROM (
      SELECT job.account_key, count(*) AS jobs, sum(job.unbilled) AS amount,
             max(account.today - job.completed_date) AS oldest_days
        FROM {mart.fct_job} AS job ${ofAccount('job')}
       WHERE job.job_state = 'completed' AND job.invoiced_date IS NULL GROUP BY job.account_key
    ) AS answer`,
  },
];

export const planning: readonly Question[] = [
  {
    name: 'ask_punctuality',
    question: 'Do we begin when we said?',
    definition:
      'Jobs that began at their appointment, or within the minutes of grace, of those with both times, by month.',
    caveats: 'As good as the button is pressed.',
    tieOuts: [],
    order: 'month DESC',
    comment: 'One row for each month: how many jobs began on time.',
    key: ['account_key', 'month'],
    columns: told({
      month: 'The first day of the month.',
      started: 'Jobs with both times.',
      percent_on_time: 'Share that began on time, in percent.',
    }),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.started_date)::date AS month,
             count(job.is_on_time) AS started,
             round(100.0 * count(*) FILTER (WHERE job.is_on_time) / nullif(count(job.is_on_time),
               0), 1) AS percent_on_time
        FROM {mart.fct_job} AS job WHERE job.started_date IS NOT NULL GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_load_ahead',
    question: 'Is there room in the next two weeks?',
    definition: 'Planned hours against capacity for each of the next fourteen days.',
    caveats: 'Two technicians on a job take twice its length. Travel is not known here.',
    tieOuts: ['T9'],
    order: 'date',
    needs: 'working_hours',
    comment: 'One row for each of the next fourteen days with plans or capacity.',
    key: ['account_key', 'date'],
    columns: told({
      date: 'The day.',
      capacity_hours: 'Hours of all technicians.',
      planned_hours: 'Hours planned.',
      jobs: 'Appointments, once for each who is assigned.',
      percent: 'Plan over capacity, in percent.',
    }),
    from: `FROM (
      SELECT day.account_key, day.date, sum(day.capacity_hours) AS capacity_hours,
             round(sum(day.planned_hours), 2) AS planned_hours,
             sum(day.jobs_planned)::bigint AS jobs,
             round(100 * sum(day.planned_hours) / nullif(sum(day.capacity_hours), 0), 1) AS percent
        FROM ${daysOfAccounts('account.today', 'account.today + 13')} AS day GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_rush_hours',
    question: 'When is the rush?',
    definition:
      'Appointments of the last 365 days by weekday and hour of their beginning, in the zone of the account, of jobs that are open or done.',
    caveats: 'Midnight may mean that no time was given.',
    tieOuts: ['T1'],
    order: 'jobs DESC, weekday, hour',
    comment: 'One row for each weekday and hour with appointments.',
    key: ['account_key', 'weekday', 'hour'],
    columns: told({
      weekday: 'Monday is 1, Sunday 7.',
      weekday_name: 'Its name, in English.',
      hour: 'The hour of the day, 0 to 23.',
      jobs: 'Appointments that began in it.',
    }),
    from: `FROM (
      SELECT job.account_key,
             extract(isodow FROM job.scheduled_at AT TIME ZONE
               account.time_zone)::integer AS weekday,
                 to_char(job.scheduled_at AT TIME ZONE account.time_zone, 'FMDay') AS weekday_name,
             extract(hour FROM job.scheduled_at AT TIME ZONE account.time_zone)::integer AS hour,
             count(*) AS jobs
        FROM {mart.fct_job} AS job ${ofAccount('job')}
       WHERE job.scheduled_date > account.today - 365 AND job.scheduled_date <= account.today
         AND (job.is_open OR job.job_state = 'completed') GROUP BY 1, 2, 3, 4
    ) AS answer`,
  },
  {
    name: 'ask_estimates',
    question: 'How many estimates do we win?',
    definition:
      'Estimates by the quarter in which they were sent, or else booked, and how they ended.',
    caveats: 'What is undecided is not lost. Empty if the account works without estimates.',
    tieOuts: ['T1'],
    order: 'quarter DESC',
    comment: 'One row for each quarter with estimates: won, lost, undecided.',
    key: ['account_key', 'quarter'],
    columns: told({
      quarter: 'The first day of the quarter.',
      estimates: 'Estimates.',
      won: 'Won.',
      lost: 'Lost.',
      undecided: 'Neither.',
      percent_won: 'Share of the won among those decided, in percent.',
    }),
    from: `FROM (
      SELECT sums.*, sums.estimates - sums.won - sums.lost AS undecided,
             round(100.0 * sums.won / nullif(sums.won + sums.lost, 0), 1) AS percent_won
        FROM (
          SELECT job.account_key,
                 date_trunc('quarter', coalesce(job.estimate_sent_date,
                   job.booked_date))::date AS quarter, count(*) AS estimates,
                 count(*) FILTER (WHERE job.job_state <> 'lost'
                   AND (job.won_date IS NOT NULL OR job.estimate_type = 'won')) AS won,
                 count(*) FILTER (WHERE job.job_state = 'lost') AS lost
            FROM {mart.fct_job} AS job WHERE job.was_estimate GROUP BY 1, 2
        ) AS sums
    ) AS answer`,
  },
  {
    name: 'ask_cancellations',
    question: 'How much is cancelled?',
    definition: 'Jobs booked in each month, and how many of them are cancelled by now.',
    caveats: 'Jobs that were deleted are not counted: fct_job_status_change has them.',
    tieOuts: ['T13'],
    order: 'month DESC',
    comment: 'One row for each month of booking: jobs, and how many are cancelled.',
    key: ['account_key', 'month'],
    columns: told({
      month: 'The first day of the month.',
      booked: 'Jobs booked.',
      cancelled: 'How many of them are cancelled.',
      percent: 'Their share, in percent.',
    }),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.booked_date)::date AS month,
             count(*) AS booked, count(*) FILTER (WHERE job.job_state = 'cancelled') AS cancelled,
             round(100.0 * count(*) FILTER (WHERE job.job_state = 'cancelled') / count(*),
               1) AS percent
        FROM {mart.fct_job} AS job WHERE job.booked_date IS NOT NULL GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_reschedules',
    question: 'How often do we move appointments?',
    definition:
      'Moves of appointments by week, and how many came within 24 hours of the appointment.',
    caveats: 'Known since the mirror began. Two moves between two sweeps are seen as one.',
    tieOuts: ['T11'],
    order: 'week DESC',
    comment: 'One row for each week with moves of appointments.',
    key: ['account_key', 'week'],
    columns: told({
      week: 'The Monday of the week.',
      moved: 'Moves.',
      on_short_notice: 'Moves within 24 hours of the appointment.',
      put_off: 'Moves to a later day.',
    }),
    from: `FROM (
      SELECT move.account_key,
             date_trunc('week', move.observed_at AT TIME ZONE account.time_zone)::date AS week,
             count(*) AS moved,
             count(*) FILTER (WHERE move.notice < interval '24 hours') AS on_short_notice,
             count(*) FILTER (WHERE move.to_date > move.from_date) AS put_off
        FROM mart.fct_reschedule AS move ${ofAccount('move')}
       WHERE move.observed_at >= account.known_since AND move.observed_at <= {now} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_freshness',
    question: 'How old is what I see?',
    definition:
      'When the latest sweep that proved the jobs complete began, and since when the mirror knows the account.',
    caveats: 'Windows swept since then are newer, but prove nothing of the rest.',
    tieOuts: [],
    order: 'account_key',
    comment: 'One row for each account: how fresh its data is.',
    key: ['account_key'],
    columns: told({
      name: 'The account.',
      known_since: 'Since when the mirror knows it.',
      jobs_fresh_as_of: 'When the latest proof that the jobs are complete began.',
      age: 'How long ago that was.',
    }),
    from: `FROM (
      SELECT account.account_key, account.name, account.known_since, account.jobs_fresh_as_of,
             date_trunc('second', {now} - account.jobs_fresh_as_of) AS age
               FROM {mart.dim_account} AS account
    ) AS answer`,
  },
];
