// Jobs with their charges, hours and notes, and a task of the schedule, in their state at a moment.
// The random values do not depend on the moment: each part takes all that it ever needs from a
// separate stream.

import {AccountTime} from './account-time.ts';
import {type Ledger, makeNote} from './business-people.ts';
import type {BusinessPlan} from './business-plan.ts';
import type {ServiceRow} from './database.ts';
import type {Roster, WorkOrder} from './order.ts';
import {lifeAt, startOf, statusOf, timesOf, workedMinutes} from './order-life.ts';
import type {ServiceFields} from './resource.ts';
import {labourItemId, type Random, writeMoney} from './vocabulary.ts';

/**
 * The ids of a job's child records, as places within the ids of the job; its charges have those
 * from 1.
 */
const idPlaces = {entries: 6, task: 12, note: 13} as const;

/**
 * A job with all its child records, in their state at a moment; nothing before its call.
 * @param ledger - gets the entry that the job leaves with its customer
 */
export function makeJob(
  roster: Roster,
  index: number,
  now: string,
  ledger: Ledger,
): readonly ServiceRow[] {
  const {plan} = roster;
  const whole = roster.order(index);
  if (whole.createdAt >= now) return [];
  const order = {...whole, life: lifeAt(whole.life, now)};
  const charged = makeCharges(plan, order);
  const task = makeTask(plan, order);
  const note = plan.random('note', index);
  const {id, number} = plan.job(index);
  const fields: ServiceFields = {
    ...describe(plan, order),
    ...makeBill(plan, order, charged),
    tax_id: order.taxId,
    sales_tax_percentage: order.taxId === null ? null : order.taxRate,
    tasks_count: String(task.length),
    id,
    customer_id: plan.customer(order.customer).id,
    job_number: number,
    created_at: order.createdAt,
    updated_at: timesOf(order.life).at(-1) ?? order.createdAt,
  };
  enter(ledger, {order, number, charged});
  const employees =
    startOf(order.life) === null ? [] : order.crew.map((technician) => plan.employeeId(technician));
  return [
    {table: 'jobs', fields, beside: {employee_ids: `{${employees.join(',')}}`}},
    ...charged.rows,
    ...makeEntries(plan, order),
    ...task,
    ...(note.isTrue(0.4)
      ? [
          makeNote(plan, {
            owner: fields,
            kind: 'Job',
            random: note,
            id: plan.partOf(id, idPlaces.note),
          }),
        ]
      : []),
  ];
}

function describe(plan: BusinessPlan, order: WorkOrder): ServiceFields {
  const {work, minutes, life, index} = order;
  const random = plan.random('words', index);
  const start = startOf(order.life);
  const status = statusOf(life);
  const complaint = random.pick(work.complaints);
  const remark = random.pick(['Customer is home after 3 pm.', 'Bring the ladder & lamp.', ' ']);
  const isYearly = work.name === 'Maintenance visit';
  const author = plan.officeId(random);
  const [waits, holds, isChecked] = [random.isTrue(0.1), random.isTrue(0.5), random.isTrue(0.05)];
  const waitingStatus = random.pick(['201', '202']);
  const isWaiting = waits && status === 'scheduled' && start !== null;
  return {
    name: work.name,
    description: random.isTrue(0.6) ? `${complaint}\n${remark}` : random.pick([complaint, '']),
    scheduled_on: start,
    duration: start === null ? null : `${minutes}.0`,
    ends_at: start === null ? null : AccountTime.addMinutes(start, minutes),
    status,
    job_type_id: random.isTrue(0.97) ? work.jobTypeId : null,
    job_status_id: isWaiting ? waitingStatus : status === 'complete' && isChecked ? '203' : null,
    on_hold: isWaiting && holds ? order.createdAt : null,
    canceled_on: life.canceledAt,
    estimate_type: life.estimate?.wonAt == null ? null : 'won',
    estimate_sent_on: life.estimate?.sentAt ?? null,
    won_date: life.estimate?.wonAt ?? null,
    lost_date: life.estimate?.lostAt ?? null,
    recurring_interval: isYearly ? 'yearly' : random.isTrue(0.1) ? '' : null,
    po_number: random.isTrue(0.15)
      ? `00${random.integer(100, 9999)}`
      : random.isTrue(0.2)
        ? ''
        : null,
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
    ...(isYearly ? describePlan(plan, order) : {}),
  };
}

const dayMinutes = 24 * 60;

/**
 * The plan that a yearly visit belongs to: another visit is to come, in the season that the
 * customer wants, or this was the last one and the plan ends soon.
 */
