// The facts of jobs: a job, its lines, its hours, who is assigned to it, and its tasks.

import {itemKey} from './dimensions.ts';
import {
  isLiveRow,
  joinAccount,
  keptDate,
  keyOrMissing,
  localDate,
  type Member,
  type MemberColumn,
} from './member.ts';

const keyColumns: readonly MemberColumn[] = [
  ['job_key', 'job.row_id', 'Key of the job; it never changes.'],
  ['account_key', 'job.account_id', 'The account: dim_account.'],
  ['customer_key', keyOrMissing('customer'), 'The customer: dim_customer.'],
  ['job_type_key', keyOrMissing('kind'), 'The kind of job: dim_job_type.'],
  [
    'job_status_key',
    keyOrMissing('status'),
    "The status of the account's own making: dim_job_status.",
  ],
  ['tax_entity_key', keyOrMissing('tax'), 'The tax that applies: dim_tax_entity.'],
  ['booked_by_employee_key', keyOrMissing('booker'), 'Who booked the job: dim_employee.'],
  ['job_number', 'job.job_number', 'Number the service gave the job.'],
  ['job_id', 'job.id', 'Internal key at the service.'],
  ['name', 'job.name', 'Title of the job.', 'job_key'],
];

const stateColumns: readonly MemberColumn[] = [
  ['status', 'job.status', 'Status as the service sends it.'],
  [
    'job_state',
    'job.job_state',
    'The state of the job, from its status and its times: dim_job_state.',
  ],
  ['is_open', 'job.is_open', 'True while the job is unscheduled, scheduled or in progress.'],
  [
    'is_on_hold',
    'job.on_hold IS NOT NULL',
    'True while the job is on hold, a flag beside its state.',
  ],
  ['was_estimate', 'job.was_estimate', 'True if the job is or began as an estimate.'],
  ['estimate_type', 'job.estimate_type', 'What the service says of the estimate, such as won.'],
  [
    'is_repeated_by_schedule',
    'job.recurring_job_id IS NOT NULL',
    'True if the service repeated the job from another.',
  ],
  [
    'is_first_completed_of_customer',
    'job.is_first_completed AND customer.row_id IS NOT NULL',
    'True for the first completed job of its customer that is known here.',
  ],
];

const timeColumns: readonly MemberColumn[] = [
  ['booked_at', 'job.created_at', 'When the job was created, also as an estimate.'],
  ['scheduled_at', 'job.scheduled_on', 'When the work is to begin; null while not scheduled.'],
  ['scheduled_until', 'job.ends_at', 'When the work is to end.'],
  ['started_at', 'job.started_on', 'When somebody pressed the button that the work begins.'],
  ['completed_at', 'job.completed_at', 'When the job was completed; null for any other job.'],
  ['booked_date', keptDate('job.created_at'), 'Date of booked_at.'],
  ['scheduled_date', keptDate('job.scheduled_on'), 'Date of scheduled_at.'],
  ['started_date', keptDate('job.started_on'), 'Date of started_at.'],
  [
    'completed_date',
    keptDate('job.completed_at'),
    'Date of completed_at: the date that revenue counts on.',
  ],
  ['invoiced_date', keptDate('job.invoice_date'), 'Date of the invoice.'],
  ['invoice_sent_date', keptDate('job.invoice_sent_date'), 'When the invoice was sent.'],
  [
    'paid_date',
    `CASE WHEN job.balance_remaining = 0 THEN ${keptDate('job.invoice_paid_on')} END`,
    'When the job was paid in full.',
  ],
  [
    'cancelled_date',
    `CASE WHEN job.job_state = 'cancelled'
          THEN ${keptDate('coalesce(job.canceled_on, job.updated_at)')} END`,
    'When the job was cancelled.',
  ],
  ['won_date', keptDate('job.won_date'), 'When the estimate was won.'],
  ['lost_date', keptDate('job.lost_date'), 'When the estimate was lost.'],
  ['estimate_sent_date', keptDate('job.estimate_sent_on'), 'When the estimate was sent.'],
  [
    'closed_date',
    keptDate('job.closed_at'),
    'When the job was completed, cancelled or lost; null while it is not.',
  ],
];

