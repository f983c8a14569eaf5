import type {Fields} from '../resources/field.ts';
import type {Row} from './copy-rows.ts';
import type {Order} from './order.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import {labourItemId} from './vocabulary/catalogue.ts';
import {writeMoney} from './vocabulary/words.ts';

/** The charges of a job and their sums. */
export interface Charged {
  readonly rows: readonly Row[];
  readonly subtotalCents: number;
  readonly taxCents: number;
  /** What the parts cost the business. */
  readonly expensesCents: number;
}

/** Prices rise each January. */
const yearlyRise = 1.04;

/** Labour and parts for jobs that are done or nearly, and for estimates; a price in advance for some of the rest. */
export function makeCharges(plan: Plan, order: Order, random: Random): Charged {
  const {work, crew, minutes, life} = order;
  const isPriced = order.status !== 'scheduled' || life.estimate !== null || random.isTrue(0.35);
  if (!isPriced) return {rows: [], subtotalCents: 0, taxCents: 0, expensesCents: 0};
  const hours = Math.round((minutes * Math.max(1, crew.length)) / 15) / 4;
  const years = Number(order.createdAt.slice(0, 4)) - plan.firstYear;
  const priced = (cents: number) => Math.round(cents * yearlyRise ** years);
  const lines: Omit<Line, 'discountCents'>[] = [
    {itemId: labourItemId, name: 'Labour', cents: priced(work.rateCents), quantity: hours, isPart: false},
  ];
  for (let count = random.integer(0, 3); count > 0; count--) {
    const part = random.pick(work.parts);
    lines.push({
      ...part,
      cents: priced(part.cents),
      quantity: part.cents < 500 ? random.integer(2, 40) : random.integer(1, 2),
      isPart: true,
    });
  }
  // Warranty is free of charge; now and then a customer gets something off.
  const place = random.weighted([91, 6, 3]);
  const off = [0, random.integer(5, 10) / 100, 1][place] ?? 0;
  const charged = lines.map((line) => {
    const cents = Math.round(line.cents * line.quantity);
    const discountCents = Math.round(cents * off);
    return {line: {...line, discountCents}, cents: cents - discountCents, fullCents: cents};
  });
  const sum = (cents: readonly number[]) => cents.reduce((one, other) => one + other, 0);
  const parts = charged.filter(({line}) => line.isPart);
  return {
    rows: charged.map(({line}, at) => makeCharge(plan, {order, line, place: at, random})),
    subtotalCents: sum(charged.map(({cents}) => cents)),
    taxCents: Math.round((sum(parts.map(({cents}) => cents)) * Number(order.taxRate)) / 100),
    expensesCents: Math.round((sum(parts.map(({fullCents}) => fullCents)) * random.integer(25, 40)) / 100),
  };
}

interface Line {
  readonly itemId: string;
  readonly name: string;
  readonly cents: number;
  readonly quantity: number;
  readonly isPart: boolean;
  readonly discountCents: number;
}

function makeCharge(
  plan: Plan,
  {
    order,
    line,
    place,
    random,
  }: {readonly order: Order; readonly line: Line; readonly place: number; readonly random: Random},
): Row {
  const {itemId, name, cents, quantity, discountCents} = line;
  const fields: Fields = {
    id: plan.nextId(),
    job_id: order.id,
    created_on: order.createdAt,
    updated_at: order.createdAt,
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
