// Questions of money: what was invoiced, what is owed and collected.

import {
  allDates,
  buildAnswerColumns,
  choosePhone,
  joinAccountKey,
  lastDays,
  mondayOf,
  phoneComment,
  type Question,
} from './member.ts';

const sumUnpaid = (days: string) =>
  `coalesce(sum(job.receivable) FILTER (WHERE account.today - job.invoiced_date ${days}), 0)`;

/** The last day on which an invoice may be paid, by its terms. */
const dueDate = 'job.invoiced_date + coalesce(job.net_days, 0)';

const marginComments = {
  jobs: 'Jobs completed.',
  revenue: 'Their subtotals.',
  jobs_unknown: 'How many of them have no expenses: what they cost is not known.',
  jobs_at_0: 'How many of them have expenses of 0.',
  revenue_known: 'Subtotals of the jobs with expenses, also of 0.',
  expenses: 'Their expenses; null if no job has any.',
  margin: 'What is left of these subtotals; null if no job has expenses.',
  percent: 'Its share of these subtotals, in percent.',
};
const marginSums = {
  money: ['revenue', 'revenue_known', 'expenses', 'margin'],
  totals: ['jobs', 'revenue', 'jobs_unknown', 'jobs_at_0', 'revenue_known', 'expenses', 'margin'],
};

/**
 * The margin of completed jobs, grouped by some columns. The GROUP BY has them without their
 * aliases.
 */
function groupMargin({columns, from = ''}: {readonly columns: string; readonly from?: string}) {
  return `FROM (
      SELECT sums.*, round(100 * sums.margin / nullif(sums.revenue_known, 0), 1) AS percent
        FROM (
          SELECT job.account_key, ${columns}, {job.jobs_completed} AS jobs,
                 {job.revenue} AS revenue, {job.jobs_of_unknown_expenses} AS jobs_unknown,
                 count(*) FILTER (WHERE job.expenses = 0) AS jobs_at_0,
                 coalesce({job.revenue_of_known_expenses}, 0.00) AS revenue_known,
                 {job.expenses} AS expenses, {job.margin} AS margin
            FROM {mart.fct_job} AS job ${from} ${joinAccountKey('job')}
           WHERE job.completed_date BETWEEN {first} AND {last}
           GROUP BY job.account_key, ${columns.replace(/\s+AS \w+$/, '')}
        ) AS sums
    ) AS answer`;
}

const discountComments = {
  jobs: 'Completed jobs with lines.',
  jobs_with_discount: 'How many of them have a discount.',
  full_price: 'Price of the lines before their discounts, before tax.',
  discount: 'What was taken off.',
  free_of_charge: 'What of it was taken off lines that were charged at 0, such as warranty.',
  percent: 'Share of the full price that was taken off, in percent.',
};
const discountSums = {
  money: ['full_price', 'discount', 'free_of_charge'],
  totals: ['jobs', 'jobs_with_discount', 'full_price', 'discount', 'free_of_charge'],
};

/** Discounts on lines, grouped by some columns. The GROUP BY has them without their aliases. */
function groupDiscounts({columns, from = ''}: {readonly columns: string; readonly from?: string}) {
  return `FROM (
      SELECT sums.*, round(100 * sums.discount / nullif(sums.full_price, 0), 1) AS percent
        FROM (
          SELECT line.account_key, ${columns}, count(DISTINCT line.job_key) AS jobs,
                 count(DISTINCT line.job_key) FILTER (WHERE line.discount <> 0)
                   AS jobs_with_discount,
                 {line.full_price} AS full_price, {line.discounts} AS discount,
                 coalesce(sum(line.discount) FILTER (WHERE line.amount = 0), 0) AS free_of_charge
            FROM {mart.fct_job_charge} AS line ${from} ${joinAccountKey('line')}
           WHERE line.completed_date BETWEEN {first} AND {last}
           GROUP BY line.account_key, ${columns.replace(/\s+AS \w+$/, '')}
        ) AS sums
    ) AS answer`;
}

