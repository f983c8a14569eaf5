// Questions of planning and selling: appointments, room, estimates, and how old the data is.

import {estimateDate, withAlias} from './measures.ts';
import {
  allDates,
  buildAnswerColumns,
  jobColumns,
  jobMasks,
  joinAccountKey,
  lastDays,
  listEmployeeDays,
  localDate,
  type Question,
} from './member.ts';
import {daysAhead} from './past-facts.ts';

const estimateComments = {
  estimates: 'Estimates.',
  won: 'Won.',
  lost: 'Lost.',
  undecided: 'Neither.',
  percent_won: 'Share of the won among those decided, in percent.',
  amount_won: 'Subtotals of the won.',
  amount_lost: 'Subtotals of the lost.',
  amount_undecided: 'Subtotals of the others.',
  percent_won_by_money: 'Share of the won among those decided, by their subtotals, in percent.',
};
const estimateSums = {
  money: ['amount_won', 'amount_lost', 'amount_undecided'],
  totals: ['estimates', 'won', 'lost', 'undecided'].concat([
    'amount_won',
    'amount_lost',
    'amount_undecided',
  ]),
};

/** Estimates, grouped by some columns. The GROUP BY has them without their aliases. */
function groupEstimates({
  columns,
  from = '',
}: {
  readonly columns: string;
  readonly from?: string;
}): string {
  const estimated = withAlias(estimateDate, 'job');
  return `FROM (
      SELECT sums.*, sums.estimates - sums.decided AS undecided,
             sums.amount - sums.amount_decided AS amount_undecided,
             round(100.0 * sums.won / nullif(sums.decided, 0), 1) AS percent_won,
             round(100.0 * sums.amount_won / nullif(sums.amount_decided, 0),
               1) AS percent_won_by_money
        FROM (
          SELECT job.account_key, ${columns}, {job.estimates} AS estimates,
                 {job.estimates_won} AS won, {job.estimates_lost} AS lost,
                 {job.estimates_decided} AS decided,
                 {job.estimated_amount} AS amount,
                 coalesce({job.amount_won}, 0.00) AS amount_won,
                 coalesce({job.amount_lost}, 0.00) AS amount_lost,
                 coalesce({job.amount_decided}, 0.00) AS amount_decided
            FROM {mart.fct_job} AS job ${from}
           WHERE job.was_estimate AND ${estimated} BETWEEN {first} AND {last}
           GROUP BY job.account_key, ${columns.replace(/\s+AS \w+$/, '')}
        ) AS sums
    ) AS answer`;
}

