// An untidy business, row by row: crews of up to three, visits of twenty minutes, prices with five
// decimals, cancellations, plans, expenses and discounts that are not known, towns with blanks,
// invoices with and without terms, customers and jobs that were deleted. It is the same at each
// run, but for its dates, which end today.

import type pg from 'pg';

type Row = Readonly<Record<string, string | number | boolean | null | undefined>>;

const day = 86_400_000;
const customers = 40;
const employees = 6;
const jobs = 320;

/** Numbers from 0 to 1, the same for the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    const mixed = Math.imul(state ^ (state >>> 15), state | 1);
    const again = mixed ^ (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61));
    return ((again ^ (again >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** @param client - in a transaction that writes as a sweep */
export async function fillUntidyBusiness(
  client: pg.ClientBase,
  {accountId, seed}: {readonly accountId: string; readonly seed: number},
): Promise<void> {
  const random = randomFrom(seed);
  const below = (end: number) => Math.floor(random() * end);
  const pick = <T>(...from: readonly T[]): T => from[below(from.length)] as T;
  const at = (days: number) => new Date(Date.now() + days * day).toISOString();
  const insert = (table: string, rows: readonly Row[]) =>
    client.query(
      `INSERT INTO warehouse.${table} (account_id, ${Object.keys(rows[0] ?? {}).join(', ')})
       SELECT $1, ${Object.keys(rows[0] ?? {}).join(', ')}
         FROM json_populate_recordset(NULL::warehouse.${table}, $2)`,
      [accountId, JSON.stringify(rows)],
    );
  const upTo = (end: number) => Array.from({length: end}, (_, place) => place + 1);
  await insert(
    'customers',
    upTo(customers).map((number) => ({
      customer_number: number,
      id: 500 + number,
      name: `Customer ${number} of ${seed}`,
      service_city: pick('Pinewick', ' Pinewick ', 'Stonebridge', 'pinewick', '', null),
      customer_source_id: pick(1, 2, 3, null),
      phone_number: pick(`555-01${10 + number}`, ' ', null),
      mobile: pick(`555-02${10 + number}`, null),
      is_active: random() > 0.1,
      created_at: at(-600),
      _deleted_at: number % 19 === 0 ? at(-5) : null,
    })),
  );
  await insert(
    'employees',
    upTo(employees).map((number) => ({
      employee_number: number,
      id: 700 + number,
      name: `Person ${number} of ${seed}`,
      active: number !== employees,
      hired_date: at(-700),
    })),
  );
  await insert(
    'job_types',
    upTo(3).map((id) => ({id, name: ['Repair', 'Service', 'Repair'][id - 1] ?? ''})),
  );
  const made = upTo(jobs).map((number) => makeJob(number, {random, below, pick, at}));
  await insert('jobs', made);
  const live = made.filter(({_deleted_at: deletedAt}) => deletedAt === null);
  await insert(
    'job_employees',
    live.flatMap(({job_number}) => {
      const crew = upTo(employees).filter(() => random() < 0.3);
      return crew.slice(0, 3).map((employee) => ({job_number, employee_id: 700 + employee}));
    }),
  );
  await insert(
    'job_charges',
    live.flatMap(({job_number, id}) =>
      upTo(below(4)).map((line) => ({
        job_number,
        job_id: id,
        id: Number(id) * 10 + line,
        item_id: pick(1, 2, 3, null),
        description: 'work',
        quantity: pick(1, 0.3333),
        price_per_unit: pick(19.99, 7.12345),
        total: pick(below(90_000) / 100, 0),
        discount: pick(below(900) / 100, 0.33333, 0, null),
      })),
    ),
  );
  await insert(
    'time_entries',
    live
      .filter(({completed_on}) => completed_on !== null && random() < 0.6)
      .map(({job_number, id, started_on}) => ({
        job_number,
        job_id: id,
        id: Number(id) + 50_000,
        employee_id: 700 + 1 + below(6),
        started_on,
        number_of_hours: pick(0.3333, 1.25, 2),
        billable: random() < 0.8,
      })),
  );
}

