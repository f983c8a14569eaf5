// Fills the service with data. Usually this is a made-up, believable business: seasons, repeat
// customers, technicians with skills and hours, parts and labour, open and finished work. For a
// rehearsal, it is the records of an account instead; the effects on them are read from the
// journal.

import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {Ledger, makeCustomer, makeEmployees, makeOwnerToken} from './business-people.ts';
import {BusinessPlan, defaultToday, type Scale} from './business-plan.ts';
import {
  copyRows,
  describeServiceDatabase,
  inServiceTransaction,
  installSchema,
  lockTurn,
  openDatabase,
  type ServiceQueryable,
  type ServiceRow,
} from './database.ts';
import {layFoundation, newToken} from './foundation.ts';
import {Roster} from './order.ts';
import {
  contacts,
  customerResource,
  employeeResource,
  jobCharges,
  jobResource,
  jobStatuses,
  jobTypes,
  notes,
  type ServiceResource,
  type Table,
  taskResource,
  taxEntityResource,
  timeEntries,
} from './resource.ts';
import {makeJob} from './work-orders.ts';

interface BusinessOptions {
  readonly seed: number | string;
  /** Default: 500. */
  readonly customers?: number;
  /** Default: six per customer. */
  readonly jobs?: number;
  /**
   * The day for which the business is shown, `2026-11-02`. Default: a date that follows from the
   * seed.
   */
  readonly today?: string;
  /** The zone in which people work; the service's own should be the same. */
  readonly timeZone?: string;
  /** Called when a business is about to be made; not called if there is one already. */
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
 * same options give the same bytes in every list. The business is written in one transaction, so it
 * exists as a whole or not at all.
 * @param database - a connection string, or a pool
 * @throws {FatalError} the database cannot be used
 * @throws {UsageError} a count or a date is invalid
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
  const ownDatabase = await openDatabase(database);
  try {
    return await seedOnce(ownDatabase, scale, options.onMaking);
  } finally {
    await ownDatabase.end();
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
    const existing = await findBusiness(client);
    if (existing !== null) return existing;
    onMaking?.(scale);
    await writeBusiness(client, scale);
    const {seed, customers, jobs, today} = scale;
    return {isNew: true, seed, customers, jobs, madeCustomers: customers, today};
  });
  if (business.isNew) await vacuum(database);
  return business;
}

/** Postgres can then read lists from their indexes alone. */
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
  const [row] = rows;
  if (row === undefined || (row.seed === null && !row.is_used)) return null;
  const {is_used: _, ...business} = row;
  return {isNew: false, ...business};
}

async function writeBusiness(client: pg.PoolClient, scale: Scale): Promise<void> {
  const plan = new BusinessPlan(scale);
  await layFoundation(client, makeOwnerToken(plan));
  await copyRows(client, makeEmployees(plan));
  // Jobs come first: their entries in the ledger are needed for the customers.
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
 * Moves the sequences past the numbers written, marks the business as complete, and gives the
 * planner its statistics.
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

/** In place of the seed of a made-up business. */
const rehearsalSeed = 'rehearsal';

const resources: readonly ServiceResource[] = [
  ...[customerResource, jobResource, jobCharges, employeeResource, timeEntries, taskResource],
  ...[notes, contacts, jobTypes, jobStatuses, taxEntityResource],
];
const tables = resources.map(({table}) => table);

interface RehearsalData {
  /** Records some at a time, each with its internal id. */
  readonly batches: AsyncIterable<readonly ServiceRow[]>;
  readonly timeZone: string;
  /** `2026-11-02` */
  readonly today: string;
}

/** The right to run the only rehearsal in a database. */
interface RehearsalClaim {
  /** Aborts when the connection that holds the claim has broken. */
  readonly lost: AbortSignal;
  leave(): Promise<void>;
}

/** Within this time a rehearsal that was killed has released its claim. */
const claimTimeoutMs = 2000;

/**
 * Claims a database for a rehearsal. The claim is a lock of the owner's table. A connection holds
 * it in a transaction that has read nothing. So the claim ends with this process, however the
 * process ends.
 * @throws {UsageError} another rehearsal has claimed it, or the database holds a warehouse
 * @throws {FatalError} the database cannot be used
 */
export async function claimRehearsal(databaseUrl: string): Promise<RehearsalClaim> {
  await refuseWarehouse(databaseUrl);
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: `fieldmirror rehearse, pid ${process.pid}`,
    keepAlive: true,
  });
  const lost = new AbortController();
  client.on('error', () => lost.abort());
  try {
    await (await openDatabase(databaseUrl)).end();
    await client.connect();
    await client.query('BEGIN ISOLATION LEVEL READ COMMITTED');
    await client.query(
      `SELECT set_config(name, '0', true) FROM pg_settings
        WHERE name IN ('idle_in_transaction_session_timeout', 'transaction_timeout')`,
    );
    await client.query(`SET LOCAL lock_timeout = ${claimTimeoutMs}`);
    await client.query('SAVEPOINT before_lock');
    await client.query('LOCK TABLE service.rehearsal IN EXCLUSIVE MODE');
    return {lost: lost.signal, leave: () => client.end()};
  } catch (error) {
    const isClaimed = error instanceof pg.DatabaseError && error.code === '55P03';
    const refusal = isClaimed ? await makeRunningError(client, databaseUrl) : error;
    await client.end();
    throw refusal;
  }
}