const amountColumns: readonly MemberColumn[] = [
  ['subtotal', 'job.subtotal', 'Price before tax: the sum of the charges.'],
  ['tax', 'job.tax', 'Sales tax.'],
  ['total', 'job.total', 'Price with tax.'],
  ['balance', 'job.balance_remaining', 'What is still to be paid of the total.'],
  [
    'collected',
    'coalesce(job.total, 0) - coalesce(job.balance_remaining, 0)',
    'What was paid of the total.',
  ],
  [
    'expenses',
    'job.total_expenses',
    'What the job cost the business, as entered at the service; null is not known, and not 0.',
  ],
  [
    'booked_amount',
    selectAmountIf(`job.job_state NOT IN ('cancelled', 'lost', 'estimate')`, 'subtotal'),
    'Subtotal, at the price of today; 0 for what is cancelled, lost or an estimate.',
  ],
  [
    'completed_amount',
    selectAmountIf(`job.job_state = 'completed'`, 'subtotal'),
    'Subtotal of a completed job, else 0: the revenue, on completed_date.',
  ],
  [
    'invoiced_amount',
    selectAmountIf('job.is_invoiced', 'subtotal'),
    'Subtotal of a job with an invoice that is not cancelled, else 0.',
  ],
  [
    'invoiced_tax',
    selectAmountIf('job.is_invoiced', 'tax'),
    'Tax of a job with an invoice that is not cancelled, else 0.',
  ],
  [
    'receivable',
    selectAmountIf('job.is_invoiced', 'balance_remaining'),
    'The receivable: the balance of a job with an invoice that is not cancelled, else 0.',
  ],
  [
    'unbilled',
    selectAmountIf(`job.job_state = 'completed' AND job.invoice_date IS NULL`, 'total'),
    'Total of a completed job without an invoice, else 0.',
  ],
  ['open_amount', selectAmountIf('job.is_open', 'subtotal'), 'Subtotal of an open job, else 0.'],
];

const workColumns: readonly MemberColumn[] = [
  ['planned_minutes', 'job.duration', 'Planned length in minutes.'],
  ['hours', 'entries.hours', 'Hours worked; null if none were entered.'],
  ['billable_hours', 'entries.billable_hours', 'Hours of these that the customer pays for.'],
  ['technicians', 'coalesce(assigned.technicians, 0)', 'How many employees are assigned.'],
  ['charges', 'coalesce(lines.charges, 0)', 'How many lines the job has.'],
  ['charged', 'lines.charged', 'Sum of the lines; null if there are no lines.'],
  ['discount', 'lines.discount', 'Sum of the discounts on the lines.'],
  [
    'net_days',
    `CASE WHEN job.invoice_terms ~* '^\\s*net\\s*[0-9]{1,3}\\s*$'
          THEN substring(job.invoice_terms FROM '[0-9]+')::integer END`,
    'Days to pay, if the terms of the invoice are of the form Net 30.',
  ],
  [
    'is_on_time',
    `job.started_on <= job.scheduled_on + account.on_time_grace_minutes * interval '1 minute'`,
    'True if the work began when it was to, or within the minutes of grace; ' +
      'null if one of the two times is not known.',
  ],
];

/** The amount of the job if a condition holds, else 0, so that sums need no filter. */
function selectAmountIf(condition: string, column: string): string {
  return `CASE WHEN ${condition} THEN coalesce(job.${column}, 0) ELSE 0 END`;
}

/** The state of a row of the jobs. */
function buildJobState(job: string): string {
  return `mart.job_state(${job}.status, ${job}.estimate_sent_on, ${job}.scheduled_on,
                   ${job}.started_on, ${job}.completed_on, ${job}.canceled_on,
                   ${job}.won_date, ${job}.lost_date)`;
}

/** The live jobs, each with its state and the columns that follow from the state alone. */
const statedJobs = `(
      SELECT stated.*,
             stated.job_state IN ('unscheduled', 'scheduled', 'in_progress') AS is_open,
             stated.invoice_date IS NOT NULL AND stated.job_state <> 'cancelled' AS is_invoiced,
             stated.estimate_type IS NOT NULL OR stated.estimate_sent_on IS NOT NULL
               OR stated.won_date IS NOT NULL
               OR stated.lost_date IS NOT NULL OR stated.job_state = 'estimate' AS was_estimate,
             CASE stated.job_state WHEN 'completed'
                  THEN coalesce(stated.completed_on, stated.updated_at) END AS completed_at,
             CASE stated.job_state WHEN 'completed'
                  THEN coalesce(stated.completed_on, stated.updated_at)
                                   WHEN 'cancelled'
                                     THEN coalesce(stated.canceled_on, stated.updated_at)
                                   WHEN 'lost' THEN coalesce(stated.lost_date,
                                     stated.updated_at) END AS closed_at,
             stated.job_state = 'completed' AND row_number() OVER (
               PARTITION BY stated.account_id, stated.customer_id, stated.job_state = 'completed'
               ORDER BY coalesce(stated.completed_on, stated.updated_at),
                 stated.job_number) = 1 AS is_first_completed
        FROM (
          SELECT held.*,
                 ${buildJobState('held')} AS job_state
            FROM {jobs} AS held
           WHERE ${isLiveRow('held', 'job_number')}
        ) AS stated
    ) AS job`;

