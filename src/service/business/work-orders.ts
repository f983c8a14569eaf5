// Jobs with their charges, hours and notes, and a task of the schedule.

import {AccountTime} from '../account-time.ts';
import type {Fields} from '../resources/field.ts';
import {type Charged, makeCharges} from './charges.ts';
import {makeNote} from './clients.ts';
import type {Ledger} from './ledger.ts';
import {decideOrder, type Order} from './order.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import type {Row} from './row.ts';
import {writeMoney} from './vocabulary/words.ts';

/** @param ledger - gets the entry that the job leaves with its customer */
export function makeJob(plan: Plan, index: number, ledger: Ledger): readonly Row[] {
  const random = plan.random('job', index);
  const order = decideOrder(plan, index, random);
  const charged = makeCharges(plan, order, random);
  const task =
    order.start !== null && random.isTrue(0.25) ? [makeTask(plan, {order, start: order.start})] : [];
  const bill = makeBill(order, {charged, random, today: plan.calendar.at(plan.calendar.today - 1, 1020)});
  const fields: Fields = {
    ...describe(plan, {index, order, random}),
    ...bill,
    tax_id: order.taxId,
    sales_tax_percentage: order.taxId === null ? null : order.taxRate,
    tasks_count: String(task.length),
    id: order.id,
    customer_id: plan.customerId(order.customer),
    job_number: String(plan.jobNumber(index)),
    created_at: order.createdAt,
    updated_at:
      [bill.invoice_paid_on, bill.invoice_viewed_on, bill.completed_on, order.createdAt].find(
        (at) => (at ?? null) !== null,
      ) ?? null,
  };
  enter(ledger, {order, fields, charged});
  const employees = order.crew.map((technician) => plan.employeeId(technician));
  return [
    {table: 'jobs', fields, beside: {employee_ids: `{${employees.join(',')}}`}},
    ...charged.rows,
    ...makeEntries(plan, order, random),
    ...task,
    ...(random.isTrue(0.4) ? [makeNote(plan, {owner: fields, kind: 'Job', random})] : []),
  ];
}

function describe(
  plan: Plan,
  {index, order, random}: {readonly index: number; readonly order: Order; readonly random: Random},
): Fields {
  const {work, start, minutes, status} = order;
  const complaint = random.pick(work.complaints);
  const isYearly = work.name === 'Maintenance visit';
  const author = plan.officeId(random);
  const isWaiting = status === 'scheduled' && start !== null && random.isTrue(0.1);
  return {
    name: work.name,
    description: random.isTrue(0.6)
      ? `${complaint}\n${random.pick(['Customer is home after 3 pm.', 'Bring the ladder & lamp.', ' '])}`
      : random.pick([complaint, '']),
    scheduled_on: start,
    duration: start === null ? null : `${minutes}.0`,
    ends_at: start === null ? null : AccountTime.addMinutes(start, minutes),
    status,
    job_type_id: random.isTrue(0.97) ? work.jobTypeId : null,
    job_status_id: isWaiting
      ? random.pick(['201', '202'])
      : status === 'complete' && random.isTrue(0.05)
        ? '203'
        : null,
    on_hold: isWaiting && random.isTrue(0.5) ? order.createdAt : null,
    estimate_type: random.isTrue(0.2) ? 'won' : null,
    recurring_interval: isYearly ? 'yearly' : random.isTrue(0.1) ? '' : null,
    po_number: random.isTrue(0.15) ? `00${random.integer(100, 9999)}` : random.isTrue(0.2) ? '' : null,
    custom_text1: random.isTrue(0.2) ? 'None' : null,
    custom_number1: random.isTrue(0.1) ? '275.10' : null,
    custom_datetime1: random.isTrue(0.1) ? order.createdAt : null,
    ref_number: random.isTrue(0.3) ? String(index + 1).padStart(7, '0') : null,
    created_by: author,
    updated_by: author,
    self_service: 'false',
    detailed_invoice: String(random.isTrue(0.8)),
    notification_sent: String(random.isTrue(0.3)),
    ok_to_sync: random.isTrue(0.5) ? 'true' : null,
    ...(isYearly ? {recurring_ended: 'false'} : {}),
  };
}