async function makeRunningError(client: pg.ClientBase, databaseUrl: string): Promise<UsageError> {
  await client.query('ROLLBACK TO SAVEPOINT before_lock');
  const {rows} = await client.query<{since: Date; name: string | null}>(
    `SELECT backend_start AS since, application_name AS name
       FROM pg_locks JOIN pg_stat_activity USING (pid)
      WHERE relation = 'service.rehearsal'::regclass AND granted`,
  );
  const [running] = rows;
  const since =
    running === undefined ? '' : ` since ${running.since.toISOString()} (${running.name})`;
  return new UsageError(
    `rehearse: database ${describeServiceDatabase(databaseUrl)}: ` +
      'expected that no rehearsal runs in it, ' +
      `got one that runs${since}; stop that one, or name another database with --database`,
  );
}

/**
 * Fills the database of a service, in one transaction. The records of an earlier rehearsal, and its
 * journal, are removed. The caller has claimed the database.
 * @returns how many records each table has
 * @throws {UsageError} the database holds something else
 * @throws {FatalError} the database cannot be used
 */
export async function fillRehearsal(
  databaseUrl: string,
  {batches, timeZone, today}: RehearsalData,
): Promise<ReadonlyMap<Table, number>> {
  const database = await openDatabase(databaseUrl);
  try {
    const counts = new Map<Table, number>();
    await inServiceTransaction(database, async (client) => {
      await lockTurn(client);
      await emptyTables(client);
      for await (const rows of batches) {
        await copyRows(client, rows);
        for (const {table} of rows) counts.set(table, (counts.get(table) ?? 0) + 1);
      }
      await ensureOwner(client);
      await moveSequences(client);
      await client.query(
        `INSERT INTO service.business (seed, customers, jobs, today, time_zone)
         VALUES ($1, $2, $3, $4, $5)`,
        [rehearsalSeed, counts.get('customers') ?? 0, counts.get('jobs') ?? 0, today, timeZone],
      );
    });
    for (const table of tables) await database.query(`VACUUM (ANALYZE) service.${table}`);
    return counts;
  } finally {
    await database.end();
  }
}

async function refuseWarehouse(databaseUrl: string): Promise<void> {
  const client = new pg.Client({connectionString: databaseUrl});
  try {
    await client.connect();
    const text = `SELECT to_regclass('sync.accounts') IS NOT NULL AS is_warehouse`;
    const {rows} = await client.query<{is_warehouse: boolean}>(text);
    if (rows[0]?.is_warehouse === true) throw makeOccupiedError('a warehouse');
  } finally {
    await client.end();
  }
}