interface Dice {
  readonly random: () => number;
  readonly below: (end: number) => number;
  readonly pick: <T>(...from: readonly T[]) => T;
  readonly at: (days: number) => string;
}

type Life = Readonly<Record<string, string | null>>;

function makeJob(number: number, dice: Dice): Row {
  const {random, below, pick, at} = dice;
  const ago = 3 + random() * 500;
  const subtotal = pick(below(90_000_000) / 100_000, below(90_000) / 100, 0, null);
  const tax = subtotal === null ? null : pick(Math.round(subtotal * 7_000) / 100_000, null);
  const total = subtotal === null ? null : Math.round((subtotal + (tax ?? 0)) * 100_000) / 100_000;
  const life = {...noLife, ...liveOne(ago, dice)};
  const isDone = life.completed_on !== null;
  const isInvoiced = isDone && random() < 0.7;
  // The office enters some jobs when their work is done.
  const entered = isDone && random() < 0.2 ? at(-ago + 2.5) : at(-ago);
  return {
    job_number: number,
    id: 1000 + number,
    name: `Job ${number}`,
    duration: pick(20, 90, null),
    customer_id: pick(500 + 1 + below(customers), 500 + 1 + below(customers), 9999),
    job_type_id: pick(1, 2, 3, null),
    created_by: pick(700 + 1 + below(employees), null),
    ...makePlan(number, dice),
    total_expenses: pick(below(40_000) / 100, below(400_000) / 10_000, 0, null),
    subtotal,
    tax,
    total,
    balance_remaining: pick(total, 0, total === null ? null : total / 4),
    created_at: entered,
    updated_at: at(-1),
    ...life,
    invoice_date: isInvoiced ? at(-ago + 2 + random() * 3) : null,
    invoice_terms: pick('Net 30', ' net 14 ', 'Due on receipt', null),
    _deleted_at: number % 23 === 0 ? at(-4) : null,
  };
}

/** Jobs repeated from one that is not there, from the one before, or from the first of them. */
function makePlan(number: number, {below, pick, at}: Dice): Row {
  const [before, first] = [1000 + number - 13, 1017];
  return {
    recurring_job_id:
      number % 11 === 0 ? 77 : number % 13 === 0 ? before : number % 17 === 0 ? first : null,
    recurring_interval: pick('yearly', ' Monthly ', 'every full moon', '', null),
    recurring_date: pick(at(below(200) - 40), null),
    recurring_end_date: pick(at(below(400) - 200), null),
    recurring_ended: pick(true, false, false, null),
    recurring_iterator: pick(1, 2, null),
    max_recurring_iterator: pick(0, 2, 5, null),
  };
}

const noLife: Life = {
  status: null,
  scheduled_on: null,
  started_on: null,
  completed_on: null,
  canceled_on: null,
  estimate_sent_on: null,
  estimate_type: null,
  won_date: null,
  lost_date: null,
};

/** What became of a job that was booked so many days ago. */
function liveOne(ago: number, {random, pick, at}: Dice): Life {
  const soon = at(random() * 13);
  const sold = {estimate_sent_on: at(-ago + 1), won_date: at(-ago + 1.5), estimate_type: 'won'};
  const done = {
    status: pick('complete', 'new'),
    scheduled_on: at(-ago + 1),
    started_on: at(-ago + 1.1),
    completed_on: at(-ago + 1 + random()),
  };
  return pick<Life>(
    done,
    done,
    done,
    {...done, ...sold},
    {...done, canceled_on: at(-ago + 2.5)},
    {status: 'scheduled', scheduled_on: soon},
    {status: 'scheduled', scheduled_on: soon, ...sold},
    {status: 'unscheduled'},
    {status: 'canceled', canceled_on: at(-ago + 2), scheduled_on: soon},
    {status: 'new'},
    {status: 'unscheduled', estimate_sent_on: at(-ago + 1)},
    {status: pick('lost', 'unscheduled'), lost_date: at(-ago + 2), estimate_sent_on: at(-ago + 1)},
    {status: 'in_progress', started_on: at(-ago + 2)},
  );
}