/** Sums, tax and the state of the invoice. No time is later than `today`. */
function makeBill(
  order: Order,
  {charged, random, today}: {readonly charged: Charged; readonly random: Random; readonly today: string},
): Fields {
  const {subtotalCents, taxCents} = charged;
  const totalCents = subtotalCents + taxCents;
  const sums = {
    subtotal: writeMoney(subtotalCents),
    tax: writeMoney(taxCents),
    total: writeMoney(totalCents),
    total_expenses: '0.0',
  };
  const {start, status} = order;
  if (status === 'scheduled' || start === null)
    return {...sums, balance_remaining: sums.total, invoice_status: 'unpaid'};
  if (status === 'in_progress')
    return {...sums, balance_remaining: sums.total, invoice_status: 'unpaid', started_on: start};
  const later = (days: number) => {
    const at = AccountTime.addMinutes(start, order.minutes + days * 1440);
    return at < today ? at : null;
  };
  const paidAt = random.isTrue(0.85) ? later(random.integer(0, 45)) : null;
  const done = AccountTime.addMinutes(start, order.minutes);
  return {
    ...sums,
    balance_remaining: paidAt === null ? sums.total : '0.0',
    invoice_status: paidAt === null ? 'unpaid' : 'paid',
    invoice_terms: random.pick(['Net 30 ', 'Due on receipt', null]),
    invoice_date: done,
    invoice_sent_date: later(1),
    invoice_viewed_on: random.isTrue(0.4) ? later(2) : null,
    invoice_paid_on: paidAt,
    started_on: start,
    completed_on: done,
  };
}

function makeEntries(plan: Plan, order: Order, random: Random): readonly Row[] {
  const {start, status, crew, minutes} = order;
  if (status === 'scheduled' || start === null) return [];
  return crew.map((technician) => {
    const hours = Math.max(0.25, Math.round((minutes + random.integer(-2, 3) * 15) / 15) / 4);
    const employee = plan.employeeId(technician);
    const fields: Fields = {
      id: plan.nextId(),
      job_id: order.id,
      employee_id: employee,
      started_on: start,
      ended_on: AccountTime.addMinutes(start, hours * 60),
      number_of_hours: Number.isInteger(hours) ? hours.toFixed(1) : String(hours),
      note: random.pick(['', null, null, 'Travel included']),
      mileage: random.isTrue(0.4) ? `${random.integer(1, 40)}.5` : null,
      billable: 'true',
      created_by: employee,
      updated_by: employee,
      created_at: start,
      updated_at: start,
    };
    return {table: 'time_entries', fields};
  });
}

function makeTask(plan: Plan, {order, start}: {readonly order: Order; readonly start: string}): Row {
  const isDone = order.status === 'complete';
  const done = AccountTime.addMinutes(start, order.minutes);
  const [technician] = order.crew;
  const fields: Fields = {
    id: plan.nextId(),
    job_id: order.id,
    customer_id: plan.customerId(order.customer),
    employee_id: technician === undefined ? null : plan.employeeId(technician),
    name: `Visit: ${order.work.name}`,
    scheduled_at: start,
    ends_at: done,
    duration: `${order.minutes}.0`,
    completed: String(isDone),
    completed_at: isDone ? done : null,
    created_at: order.createdAt,
    updated_at: isDone ? done : order.createdAt,
  };
  return {table: 'tasks', fields};
}

function enter(
  ledger: Ledger,
  {order, fields, charged}: {readonly order: Order; readonly fields: Fields; readonly charged: Charged},
): void {
  const {completed_on: at = null, job_number: number = null, invoice_status: invoice} = fields;
  if (at === null || number === null) return;
  ledger.complete(order.customer, {number, at, name: order.work.name});
  if (invoice === 'unpaid') ledger.owe(order.customer, charged.subtotalCents + charged.taxCents);
}