function describePlan(plan: BusinessPlan, {index, life}: WorkOrder): ServiceFields {
  const random = plan.random('plan', index);
  const isLast = random.isTrue(0.35);
  const [rest, season, more, hasEnd] = [
    random.integer(60, 200),
    random.integer(120, 400),
    random.integer(0, 45),
    isLast || random.isTrue(0.8),
  ];
  const start = startOf(life);
  const inDays = (days: number) =>
    start === null ? null : AccountTime.addMinutes(start, days * dayMinutes);
  return {
    recurring_ended: 'false',
    recurring_date: isLast ? null : inDays(season),
    recurring_end_date: hasEnd ? inDays(isLast ? rest : season + more) : null,
    recurring_iterator: isLast ? '1' : '0',
    max_recurring_iterator: hasEnd ? '1' : null,
  };
}

/** Sums, tax and the state of the invoice. */
function makeBill(
  plan: BusinessPlan,
  order: WorkOrder,
  {subtotalCents, taxCents, expensesCents}: Charged,
): ServiceFields {
  const totalCents = subtotalCents + taxCents;
  const {startedAt, endedAt, invoicedAt, sentAt, viewedAt, paidAt} = order.life;
  const terms = plan.random('bill', order.index).pick(['Net 30 ', 'Due on receipt', null]);
  return {
    subtotal: writeMoney(subtotalCents),
    tax: writeMoney(taxCents),
    total: writeMoney(totalCents),
    total_expenses: endedAt === null ? '0.0' : writeMoney(expensesCents),
    balance_remaining:
      paidAt === null ? writeMoney(totalCents - partPaid(order, totalCents)) : '0.0',
    invoice_status: paidAt === null ? 'unpaid' : 'paid',
    started_on: startedAt,
    completed_on: endedAt,
    invoice_terms: endedAt === null ? null : terms,
    invoice_date: invoicedAt,
    invoice_sent_date: sentAt,
    invoice_viewed_on: viewedAt,
    invoice_paid_on: paidAt,
  };
}

/** Cents of a bill that is paid in two parts, when the first has come. */
function partPaid({life: {partPaidAt, paidShare}}: WorkOrder, totalCents: number): number {
  return partPaidAt === null ? 0 : Math.round(totalCents * paidShare);
}

/** The hours of each technician, once they are written down. */
function makeEntries(
  plan: BusinessPlan,
  {index, crew, life, minutes}: WorkOrder,
): readonly ServiceRow[] {
  const {startedAt, endedAt, enteredAt} = life;
  if (startedAt === null || endedAt === null || enteredAt === null) return [];
  const random = plan.random('entries', index);
  const worked = workedMinutes(life, minutes);
  return crew.map((technician, place) => {
    const hours = Math.max(0.25, Math.round((worked + random.integer(-1, 1) * 15) / 15) / 4);
    const employee = plan.employeeId(technician);
    const {id} = plan.job(index);
    const fields: ServiceFields = {
      id: plan.partOf(id, idPlaces.entries + place),
      job_id: id,
      employee_id: employee,
      started_on: startedAt,
      ended_on: AccountTime.addMinutes(startedAt, hours * 60),
      number_of_hours: Number.isInteger(hours) ? hours.toFixed(1) : String(hours),
      note: random.pick(['', null, null, 'Travel included']),
      mileage: random.isTrue(0.4) ? `${random.integer(1, 40)}.5` : null,
      billable: String(!random.isTrue(0.08)),
      created_by: employee,
      updated_by: employee,
      created_at: enteredAt,
      updated_at: enteredAt,
    };
    return {table: 'time_entries', fields};
  });
}

/** Each fourth visit has a task for its technician. */
function makeTask(plan: BusinessPlan, order: WorkOrder): readonly ServiceRow[] {
  const {index, crew, minutes, work, life} = order;
  const start = startOf(order.life);
  if (start === null || !plan.random('task', index).isTrue(0.25)) return [];
  const {id} = plan.job(index);
  const [technician] = crew;
  const fields: ServiceFields = {
    id: plan.partOf(id, idPlaces.task),
    job_id: id,
    customer_id: plan.customer(order.customer).id,
    employee_id: technician === undefined ? null : plan.employeeId(technician),
    name: `Visit: ${work.name}`,
    scheduled_at: start,
    ends_at: AccountTime.addMinutes(start, minutes),
    duration: `${minutes}.0`,
    completed: String(life.endedAt !== null),
    completed_at: life.endedAt,
    created_at: life.appointments[0]?.madeAt ?? order.createdAt,
    updated_at: life.endedAt ?? life.appointments.at(-1)?.madeAt ?? order.createdAt,
  };
  return [{table: 'tasks', fields}];
}

