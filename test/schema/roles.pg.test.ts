// The rights of each of the three roles, tried out.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {loadRows} from '../../src/rows/load.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, openCaptureWorld} from '../changes/capture-world.ts';
import {startPostgres} from '../support/own-postgres.ts';
import {rowOf} from '../support/sample.ts';
import {SetUp} from '../support/set-up.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.empty());

type Role = 'reader' | 'author' | 'worker';
const as = (role: Role, text: string) =>
  world.author(`BEGIN; SET LOCAL ROLE fieldmirror_${role}; ${text}; COMMIT`);
/** Runs a statement in a transaction that is rolled back. @returns its rows */
async function tryAs(role: Role, text: string) {
  const client = await world.pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL ROLE fieldmirror_${role}`);
    return (await client.query(text)).rows;
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

describe('the reader', () => {
  test.each(allTables)('reads $name, its history and its view in mart', async ({name}) => {
    await tryAs('reader', `SELECT FROM warehouse.${name}`);
    await tryAs('reader', `SELECT FROM history.${name}`);
    await tryAs('reader', `SELECT FROM history.${name}_as_of(now())`);
    await tryAs('reader', `SELECT FROM mart.${name}`);
  });

  test.each([
    `INSERT INTO warehouse.customers (name) VALUES ('x')`,
    `UPDATE warehouse.customers SET name = 'x'`,
    'DELETE FROM warehouse.customers',
    'TRUNCATE warehouse.customers',
    'DELETE FROM history.past_customers',
    'SELECT FROM sync.accounts',
    'SELECT FROM sync.changes',
    'SELECT sync.last_change()',
    `SELECT history.keep('customers')`,
    'CREATE TABLE warehouse.mine ()',
  ])('may not %s', async (statement) => {
    await expect(as('reader', statement)).rejects.toThrow('permission denied');
  });
});

describe('the author', () => {
  const writable = ['customers', 'tasks', 'employees'];

  test.each(writable)(
    'writes %s, reads the state of the change, and decides on it',
    async (table) => {
      await as('author', `INSERT INTO warehouse.${table} (name) VALUES ('x')`);
      await as('author', `UPDATE warehouse.${table} SET name = 'y'`);
      expect(
        await tryAs('author', 'SELECT operation, fields, requested_by FROM sync.changes'),
      ).toEqual([{operation: 'create', fields: {name: 'y'}, requested_by: 'fieldmirror'}]);
      await as('author', 'SELECT sync.hold_change(change_id) FROM sync.changes');
      await as('author', 'SELECT sync.release_change(change_id) FROM sync.changes');
      await as('author', 'SELECT sync.retry_change(change_id) FROM sync.changes');
      expect(
        await tryAs('author', `SELECT sync.wait(max(change_id), '0') AS state FROM sync.changes`),
      ).toEqual([{state: 'pending'}]);
      await as('author', `DELETE FROM warehouse.${table}`);
      expect(await world.changes('state')).toEqual([{state: 'cancelled'}]);
    },
  );

  test('decides in its own name; a worker may name the person who decides', async () => {
    await as('author', `INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    const named = `SELECT set_config('fieldmirror.person', 'dana', true),
      sync.hold_change(change_id) FROM sync.changes`;
    await as('author', named);
    expect(await world.changes('reason')).toEqual([{reason: 'held by fieldmirror'}]);
    await as('author', 'SELECT sync.release_change(change_id) FROM sync.changes');
    await as('worker', named);
    expect(await world.changes('reason')).toEqual([{reason: 'held by dana'}]);
  });

  test('writes child records of a job and a customer, and deletes rows', async () => {
    await world.sent('jobs', {job_number: '4'});
    await world.sent('customers', {customer_number: '3'});
    await as(
      'author',
      `INSERT INTO warehouse.job_notes (job_number, note)
        VALUES (4, 'x'); INSERT INTO warehouse.job_charges (job_number) VALUES (4);
       INSERT INTO warehouse.time_entries (job_number, employee_id, started_on, number_of_hours)
         VALUES (4, 7, '2026-05-05 10:00Z', 1); INSERT INTO warehouse.job_employees
         (job_number, employee_id) VALUES (4, 7);
       INSERT INTO warehouse.customer_notes (customer_number, note)
         VALUES (3, 'x'); INSERT INTO warehouse.jobs (customer_number) VALUES (3);
       DELETE FROM warehouse.job_employees; DELETE FROM warehouse.jobs;
         DELETE FROM warehouse.customers WHERE customer_number = 3`,
    );
    expect(await world.changes('table_name, operation, state')).toHaveLength(8);
  });

  test.each([
    'SELECT FROM sync.accounts',
    'SELECT sealed_token FROM sync.accounts',
    'SELECT FROM sync.api_keys',
    `UPDATE sync.changes SET state = 'done'`,
    'INSERT INTO sync.changes DEFAULT VALUES',
    'DELETE FROM sync.changes',
    'DELETE FROM sync.conflicts',
    `UPDATE sync.write_rules SET rule = 'warehouse'`,
    `UPDATE sync.captured_tables SET operations = '{delete}'`,
    `SELECT sync.close_change(1, 'done', 'x')`,
    `SELECT sync.record_change(1, 'customers', 1, 'delete', 1, '{}', '{}')`,
    `SELECT sync.forget_row('customers', 1)`,
    'SELECT sync.free_waiting(1)',
    'TRUNCATE warehouse.customers',
    'DELETE FROM history.past_customers',
    'ALTER TABLE warehouse.customers DISABLE TRIGGER ALL',
    `CREATE TRIGGER mine AFTER INSERT ON warehouse.customers FOR EACH ROW
      EXECUTE FUNCTION sync.capture_insert()`,
  ])('may not %s', async (statement) => {
    await expect(as('author', statement)).rejects.toThrow(/permission denied|must be owner/);
  });

  test('may not use a trigger function of Fieldmirror for another table', async () => {
    // As an administrator may let an author do.
    await world.author(
      `GRANT TEMPORARY ON DATABASE ${new URL(world.url).pathname.slice(1)} TO fieldmirror_author`,
    );
    await expect(
      as(
        'author',
        `CREATE TEMPORARY TABLE customers (LIKE warehouse.customers);
         CREATE TRIGGER mine AFTER DELETE ON customers FOR EACH ROW
           EXECUTE FUNCTION sync.capture_delete()`,
      ),
    ).rejects.toThrow('permission denied for function sync.capture_delete');
  });

  test.each(['sweep', 'repair'])(
    'may not act as a worker with fieldmirror.writer = %s',
    async (writer) => {
      for (const statement of [
        `INSERT INTO warehouse.customers (name) VALUES ('x')`,
        `UPDATE warehouse.customers SET name = 'x'`,
        'DELETE FROM warehouse.customers',
      ])
        await expect(
          as('author', `SET LOCAL fieldmirror.writer = '${writer}'; ${statement}`),
        ).rejects.toThrow('fieldmirror.writer: only a worker may set it, got fieldmirror_author');
    },
  );
});