/**
 * The fact that all others depend on. Its customer is found by internal key, because the service no
 * longer sends the number of a deleted customer.
 */
export const job: Member = {
  name: 'fct_job',
  keptBy: [['customer_key'], ['account_key', 'job_number'], ['account_key', 'completed_date']],
  comment:
    'One row for each job that is at the service, with its customer, its state, its times, ' +
    'its money and its work.',
  columns: [...keyColumns, ...stateColumns, ...timeColumns, ...amountColumns, ...workColumns],
  from: `FROM ${statedJobs}
    ${joinAccount('job')}
    LEFT JOIN {customers} AS customer ON customer.account_id = job.account_id
     AND customer.id = job.customer_id AND customer.customer_number IS NOT NULL
    LEFT JOIN {job_types} AS kind ON kind.account_id = job.account_id AND kind.id = job.job_type_id
    LEFT JOIN {job_statuses} AS status ON status.account_id = job.account_id
     AND status.id = job.job_status_id
    LEFT JOIN {tax_entities} AS tax ON tax.account_id = job.account_id AND tax.id = job.tax_id
    LEFT JOIN {employees} AS booker ON booker.account_id = job.account_id
     AND booker.id = job.created_by AND booker.employee_number IS NOT NULL
    LEFT JOIN (
      SELECT entry.account_id, entry.job_number, sum(entry.number_of_hours) AS hours,
             coalesce(sum(entry.number_of_hours) FILTER (WHERE entry.billable), 0) AS billable_hours
        FROM {time_entries} AS entry WHERE ${isLiveRow('entry', 'id')}
       GROUP BY entry.account_id, entry.job_number
    ) AS entries ON entries.account_id = job.account_id AND entries.job_number = job.job_number
    LEFT JOIN (
      SELECT charge.account_id, charge.job_number, count(*) AS charges,
             sum(charge.total) AS charged, sum(charge.discount) AS discount
        FROM {job_charges} AS charge WHERE ${isLiveRow('charge', 'id')}
       GROUP BY charge.account_id, charge.job_number
    ) AS lines ON lines.account_id = job.account_id AND lines.job_number = job.job_number
    LEFT JOIN (
      SELECT held.account_id, held.job_number, count(*) AS technicians
        FROM {job_employees} AS held WHERE ${isAssignment('held')}
       GROUP BY held.account_id, held.job_number
    ) AS assigned ON assigned.account_id = job.account_id AND assigned.job_number = job.job_number`,
};

/**
 * The columns that a part takes from its job, so that a sum of parts by customer, kind or day needs
 * no join that could double it. They are the last columns: an existing table gets them at its end.
 * @param job - the alias of the row of the job
 */
function listJobColumns(job: string): readonly MemberColumn[] {
  return [
    ['customer_key', keyOrMissing('customer'), 'The customer of the job: dim_customer.'],
    ['job_type_key', keyOrMissing('kind'), 'The kind of the job: dim_job_type.'],
    [
      'completed_date',
      `CASE ${buildJobState(job)} WHEN 'completed'
            THEN ${keptDate(`coalesce(${job}.completed_on, ${job}.updated_at)`)} END`,
      'When the job was completed; null for any other job.',
    ],
  ];
}

function joinJobDimensions(job: string): string {
  return `LEFT JOIN {customers} AS customer ON customer.account_id = ${job}.account_id
     AND customer.id = ${job}.customer_id AND customer.customer_number IS NOT NULL
    LEFT JOIN {job_types} AS kind ON kind.account_id = ${job}.account_id
     AND kind.id = ${job}.job_type_id`;
}

/** The job that a part belongs to; a part of a deleted job is left out. */
function joinJob(alias: string): string {
  return `JOIN {jobs} AS job ON job.account_id = ${alias}.account_id
      AND job.job_number = ${alias}.job_number AND ${isLiveRow('job', 'job_number')}`;
}

