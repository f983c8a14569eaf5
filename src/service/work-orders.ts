// Jobs with their charges, hours and notes, and a task of the schedule, in their state at a moment.
// The random values do not depend on the moment: each part takes all that it ever needs from a
// separate stream.

import {AccountTime} from './account-time.ts';
import {type Ledger, makeNote} from './business-people.ts';
import type {BusinessPlan} from './business-plan.ts';
import type {ServiceRow} from './database.ts';
import type {Roster, WorkOrder} from './order.ts';
import {listTimes, measureWorkedMinutes, readLifeAt, readStart, readStatus} from './order-life.ts';
import type {ServiceFields} from './resource.ts';
import {labourItemId, type Random, writeMoney} from './vocabulary.ts';

/**
 * The ids of a job's child records, as places within the ids of the job; its charges have those
 * from 1.
 */
const idOffsets = {entries: 6, task: 12, note: 13} as const;

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
  const fullOrder = roster.order(index);
  if (fullOrder.createdAt >= now) return [];
  const order = {...fullOrder, life: readLifeAt(fullOrder.life, now)};
  const charges = makeCharges(plan, order);
  const task = makeTask(plan, order);
  const noteRandom = plan.random('note', index);
  const {id, number} = plan.job(index);
  const fields: ServiceFields = {
    ...makeJobFields(plan, order),
    ...makeBill(plan, order, charges),
    tax_id: order.taxId,
    sales_tax_percentage: order.taxId === null ? null : order.taxRate,
    tasks_count: String(task.length),
    id,
    customer_id: plan.customer(order.customer).id,
    job_number: number,
    created_at: order.createdAt,
    updated_at: listTimes(order.life).at(-1) ?? order.createdAt,
  };
  enterInLedger(ledger, {order, number, charged: charges});
  const employees =
    readStart(order.life) === null
      ? []
      : order.crew.map((technician) => plan.employeeId(technician));
  return [
    {table: 'jobs', fields, beside: {employee_ids: `{${employees.join(',')}}`}},
    ...charges.rows,
    ...makeEntries(plan, order),
    ...task,
    ...(noteRandom.isTrue(0.4)
      ? [
          makeNote(plan, {
            owner: fields,
            kind: 'Job',
            random: noteRandom,
            id: plan.partOf(id, idOffsets.note),
          }),
        ]
      : []),
  ];
}

function makeJobFields(plan: BusinessPlan, order: WorkOrder): ServiceFields {
  const {work, minutes, life, index} = order;
  const random = plan.random('words', index);
  const start = readStart(order.life);
  const status = readStatus(life);
  const complaint = random.pick(work.complaints);
  const remark = random.pick(['Customer is home after 3 pm.', 'Bring the ladder & lamp.', ' ']);
  const isYearly = work.name === 'Maintenance visit';
  const author = plan.officeId(random);
  const [mayWait, mayHold, isChecked] = [
    random.isTrue(0.1),
    random.isTrue(0.5),
    random.isTrue(0.05),
  ];
  const waitingStatus = random.pick(['201', '202']);
  const isWaiting = mayWait && status === 'scheduled' && start !== null;
  return {
    name: work.name,
    description: random.isTrue(0.6) ? `${complaint}\n${remark}` : random.pick([complaint, '']),
    scheduled_on: start,
    duration: start === null ? null : `${minutes}.0`,
    ends_at: start === null ? null : AccountTime.addMinutes(start, minutes),
    status,
    job_type_id: random.isTrue(0.97) ? work.jobTypeId : null,
    job_status_id: isWaiting ? waitingStatus : status === 'complete' && isChecked ? '203' : null,
    on_hold: isWaiting && mayHold ? order.createdAt : null,
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
    ...(isYearly ? makePlanFields(plan, order) : {}),
  };
}

const dayMinutes = 24 * 60;

/**
 * The plan that a yearly visit belongs to: another visit is to come, in the season that the
 * customer wants, or this was the last one and the plan ends soon.
 */
function makePlanFields(plan: BusinessPlan, {index, life}: WorkOrder): ServiceFields {
  const random = plan.random('plan', index);
  const isLast = random.isTrue(0.35);
  const [lastDays, seasonDays, extraDays, hasEnd] = [
    random.integer(60, 200),
    random.integer(120, 400),
    random.integer(0, 45),
    isLast || random.isTrue(0.8),
  ];
  const start = readStart(life);
  const addDays = (days: number) =>
    start === null ? null : AccountTime.addMinutes(start, days * dayMinutes);
  return {
    recurring_ended: 'false',
    recurring_date: isLast ? null : addDays(seasonDays),
    recurring_end_date: hasEnd ? addDays(isLast ? lastDays : seasonDays + extraDays) : null,
    recurring_iterator: isLast ? '1' : '0',
    max_recurring_iterator: hasEnd ? '1' : null,
  };
}

