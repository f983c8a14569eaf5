import {
  daysOfAccounts,
  lastDays,
  mondayOf,
  ofAccount,
  type Question,
  told,
  wholeWeeks,
} from './member.ts';

export const people: readonly Question[] = [
  {
    name: 'ask_utilisation',
    question: 'How busy is each technician?',
    definition:
      'Hours on jobs over hours of capacity, by technician, for each of the last eight whole ' +
      'weeks.',
    caveats:
      'Hours on jobs only: travel and the office are not known here. More than 100 % is ' +
      'overtime, or hours that overlap.',
    tieOuts: ['T9'],
    period: wholeWeeks(8),
    order: 'week DESC, name',
    needs: 'working_hours',
    comment:
      'One row for each technician and each of the last eight whole weeks: hours and capacity.',
    key: ['account_key', 'employee_key', 'week'],
    ...told(
      {
        employee_key: 'The technician: dim_employee.',
        name: 'Their name.',
        week: 'The Monday of the week.',
        hours: 'Hours worked on jobs.',
        billable_hours: 'Hours of these that customers pay for.',
        capacity_hours: 'Hours that they were to work.',
        percent: 'Hours over capacity, in percent.',
      },
      {totals: ['hours', 'billable_hours', 'capacity_hours'], maskedBy: {name: 'employee_key'}},
    ),
    from: `FROM (
      SELECT day.account_key, day.employee_key, person.name, ${mondayOf('day.date')} AS week,
             {day.hours} AS hours, {day.billable_hours} AS billable_hours,
             {day.capacity_hours} AS capacity_hours,
             round(100 * {day.hours} / nullif({day.capacity_hours}, 0), 1) AS percent
        FROM ${daysOfAccounts('{first}', '{last}')} AS day
        JOIN {mart.dim_employee} AS person ON person.employee_key = day.employee_key
       WHERE day.employee_key <> -1
       GROUP BY 1, 2, 3, 4
    ) AS answer`,
  },
  {
    name: 'ask_technicians',
    question: 'What does each technician bring, in all and an hour?',
    definition:
      'Even shares of the subtotals of the jobs completed in the last 91 days, and hours on ' +
      'these jobs.',
    caveats:
      'An even split: the service does not say who did how much. The repeat visits of the last ' +
      'weeks are yet to come.',
    tieOuts: ['T3', 'T5'],
    period: lastDays(91),
    order: 'revenue DESC NULLS LAST, employee_key',
    comment: 'One row for each technician with jobs in the last 91 days: revenue and hours.',
    key: ['account_key', 'employee_key'],
    ...told(
      {
        employee_key: 'The technician: dim_employee; -1 is no employee.',
        name: 'Their name.',
        is_active: 'False once they were made inactive.',
        jobs: 'Their share of the jobs.',
        revenue: 'Their share of the subtotals.',
        hours: 'Their hours on these jobs.',
        revenue_an_hour: 'Revenue for each hour.',
        repeat_visits:
          'How many of these jobs were followed by another of the same kind, each counted for ' +
          'all who were assigned.',
        days: 'Days on which they completed a job.',
        revenue_a_day: 'Revenue for each of these days.',
        mean_ticket: 'Revenue for each job.',
      },
      {
        money: ['revenue', 'revenue_an_hour', 'revenue_a_day', 'mean_ticket'],
        totals: ['revenue', 'hours'],
        maskedBy: {name: 'employee_key'},
      },
    ),
    from: `FROM (
      SELECT coalesce(done.account_key, worked.account_key) AS account_key, person.employee_key,
             person.name, person.is_active, round(done.job_share, 1) AS jobs,
             done.revenue, worked.hours,
             round(done.revenue / nullif(worked.hours, 0), 2) AS revenue_an_hour,
             coalesce(done.repeat_visits, 0) AS repeat_visits, done.days,
             round(done.revenue / nullif(done.days, 0), 2) AS revenue_a_day,
             round(done.revenue / nullif(done.job_share, 0), 2) AS mean_ticket
        FROM (
          SELECT share.account_key, share.employee_key,
                 {share.revenue_of_technicians} AS revenue,
                 sum(share.job_share) AS job_share, count(visit.repeat_job_key) AS repeat_visits,
                 count(DISTINCT share.completed_date) AS days
            FROM {mart.fct_assignment} AS share
            LEFT JOIN {mart.fct_repeat_visit} AS visit
              ON visit.job_key = share.job_key ${ofAccount('share')}
           WHERE share.completed_date BETWEEN {first} AND {last}
           GROUP BY 1, 2
        ) AS done
        FULL JOIN (
          SELECT entry.account_key, entry.employee_key,
                 {entry.hours_on_completed_jobs} AS hours
            FROM {mart.fct_time_entry} AS entry ${ofAccount('entry')}
           WHERE entry.completed_date BETWEEN {first} AND {last}
           GROUP BY 1, 2
        ) AS worked ON worked.account_key = done.account_key
          AND worked.employee_key = done.employee_key
        JOIN {mart.dim_employee} AS person ON person.employee_key = coalesce(done.employee_key,
          worked.employee_key)
    ) AS answer`,
    by: {
      day: {
        question: 'What did each technician bring on each day?',
        definition:
          'Even shares of the subtotals of the jobs completed in the last 91 days, by ' +
          'technician and day of completion.',
        caveats: 'An even split: the service does not say who did how much.',
        tieOuts: ['T5'],
        order: 'date DESC, revenue DESC NULLS LAST, employee_key',
        key: ['account_key', 'date', 'employee_key'],
        ...told(
          {
            date: 'The day of completion.',
            employee_key: 'The technician: dim_employee; -1 is no employee.',
            name: 'Their name.',
            jobs: 'Jobs completed that day that they were assigned to.',
            revenue: 'Their share of the subtotals.',
          },
          {money: ['revenue'], totals: ['revenue'], maskedBy: {name: 'employee_key'}},
        ),
        from: `FROM (
      SELECT share.account_key, share.completed_date AS date, person.employee_key, person.name,
             count(*) AS jobs, {share.revenue_of_technicians} AS revenue
        FROM {mart.fct_assignment} AS share
        JOIN {mart.dim_employee} AS person
          ON person.employee_key = share.employee_key ${ofAccount('share')}
       WHERE share.completed_date BETWEEN {first} AND {last} GROUP BY 1, 2, 3, 4
    ) AS answer`,
      },
    },
  },
  {
    name: 'ask_planned_lengths',
    question: 'Do we plan the right length?',
    definition:
      'Hours worked against hours planned, by kind of job, for jobs of the last 365 days that ' +
      'have both.',
    caveats: 'Jobs without hours, or without a planned length, are left out.',
    tieOuts: ['T3'],
    period: lastDays(365),
    order: 'percent_over DESC NULLS LAST, job_type_key',
    comment: 'One row for each kind of job of the last 365 days: planned and worked hours.',
    key: ['account_key', 'job_type_key'],
    ...told(
      {
        job_type_key: 'The kind of job: dim_job_type.',
        name: 'Its name.',
        jobs: 'Jobs with both.',
        planned_hours: 'Planned length, once for each who is assigned.',
        hours: 'Hours worked.',
        percent_over: 'By how much the hours exceed the plan, in percent.',
      },
      {totals: ['jobs', 'hours']},
    ),
    from: `FROM (
      SELECT sums.*, round(sums.planned_minutes / 60, 1) AS planned_hours,
             round(100 * sums.hours * 60 / nullif(sums.planned_minutes, 0) - 100, 1) AS percent_over
        FROM (
          SELECT job.account_key, job.job_type_key, kind.name, count(*) AS jobs,
                 sum(job.planned_minutes * greatest(job.technicians, 1)) AS planned_minutes,
                 sum(job.hours) AS hours
            FROM {mart.fct_job} AS job JOIN {mart.dim_job_type} AS kind
              ON kind.job_type_key = job.job_type_key ${ofAccount('job')}
           WHERE job.completed_date BETWEEN {first} AND {last} AND job.hours IS NOT NULL
             AND job.planned_minutes IS NOT NULL
           GROUP BY 1, 2, 3
        ) AS sums
    ) AS answer`,
  },
  {
    name: 'ask_repeat_visits',
    question: 'How often do we have to come again?',
    definition:
      'Completed jobs that were followed by another of the same kind for the same customer, ' +
      'open or done, within the days of mart.settings, of those whose days have passed.',
    caveats:
      'An estimate of "not repaired the first time": whether it was the same fault is not ' +
      'known. Visits repeated by schedule do not count, nor does what began as an estimate.',
    tieOuts: ['T10'],
    period: lastDays(395),
    order: 'percent DESC, job_type_key',
    comment:
      'One row for each kind of job completed in the last 395 days: how many were followed by ' +
      'another.',
    key: ['account_key', 'job_type_key'],
    ...told(
      {
        job_type_key: 'The kind of job: dim_job_type.',
        name: 'Its name.',
        jobs: 'Jobs completed.',
        repeat_visits: 'How many were followed by another.',
        percent: 'Their share, in percent.',
      },
      {totals: ['jobs', 'repeat_visits']},
    ),
    from: `FROM (
      SELECT visit.account_key, kind.job_type_key, kind.name, {visit.visits} AS jobs,
             {visit.repeat_visits} AS repeat_visits,
             round(100.0 * {visit.repeat_visits} / {visit.visits}, 1) AS percent
        FROM {mart.fct_repeat_visit} AS visit
        JOIN {mart.fct_job} AS job ON job.job_key = visit.job_key
        JOIN {mart.dim_job_type} AS kind
          ON kind.job_type_key = job.job_type_key ${ofAccount('visit')}
       WHERE visit.is_mature AND visit.completed_date BETWEEN {first} AND {last} GROUP BY 1, 2, 3
    ) AS answer`,
  },
  {
    name: 'ask_late_tasks',
    question: 'Which to-dos are late?',
    definition:
      'Tasks by who is to do them: open, past their time, and done in the last seven days.',
    caveats: 'A task without a time is never late.',
    tieOuts: ['T10', 'T11'],
    order: 'overdue DESC, employee_key',
    comment: 'One row for each employee with tasks: how many are open and late.',
    key: ['account_key', 'employee_key'],
    ...told(
      {
        employee_key: 'Who is to do them: dim_employee; -1 is no employee.',
        name: 'Their name.',
        open: 'Tasks that are not done.',
        overdue: 'How many of them are past their time.',
        done_in_7_days: 'Tasks done in the last seven days.',
      },
      {totals: ['open', 'overdue', 'done_in_7_days'], maskedBy: {name: 'employee_key'}},
    ),
    from: `FROM (
      SELECT task.account_key, person.employee_key, person.name,
             {task.open_tasks} AS open,
             count(*) FILTER (WHERE NOT task.is_completed AND task.scheduled_at < {now}) AS overdue,
             count(*) FILTER (WHERE task.completed_date > account.today - 7) AS done_in_7_days
        FROM {mart.fct_task} AS task JOIN {mart.dim_employee} AS person
          ON person.employee_key = task.employee_key ${ofAccount('task')}
       GROUP BY 1, 2, 3
    ) AS answer`,
  },
];