function enter(
  ledger: Ledger,
  {
    order,
    number,
    charged,
  }: {readonly order: WorkOrder; readonly number: string; readonly charged: Charged},
): void {
  const {endedAt: at, paidAt} = order.life;
  if (at === null) return;
  ledger.complete(order.customer, {number, at, name: order.work.name});
  const totalCents = charged.subtotalCents + charged.taxCents;
  if (paidAt === null) ledger.owe(order.customer, totalCents - partPaid(order, totalCents));
}

/** The charges of a job and their sums. */
interface Charged {
  readonly rows: readonly ServiceRow[];
  readonly subtotalCents: number;
  readonly taxCents: number;
  /** The cost of the parts for the business. */
  readonly expensesCents: number;
}

interface Line {
  readonly itemId: string;
  readonly name: string;
  /** Of one. */
  readonly cents: number;
  readonly quantity: number;
  readonly isPart: boolean;
}

/** Prices rise each January. */
const yearlyRise = 1.04;
/** The reduction that a customer gets on a bill that was wrong. */
const correction = 0.1;
const nothing: Charged = {rows: [], subtotalCents: 0, taxCents: 0, expensesCents: 0};

/**
 * Labour and parts for jobs that have begun, and for estimates; a price in advance for some others.
 */
function makeCharges(plan: BusinessPlan, order: WorkOrder): Charged {
  const {life, index} = order;
  const random = plan.random('charges', index);
  const isEarly = random.isTrue(0.35) || life.estimate !== null;
  if (!isEarly && statusOf(life) === 'scheduled') return nothing;
  const createdAt = isEarly ? order.createdAt : (life.startedAt ?? order.createdAt);
  const lines = drawLines(plan, order, random);
  // Warranty is free of charge; a few bills get a reduction.
  const place = random.weighted([91, 6, 3]);
  const agreed = [0, random.integer(5, 10) / 100, 1][place] ?? 0;
  const off = life.correctedAt === null ? agreed : Math.min(1, agreed + correction);
  const share = random.integer(25, 40) / 100;
  const charged = lines.map((line) => {
    const fullCents = Math.round(line.cents * line.quantity);
    const discountCents = Math.round(fullCents * off);
    return {line, discountCents, fullCents, cents: fullCents - discountCents};
  });
  const parts = charged.filter(({line}) => line.isPart);
  const at = {createdAt, updatedAt: life.correctedAt ?? createdAt};
  return {
    rows: charged.map(({line, discountCents}, place) =>
      makeCharge(plan, order, {line, discountCents, place, random, ...at}),
    ),
    subtotalCents: sum(charged.map(({cents}) => cents)),
    taxCents: Math.round((sum(parts.map(({cents}) => cents)) * Number(order.taxRate)) / 100),
    expensesCents: Math.round(sum(parts.map(({fullCents}) => fullCents)) * share),
  };
}

const sum = (cents: readonly number[]) => cents.reduce((one, other) => one + other, 0);

function drawLines(
  plan: BusinessPlan,
  {work, crew, minutes, createdAt}: WorkOrder,
  random: Random,
): Line[] {
  const hours = Math.round((minutes * Math.max(1, crew.length)) / 15) / 4;
  const years = Number(createdAt.slice(0, 4)) - plan.firstYear;
  const priced = (cents: number) => Math.round(cents * yearlyRise ** years);
  const labour = {
    itemId: labourItemId,
    name: 'Labour',
    cents: priced(work.rateCents),
    quantity: hours,
    isPart: false,
  };
  const parts = Array.from({length: random.integer(0, 3)}, () => {
    const part = random.pick(work.parts);
    const quantity = part.cents < 500 ? random.integer(2, 40) : random.integer(1, 2);
    return {...part, cents: priced(part.cents), quantity, isPart: true};
  });
  return [labour, ...parts];
}

function makeCharge(
  plan: BusinessPlan,
  {index}: WorkOrder,
  given: {
    readonly line: Line;
    readonly discountCents: number;
    readonly place: number;
    readonly random: Random;
    readonly createdAt: string;
    readonly updatedAt: string;
  },
): ServiceRow {
  const {line, discountCents, place, random, createdAt, updatedAt} = given;
  const {itemId, name, cents, quantity} = line;
  const {id} = plan.job(index);
  const fields: ServiceFields = {
    id: plan.partOf(id, 1 + place),
    job_id: id,
    created_on: createdAt,
    updated_at: updatedAt,
    description: itemId === labourItemId ? 'Services:Labour' : `Parts:${name}`,
    details: random.pick([name, '', null]),
    quantity: Number.isInteger(quantity) ? quantity.toFixed(1) : String(quantity),
    price_per_unit: writeMoney(cents, random.isTrue(0.05)),
    item_id: itemId,
    total: writeMoney(Math.round(cents * quantity) - discountCents),
    discount: writeMoney(discountCents),
    sort_order: String(place + 1),
    updated_by: plan.officeId(random),
  };
  return {table: 'job_charges', fields};
}