async function emptyTables(client: pg.ClientBase): Promise<void> {
  const text = `SELECT EXISTS (SELECT FROM service.business WHERE seed = $1) AS is_rehearsal,
      EXISTS (SELECT FROM service.customers) OR EXISTS (SELECT FROM service.business) AS is_used`;
  const {rows} = await client.query<{is_rehearsal: boolean; is_used: boolean}>(text, [
    rehearsalSeed,
  ]);
  if (rows[0]?.is_used === true && !rows[0].is_rehearsal)
    throw makeOccupiedError('another business');
  const tableNames = [...tables, 'journal', 'business', 'births'].map(
    (table) => `service.${table}`,
  );
  await client.query(`TRUNCATE ${tableNames.join(', ')}`);
}

function makeOccupiedError(content: string): UsageError {
  return new UsageError(
    'rehearse: --database: expected an empty database, or that of an earlier rehearsal, ' +
      `got ${content}; CREATE DATABASE rehearsal makes one`,
  );
}

/**
 * A service accepts a token of its owner. If no owner is active, the first employee becomes the
 * owner.
 */
async function ensureOwner(client: pg.ClientBase): Promise<void> {
  const {rowCount} = await client.query(
    `UPDATE service.employees SET fields = fields || '{"active":"true","is_account_owner":"true"}'
      WHERE id = (SELECT id FROM service.employees
                   ORDER BY (fields ->> 'is_account_owner' = 'true' AND active) IS TRUE DESC,
                            active DESC, id LIMIT 1)`,
  );
  if (rowCount === 0) await layFoundation(client, newToken());
}

/** Moves the sequences past the numbers in use. */
async function moveSequences(client: pg.ClientBase): Promise<void> {
  const ids = tables.map((table) => `SELECT max(id) AS id FROM service.${table}`);
  await client.query(`SELECT setval('service.ids', greatest(1000000, max(id)))
      FROM (${ids.join(' UNION ALL ')}) AS taken`);
  for (const {table, key} of resources.filter((resource) => resource.key !== 'id'))
    await client.query(
      `SELECT setval('service.${key}s', greatest(1, max(${key})), count(*) > 0)
         FROM service.${table}`,
    );
}

/** The effects of requests on the records of one table, and their number. */
export interface Effect {
  readonly table: string;
  readonly kind: 'create' | 'update' | 'delete';
  /** How many times; a record may be updated several times. */
  readonly times: number;
  readonly records: number;
  /** How often each field was written; empty for deletes. */
  readonly fields: Readonly<Record<string, number>>;
  /** The first ones. */
  readonly examples: readonly {
    readonly method: string;
    readonly path: string;
    readonly number: string;
    readonly values: Readonly<Record<string, unknown>>;
  }[];
}

/**
 * The effects of a rehearsal's requests, in the order in which each kind came first. They hold only
 * the fields that a request may set: the service derives others from them.
 */
export async function readEffects(databaseUrl: string): Promise<readonly Effect[]> {
  const text = `WITH entry AS (
      SELECT journal.id, resource, kind, method, path, number, record_id, settable.changed,
          row_number() OVER (PARTITION BY resource, kind ORDER BY journal.id) AS place
        FROM service.journal CROSS JOIN LATERAL (
          SELECT coalesce(jsonb_object_agg(key, value), '{}') AS changed
            FROM jsonb_each(journal.changed)
           WHERE $1::jsonb -> resource ? key AND (kind <> 'create' OR value <> '""')
        ) AS settable)
    SELECT resource AS "table", kind, count(*)::integer AS times,
        count(DISTINCT record_id)::integer AS records,
        (SELECT coalesce(jsonb_object_agg(key, uses), '{}')
           FROM (SELECT key, count(*) AS uses
                   FROM entry AS own CROSS JOIN jsonb_object_keys(own.changed) AS key
                  WHERE own.resource = entry.resource AND own.kind = entry.kind
                  GROUP BY key) AS used) AS fields,
        jsonb_agg(jsonb_build_object('method', method, 'path', path, 'number', number::text,
                                     'values', changed) ORDER BY place)
          FILTER (WHERE place <= 3) AS examples
      FROM entry GROUP BY resource, kind ORDER BY min(id)`;
  const settable = Object.fromEntries(
    resources.map(({table, writable}) => [table, [...writable, 'employee_ids']]),
  );
  const database = await openDatabase(databaseUrl);
  try {
    return (await database.query<Effect>(text, [JSON.stringify(settable)])).rows;
  } finally {
    await database.end();
  }
}
