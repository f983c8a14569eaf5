import type {Plan} from './business-plan.ts';
import type {Row} from './copy-rows.ts';
import type {Fields} from './field.ts';
import {labourItemId} from './item-catalogue.ts';
import type {Order} from './order.ts';
import {statusOf} from './order-life.ts';
import type {Random} from './random.ts';
import {writeMoney} from './vocabulary.ts';

/** The charges of a job and their sums. */
export interface Charged {
  readonly rows: readonly Row[];
  readonly subtotalCents: number;
  readonly taxCents: number;
  /** What the parts cost the business. */
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
/** What a customer gets off a bill that was wrong. */
const correction = 0.1;
const nothing: Charged = {rows: [], subtotalCents: 0, taxCents: 0, expensesCents: 0};

/**
 * Labour and parts for jobs that have begun, and for estimates; a price in advance for some of the
 * rest.
 */
export function makeCharges(plan: Plan, order: Order): Charged {
  const {life, index} = order;
  const random = plan.random('charges', index);
  const isEarly = random.isTrue(0.35) || life.estimate !== null;
  if (!isEarly && statusOf(life) === 'scheduled') return nothing;
  const createdAt = isEarly ? order.createdAt : (life.startedAt ?? order.createdAt);
  const lines = drawLines(plan, order, random);
  // Warranty is free of charge; now and then a customer gets something off.
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

function drawLines(plan: Plan, {work, crew, minutes, createdAt}: Order, random: Random): Line[] {
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
  plan: Plan,
  {index}: Order,
  given: {
    readonly line: Line;
    readonly discountCents: number;
    readonly place: number;
    readonly random: Random;
    readonly createdAt: string;
    readonly updatedAt: string;
  },
): Row {
  const {line, discountCents, place, random, createdAt, updatedAt} = given;
  const {itemId, name, cents, quantity} = line;
  const {id} = plan.job(index);
  const fields: Fields = {
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
