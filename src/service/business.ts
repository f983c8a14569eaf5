// A believable business for the reference service to hold: seasons, repeat customers, technicians
// with skills and hours, parts and labour, open and finished work. All of it is made up.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {Ledger, makeCustomer, makeEmployees, makeOwnerToken} from './business-people.ts';
import {BusinessPlan, defaultToday, type Scale} from './business-plan.ts';
import type {ServiceRow} from './database.ts';
import {
  copyRows,
  inServiceTransaction,
  installSchema,
  lockTurn,
  openDatabase,
  type ServiceQueryable,
} from './database.ts';
import {layFoundation} from './foundation.ts';
import {Roster} from './order.ts';
import {makeJob} from './work-orders.ts';

interface BusinessOptions {
  readonly seed: number | string;
  /** 500 unless told otherwise. */
  readonly customers?: number;
  /** Six a customer unless told otherwise. */
  readonly jobs?: number;
  /**
   * The day on which the business is looked at, `2026-11-02`; a date that follows from the seed
   * unless told otherwise.
   */
  readonly today?: string;
  /** The zone in which people work; the service's own should be the same. */
  readonly timeZone?: string;
  /** Called when a business is about to be made; not where one is there. */
  readonly onMaking?: (scale: Pick<Scale, 'customers' | 'jobs'>) => void;
}

/** The business in the database. */
export interface Business {
  /** False when there was something before, and nothing was written. */
  readonly isNew: boolean;
  /** The seed of the business; null when it was not made up. */
  readonly seed: string | null;
  readonly customers: number;
  readonly jobs: number;
  /** How many customers it was made up with; null when it was not made up. */
  readonly madeCustomers: number | null;
  /** `2026-11-02`; null when it was not made up. */
  readonly today: string | null;
}

const BATCH = 1000;

/**
 * Makes a business up, once: a database that holds customers or jobs already is left as it is. The
 * same options give the same bytes in every list. It is written in one transaction, so it is there
 * as a whole or not at all.
 * @param database - a connection string, or a pool
 * @throws {FatalError} the database cannot be used
 * @throws {UsageError} a count or a date that is none
 */
export async function seedBusiness(
  database: string | pg.Pool,
  options: BusinessOptions,
): Promise<Business> {
  const scale = readScale(options);
  if (database instanceof pg.Pool) {
    await installSchema(database);
    return await seedOnce(database, scale, options.onMaking);
  }
  const opened = await openDatabase(database);
  try {
    return await seedOnce(opened, scale, options.onMaking);
  } finally {
    await opened.end();
  }
}

function readScale({
  seed,
  customers = 500,
  jobs = customers * 6,
  today,
  timeZone = 'America/New_York',
}: BusinessOptions): Scale {
  if (!Number.isInteger(customers) || customers < 1)
    throw new UsageError(`customers: expected 1 or more, got ${customers}`);
  if (!Number.isInteger(jobs) || jobs < 0)
    throw new UsageError(`jobs: expected 0 or more, got ${jobs}`);
  return {
    seed: String(seed),
    customers,
    jobs,
    today: today ?? defaultToday(String(seed)),
    timeZone,
  };
}

async function seedOnce(
  database: pg.Pool,
  scale: Scale,
  onMaking: BusinessOptions['onMaking'],
): Promise<Business> {
  const business = await inServiceTransaction(database, async (client): Promise<Business> => {
    await lockTurn(client);
    const there = await findBusiness(client);
    if (there !== null) return there;
    onMaking?.(scale);
    await writeBusiness(client, scale);
    const {seed, customers, jobs, today} = scale;
    return {isNew: true, seed, customers, jobs, madeCustomers: customers, today};
  });
  if (business.isNew) await vacuum(database);
  return business;
}

/** Lists can then be read from their indexes alone. */
async function vacuum(database: pg.Pool): Promise<void> {
  for (const table of ['customers', 'jobs', 'tasks'])
    await database.query(`VACUUM (ANALYZE) service.${table}`);
}

async function findBusiness(db: ServiceQueryable): Promise<Business | null> {
  const text = `SELECT business.seed, business.today::text AS today,
      business.customers AS "madeCustomers",
      (SELECT count(*) FROM service.customers WHERE deleted_at IS NULL)::integer AS customers,
      (SELECT count(*) FROM service.jobs WHERE deleted_at IS NULL)::integer AS jobs,
      EXISTS (SELECT FROM service.customers) AS is_used
    FROM (VALUES (0)) AS always LEFT JOIN service.business ON true`;
  const {rows} = await db.query<Omit<Business, 'isNew'> & {is_used: boolean}>(text);
  const [found] = rows;
  if (found === undefined || (found.seed === null && !found.is_used)) return null;
  const {is_used: _, ...business} = found;
  return {isNew: false, ...business};
}

async function writeBusiness(client: pg.PoolClient, scale: Scale): Promise<void> {
  const plan = new BusinessPlan(scale);
  await layFoundation(client, makeOwnerToken(plan));
  await copyRows(client, makeEmployees(plan));
  // Jobs first: their entries in the ledger go into the customers.
  const ledger = new Ledger();
  const roster = new Roster(plan, plan.jobs);
  await copyBatches(client, {
    count: plan.jobs,
    make: (index) => makeJob(roster, index, plan.now, ledger),
  });
  await copyBatches(client, {
    count: plan.customers,
    make: (index) => makeCustomer(plan, index, ledger),
  });
  await finish(client, {plan, scale});
}

async function copyBatches(
  client: pg.PoolClient,
  {count, make}: {readonly count: number; readonly make: (index: number) => readonly ServiceRow[]},
): Promise<void> {
  for (let start = 0; start < count; start += BATCH) {
    const rows: ServiceRow[] = [];
    for (let index = start; index < Math.min(count, start + BATCH); index++)
      rows.push(...make(index));
    await copyRows(client, rows);
  }
}

/**
 * Moves the sequences past the numbers written, marks that all is there, and tells the planner how
 * much.
 */
async function finish(
  client: pg.PoolClient,
  {plan, scale}: {readonly plan: BusinessPlan; readonly scale: Scale},
): Promise<void> {
  const lastJob = Math.max(1, plan.jobNumber(plan.jobs - 1));
  await client.query(
    `SELECT setval('service.ids', $1), setval('service.customer_numbers', $2),
            setval('service.job_numbers', $3, $5),
       setval('service.employee_numbers', $4)`,
    [plan.lastId, plan.customerNumber(plan.customers - 1), lastJob, plan.employees, plan.jobs > 0],
  );
  await client.query(
    `INSERT INTO service.business (seed, customers, jobs, today, time_zone)
     VALUES ($1, $2, $3, $4, $5)`,
    [scale.seed, scale.customers, scale.jobs, scale.today, scale.timeZone],
  );
  await client.query(
    'ANALYZE service.job_charges, service.time_entries, service.notes, service.contacts',
  );
}
