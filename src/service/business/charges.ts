import type {Fields} from '../resources/field.ts';
import type {Order} from './order.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import type {Row} from './row.ts';
import {labourItemId} from './vocabulary/catalogue.ts';
import {writeMoney} from './vocabulary/words.ts';

/** The charges of a job and their sums. */
export interface Charged {
  readonly rows: readonly Row[];
  readonly subtotalCents: number;
  readonly taxCents: number;
}

/** Labour and parts for jobs that are done or nearly; an estimate for some of the rest. */
export function makeCharges(plan: Plan, order: Order, random: Random): Charged {
  const {work, crew, minutes} = order;
  if (order.status === 'scheduled' && !random.isTrue(0.35)) return {rows: [], subtotalCents: 0, taxCents: 0};
  const hours = Math.round((minutes * Math.max(1, crew.length)) / 15) / 4;
  const lines = [
    {itemId: labourItemId, name: 'Labour', cents: work.rateCents, quantity: hours, isPart: false},
  ];
  for (let count = random.integer(0, 3); count > 0; count--) {
    const part = random.pick(work.parts);
    lines.push({
      ...part,
      quantity: part.cents < 500 ? random.integer(2, 40) : random.integer(1, 2),
      isPart: true,
    });
  }
  const rows = lines.map((line, place) => makeCharge(plan, {order, line, place, random}));
  const totals = lines.map(({cents, quantity, isPart}) => ({cents: Math.round(cents * quantity), isPart}));
  const partsCents = totals.reduce((sum, {cents, isPart}) => sum + (isPart ? cents : 0), 0);
  return {
    rows,
    subtotalCents: totals.reduce((sum, {cents}) => sum + cents, 0),
    taxCents: Math.round((partsCents * Number(order.taxRate)) / 100),
  };
}

interface Line {
  readonly itemId: string;
  readonly name: string;
  readonly cents: number;
  readonly quantity: number;
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
  const {itemId, name, cents, quantity} = line;
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
    total: writeMoney(Math.round(cents * quantity)),
    discount: '0.0',
    sort_order: String(place + 1),
    updated_by: plan.officeId(random),
  };
  return {table: 'job_charges', fields};
}
