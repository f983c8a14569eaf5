// Jobs with their charges, hours and notes, and a task of the schedule.

import {AccountTime} from '../account-time.ts';
import type {Fields} from '../resources/field.ts';
import {type Charged, makeCharges} from './charges.ts';
import {makeNote} from './clients.ts';
import type {Row} from './copy-rows.ts';
import type {Ledger} from './ledger.ts';
import {decideOrder, type Order} from './order.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import {writeMoney} from './vocabulary/words.ts';

/** @param ledger - gets the entry that the job leaves with its customer */
export function makeJob(plan: Plan, index: number, ledger: Ledger): readonly Row[] {
  const random = plan.random('job', index);
  const order = decideOrder(plan, index, random);
  const charged = makeCharges(plan, order, random);
  const task =
    order.start !== null && random.isTrue(0.25) ? [makeTask(plan, {order, start: order.start})] : [];
  const bill = makeBill(order, {charged, random, now: plan.now});
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
    updated_at: latestOf(order, bill),
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
    canceled_on: order.life.canceledAt,
    estimate_type: order.life.estimate?.wonAt == null ? null : 'won',
    estimate_sent_on: order.life.estimate?.sentAt ?? null,
    won_date: order.life.estimate?.wonAt ?? null,
    lost_date: order.life.estimate?.lostAt ?? null,
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

/** The last of what happened to a job. */
function latestOf({createdAt, life}: Order, bill: Fields): string {
  const {
    invoice_paid_on: paid,
    invoice_viewed_on: viewed,
    invoice_sent_date: sent,
    invoice_date: invoiced,
  } = bill;
  const {estimate, canceledAt, startedAt, endedAt} = life;
  const own = [estimate?.sentAt, estimate?.wonAt, estimate?.lostAt, canceledAt, startedAt, endedAt];
  const times = [createdAt, ...own, invoiced, sent, viewed, paid].filter(
    (at) => at !== null && at !== undefined,
  );
  return times.toSorted().at(-1) ?? createdAt;
}

/** Sums, tax and the state of the invoice. */
function makeBill(
  order: Order,
  {charged, random, now}: {readonly charged: Charged; readonly random: Random; readonly now: string},
): Fields {
  const {subtotalCents, taxCents, expensesCents} = charged;
  const totalCents = subtotalCents + taxCents;
  const {startedAt, endedAt, invoicedAt, paidAt, paidShare} = order.life;
  const balanceCents = paidAt === null ? totalCents - Math.round(totalCents * paidShare) : 0;
  const past = (days: number) => {
    const at = invoicedAt === null ? null : AccountTime.addMinutes(invoicedAt, days * 1440);
    return at !== null && at < now ? at : null;
  };
  const sentAt = random.isTrue(0.9) ? past(random.integer(0, 1)) : null;
  return {
    subtotal: writeMoney(subtotalCents),
    tax: writeMoney(taxCents),
    total: writeMoney(totalCents),
    total_expenses: endedAt === null ? '0.0' : writeMoney(expensesCents),
    balance_remaining: paidAt === null ? writeMoney(balanceCents) : '0.0',
    invoice_status: paidAt === null ? 'unpaid' : 'paid',
    ...(startedAt === null ? {} : {started_on: startedAt}),
    ...(endedAt === null
      ? {}
      : {
          completed_on: endedAt,
          invoice_terms: random.pick(['Net 30 ', 'Due on receipt', null]),
          invoice_date: invoicedAt,
          invoice_sent_date: sentAt,
          invoice_viewed_on: sentAt !== null && random.isTrue(0.4) ? past(2) : null,
          invoice_paid_on: paidAt,
        }),
  };
}

/** Nearly every visit has hours, each entered within three days. */
function makeEntries(plan: Plan, order: Order, random: Random): readonly Row[] {
  const {crew, life, minutes} = order;
  const {startedAt, endedAt} = life;
  if (startedAt === null || random.isTrue(0.02)) return [];
  const worked = endedAt === null ? minutes : (Date.parse(endedAt) - Date.parse(startedAt)) / 60_000;
  return crew.map((technician) => {
    const hours = Math.max(0.25, Math.round((worked + random.integer(-1, 1) * 15) / 15) / 4);
    const employee = plan.employeeId(technician);
    const ended = AccountTime.addMinutes(startedAt, hours * 60);
    const later = AccountTime.addMinutes(ended, [0, 0, 0, 1440, 2880, 4320][random.integer(0, 5)] ?? 0);
    const entered = later < plan.now ? later : startedAt;
    const fields: Fields = {
      id: plan.nextId(),
      job_id: order.id,
      employee_id: employee,
      started_on: startedAt,
      ended_on: ended,
      number_of_hours: Number.isInteger(hours) ? hours.toFixed(1) : String(hours),
      note: random.pick(['', null, null, 'Travel included']),
      mileage: random.isTrue(0.4) ? `${random.integer(1, 40)}.5` : null,
      billable: String(!random.isTrue(0.08)),
      created_by: employee,
      updated_by: employee,
      created_at: entered,
      updated_at: entered,
    };
    return {table: 'time_entries', fields};
  });
}

function makeTask(plan: Plan, {order, start}: {readonly order: Order; readonly start: string}): Row {
  const isDone = order.status === 'complete';
  const ends = AccountTime.addMinutes(start, order.minutes);
  const done = order.life.endedAt;
  const [technician] = order.crew;
  const fields: Fields = {
    id: plan.nextId(),
    job_id: order.id,
    customer_id: plan.customerId(order.customer),
    employee_id: technician === undefined ? null : plan.employeeId(technician),
    name: `Visit: ${order.work.name}`,
    scheduled_at: start,
    ends_at: ends,
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
  const {completed_on: at = null, job_number: number = null} = fields;
  if (at === null || number === null) return;
  ledger.complete(order.customer, {number, at, name: order.work.name});
  const {paidAt, paidShare} = order.life;
  const totalCents = charged.subtotalCents + charged.taxCents;
  if (paidAt === null) ledger.owe(order.customer, totalCents - Math.round(totalCents * paidShare));
}