/**
 * The condition that an assignment, which has no number, exists at the service and is not only
 * wanted here.
 */
function isAssignment(alias: string): string {
  return `${alias}._deleted_at IS NULL AND NOT (${alias}._pending IS TRUE
      AND num_nonnulls(${alias}._sweep_id, ${alias}._change_id) = 0)`;
}

export const jobCharge: Member = {
  name: 'fct_job_charge',
  keptBy: [],
  formerlyKeptBy: [['job_key']],
  comment: 'One row for each line of a job: what was charged, how much of it, at which price.',
  columns: [
    ['job_charge_key', 'charge.row_id', 'Key of the line; it never changes.'],
    ['account_key', 'charge.account_id', 'The account: dim_account.'],
    ['job_key', 'job.row_id', 'The job: fct_job.'],
    ['item_key', itemKey, 'The item: dim_item.'],
    ['description', 'charge.description', 'What is charged.', 'job_charge_key'],
    ['quantity', 'charge.quantity', 'How much of the item.'],
    ['price_per_unit', 'charge.price_per_unit', 'Price of one unit.'],
    ['discount', 'charge.discount', 'Discount on the line.'],
    ['amount', 'charge.total', 'Price of the line, before tax.'],
    [
      'difference',
      `coalesce(charge.quantity * charge.price_per_unit, charge.total) - coalesce(charge.discount,
         0) - charge.total`,
      'By how much quantity times price, less the discount, is off the price of the line.',
    ],
    ['created_date', keptDate('charge.created_on'), 'When the line was entered.'],
    ['sort_order', 'charge.sort_order', 'Place of the line on the invoice.'],
    ...listJobColumns('job'),
  ],
  from: `FROM {job_charges} AS charge ${joinJob('charge')} ${joinAccount('charge')}
    ${joinJobDimensions('job')}
      WHERE ${isLiveRow('charge', 'id')}`,
};

export const timeEntry: Member = {
  name: 'fct_time_entry',
  keptBy: [],
  formerlyKeptBy: [['job_key']],
  comment:
    'One row for each entry of hours on a job. Hours belong to the date on which they began, ' +
    'also past midnight.',
  columns: [
    ['time_entry_key', 'entry.row_id', 'Key of the entry; it never changes.'],
    ['account_key', 'entry.account_id', 'The account: dim_account.'],
    ['job_key', 'job.row_id', 'The job: fct_job.'],
    ['employee_key', keyOrMissing('employee'), 'Who worked: dim_employee.'],
    ['work_date', keptDate('entry.started_on'), 'The date on which the work began.'],
    ['started_at', 'entry.started_on', 'When the work began.'],
    [
      'ended_at',
      `coalesce(entry.ended_on, entry.started_on + entry.number_of_hours * interval '1 hour')`,
      'When the work ended; computed from its hours if it was not entered.',
    ],
    ['hours', 'entry.number_of_hours', 'Hours worked.'],
    [
      'billable_hours',
      'CASE WHEN entry.billable THEN entry.number_of_hours ELSE 0 END',
      'Hours of these that the customer pays for.',
    ],
    ['mileage', 'entry.mileage', 'Distance driven.'],
    [
      'is_doubtful',
      'coalesce(entry.number_of_hours <= 0 OR entry.number_of_hours > 16, true)',
      'True for no hours, or more than 16.',
    ],
    [
      'entered_days_late',
      `${keptDate('entry.created_at')} - ${keptDate('entry.started_on')}`,
      'How many days after the work it was entered.',
    ],
    ...listJobColumns('job'),
  ],
  from: `FROM {time_entries} AS entry ${joinJob('entry')} ${joinAccount('entry')}
    ${joinJobDimensions('job')}
    LEFT JOIN {employees} AS employee ON employee.account_id = entry.account_id
     AND employee.id = entry.employee_id AND employee.employee_number IS NOT NULL
    WHERE ${isLiveRow('entry', 'id')}`,
};

/**
 * The share of one place: the amount up to it minus the amount before it, by running sums, so that
 * the shares add up to the cent. The amount before the first place is 0, and needs no division.
 */
const buildShare = (amount: string, digits: number) => {
  const sumUpTo = (place: string) => `round(${amount} * ${place} / shared.technicians, ${digits})`;
  return `CASE WHEN shared.place = shared.technicians THEN ${amount}
               ELSE ${sumUpTo('shared.place')} END
       - CASE WHEN shared.place = 1 THEN ${(0).toFixed(digits)}
              ELSE ${sumUpTo('(shared.place - 1)')} END`;
};

