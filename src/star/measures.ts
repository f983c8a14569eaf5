// The measures of a business, each defined once: the questions use them, and the metrics of a dbt
// project are made from them.

/** A figure over the rows of a fact. In its SQL `$.` precedes each column. */
interface Measure {
  readonly fact: `fct_${string}`;
  /** The date that it counts on: a column of the fact, or one of `virtualDates`. */
  readonly on: string;
  /**
   * `last` adds up the rows of the last day alone: its rows are a state per day, which does not add
   * up.
   */
  readonly kind: 'sum' | 'count' | 'median' | 'last';
  /** The expression that is added up, ordered, or counted if it is not null. */
  readonly value: string;
  /** The condition that its rows meet. */
  readonly where?: string;
  /** Its meaning, in a sentence. */
  readonly comment: string;
  /** The question that gives it, and the column: `revenue-by-month.revenue`. */
  readonly answer?: string;
}

/** One measure divided by another. */
interface Ratio {
  readonly of: MeasureName;
  readonly by: MeasureName;
  readonly comment: string;
  readonly answer: string;
}

/** The date on which an estimate counts. */
export const estimateDate = 'coalesce($.estimate_sent_date, $.booked_date)';

/** Dates of facts that are not columns, by their names. */
export const virtualDates: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  fct_job: {estimate_date: estimateDate},
};

const onJobDate = (on: string) => ({fact: 'fct_job', on}) as const;
const byCompletedDate = onJobDate('completed_date');
const byBookedDate = onJobDate('booked_date');
const byInvoicedDate = onJobDate('invoiced_date');
const byScheduledDate = onJobDate('scheduled_date');
const byStartedDate = onJobDate('started_date');
const byEstimateDate = onJobDate('estimate_date');
const byChargeDate = {fact: 'fct_job_charge', on: 'completed_date'} as const;
const byEmployeeDay = {fact: 'fct_employee_day', on: 'date', kind: 'sum'} as const;
const byBacklogDay = {fact: 'fct_backlog_day', on: 'date'} as const;
const byRepeatVisit = {fact: 'fct_repeat_visit', on: 'completed_date', kind: 'count'} as const;

/** The sum of an expression, on a date; how many rows have one. */
const sumOf = <T>(date: T, value: string) => ({...date, kind: 'sum', value}) as const;
const countOf = <T>(date: T, value: string) => ({...date, kind: 'count', value}) as const;

const isLost = `$.was_estimate AND $.job_state = 'lost'`;
const isWon =
  `$.was_estimate AND $.job_state <> 'lost' ` +
  `AND ($.won_date IS NOT NULL OR coalesce($.estimate_type = 'won', false))`;
const isDecided = `(${isWon} OR ${isLost})`;
const isCosted = '$.completed_date IS NOT NULL AND $.expenses IS NOT NULL';
const fullPrice = 'coalesce($.amount, 0) + coalesce($.discount, 0)';
const isUnbilled = `$.job_state = 'completed' AND $.invoiced_date IS NULL`;

