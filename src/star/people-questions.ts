// Questions of people: customers, and technicians.

import {
  allDates,
  buildAnswerColumns,
  joinAccountKey,
  lastDays,
  listEmployeeDays,
  mondayOf,
  type Question,
  wholeWeeks,
} from './member.ts';

export const customerQuestions: readonly Question[] = [
  {
    name: 'ask_largest_customers',
    question: 'Who are our largest customers, and how much hangs on them?',
    definition:
      'Revenue of the last 365 days by customer, branches counted with the customer they ' +
      'belong to.',
    caveats: 'Customers that were merged at the service may still be two here.',
    tieOuts: ['T1', 'T11'],
    period: lastDays(365),
    order: 'place',
    comment:
      'One row for each customer served in the last 365 days, branches counted with the ' +
      'customer they belong to.',
    key: ['account_key', 'group_key'],
    ...buildAnswerColumns(
      {
        group_key: 'The customer: dim_customer.',
        place: 'Its place by revenue.',
        name: 'Its name.',
        revenue: 'Subtotals of its completed jobs.',
        jobs: 'How many jobs.',
        last_completed: 'When the last of them was completed.',
        percent: 'Share of all revenue, in percent.',
        cumulated: 'Share of all revenue of this customer and those above, in percent.',
      },
      {money: ['revenue'], totals: ['revenue', 'jobs'], maskedBy: {name: 'group_key'}},
    ),
    from: `FROM (
      SELECT served.*, row_number() OVER places AS place,
             round(100 * revenue / nullif(sum(revenue) OVER (PARTITION BY account_key), 0),
               1) AS percent,
             round(100 * sum(revenue) OVER places / nullif(sum(revenue)
               OVER (PARTITION BY account_key), 0), 1) AS cumulated
        FROM (
          SELECT job.account_key, customer.group_key, min(customer.group_name) AS name,
                 {job.revenue} AS revenue, {job.jobs_completed} AS jobs,
                 max(job.completed_date) AS last_completed
            FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
              ON customer.customer_key = job.customer_key ${joinAccountKey('job')}
           WHERE job.completed_date BETWEEN {first} AND {last}
           GROUP BY job.account_key, customer.group_key
        ) AS served
      WINDOW places AS (PARTITION BY account_key ORDER BY revenue DESC, group_key)
    ) AS answer`,
  },
  {
    name: 'ask_new_customers',
    question: 'How much comes from new customers, how much from returning ones?',
    definition:
      'Revenue by month of completion, split by whether the job is the first completed one of ' +
      'its customer.',
    caveats: 'Before the first job that is known here everybody is new.',
    tieOuts: ['T12'],
    period: allDates,
    order: 'month DESC',
    comment:
      'One row for each month: customers served for the first time, and revenue of new and of ' +
      'returning ones.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        new_customers: 'Customers whose first completed job this was.',
        revenue_new: 'Subtotals of these first jobs.',
        revenue_repeat: 'Subtotals of all others.',
      },
      {
        money: ['revenue_new', 'revenue_repeat'],
        totals: ['new_customers', 'revenue_new', 'revenue_repeat'],
      },
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.completed_date)::date AS month,
             {job.new_customers} AS new_customers,
             coalesce({job.revenue_of_new_customers}, 0) AS revenue_new,
             coalesce({job.revenue_of_returning_customers}, 0) AS revenue_repeat
        FROM {mart.fct_job} AS job WHERE job.completed_date BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_retention',
    question: 'Who was here last year, and came back?',
    definition:
      'Customers served in the 365 days before the last 365, and how many of them were served ' +
      'again in the last 365 days.',
    caveats: 'One year late by nature.',
    tieOuts: ['T11'],
    period: lastDays(365),
    order: 'account_key',
    comment: 'One row for each account: customers of last year, and those of them that came back.',
    key: ['account_key'],
    ...buildAnswerColumns({
      served_last_year: 'Customers served in the 365 days before the last 365.',
      came_back: 'How many of them were served again in the last 365 days.',
      percent: 'Their share, in percent.',
    }),
    from: `FROM (
      SELECT account_key, count(*) FILTER (WHERE last_year) AS served_last_year,
             count(*) FILTER (WHERE last_year AND this_year) AS came_back,
             round(100.0 * count(*) FILTER (WHERE last_year
               AND this_year) / nullif(count(*) FILTER (WHERE last_year), 0), 1) AS percent
        FROM (
          SELECT job.account_key, job.customer_key,
                 bool_or(job.completed_date >= {first}) AS this_year,
                 bool_or(job.completed_date BETWEEN {first} - ({last} - {first} + 1)
                   AND {first} - 1) AS last_year
            FROM {mart.fct_job} AS job ${joinAccountKey('job')}
           WHERE job.completed_date <= {last} AND job.customer_key <> -1 GROUP BY 1, 2
        ) AS served
       GROUP BY account_key
    ) AS answer`,
  },
  {
    name: 'ask_cohorts',
    question: 'What is a customer worth over time?',
    definition:
      'Revenue by the quarter of the first completed job of a customer, and by quarters after ' +
      'it; and all of it up to then, for each of these customers.',
    caveats:
      'Customers that were merged at the service may still be two here. In the first quarter ' +
      'that is known everybody is new. The running quarter is not over.',
    tieOuts: ['T1'],
    period: allDates,
    order: 'cohort DESC, quarters_after',
    comment: 'One row for each quarter of first jobs and each number of quarters after it.',
    key: ['account_key', 'cohort', 'quarters_after'],
    ...buildAnswerColumns(
      {
        cohort: 'The first day of the quarter in which the customers were first served.',
        quarters_after: 'Quarters after that one.',
        customers: 'How many of them were served in that quarter.',
        revenue: 'Subtotals of their jobs.',
        worth:
          'Revenue of the quarters up to that one, for each customer first served in the quarter.',
      },
      {money: ['revenue', 'worth'], totals: ['revenue']},
    ),
    from: `FROM (
      SELECT served.*,
             round(sum(served.revenue) OVER quarters / nullif(first_value(served.customers)
               OVER quarters, 0), 2) AS worth FROM (
      SELECT job.account_key, date_trunc('quarter', first.date)::date AS cohort,
             ((extract(year FROM job.completed_date) - extract(year FROM first.date)) * 4
               + extract(quarter FROM job.completed_date) -
                 extract(quarter FROM first.date))::integer AS quarters_after,
             count(DISTINCT job.customer_key) AS customers, {job.revenue} AS revenue
        FROM {mart.fct_job} AS job
        JOIN (SELECT customer_key, min(completed_date) AS date FROM {mart.fct_job} AS known
               WHERE completed_date IS NOT NULL AND customer_key <> -1
               GROUP BY customer_key) AS first
          ON first.customer_key = job.customer_key
       WHERE job.completed_date IS NOT NULL AND first.date BETWEEN {first} AND {last}
       GROUP BY 1, 2, 3
      ) AS served WINDOW quarters AS (PARTITION BY served.account_key, served.cohort
        ORDER BY served.quarters_after)
    ) AS answer`,
  },
  {
    name: 'ask_lapsed_customers',
    question: 'Whom should we call? Good customers who stayed away a year',
    definition:
      'Customers with at least two completed jobs, the last of them 365 to 730 days ago, who ' +
      'are active, owe nothing and have nothing open.',
    caveats: 'A customer who moved away cannot be distinguished from one who stayed away.',
    tieOuts: ['T11'],
    order: 'revenue DESC, customer_key',
    comment:
      'One row for each customer with two jobs or more who stayed away for one to two years.',
    key: ['account_key', 'customer_key'],
    ...buildAnswerColumns(
      {
        customer_key: 'The customer: dim_customer.',
        name: 'Its name.',
        last_completed: 'When the last job was completed.',
        jobs: 'How many jobs were completed.',
        revenue: 'Their subtotals.',
      },
      {money: ['revenue'], totals: ['jobs', 'revenue'], maskedBy: {name: 'customer_key'}},
    ),
    from: `FROM (
      SELECT job.account_key, customer.customer_key, customer.name,
             max(job.completed_date) AS last_completed, {job.jobs_completed} AS jobs,
             {job.revenue} AS revenue
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key ${joinAccountKey('job')}
       WHERE NOT customer.is_deleted AND customer.is_active IS NOT FALSE
         AND customer.customer_key <> -1
       GROUP BY job.account_key, customer.customer_key, customer.name, account.today
      HAVING count(job.completed_date) >= 2 AND NOT bool_or(job.is_open)
         AND sum(job.receivable) <= 0
         AND max(job.completed_date) BETWEEN account.today - 730 AND account.today - 365
    ) AS answer`,
  },
];