/** Sums, tax and the state of the invoice. */
function makeBill(
  plan: BusinessPlan,
  order: WorkOrder,
  {subtotalCents, taxCents, expensesCents}: Charges,
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
      paidAt === null ? writeMoney(totalCents - computePartPayment(order, totalCents)) : '0.0',
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
function computePartPayment(
  {life: {partPaidAt, paidShare}}: WorkOrder,
  totalCents: number,
): number {
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
  const workedMinutes = measureWorkedMinutes(life, minutes);
  return crew.map((technician, position) => {
    const hours = Math.max(0.25, Math.round((workedMinutes + random.integer(-1, 1) * 15) / 15) / 4);
    const employee = plan.employeeId(technician);
    const {id} = plan.job(index);
    const fields: ServiceFields = {
      id: plan.partOf(id, idOffsets.entries + position),
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
  const start = readStart(order.life);
  if (start === null || !plan.random('task', index).isTrue(0.25)) return [];
  const {id} = plan.job(index);
  const [technician] = crew;
  const fields: ServiceFields = {
    id: plan.partOf(id, idOffsets.task),
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

function enterInLedger(
  ledger: Ledger,
  {
    order,
    number,
    charged: charges,
  }: {readonly order: WorkOrder; readonly number: string; readonly charged: Charges},
): void {
  const {endedAt: at, paidAt} = order.life;
  if (at === null) return;
  ledger.complete(order.customer, {number, at, name: order.work.name});
  const totalCents = charges.subtotalCents + charges.taxCents;
  if (paidAt === null)
    ledger.owe(order.customer, totalCents - computePartPayment(order, totalCents));
}

/** The charges of a job and their sums. */
interface Charges {
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
const yearlyPriceFactor = 1.04;
/** The reduction that a customer gets on a bill that was wrong. */
const correctionShare = 0.1;
const noCharges: Charges = {rows: [], subtotalCents: 0, taxCents: 0, expensesCents: 0};

/**
 * Labour and parts for jobs that have begun, and for estimates; a price in advance for some others.
 */
function makeCharges(plan: BusinessPlan, order: WorkOrder): Charges {
  const {life, index} = order;
  const random = plan.random('charges', index);
  const isPricedEarly = random.isTrue(0.35) || life.estimate !== null;
  if (!isPricedEarly && readStatus(life) === 'scheduled') return noCharges;
  const createdAt = isPricedEarly ? order.createdAt : (life.startedAt ?? order.createdAt);
  const lines = drawLines(plan, order, random);
  // Warranty is free of charge; a few bills get a reduction.
  const reductionKind = random.weighted([91, 6, 3]);
  const agreedReduction = [0, random.integer(5, 10) / 100, 1][reductionKind] ?? 0;
  const reduction =
    life.correctedAt === null ? agreedReduction : Math.min(1, agreedReduction + correctionShare);
  const costShare = random.integer(25, 40) / 100;
  const pricedLines = lines.map((line) => {
    const fullCents = Math.round(line.cents * line.quantity);
    const discountCents = Math.round(fullCents * reduction);
    return {line, discountCents, fullCents, cents: fullCents - discountCents};
  });
  const parts = pricedLines.filter(({line}) => line.isPart);
  const times = {createdAt, updatedAt: life.correctedAt ?? createdAt};
  return {
    rows: pricedLines.map(({line, discountCents}, place) =>
      makeCharge(plan, order, {line, discountCents, place, random, ...times}),
    ),
    subtotalCents: addUp(pricedLines.map(({cents}) => cents)),
    taxCents: Math.round((addUp(parts.map(({cents}) => cents)) * Number(order.taxRate)) / 100),
    expensesCents: Math.round(addUp(parts.map(({fullCents}) => fullCents)) * costShare),
  };
}

const addUp = (cents: readonly number[]) => cents.reduce((total, amount) => total + amount, 0);

function drawLines(
  plan: BusinessPlan,
  {work, crew, minutes, createdAt}: WorkOrder,
  random: Random,
): Line[] {
  const hours = Math.round((minutes * Math.max(1, crew.length)) / 15) / 4;
  const years = Number(createdAt.slice(0, 4)) - plan.firstYear;
  const raisePrice = (cents: number) => Math.round(cents * yearlyPriceFactor ** years);
  const labour = {
    itemId: labourItemId,
    name: 'Labour',
    cents: raisePrice(work.rateCents),
    quantity: hours,
    isPart: false,
  };
  const parts = Array.from({length: random.integer(0, 3)}, () => {
    const part = random.pick(work.parts);
    const quantity = part.cents < 500 ? random.integer(2, 40) : random.integer(1, 2);
    return {...part, cents: raisePrice(part.cents), quantity, isPart: true};
  });
  return [labour, ...parts];
}

function makeCharge(
  plan: BusinessPlan,
  {index}: WorkOrder,
  options: {
    readonly line: Line;
    readonly discountCents: number;
    readonly place: number;
    readonly random: Random;
    readonly createdAt: string;
    readonly updatedAt: string;
  },
): ServiceRow {
  const {line, discountCents, place, random, createdAt, updatedAt} = options;
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