const measureDefinitions = {
  revenue: {
    ...sumOf(byCompletedDate, '$.completed_amount'),
    comment: 'Subtotals of completed jobs, before tax, on the day of completion.',
    answer: 'revenue-by-month.revenue',
  },
  jobs_completed: {
    ...countOf(byCompletedDate, '$.completed_date'),
    comment: 'Jobs completed.',
    answer: 'revenue-by-month.jobs',
  },
  median_ticket: {
    ...byCompletedDate,
    kind: 'median',
    value: '$.completed_amount',
    where: '$.completed_date IS NOT NULL',
    comment: 'Median subtotal of a completed job.',
    answer: 'work-mix.median_ticket',
  },
  new_customers: {
    ...countOf(byCompletedDate, '$.job_key'),
    where: '$.is_first_completed_of_customer',
    comment: 'Customers served for the first time.',
    answer: 'new-customers.new_customers',
  },
  revenue_of_new_customers: {
    ...sumOf(byCompletedDate, '$.completed_amount'),
    where: '$.is_first_completed_of_customer',
    comment: 'Subtotals of the first completed job of each customer.',
    answer: 'new-customers.revenue_new',
  },
  revenue_of_returning_customers: {
    ...sumOf(byCompletedDate, '$.completed_amount'),
    where: 'NOT $.is_first_completed_of_customer',
    comment: 'Subtotals of all other completed jobs.',
    answer: 'new-customers.revenue_repeat',
  },
  revenue_of_known_expenses: {
    ...sumOf(byCompletedDate, '$.completed_amount'),
    where: isCosted,
    comment: 'Subtotals of the completed jobs whose expenses are known.',
    answer: 'margin.revenue_known',
  },
  expenses: {
    ...sumOf(byCompletedDate, '$.expenses'),
    where: isCosted,
    comment: 'What completed jobs cost the business, as entered at the service.',
    answer: 'margin.expenses',
  },
  margin: {
    ...sumOf(byCompletedDate, '$.completed_amount - $.expenses'),
    where: isCosted,
    comment: 'Subtotals less expenses of the completed jobs whose expenses are known.',
    answer: 'margin.margin',
  },
  jobs_of_unknown_expenses: {
    ...countOf(byCompletedDate, '$.completed_date'),
    where: '$.expenses IS NULL',
    comment: 'Completed jobs without expenses: what they cost is not known.',
    answer: 'margin.jobs_unknown',
  },
  unbilled_jobs: {
    ...countOf(byCompletedDate, '$.job_key'),
    where: isUnbilled,
    comment: 'Completed jobs without an invoice.',
    answer: 'unbilled.jobs',
  },
  unbilled_amount: {
    ...sumOf(byCompletedDate, '$.unbilled'),
    comment: 'Totals of completed jobs without an invoice, with tax.',
    answer: 'unbilled.amount',
  },
  jobs_booked: {
    ...countOf(byBookedDate, '$.booked_date'),
    comment: 'Jobs booked, estimates included.',
    answer: 'bookings.booked',
  },
  booked_amount: {
    ...sumOf(byBookedDate, '$.booked_amount'),
    comment: 'Subtotals today of the jobs booked, without what is cancelled, lost or an estimate.',
    answer: 'bookings.amount_by_now',
  },
  jobs_cancelled: {
    ...countOf(byBookedDate, '$.job_key'),
    where: `$.job_state = 'cancelled'`,
    comment: 'Jobs that are cancelled by now, on the day of their booking.',
    answer: 'cancellations.cancelled',
  },
  invoices: {
    ...countOf(byInvoicedDate, '$.invoiced_date'),
    where: `$.job_state <> 'cancelled'`,
    comment: 'Jobs with an invoice that are not cancelled.',
    answer: 'invoiced.invoices',
  },
  invoiced_before_tax: {
    ...sumOf(byInvoicedDate, '$.invoiced_amount'),
    comment: 'What was invoiced, before tax.',
    answer: 'invoiced.invoiced_before_tax',
  },
  tax_invoiced: {
    ...sumOf(byInvoicedDate, '$.invoiced_tax'),
    comment: 'The tax that was invoiced.',
    answer: 'sales-tax.tax_invoiced',
  },
  tax_of_paid: {
    ...sumOf(byInvoicedDate, '$.invoiced_tax'),
    where: '$.balance = 0',
    comment: 'The tax on invoices that are paid in full.',
    answer: 'sales-tax.tax_of_paid',
  },
  receivables: {
    ...sumOf(byInvoicedDate, '$.receivable'),
    comment: 'What is unpaid of invoices that are not cancelled, with tax.',
    answer: 'debtors.owed',
  },
  open_jobs: {
    ...countOf(byScheduledDate, '$.job_key'),
    where: '$.is_open',
    comment: 'Jobs that are open now, on the day of their appointment.',
    answer: 'open-jobs.jobs',
  },
  jobs_on_hold: {
    ...countOf(byScheduledDate, '$.job_key'),
    where: '$.is_open AND $.is_on_hold',
    comment: 'Open jobs that are on hold.',
    answer: 'open-jobs.on_hold',
  },
  open_amount: {
    ...sumOf(byScheduledDate, '$.open_amount'),
    comment: 'Subtotals of the open jobs.',
    answer: 'week-ahead.amount',
  },
  open_jobs_without_price: {
    ...countOf(byScheduledDate, '$.job_key'),
    where: '$.is_open AND coalesce($.subtotal, 0) = 0',
    comment: 'Open jobs that have no price yet.',
    answer: 'week-ahead.without_price',
  },
  jobs_started: {
    ...countOf(byStartedDate, '$.is_on_time'),
    comment: 'Jobs that had an appointment and began.',
    answer: 'punctuality.started',
  },
  jobs_started_on_time: {
    ...countOf(byStartedDate, '$.job_key'),
    where: '$.is_on_time',
    comment: 'Jobs that began when they were to, or within the minutes of grace.',
  },
  estimates: {
    ...countOf(byEstimateDate, '$.job_key'),
    where: '$.was_estimate',
    comment: 'Jobs that are or began as an estimate, on the day it was sent, or else booked.',
    answer: 'estimates.estimates',
  },
  estimates_won: {
    ...countOf(byEstimateDate, '$.job_key'),
    where: isWon,
    comment: 'Estimates that were won.',
    answer: 'estimates.won',
  },
  estimates_lost: {
    ...countOf(byEstimateDate, '$.job_key'),
    where: isLost,
    comment: 'Estimates that were lost.',
    answer: 'estimates.lost',
  },
  estimates_decided: {
    ...countOf(byEstimateDate, '$.job_key'),
    where: isDecided,
    comment: 'Estimates that were won or lost.',
  },
  estimated_amount: {
    ...sumOf(byEstimateDate, 'coalesce($.subtotal, 0)'),
    where: '$.was_estimate',
    comment: 'Subtotals of the estimates.',
  },
  amount_won: {
    ...sumOf(byEstimateDate, 'coalesce($.subtotal, 0)'),
    where: isWon,
    comment: 'Subtotals of the estimates that were won.',
    answer: 'estimates.amount_won',
  },
  amount_lost: {
    ...sumOf(byEstimateDate, 'coalesce($.subtotal, 0)'),
    where: isLost,
    comment: 'Subtotals of the estimates that were lost.',
    answer: 'estimates.amount_lost',
  },
  amount_decided: {
    ...sumOf(byEstimateDate, 'coalesce($.subtotal, 0)'),
    where: isDecided,
    comment: 'Subtotals of the estimates that were won or lost.',
  },
  line_amount: {
    ...sumOf(byChargeDate, '$.amount'),
    comment: 'Price of the lines of completed jobs, before tax.',
    answer: 'items.revenue',
  },
  line_quantity: {
    ...sumOf(byChargeDate, '$.quantity'),
    comment: 'How much was charged on completed jobs.',
    answer: 'items.quantity',
  },
  full_price: {
    ...sumOf(byChargeDate, fullPrice),
    comment: 'Price of the lines of completed jobs before their discounts, before tax.',
    answer: 'discounts.full_price',
  },
  discounts: {
    ...sumOf(byChargeDate, 'coalesce($.discount, 0)'),
    comment: 'Discounts on the lines of completed jobs.',
    answer: 'discounts.discount',
  },
  revenue_of_technicians: {
    fact: 'fct_assignment',
    on: 'completed_date',
    kind: 'sum',
    value: '$.amount_share',
    where: '$.completed_date IS NOT NULL',
    comment: 'Even shares of the subtotals of completed jobs, of those who are assigned to them.',
    answer: 'technicians.revenue',
  },
  hours_on_completed_jobs: {
    fact: 'fct_time_entry',
    on: 'completed_date',
    kind: 'sum',
    value: '$.hours',
    where: '$.completed_date IS NOT NULL',
    comment: 'Hours worked on completed jobs, on the day of completion.',
    answer: 'technicians.hours',
  },
  hours: {
    ...byEmployeeDay,
    value: '$.hours',
    comment: 'Hours worked on jobs.',
    answer: 'utilisation.hours',
  },
  billable_hours: {
    ...byEmployeeDay,
    value: '$.billable_hours',
    comment: 'Hours that customers pay for.',
    answer: 'utilisation.billable_hours',
  },
  capacity_hours: {
    ...byEmployeeDay,
    value: '$.capacity_hours',
    comment: 'Hours that the technicians were to work; none until working hours are set.',
    answer: 'load-ahead.capacity_hours',
  },
  planned_hours: {
    ...byEmployeeDay,
    value: '$.planned_hours',
    comment: 'Planned length of the jobs of a day, for each who is assigned.',
    answer: 'load-ahead.planned_hours',
  },
  appointments: {
    ...byEmployeeDay,
    value: '$.jobs_planned',
    comment: 'Appointments, once for each who is assigned.',
    answer: 'load-ahead.jobs',
  },
  collected: {
    fact: 'fct_payment',
    on: 'paid_date',
    kind: 'sum',
    value: '$.amount',
    comment: 'What was collected, less what was given back.',
    answer: 'collected.collected',
  },
  collected_by_observation: {
    fact: 'fct_payment',
    on: 'paid_date',
    kind: 'sum',
    value: '$.amount',
    where: `$.dated_by = 'observed'`,
    comment: 'What of it is dated by when it was seen.',
    answer: 'collected.dated_by_observation',
  },
  backlog_jobs: {
    ...byBacklogDay,
    kind: 'last',
    value: '$.open_jobs',
    comment: 'Jobs open on the end of the last day.',
    answer: 'backlog.open_jobs',
  },
  backlog_amount: {
    ...byBacklogDay,
    kind: 'last',
    value: '$.open_amount',
    comment: 'Subtotals of the jobs open on the end of the last day, at the prices of today.',
    answer: 'backlog.open_amount',
  },
  jobs_come: {
    ...sumOf(byBacklogDay, '$.came'),
    comment: 'Jobs booked, and estimates won: what came into the backlog.',
    answer: 'backlog.came',
  },
  jobs_gone: {
    ...sumOf(byBacklogDay, '$.went'),
    comment: 'Jobs completed or cancelled: what left the backlog.',
    answer: 'backlog.went',
  },
  visits: {
    ...byRepeatVisit,
    value: '$.job_key',
    where: '$.is_mature',
    comment: 'Completed jobs after which the days of a repeat visit have passed.',
    answer: 'repeat-visits.jobs',
  },
  repeat_visits: {
    ...byRepeatVisit,
    value: '$.repeat_job_key',
    where: '$.is_mature',
    comment: 'How many of them were followed by another of the same kind and customer.',
    answer: 'repeat-visits.repeat_visits',
  },
  open_tasks: {
    fact: 'fct_task',
    on: 'scheduled_date',
    kind: 'count',
    value: '$.task_key',
    where: 'NOT $.is_completed',
    comment: 'Tasks that are not done, on the day of their appointment.',
    answer: 'late-tasks.open',
  },
} as const satisfies Readonly<Record<string, Measure>>;