export const planningQuestions: readonly Question[] = [
  {
    name: 'ask_punctuality',
    question: 'Do we begin when we said?',
    definition:
      'Jobs that began at their appointment, or within the minutes of grace, of those with ' +
      'both times, by month.',
    caveats: 'As good as the button is pressed.',
    tieOuts: [],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month: how many jobs began on time.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        started: 'Jobs with both times.',
        percent_on_time: 'Share that began on time, in percent.',
      },
      {totals: ['started']},
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.started_date)::date AS month,
             {job.jobs_started} AS started,
             round(100.0 * {job.jobs_started_on_time} / nullif({job.jobs_started}, 0),
               1) AS percent_on_time
        FROM {mart.fct_job} AS job WHERE job.started_date BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_load_ahead',
    question: 'Is there room in the next two weeks?',
    definition: 'Planned hours against capacity for each of the next fourteen days.',
    caveats:
      'Two technicians on a job take twice its length. Travel is not known here. Plans and ' +
      `capacity reach ${daysAhead} days ahead: later days have no row.`,
    tieOuts: ['T9'],
    period: {first: 'account.today', last: 'account.today + 13'},
    order: 'date',
    needs: 'working_hours',
    comment: 'One row for each of the next fourteen days with plans or capacity.',
    key: ['account_key', 'date'],
    ...buildAnswerColumns(
      {
        date: 'The day.',
        capacity_hours: 'Hours of all technicians.',
        planned_hours: 'Hours planned.',
        jobs: 'Appointments, once for each who is assigned.',
        percent: 'Plan over capacity, in percent.',
      },
      {totals: ['capacity_hours', 'planned_hours', 'jobs']},
    ),
    from: `FROM (
      SELECT day.account_key, day.date, {day.capacity_hours} AS capacity_hours,
             round({day.planned_hours}, 2) AS planned_hours,
             {day.appointments}::bigint AS jobs,
             round(100 * {day.planned_hours} / nullif({day.capacity_hours}, 0), 1) AS percent
        FROM ${listEmployeeDays('{first}', '{last}')} AS day GROUP BY 1, 2
    ) AS answer`,
    by: {
      technician: {
        question: 'Who has room, and on which day?',
        definition:
          'Planned hours against capacity of each technician for each of the next fourteen days.',
        order: 'date, room_hours DESC NULLS LAST, employee_key',
        key: ['account_key', 'date', 'employee_key'],
        ...buildAnswerColumns(
          {
            date: 'The day.',
            employee_key: 'The technician: dim_employee; -1 is no employee.',
            name: 'Their name.',
            capacity_hours: 'Hours that they are to work.',
            planned_hours: 'Hours planned.',
            jobs: 'Their appointments.',
            room_hours: 'Capacity less plan; null without capacity.',
          },
          {totals: ['capacity_hours', 'planned_hours', 'jobs'], maskedBy: {name: 'employee_key'}},
        ),
        from: `FROM (
      SELECT day.account_key, day.date, day.employee_key, person.name, day.capacity_hours,
             round(day.planned_hours, 2) AS planned_hours, day.jobs_planned AS jobs,
             round(day.capacity_hours - day.planned_hours, 2) AS room_hours
        FROM ${listEmployeeDays('{first}', '{last}')} AS day
        JOIN {mart.dim_employee} AS person ON person.employee_key = day.employee_key
    ) AS answer`,
      },
    },
  },
  {
    name: 'ask_week_ahead',
    question: 'What will the next seven days bring?',
    definition:
      'Open jobs with an appointment on each of the next seven days, today included, and their ' +
      'subtotals.',
    caveats:
      'Before tax, at the price of today. A job without a price counts as 0: see how many ' +
      'there are.',
    tieOuts: ['T1'],
    period: {first: 'account.today', last: 'account.today + 6'},
    order: 'date',
    comment: 'One row for each of the next seven days with appointments: jobs and their subtotals.',
    key: ['account_key', 'date'],
    ...buildAnswerColumns(
      {
        date: 'The day.',
        jobs: 'Open jobs with an appointment.',
        amount: 'Their subtotals.',
        without_price: 'How many of them have no price yet.',
      },
      {money: ['amount'], totals: ['jobs', 'amount', 'without_price']},
    ),
    from: `FROM (
      SELECT job.account_key, job.scheduled_date AS date, {job.open_jobs} AS jobs,
             {job.open_amount} AS amount,
             {job.open_jobs_without_price} AS without_price
        FROM {mart.fct_job} AS job ${joinAccountKey('job')}
       WHERE job.is_open AND job.scheduled_date BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_rush_hours',
    question: 'At which hours is the rush?',
    definition:
      'Appointments of the last 365 days by weekday and hour of their beginning, in the zone ' +
      'of the account, of jobs that are open or done.',
    caveats: 'Midnight may mean that no time was given.',
    tieOuts: ['T1'],
    period: lastDays(365),
    order: 'jobs DESC, weekday, hour',
    comment: 'One row for each weekday and hour with appointments.',
    key: ['account_key', 'weekday', 'hour'],
    ...buildAnswerColumns(
      {
        weekday: 'Monday is 1, Sunday 7.',
        weekday_name: 'Its name, in English.',
        hour: 'The hour of the day, 0 to 23.',
        jobs: 'Appointments that began in it.',
      },
      {totals: ['jobs']},
    ),
    from: `FROM (
      SELECT job.account_key,
             extract(isodow FROM job.scheduled_at AT TIME ZONE
               account.time_zone)::integer AS weekday,
                 to_char(job.scheduled_at AT TIME ZONE account.time_zone, 'FMDay') AS weekday_name,
             extract(hour FROM job.scheduled_at AT TIME ZONE account.time_zone)::integer AS hour,
             count(*) AS jobs
        FROM {mart.fct_job} AS job ${joinAccountKey('job')}
       WHERE job.scheduled_date BETWEEN {first} AND {last}
         AND (job.is_open OR job.job_state = 'completed') GROUP BY 1, 2, 3, 4
    ) AS answer`,
  },
  {
    name: 'ask_estimates',
    question: 'How many estimates do we win?',
    definition:
      'Estimates by the quarter in which they were sent, or else booked, with their money, and ' +
      'how they ended.',
    caveats: 'What is undecided is not lost. Empty if the account works without estimates.',
    tieOuts: ['T1'],
    period: allDates,
    order: 'quarter DESC',
    comment: 'One row for each quarter with estimates: won, lost, undecided.',
    key: ['account_key', 'quarter'],
    ...buildAnswerColumns(
      {quarter: 'The first day of the quarter.', ...estimateComments},
      estimateSums,
    ),
    from: groupEstimates({
      columns: `date_trunc('quarter', ${withAlias(estimateDate, 'job')})::date AS quarter`,
    }),
    by: {
      seller: {
        definition:
          'Estimates by the employee who booked the job, with their money, and how they ended.',
        caveats:
          'The service names no seller: the employee who booked the job counts as one. ' +
          'What is undecided is not lost.',
        order: 'amount_won DESC NULLS LAST, employee_key',
        key: ['account_key', 'employee_key'],
        ...buildAnswerColumns(
          {
            employee_key: 'Who booked the job: dim_employee; -1 is no employee.',
            name: 'Their name.',
            ...estimateComments,
          },
          {...estimateSums, maskedBy: {name: 'employee_key'}},
        ),
        from: groupEstimates({
          columns: 'seller.employee_key, seller.name',
          from: `JOIN {mart.dim_employee} AS seller
              ON seller.employee_key = job.booked_by_employee_key`,
        }),
      },
      type: {
        definition: 'Estimates by kind of job, with their money, and how they ended.',
        order: 'amount_won DESC NULLS LAST, job_type_key',
        key: ['account_key', 'job_type_key'],
        ...buildAnswerColumns(
          {
            job_type_key: 'The kind of job: dim_job_type.',
            name: 'Its name.',
            ...estimateComments,
          },
          estimateSums,
        ),
        from: groupEstimates({
          columns: 'kind.job_type_key, kind.name',
          from: 'JOIN {mart.dim_job_type} AS kind ON kind.job_type_key = job.job_type_key',
        }),
      },
    },
  },
  {
    name: 'ask_open_estimates',
    question: 'Which estimates are open?',
    definition:
      'The jobs in the state estimate, the oldest first, with their subtotals and the days ' +
      'since they were sent, or else booked.',
    caveats: 'The service names no seller: the employee who booked the job counts as one.',
    tieOuts: ['T1'],
    order: 'days DESC, job_number',
    comment: 'One row for each open estimate: its customer, its price, and its age.',
    key: ['job_key'],
    ...buildAnswerColumns(
      {
        ...jobColumns,
        employee_key: 'Who booked it: dim_employee; -1 is no employee.',
        seller: 'Their name.',
        sent_date: 'When it was sent; null if it was not.',
        days: 'Days since then, or since it was booked.',
        subtotal: 'Its price before tax.',
      },
      {
        money: ['subtotal'],
        totals: ['subtotal'],
        maskedBy: {...jobMasks, seller: 'employee_key'},
      },
    ),
    from: `FROM (
      SELECT job.account_key, job.job_key, job.job_number, customer.name AS customer,
             job.name AS job, seller.employee_key, seller.name AS seller,
             job.estimate_sent_date AS sent_date,
             account.today - coalesce(job.estimate_sent_date, job.booked_date) AS days, job.subtotal
        FROM {mart.fct_job} AS job
        JOIN {mart.dim_customer} AS customer ON customer.customer_key = job.customer_key
        JOIN {mart.dim_employee} AS seller
          ON seller.employee_key = job.booked_by_employee_key ${joinAccountKey('job')}
       WHERE job.job_state = 'estimate'
    ) AS answer`,
  },
  {
    name: 'ask_cancellations',
    question: 'How much work is cancelled?',
    definition: 'Jobs booked in each month, and how many of them are cancelled by now.',
    caveats: 'Jobs that were deleted are not counted: fct_job_status_change has them.',
    tieOuts: ['T13'],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month of booking: jobs, and how many are cancelled.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        booked: 'Jobs booked.',
        cancelled: 'How many of them are cancelled.',
        percent: 'Their share, in percent.',
      },
      {totals: ['booked', 'cancelled']},
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.booked_date)::date AS month,
             {job.jobs_booked} AS booked, {job.jobs_cancelled} AS cancelled,
             round(100.0 * {job.jobs_cancelled} / {job.jobs_booked}, 1) AS percent
        FROM {mart.fct_job} AS job WHERE job.booked_date BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_reschedules',
    question: 'How often do we move appointments?',
    definition:
      'Moves of appointments by week, and how many came within the 24 hours before the ' +
      'appointment.',
    caveats: 'Known since the mirror began. Two moves between two sweeps are seen as one.',
    tieOuts: ['T11'],
    period: allDates,
    order: 'week DESC',
    comment: 'One row for each week with moves of appointments.',
    key: ['account_key', 'week'],
    ...buildAnswerColumns(
      {
        week: 'The Monday of the week.',
        moved: 'Moves.',
        on_short_notice: 'Moves within the 24 hours before the appointment.',
        put_off: 'Moves to a later day.',
      },
      {totals: ['moved', 'on_short_notice', 'put_off']},
    ),
    from: `FROM (
      SELECT move.account_key,
             date_trunc('week', move.observed_at AT TIME ZONE account.time_zone)::date AS week,
             count(*) AS moved,
             count(*) FILTER (WHERE move.observed_at <= move.from_scheduled_at
               AND move.observed_at > move.from_scheduled_at - interval '24 hours')
               AS on_short_notice,
             count(*) FILTER (WHERE move.to_date > move.from_date) AS put_off
        FROM mart.fct_reschedule AS move ${joinAccountKey('move')}
       WHERE move.observed_at >= account.known_since AND move.observed_at <= {now}
         AND ${localDate('move.observed_at')} BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_freshness',
    question: 'How old is what I see?',
    definition:
      'When the latest sweep that proved the jobs complete began, and since when the mirror ' +
      'knows the account.',
    caveats: 'Windows swept since then are newer, but prove nothing of the rest.',
    tieOuts: [],
    order: 'account_key',
    comment: 'One row for each account: how fresh its data is.',
    key: ['account_key'],
    ...buildAnswerColumns({
      name: 'The account.',
      known_since: 'Since when the mirror knows it.',
      jobs_fresh_as_of: 'When the latest proof that the jobs are complete began.',
      age_minutes: 'How many minutes ago that was.',
    }),
    from: `FROM (
      SELECT account.account_key, account.name, account.known_since, account.jobs_fresh_as_of,
             round(extract(epoch FROM {now} - account.jobs_fresh_as_of) / 60, 1) AS age_minutes
               FROM {mart.dim_account} AS account
    ) AS answer`,
  },
];
