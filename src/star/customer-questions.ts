import {always, lastDays, ofAccount, type Question, told} from './member.ts';

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
    ...told(
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
              ON customer.customer_key = job.customer_key ${ofAccount('job')}
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
    period: always,
    order: 'month DESC',
    comment:
      'One row for each month: customers served for the first time, and revenue of new and of ' +
      'returning ones.',
    key: ['account_key', 'month'],
    ...told(
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
    ...told({
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
            FROM {mart.fct_job} AS job ${ofAccount('job')}
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
    period: always,
    order: 'cohort DESC, quarters_after',
    comment: 'One row for each quarter of first jobs and each number of quarters after it.',
    key: ['account_key', 'cohort', 'quarters_after'],
    ...told(
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
    ...told(
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
          ON customer.customer_key = job.customer_key ${ofAccount('job')}
       WHERE NOT customer.is_deleted AND customer.is_active IS NOT FALSE
         AND customer.customer_key <> -1
       GROUP BY job.account_key, customer.customer_key, customer.name, account.today
      HAVING count(job.completed_date) >= 2 AND NOT bool_or(job.is_open)
         AND sum(job.receivable) <= 0
         AND max(job.completed_date) BETWEEN account.today - 730 AND account.today - 365
    ) AS answer`,
  },
];
