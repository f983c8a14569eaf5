import {itemKey} from './item-dimension.ts';
import {joinAccount, keptDate, keyOr, liveRow, type Member} from './member.ts';

/** The job that a part belongs to: a part of a job that is gone is gone itself. */
function joinJob(alias: string): string {
  return `JOIN {jobs} AS job ON job.account_id = ${alias}.account_id AND job.job_number = ${alias}.job_number AND ${liveRow('job', 'job_number')}`;
}

/**
 * The condition that an assignment, which has no number, is one at the service and not only wanted
 * here.
 */
export function isAssignment(alias: string): string {
  return `${alias}._deleted_at IS NULL AND NOT (${alias}._pending IS TRUE AND num_nonnulls(${alias}._sweep_id, ${alias}._change_id) = 0)`;
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
      'coalesce(charge.quantity * charge.price_per_unit, charge.total) - coalesce(charge.discount, 0) - charge.total',
      'By how much quantity times price, less the discount, is off the price of the line.',
    ],
    ['created_date', keptDate('charge.created_on'), 'When the line was entered.'],
    ['sort_order', 'charge.sort_order', 'Place of the line on the invoice.'],
  ],
  from: `FROM {job_charges} AS charge ${joinJob('charge')} ${joinAccount('charge')} WHERE ${liveRow('charge', 'id')}`,
};

export const timeEntry: Member = {
  name: 'fct_time_entry',
  keptBy: [],
  formerlyKeptBy: [['job_key']],
  comment:
    'One row for each entry of hours on a job. Hours belong to the date on which they began, also past midnight.',
  columns: [
    ['time_entry_key', 'entry.row_id', 'Key of the entry; it never changes.'],
    ['account_key', 'entry.account_id', 'The account: dim_account.'],
    ['job_key', 'job.row_id', 'The job: fct_job.'],
    ['employee_key', keyOr('employee'), 'Who worked: dim_employee.'],
    ['work_date', keptDate('entry.started_on'), 'The date on which the work began.'],
    ['started_at', 'entry.started_on', 'When the work began.'],
    [
      'ended_at',
      `coalesce(entry.ended_on, entry.started_on + entry.number_of_hours * interval '1 hour')`,
      'When the work ended; reckoned from its hours where it was not entered.',
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
  ],
  from: `FROM {time_entries} AS entry ${joinJob('entry')} ${joinAccount('entry')}
    LEFT JOIN {employees} AS employee ON employee.account_id = entry.account_id AND employee.id = entry.employee_id AND employee.employee_number IS NOT NULL
    WHERE ${liveRow('entry', 'id')}`,
};

/**
 * The share of one place: the amount up to it less the amount before it, by running sums, so that
 * the shares add up to the cent. Before the first place is nothing, which need not be divided.
 */
const shareOf = (amount: string, digits: number) => {
  const upTo = (place: string) => `round(${amount} * ${place} / shared.technicians, ${digits})`;
  return `CASE WHEN shared.place = shared.technicians THEN ${amount} ELSE ${upTo('shared.place')} END
       - CASE WHEN shared.place = 1 THEN ${(0).toFixed(digits)} ELSE ${upTo('(shared.place - 1)')} END`;
};

export const assignment: Member = {
  name: 'fct_assignment',
  keptBy: [],
  formerlyKeptBy: [['job_key']],
  comment:
    'One row for each job and employee assigned to it, with an even share of its money; one row of nobody for a job without any. Sums over it count no job twice.',
  columns: [
    [
      'assignment_key',
      'coalesce(shared.assignment_row_id, -shared.job_row_id)',
      'Key of the assignment; of nobody: minus the key of the job.',
    ],
    ['account_key', 'shared.account_id', 'The account: dim_account.'],
    ['job_key', 'shared.job_row_id', 'The job: fct_job.'],
    ['employee_key', keyOr('employee'), 'Who is assigned: dim_employee; -1 is nobody.'],
    [
      'technicians',
      'CASE WHEN shared.assignment_row_id IS NULL THEN 0 ELSE shared.technicians END',
      'How many employees are assigned to the job.',
    ],
    [
      'amount_share',
      shareOf('shared.subtotal', 2),
      'Even share of the subtotal; the shares of a job add up to it.',
    ],
    [
      'job_share',
      shareOf('1::numeric', 6),
      'Even share of the job; the shares of a job add up to 1.',
    ],
  ],
  from: `FROM (
      SELECT job.account_id, job.row_id AS job_row_id, job.subtotal, held.row_id AS assignment_row_id, held.employee_id,
             row_number() OVER (PARTITION BY job.row_id ORDER BY held.employee_id, held.row_id) AS place,
             count(*) OVER (PARTITION BY job.row_id) AS technicians
        FROM {jobs} AS job
        LEFT JOIN {job_employees} AS held ON held.account_id = job.account_id AND held.job_number = job.job_number AND ${isAssignment('held')}
       WHERE ${liveRow('job', 'job_number')}
    ) AS shared
    LEFT JOIN {employees} AS employee ON employee.account_id = shared.account_id AND employee.id = shared.employee_id AND employee.employee_number IS NOT NULL`,
};
