import {daysOfAccounts, ofAccount, type Question, told} from './question.ts';

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
      SELECT job.account_key, date_trunc('month', job.started_date)::date AS month, count(job.is_on_time) AS started,
             round(100.0 * count(*) FILTER (WHERE job.is_on_time) / nullif(count(job.is_on_time), 0), 1) AS percent_on_time
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
      SELECT day.account_key, day.date, sum(day.capacity_hours) AS capacity_hours, round(sum(day.planned_hours), 2) AS planned_hours, sum(day.jobs_planned)::bigint AS jobs,
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
      SELECT job.account_key, extract(isodow FROM job.scheduled_at AT TIME ZONE account.time_zone)::integer AS weekday, to_char(job.scheduled_at AT TIME ZONE account.time_zone, 'FMDay') AS weekday_name,
             extract(hour FROM job.scheduled_at AT TIME ZONE account.time_zone)::integer AS hour, count(*) AS jobs
        FROM {mart.fct_job} AS job ${ofAccount('job')}
       WHERE job.scheduled_date > account.today - 365 AND job.scheduled_date <= account.today AND (job.is_open OR job.job_state = 'completed') GROUP BY 1, 2, 3, 4
    ) AS answer`,
  },
  {
    name: 'ask_estimates',
    question: 'How many estimates do we win?',
    definition:
      'Estimates by the quarter in which they were sent, or else booked, and how they ended.',
    caveats: 'What is undecided is not lost. Empty where the account works without estimates.',
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
      SELECT sums.*, sums.estimates - sums.won - sums.lost AS undecided, round(100.0 * sums.won / nullif(sums.won + sums.lost, 0), 1) AS percent_won
        FROM (
          SELECT job.account_key, date_trunc('quarter', coalesce(job.estimate_sent_date, job.booked_date))::date AS quarter, count(*) AS estimates,
                 count(*) FILTER (WHERE job.job_state <> 'lost' AND (job.won_date IS NOT NULL OR job.estimate_type = 'won')) AS won,
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
      SELECT job.account_key, date_trunc('month', job.booked_date)::date AS month, count(*) AS booked, count(*) FILTER (WHERE job.job_state = 'cancelled') AS cancelled,
             round(100.0 * count(*) FILTER (WHERE job.job_state = 'cancelled') / count(*), 1) AS percent
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
      SELECT move.account_key, date_trunc('week', move.observed_at AT TIME ZONE account.time_zone)::date AS week, count(*) AS moved,
             count(*) FILTER (WHERE move.notice < interval '24 hours') AS on_short_notice, count(*) FILTER (WHERE move.to_date > move.from_date) AS put_off
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
      SELECT account.account_key, account.name, account.known_since, account.jobs_fresh_as_of, date_trunc('second', {now} - account.jobs_fresh_as_of) AS age FROM {mart.dim_account} AS account
    ) AS answer`,
  },
];
