// A business that goes on: what happens is decided by its seed, in whatever steps it is played, and
// what people did stays.

import type pg from 'pg';
import {afterAll, describe, expect, test} from 'vitest';
import {seedBusiness} from '../../src/service/business.ts';
import {Player, playUntil, startLive} from '../../src/service/live.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {openPlainPool} from '../support/with-client.ts';

const scale = {
  seed: '7',
  customers: 60,
  jobs: 300,
  today: '2026-11-02',
  timeZone: 'America/New_York',
} as const;
const begins = '2026-11-02T12:59:00Z';
const databases: TestDatabase[] = [];
const pools: pg.Pool[] = [];

async function openDatabase(): Promise<pg.Pool> {
  const database = await createDatabase();
  databases.push(database);
  const pool = openPlainPool(database.url, {max: 4});
  pools.push(pool);
  return pool;
}

async function openBusiness(): Promise<pg.Pool> {
  const pool = await openDatabase();
  await seedBusiness(pool, {...scale, seed: 7});
  await pool.query('UPDATE service.business SET played_until = $1', [begins]);
  return pool;
}

afterAll(async () => {
  for (const pool of pools) await pool.end();
  for (const database of databases) await database.drop();
});

const tables = ['customers', 'jobs', 'job_charges', 'time_entries', 'tasks', 'notes', 'contacts'];

/** Every byte that the service would tell. */
async function readAll(pool: pg.Pool): Promise<string> {
  const texts: string[] = [];
  for (const table of tables) {
    const {rows} = await pool.query(
      `SELECT to_jsonb(held)::text AS text FROM service.${table} AS held ORDER BY id`,
    );
    texts.push(...rows.map(({text}) => text));
  }
  return texts.join('\n');
}

async function count(pool: pg.Pool, where: string): Promise<number> {
  const {rows} = await pool.query(
    `SELECT count(*)::integer AS count FROM service.jobs WHERE ${where}`,
  );
  return rows[0].count;
}

const addDays = (days: number) =>
  `${new Date(Date.parse(begins) + days * 86_400_000).toISOString().slice(0, 19)}Z`;

describe('sixty simulated days', () => {
  test('give the same bytes in one step and in sixty steps', async () => {
    const [once, daily] = [await openBusiness(), await openBusiness()];
    await playUntil(once, new Player(scale), addDays(60));
    for (let day = 1; day <= 60; day++) await playUntil(daily, new Player(scale), addDays(day));
    const told = await readAll(once);
    expect(told.length).toBeGreaterThan(300_000);
    expect(await readAll(daily)).toBe(told);
  });

  test('produce new jobs, work, invoices, payments, corrections and cancellations', async () => {
    const pool = await openBusiness();
    const before = await readAll(pool);
    const open = await count(pool, `status = 'scheduled'`);
    await playUntil(pool, new Player(scale), addDays(60));
    expect(await readAll(pool)).not.toBe(before);
    const since = `>= '${begins}'`;
    expect(await count(pool, `fields ->> 'created_at' ${since}`)).toBeGreaterThan(50);
    for (const field of [
      'started_on',
      'completed_on',
      'invoice_date',
      'invoice_paid_on',
      'canceled_on',
      'won_date',
    ])
      expect([field, await count(pool, `fields ->> '${field}' ${since}`)]).toEqual([
        field,
        expect.toSatisfy((held: number) => held > 0),
      ]);
    expect(
      await count(pool, `status = 'scheduled' AND fields ->> 'created_at' < '${begins}'`),
    ).toBeLessThan(open);
    const {rows} = await pool.query(
      `SELECT count(*)::integer AS count FROM service.job_charges
       WHERE fields ->> 'updated_at' <> fields ->> 'created_on'`,
    );
    expect(rows[0].count).toBeGreaterThan(0);
    expect(await count(pool, `fields ->> 'updated_at' >= '${addDays(60)}'`)).toBe(0);
  });

  test('keep job totals equal to the charges, and customer balances to unpaid jobs', async () => {
    const pool = await openBusiness();
    await playUntil(pool, new Player(scale), addDays(60));
    const {rows: wrong} = await pool.query(
      `SELECT job.id FROM service.jobs AS job
         LEFT JOIN (SELECT job_id, sum((fields ->> 'total')::numeric) AS total
           FROM service.job_charges GROUP BY 1) AS charges ON charges.job_id = job.id
        WHERE (job.fields ->> 'subtotal')::numeric <> coalesce(charges.total, 0)
           OR (job.fields ->> 'total')::numeric <> (job.fields ->> 'subtotal')::numeric +
             (job.fields ->> 'tax')::numeric`,
    );
    expect(wrong).toEqual([]);
    const {rows: owing} = await pool.query(
      `SELECT customer.id FROM service.customers AS customer
         LEFT JOIN (SELECT customer_id, sum((fields ->> 'balance_remaining')::numeric) AS owed
           FROM service.jobs WHERE fields ->> 'completed_on' IS NOT NULL GROUP BY 1) AS jobs
           ON jobs.customer_id = customer.id
        WHERE (customer.fields ->> 'balance')::numeric <> coalesce(jobs.owed, 0)`,
    );
    expect(owing).toEqual([]);
  });
});

test('the simulation keeps fields that users changed and numbers of their records', async () => {
  const pool = await openBusiness();
  await pool.query(
    `UPDATE service.jobs SET fields = fields || '{"po_number": "from the ERP"}'
      WHERE status = 'scheduled'`,
  );
  const {rows} = await pool.query(
    `INSERT INTO service.customers (fields)
      SELECT jsonb_build_object('id', nextval('service.ids')::text, 'customer_number',
      nextval('service.customer_numbers')::text, 'name', 'of the ERP', 'is_active', 'true')
      RETURNING id, customer_number`,
  );
  const held = await count(pool, `fields ->> 'po_number' = 'from the ERP'`);
  await playUntil(pool, new Player(scale), addDays(30));
  expect(await count(pool, `fields ->> 'po_number' = 'from the ERP'`)).toBe(held);
  const {rows: again} = await pool.query(
    `SELECT id, customer_number FROM service.customers WHERE fields ->> 'name' = 'of the ERP'`,
  );
  expect(again).toEqual(rows);
});

test('two services on one business simulate each step once', async () => {
  const [alone, shared] = [await openBusiness(), await openBusiness()];
  await playUntil(alone, new Player(scale), addDays(10));
  await Promise.all([1, 2].map(() => playUntil(shared, new Player(scale), addDays(10))));
  expect(await readAll(shared)).toBe(await readAll(alone));
});

test('a restarted service catches up with the clock at speed 1, not at speed 60', async () => {
  const pool = await openBusiness();
  const playedUntil = async () =>
    (
      await pool.query(
        `SELECT extract(epoch FROM played_until)::float * 1000 AS ms FROM service.business`,
      )
    ).rows[0].ms;
  const clock = Date.parse(addDays(5));
  await (await startLive(pool, {speed: 1, now: () => clock})).stop();
  expect(await playedUntil()).toBe(clock);
  await (await startLive(pool, {speed: 60, now: () => clock + 1_000_000_000})).stop();
  expect(await playedUntil()).toBe(clock);
});

test('nothing is simulated if no business was seeded', async () => {
  const pool = await openDatabase();
  await seedBusiness(pool, {seed: 1, customers: 1, jobs: 0});
  await pool.query('DELETE FROM service.business');
  const live = await startLive(pool, {speed: 1});
  await live.stop();
  expect(await playUntil(pool, new Player(scale), addDays(1))).toBeNull();
});