test('fieldmirror.writer accepts only sweep and repair', async () => {
  await expect(
    world.author(
      `BEGIN; SET LOCAL fieldmirror.writer = 'sweeper'; DELETE FROM warehouse.customers`,
    ),
  ).rejects.toThrow(`fieldmirror.writer: expected sweep or repair, got 'sweeper'`);
});

test('the worker may load rows, close changes and lock accounts', async () => {
  const table = allTables.find(({name}) => name === 'customers') ?? allTables[0];
  if (table === undefined) throw new Error('no table');
  const client = await world.pool.connect();
  try {
    await client.query(
      `BEGIN; SET LOCAL ROLE fieldmirror_worker; SET LOCAL fieldmirror.writer = 'sweep'`,
    );
    const batch = {accountId: world.accountId, sweepId: '1'};
    await loadRows(client, table, [rowOf(table, {customer_number: '3', name: 'a'})], batch);
    await loadRows(client, table, [rowOf(table, {customer_number: '3', name: 'b'})], {
      ...batch,
      sweepId: '2',
    });
    await client.query(`
      SET LOCAL fieldmirror.writer = '';
      UPDATE warehouse.customers SET name = 'mine';
      SET LOCAL fieldmirror.writer = 'sweep';
      UPDATE warehouse.customers SET name = 'theirs', fax = '1'`);
    const {rows} = await client.query('SELECT name, fax FROM warehouse.customers');
    expect(rows).toEqual([{name: 'mine', fax: '1'}]);
    await client.query(`SELECT sync.close_change(change_id, 'cancelled', 'no') FROM sync.changes`);
    await client.query('DELETE FROM sync.known_records; SELECT FROM sync.accounts FOR UPDATE');
    await client.query('COMMIT');
  } finally {
    client.release(true);
  }
  expect(await world.author('SELECT name FROM history.customers ORDER BY valid_from')).toHaveLength(
    5,
  );
});

test.each(['reader', 'author', 'worker', 'assistant'])(
  'a function that the %s may call calls only functions that the role may call',
  async (role) => {
    const {rows} = await world.pool.query(
      `SELECT caller.proname AS caller, called.proname AS called
         FROM pg_proc AS caller CROSS JOIN LATERAL regexp_matches(caller.prosrc,
           '(?<!'')\\m(?:sync|history|mart)\\.(\\w+)\\(', 'g') AS found (names)
         JOIN pg_proc AS called ON called.proname = found.names[1]
          AND called.pronamespace IN ('sync'::regnamespace, 'history'::regnamespace,
            'mart'::regnamespace)
        WHERE caller.pronamespace IN ('sync'::regnamespace, 'history'::regnamespace,
          'mart'::regnamespace)
          AND NOT caller.prosecdef AND caller.prorettype <> 'trigger'::regtype
          AND has_function_privilege($1, caller.oid, 'EXECUTE')
          AND NOT has_function_privilege($1, called.oid, 'EXECUTE')`,
      [`fieldmirror_${role}`],
    );
    expect(rows).toEqual([]);
  },
);

describe('in a separate Postgres cluster', () => {
  test('databases that are migrated at the same time share the roles', async () => {
    const setUp = new SetUp();
    const {postgres} = await startPostgres(setUp, 'roles');
    const pools = await setUp.step(
      'making the databases',
      () =>
        Promise.all(
          ['one', 'two', 'three'].map(async (name) =>
            openPool(await postgres.url(name), {max: 4, applicationName: 'test'}),
          ),
        ),
      (opened) => Promise.all(opened.map((pool) => pool.end())),
    );
    try {
      const applied = await Promise.all(pools.map((pool) => migrateSchema(pool, definitions)));
      expect(applied.every((one) => one.applied > 0)).toBe(true);
      const grants = Array.from({length: 4}, () =>
        pools.map((pool) => pool.query('SELECT sync.grant_roles()')),
      );
      await Promise.all(grants.flat());
    } finally {
      await setUp.end();
    }
  });
});