export type MeasureName = keyof typeof measureDefinitions;

/** Every measure by its name. */
export const measures: Readonly<Record<MeasureName, Measure>> = measureDefinitions;

/** Every ratio by its name; some questions give it in percent. */
export const ratios: Readonly<Record<string, Ratio>> = {
  mean_ticket: {
    of: 'revenue',
    by: 'jobs_completed',
    comment: 'Mean subtotal of a completed job.',
    answer: 'revenue-by-month.mean_ticket',
  },
  margin_share: {
    of: 'margin',
    by: 'revenue_of_known_expenses',
    comment: 'Share of the revenue that is left after expenses, where these are known.',
    answer: 'margin.percent',
  },
  discount_share: {
    of: 'discounts',
    by: 'full_price',
    comment: 'Share of the full price that was taken off.',
    answer: 'discounts.percent',
  },
  cancelled_share: {
    of: 'jobs_cancelled',
    by: 'jobs_booked',
    comment: 'Share of the jobs booked that are cancelled by now.',
    answer: 'cancellations.percent',
  },
  won_share: {
    of: 'estimates_won',
    by: 'estimates_decided',
    comment: 'Share of the won among the estimates that are decided.',
    answer: 'estimates.percent_won',
  },
  won_share_by_money: {
    of: 'amount_won',
    by: 'amount_decided',
    comment: 'Share of the won among the estimates that are decided, by their subtotals.',
    answer: 'estimates.percent_won_by_money',
  },
  on_time_share: {
    of: 'jobs_started_on_time',
    by: 'jobs_started',
    comment: 'Share of the jobs that began on time.',
    answer: 'punctuality.percent_on_time',
  },
  revenue_an_hour: {
    of: 'revenue_of_technicians',
    by: 'hours_on_completed_jobs',
    comment: 'Revenue of completed jobs for each hour on them.',
    answer: 'technicians.revenue_an_hour',
  },
  utilisation: {
    of: 'hours',
    by: 'capacity_hours',
    comment: 'Hours on jobs over hours of capacity.',
    answer: 'utilisation.percent',
  },
  repeat_visit_share: {
    of: 'repeat_visits',
    by: 'visits',
    comment: 'Share of the completed jobs that were followed by another.',
    answer: 'repeat-visits.percent',
  },
};

/** SQL of a measure with the alias of its fact before each column; with null, no alias is added. */
export function withAlias(text: string, alias: string | null): string {
  return text.replaceAll('$.', alias === null ? '' : `${alias}.`);
}

/**
 * A measure as an aggregate, for a question.
 * @param alias - of the rows of its fact
 */
export function renderMeasure(name: string, alias: string): string {
  if (!Object.hasOwn(measures, name)) throw new RangeError(`no measure ${name}`);
  const {kind, value, where} = measures[name as MeasureName];
  const filter = where === undefined ? '' : ` FILTER (WHERE ${withAlias(where, alias)})`;
  const expression = withAlias(value, alias);
  if (kind === 'count') return `count(${expression})${filter}`;
  if (kind === 'median')
    return `(percentile_cont(0.5) WITHIN GROUP (ORDER BY ${expression})${filter})::numeric`;
  return `sum(${expression})${filter}`;
}