export const assignment: Member = {
  name: 'fct_assignment',
  keptBy: [],
  formerlyKeptBy: [['job_key']],
  comment:
    'One row for each job and employee assigned to it, with an even share of its money; ' +
    'one row without an employee for a job that has none assigned. Sums over it count no job ' +
    'twice.',
  columns: [
    [
      'assignment_key',
      'coalesce(shared.assignment_row_id, -shared.job_row_id)',
      'Key of the assignment; minus the key of the job if no employee is assigned.',
    ],
    ['account_key', 'shared.account_id', 'The account: dim_account.'],
    ['job_key', 'shared.job_row_id', 'The job: fct_job.'],
    [
      'employee_key',
      keyOrMissing('employee'),
      'The assigned employee: dim_employee; -1 is no employee.',
    ],
    [
      'technicians',
      'CASE WHEN shared.assignment_row_id IS NULL THEN 0 ELSE shared.technicians END',
      'How many employees are assigned to the job.',
    ],
    [
      'amount_share',
      buildShare('shared.subtotal', 2),
      'Even share of the subtotal; the shares of a job add up to it.',
    ],
    [
      'job_share',
      buildShare('1::numeric', 6),
      'Even share of the job; the shares of a job add up to 1.',
    ],
    ...listJobColumns('shared'),
  ],
  from: `FROM (
      SELECT job.account_id, job.row_id AS job_row_id, job.subtotal, job.customer_id,
             job.job_type_id, job.status, job.estimate_sent_on, job.scheduled_on, job.started_on,
             job.completed_on, job.canceled_on, job.won_date, job.lost_date, job.updated_at,
             held.row_id AS assignment_row_id, held.employee_id,
             row_number() OVER (PARTITION BY job.row_id
               ORDER BY held.employee_id, held.row_id) AS place,
             count(*) OVER (PARTITION BY job.row_id) AS technicians
        FROM {jobs} AS job
        LEFT JOIN {job_employees} AS held ON held.account_id = job.account_id
         AND held.job_number = job.job_number AND ${isAssignment('held')}
       WHERE ${isLiveRow('job', 'job_number')}
    ) AS shared
    ${joinAccount('shared')} ${joinJobDimensions('shared')}
    LEFT JOIN {employees} AS employee ON employee.account_id = shared.account_id
     AND employee.id = shared.employee_id AND employee.employee_number IS NOT NULL`,
};

/** Tasks name their job, customer and employee by internal key: the numbers are mostly empty. */
export const task: Member = {
  name: 'fct_task',
  comment: 'One row for each task: an appointment, or something to do.',
  columns: [
    ['task_key', 'task.row_id', 'Key of the task; it never changes.'],
    ['account_key', 'task.account_id', 'The account: dim_account.'],
    ['job_key', keyOrMissing('job'), 'The job: fct_job; -1 is no job.'],
    ['customer_key', keyOrMissing('customer'), 'The customer: dim_customer.'],
    ['employee_key', keyOrMissing('employee'), 'Who is to do it: dim_employee.'],
    ['name', 'task.name', 'What is to be done.', 'task_key'],
    ['scheduled_at', 'task.scheduled_at', 'When it begins; null while not scheduled.'],
    ['scheduled_date', localDate('task.scheduled_at'), 'Date of scheduled_at.'],
    [
      'completed_date',
      `CASE WHEN task.completed
            THEN ${localDate('coalesce(task.completed_at, task.updated_at)')} END`,
      'When it was done.',
    ],
    ['created_date', localDate('task.created_at'), 'When it was created.'],
    ['is_completed', 'coalesce(task.completed, false)', 'True once it is done.'],
    ['planned_minutes', 'task.duration', 'Planned length in minutes.'],
  ],
  from: `FROM {tasks} AS task ${joinAccount('task')}
    LEFT JOIN {jobs} AS job ON job.account_id = task.account_id AND job.id = task.job_id
     AND ${isLiveRow('job', 'job_number')}
    LEFT JOIN {customers} AS customer ON customer.account_id = task.account_id
     AND customer.id = task.customer_id AND customer.customer_number IS NOT NULL
    LEFT JOIN {employees} AS employee ON employee.account_id = task.account_id
     AND employee.id = task.employee_id AND employee.employee_number IS NOT NULL
    WHERE ${isLiveRow('task', 'id')}`,
};
