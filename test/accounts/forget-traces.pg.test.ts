// A customer is forgotten, and its name is looked for where no query of ours looks: in a dump, in
// the log of Postgres, in the files of tables, indexes and statistics. That our own log holds no
// value of a record is shown by test/jobs/log-lines.pg.test.ts.

import {execFile} from 'node:child_process';
import {randomBytes} from 'node:crypto';
import {promisify} from 'node:util';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {main, startProgram} from '../support/command.ts';
import {asSuperuser} from '../support/postgres.ts';
import {readPostgresLog} from '../support/postgres-log.ts';
import {withClient} from '../support/with-client.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

const name = 'Quentin Fizzlewhit';
/** Of the name in every form in which it is planted. */
const trace = 'izzlewhit';
let service: TestService;
let world: TestWorld;
/** The customer and one of its jobs, by number and by row_id. */
let customer: string;
let job: string;
let customerRow: string;
let jobRow: string;

// biome-ignore lint/suspicious/noExplicitAny: rows of many shapes are compared as they are
const query = async (text: string, values: unknown[] = []): Promise<any[]> =>
  (await world.pool.query(text, values)).rows;

/** Keeps the WAL of this test, whatever other tests write beside it. */
const slot = `traces_${randomBytes(4).toString('hex')}`;

/** As a superuser: it reads files of the server, and tables of the catalogue. */
// biome-ignore lint/suspicious/noExplicitAny: rows of many shapes are compared as they are
const inspect = async (text: string, values: unknown[] = []): Promise<any[]> =>
  await withClient(
    asSuperuser(world.databaseUrl),
    async (client) => (await client.query(text, values)).rows,
  );

/**
 * The name goes to the service and comes back, in rows of two tables, one long enough to be kept
 * apart.
 */
beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  // A checkpoint would recycle the WAL that the test looks into.
  await inspect('SELECT pg_create_physical_replication_slot($1, true)', [slot]);
  await world.sweepAll();
  [{customer, job, customerRow, jobRow}] = await query(
    `SELECT held.customer_number AS customer, jobs.job_number AS job, held.row_id AS "customerRow",
      jobs.row_id AS "jobRow"
       FROM warehouse.jobs JOIN warehouse.customers AS held USING (account_id, customer_number)
      WHERE num_nonnulls(jobs._deleted_at, held._deleted_at) = 0 ORDER BY job_number LIMIT 1`,
  );
  await query(
    `UPDATE warehouse.customers SET name = $2, email_address = 'q@fizzlewhit.example'
      WHERE customer_number = $1`,
    [customer, name],
  );
  await query(
    `INSERT INTO warehouse.job_notes (account_id, job_number, note)
     SELECT 1, $1, string_agg(md5(n::text) || ' Fizzlewhit called. ', '')
     FROM generate_series(1, 100) AS n`,
    [job],
  );
  await pushAccount(world, world.account.accountId, new AbortController().signal);
  expect(await query(`SELECT state, reason FROM sync.changes WHERE state <> 'done'`)).toEqual([]);
  await world.sweepAll();
  await query('ANALYZE');
  await inspect('CHECKPOINT');
}, 240_000);
afterAll(async () => {
  await inspect(
    'SELECT pg_drop_replication_slot(slot_name) FROM pg_replication_slots WHERE slot_name = $1',
    [slot],
  );
  await world?.close();
  await service?.close();
});

async function forget() {
  const command = `printf '%s\\n' "$LINE" | exec "$NODE" "$MAIN" forget customers ${customer}`;
  return await startProgram(['sh', '-c', command], {
    DATABASE_URL: world.databaseUrl,
    LINE: name,
    NODE: process.execPath,
    MAIN: main,
  }).ended;
}

/** The files of the database that hold the name: of tables, indexes, long values and statistics. */
async function findFiles(): Promise<string[]> {
  const rows = await inspect(
    `SELECT file FROM (SELECT format('base/%s/%s', oid, pg_ls_dir(format('base/%s', oid))) AS file
      FROM pg_database WHERE datname = current_database()) AS held
      WHERE file ~ '/[0-9]+(_[a-z]+)?(\\.[0-9]+)?$'
      AND position($1::bytea IN coalesce(pg_read_binary_file(file, 0, 1000000000, true), '')) > 0`,
    [trace],
  );
  return rows.map(({file}) => file);
}