export const moneyQuestions: readonly Question[] = [
  {
    name: 'ask_debtors',
    question: 'Who owes us, since when?',
    definition:
      'What is unpaid of invoices that are not cancelled, with tax, by customer and by days ' +
      'since the date of the invoice.',
    caveats:
      'The ages count from the date of the invoice. Overdue is by the terms of the invoice: at ' +
      'once, unless they are of the form Net 30. The service knows no credit notes.',
    tieOuts: ['T16'],
    order: 'owed DESC, customer_key',
    comment: 'One row for each customer who owes something, by the age of the debt.',
    key: ['account_key', 'customer_key'],
    ...buildAnswerColumns(
      {
        customer_key: 'The customer: dim_customer.',
        name: 'Its name.',
        owed: 'Its receivables, with tax.',
        up_to_30_days: 'Invoiced within 30 days.',
        up_to_60_days: 'Invoiced 31 to 60 days ago.',
        up_to_90_days: 'Invoiced 61 to 90 days ago.',
        older: 'Invoiced longer ago.',
        overdue: 'What of it is past the days of its terms.',
        days_overdue: 'By how many days, at most.',
        phone: phoneComment,
      },
      {
        money: ['owed', 'up_to_30_days', 'up_to_60_days', 'up_to_90_days', 'older', 'overdue'],
        totals: ['owed', 'up_to_30_days', 'up_to_60_days', 'up_to_90_days', 'older', 'overdue'],
        maskedBy: {name: 'customer_key', phone: 'customer_key'},
      },
    ),
    from: `FROM (
      SELECT job.account_key, customer.customer_key, customer.name, {job.receivables} AS owed,
             ${sumUnpaid('<= 30')} AS up_to_30_days,
             ${sumUnpaid('BETWEEN 31 AND 60')} AS up_to_60_days,
             ${sumUnpaid('BETWEEN 61 AND 90')} AS up_to_90_days, ${sumUnpaid('> 90')} AS older,
             coalesce(sum(job.receivable) FILTER (WHERE ${dueDate} < account.today), 0) AS overdue,
             max(account.today - (${dueDate})) FILTER (WHERE ${dueDate} < account.today)
               AS days_overdue,
             ${choosePhone((name) => `min(sent.${name})`)} AS phone
        FROM {mart.fct_job} AS job JOIN {mart.dim_customer} AS customer
          ON customer.customer_key = job.customer_key
        LEFT JOIN {customers} AS sent ON sent.row_id = job.customer_key ${joinAccountKey('job')}
       WHERE job.receivable <> 0 GROUP BY job.account_key, customer.customer_key, customer.name
    ) AS answer`,
  },
  {
    name: 'ask_days_to_money',
    question: 'How long from call to done, to invoice, to money?',
    definition:
      'Median days between booking, completion, invoice and payment, by month of completion.',
    caveats:
      'Only what is paid has a date of payment, so recent months look fast: see the share that ' +
      'is paid within 30 days.',
    tieOuts: [],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month of completion: how many days each step took.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        jobs: 'Jobs completed.',
        booked_to_done: 'Median days from booking to completion.',
        nine_of_ten_done_within: 'Days from booking to completion that nine of ten took at most.',
        done_to_invoice: 'Median days from completion to invoice.',
        invoice_to_paid: 'Median days from invoice to payment in full.',
        percent_paid_in_30: 'Share of the invoices that were paid within 30 days, in percent.',
      },
      {totals: ['jobs']},
    ),
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
        FROM {mart.fct_job} AS job WHERE job.completed_date BETWEEN {first} AND {last} GROUP BY 1, 2
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
    ...buildAnswerColumns(
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
          SELECT job.account_key, {job.receivables} AS owed,
                 sum(job.invoiced_amount + job.invoiced_tax)
                   FILTER (WHERE job.invoiced_date > account.today - 91) AS invoiced
            FROM {mart.fct_job} AS job ${joinAccountKey('job')} GROUP BY job.account_key
        ) AS sums
    ) AS answer`,
  },
  {
    name: 'ask_collected',
    question: 'How much money came in?',
    definition:
      'Payments of the last thirteen whole weeks and of the one that runs, by the week they ' +
      'count on.',
    caveats:
      'A part payment has no date at the service: it counts on the day its fall of the balance ' +
      'was seen, or a job that has one was first seen; before the mirror it counts on none.',
    tieOuts: ['T6'],
    period: {first: `${mondayOf('account.today')} - 7 * 13`, last: 'account.today'},
    order: 'week DESC',
    comment:
      'One row for each of the last thirteen whole weeks and the one that runs: what was ' +
      'collected.',
    key: ['account_key', 'week'],
    ...buildAnswerColumns(
      {
        week: 'The Monday of the week.',
        collected: 'What was collected, less what was given back.',
        dated_by_observation: 'How much of it is dated by when it was seen.',
      },
      {money: ['collected', 'dated_by_observation'], totals: ['collected', 'dated_by_observation']},
    ),
    from: `FROM (
      SELECT step.account_key, ${mondayOf('step.paid_date')} AS week, {step.collected} AS collected,
             coalesce({step.collected_by_observation}, 0) AS dated_by_observation
        FROM mart.fct_payment AS step ${joinAccountKey('step')}
       WHERE step.observed_at <= {now} AND step.paid_date BETWEEN {first} AND {last} GROUP BY 1, 2
    ) AS answer`,
  },
  {
    name: 'ask_invoiced',
    question: 'What did we invoice, month by month?',
    definition:
      'Jobs with an invoice that are not cancelled, by the month of the invoice: before tax, ' +
      'the tax, and what of both is still to be paid.',
    caveats:
      'A job has one invoice. One that was cancelled counts no longer, whenever it was sent.',
    tieOuts: ['T16', 'T17'],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month with invoices: how many, how much, and what is unpaid.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        invoices: 'Invoices.',
        invoiced_before_tax: 'What was invoiced, before tax.',
        tax_invoiced: 'The tax on it.',
        unpaid: 'What of it is still to be paid, with tax.',
      },
      {
        money: ['invoiced_before_tax', 'tax_invoiced', 'unpaid'],
        totals: ['invoices', 'invoiced_before_tax', 'tax_invoiced', 'unpaid'],
      },
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.invoiced_date)::date AS month,
             {job.invoices} AS invoices, {job.invoiced_before_tax} AS invoiced_before_tax,
             {job.tax_invoiced} AS tax_invoiced, {job.receivables} AS unpaid
        FROM {mart.fct_job} AS job
       WHERE job.invoiced_date BETWEEN {first} AND {last} AND job.job_state <> 'cancelled'
       GROUP BY 1, 2
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
    period: allDates,
    order: 'month DESC, name, tax_entity_key',
    comment: 'One row for each month and tax: what was invoiced, and what of it is paid.',
    key: ['account_key', 'month', 'tax_entity_key'],
    ...buildAnswerColumns(
      {
        month: 'The first day of the month.',
        tax_entity_key: 'The tax: dim_tax_entity.',
        name: 'Its name.',
        tax_rate: 'Its rate.',
        invoiced_before_tax: 'What was invoiced, before tax.',
        tax_invoiced: 'The tax on it.',
        tax_of_paid: 'The tax of what is paid in full.',
      },
      {
        money: ['invoiced_before_tax', 'tax_invoiced', 'tax_of_paid'],
        totals: ['invoiced_before_tax', 'tax_invoiced', 'tax_of_paid'],
      },
    ),
    from: `FROM (
      SELECT job.account_key, date_trunc('month', job.invoiced_date)::date AS month,
             tax.tax_entity_key, tax.name, tax.tax_rate,
             {job.invoiced_before_tax} AS invoiced_before_tax,
             {job.tax_invoiced} AS tax_invoiced, coalesce({job.tax_of_paid}, 0) AS tax_of_paid
        FROM {mart.fct_job} AS job JOIN {mart.dim_tax_entity} AS tax
          ON tax.tax_entity_key = job.tax_entity_key
       WHERE job.invoiced_date BETWEEN {first} AND {last} GROUP BY 1, 2, 3, 4, 5
    ) AS answer`,
  },
  {
    name: 'ask_items',
    question: 'What do we sell, at which prices?',
    definition: 'Lines of the jobs completed in the last 365 days, by item.',
    caveats: 'The service gives no catalogue: only what was charged is known.',
    tieOuts: ['T2', 'T4'],
    period: lastDays(365),
    order: 'revenue DESC, item_key',
    comment: 'One row for each item charged in the last 365 days.',
    key: ['account_key', 'item_key'],
    ...buildAnswerColumns(
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
      {money: ['revenue', 'lowest', 'highest'], totals: ['revenue']},
    ),
    from: `FROM (
      SELECT sums.*, item.category, item.name,
             round(100 * sums.revenue / nullif(sum(sums.revenue)
               OVER (PARTITION BY sums.account_key), 0), 1) AS percent
        FROM (
          SELECT line.account_key, line.item_key, {line.line_quantity} AS quantity,
                 {line.line_amount} AS revenue, count(DISTINCT line.job_key) AS jobs,
                 min(line.price_per_unit) AS lowest, max(line.price_per_unit) AS highest
            FROM {mart.fct_job_charge} AS line ${joinAccountKey('line')}
           WHERE line.completed_date BETWEEN {first} AND {last}
           GROUP BY line.account_key, line.item_key
        ) AS sums
        JOIN {mart.dim_item} AS item ON item.item_key = sums.item_key
    ) AS answer`,
  },
  {
    name: 'ask_margin',
    question: 'What is left before labour, month by month?',
    definition:
      'Revenue of completed jobs less their expenses, by month of completion, of the jobs that ' +
      'have expenses.',
    caveats:
      'A job without expenses is left out: what it cost is not known, and is not 0. An amount ' +
      'of 0 is taken as it is, though it may also mean that nothing was entered: see how many ' +
      'there are. Labour is in it only if it was entered as an expense.',
    tieOuts: ['T1', 'T14'],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month with completed jobs: revenue, expenses, and what is left.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns({month: 'The first day of the month.', ...marginComments}, marginSums),
    from: groupMargin({columns: `date_trunc('month', job.completed_date)::date AS month`}),
    by: {
      type: {
        question: 'Which kind of work leaves most before labour?',
        definition:
          'Revenue of the jobs completed in the last 365 days less their expenses, by kind of ' +
          'job, of the jobs that have expenses.',
        period: lastDays(365),
        order: 'margin DESC NULLS LAST, job_type_key',
        key: ['account_key', 'job_type_key'],
        ...buildAnswerColumns(
          {
            job_type_key: 'The kind of job: dim_job_type.',
            name: 'Its name.',
            ...marginComments,
          },
          marginSums,
        ),
        from: groupMargin({
          columns: 'kind.job_type_key, kind.name',
          from: 'JOIN {mart.dim_job_type} AS kind ON kind.job_type_key = job.job_type_key',
        }),
      },
    },
  },
  {
    name: 'ask_discounts',
    question: 'How much do we take off our prices?',
    definition:
      'Discounts on the lines of completed jobs, by month of completion, with their share of ' +
      'the full price: what was charged and the discount.',
    caveats:
      'A discount is an amount, not a percentage: finding D3 counts the lines of which that ' +
      'does not hold. A line without one counts as 0. A price that was lowered by hand shows ' +
      'no discount.',
    tieOuts: ['T2', 'T18'],
    period: allDates,
    order: 'month DESC',
    comment: 'One row for each month of completion: full price, and what was taken off.',
    key: ['account_key', 'month'],
    ...buildAnswerColumns(
      {month: 'The first day of the month.', ...discountComments},
      discountSums,
    ),
    from: groupDiscounts({columns: `date_trunc('month', line.completed_date)::date AS month`}),
    by: {
      seller: {
        question: 'Who takes how much off our prices?',
        definition:
          'Discounts on the lines of the jobs completed in the last 365 days, by the employee ' +
          'who booked the job, with their share of the full price.',
        caveats:
          'The service names no seller: the employee who booked the job counts as one. A ' +
          'discount is an amount, not a percentage: finding D3 counts the lines of which that ' +
          'does not hold.',
        period: lastDays(365),
        order: 'discount DESC, employee_key',
        key: ['account_key', 'employee_key'],
        ...buildAnswerColumns(
          {
            employee_key: 'Who booked the job: dim_employee; -1 is no employee.',
            name: 'Their name.',
            ...discountComments,
          },
          {...discountSums, maskedBy: {name: 'employee_key'}},
        ),
        from: groupDiscounts({
          columns: 'seller.employee_key, seller.name',
          from: `JOIN {mart.fct_job} AS job ON job.job_key = line.job_key
            JOIN {mart.dim_employee} AS seller
              ON seller.employee_key = job.booked_by_employee_key`,
        }),
      },
      type: {
        question: 'Which kind of work do we discount?',
        definition:
          'Discounts on the lines of the jobs completed in the last 365 days, by kind of job, ' +
          'with their share of the full price.',
        period: lastDays(365),
        order: 'discount DESC, job_type_key',
        key: ['account_key', 'job_type_key'],
        ...buildAnswerColumns(
          {
            job_type_key: 'The kind of job: dim_job_type.',
            name: 'Its name.',
            ...discountComments,
          },
          discountSums,
        ),
        from: groupDiscounts({
          columns: 'kind.job_type_key, kind.name',
          from: 'JOIN {mart.dim_job_type} AS kind ON kind.job_type_key = line.job_type_key',
        }),
      },
    },
  },
];