export const peopleQuestions: readonly Question[] = [
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
    ...buildAnswerColumns(
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
        FROM ${listEmployeeDays('{first}', '{last}')} AS day
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
    ...buildAnswerColumns(
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
              ON visit.job_key = share.job_key ${joinAccountKey('share')}
           WHERE share.completed_date BETWEEN {first} AND {last}
           GROUP BY 1, 2
        ) AS done
        FULL JOIN (
          SELECT entry.account_key, entry.employee_key,
                 {entry.hours_on_completed_jobs} AS hours
            FROM {mart.fct_time_entry} AS entry ${joinAccountKey('entry')}
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
        ...buildAnswerColumns(
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
          ON person.employee_key = share.employee_key ${joinAccountKey('share')}
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
    ...buildAnswerColumns(
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
              ON kind.job_type_key = job.job_type_key ${joinAccountKey('job')}
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
    tieOuts: ['T10', 'T19'],
    period: lastDays(395),
    order: 'percent DESC, job_type_key',
    comment:
      'One row for each kind of job completed in the last 395 days: how many were followed by ' +
      'another.',
    key: ['account_key', 'job_type_key'],
    ...buildAnswerColumns(
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
          ON kind.job_type_key = job.job_type_key ${joinAccountKey('visit')}
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
    ...buildAnswerColumns(
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
          ON person.employee_key = task.employee_key ${joinAccountKey('task')}
       GROUP BY 1, 2, 3
    ) AS answer`,
  },
];