async function findInWal(): Promise<number> {
  const [{count}] = await inspect(
    `SELECT count(*)::integer FROM pg_ls_waldir()
     WHERE position($1::bytea IN coalesce(pg_read_binary_file('pg_wal/' || name, 0, 1000000000,
      true), '')) > 0`,
    [trace],
  );
  return count;
}

/** By pg_dump where it is as new as the server; else what it would copy: every table. */
async function dump(): Promise<string> {
  const options = ['--dbname', world.databaseUrl];
  const dumped = await promisify(execFile)('pg_dump', options, {maxBuffer: 2 ** 30}).catch(
    () => null,
  );
  if (dumped !== null) return dumped.stdout;
  process.stderr.write(
    'pg_dump is not here, or older than the server: every table was read instead\n',
  );
  const tables = await query(
    `SELECT oid::regclass::text AS place FROM pg_class
      WHERE relkind = 'r' AND relpersistence = 'p'`,
  );
  const texts: string[] = [];
  for (const {place} of tables)
    texts.push(
      ...(await inspect(`SELECT held::text AS row FROM ${place} AS held`)).map(({row}) => row),
    );
  return texts.join('\n');
}

test('a forgotten name is in no dump, no Postgres log and, after VACUUM FULL, no table file', {
  timeout: 180_000,
}, async () => {
  expect(await findFiles()).not.toEqual([]);
  expect(await dump()).toContain(trace);
  // Forgetting names the customer by number alone, so that even a server that logs all statements
  // with their values logs no name.
  const [{database}] = await query('SELECT current_database() AS database');
  for (const setting of [
    `log_statement = 'all'`,
    'log_min_duration_statement = 0',
    'log_parameter_max_length = -1',
  ])
    await inspect(`ALTER DATABASE ${database} SET ${setting}`);
  const before = (await readPostgresLog()).length;
  const done = await forget();
  expect(done, done.stderr).toMatchObject({code: 0});
  expect(done.stdout).not.toContain(trace);
  await inspect(`ALTER DATABASE ${database} RESET ALL`);
  const logged = (await readPostgresLog()).slice(before);
  expect(logged).toContain('sync.forget_customer');
  expect(logged).not.toContain(trace);

  // The service has the name still.
  await world.sweepAll();
  expect(await dump()).not.toContain(trace);
  expect((await readPostgresLog()).slice(before)).not.toContain(trace);

  // Free space in the files keeps bytes until it is written over. As an operator is told: VACUUM
  // FULL, and what it does not reach.
  const tables = await query(
    `SELECT oid::regclass::text AS place FROM pg_class WHERE relkind IN ('r', 'm')
     AND relpersistence = 'p' AND NOT relisshared`,
  );
  // While another session reads, as Postgres itself does when it gathers statistics, VACUUM FULL
  // keeps dead rows.
  const findAfterVacuum = async () => {
    for (const {place} of tables) await inspect(`VACUUM FULL ${place}`);
    await inspect('CHECKPOINT');
    return await findFiles();
  };
  await expect.poll(findAfterVacuum, {timeout: 90_000}).toEqual([]);
  expect(await findInWal()).toBeGreaterThan(0);
});

test('an author cannot add rows to a forgotten customer or its jobs', async () => {
  for (const [table, columns, values] of [
    ['customer_notes', 'customer_number, note', `${customer}, 'x'`],
    ['customer_notes', 'parent_row_id, note', `${customerRow}, 'x'`],
    ['jobs', 'parent_row_id, name', `${customerRow}, 'x'`],
    ['job_notes', 'job_number, note', `${job}, 'x'`],
    ['job_notes', 'parent_row_id, note', `${jobRow}, 'x'`],
    ['job_charges', 'parent_row_id, details', `${jobRow}, 'x'`],
    [
      'time_entries',
      'parent_row_id, employee_id, started_on, number_of_hours',
      `${jobRow}, 7, '2026-05-05 10:00Z', 1`,
    ],
  ] as const)
    await expect(
      query(`INSERT INTO warehouse.${table} (${columns}) VALUES (${values})`),
      `${table} (${columns})`,
    ).rejects.toThrow(/the customer of this row was forgotten/);
  expect(await query('SELECT change_id FROM sync.changes WHERE is_open')).toEqual([]);
});
