// The views of mart show the service's records to every permitted role, whatever fields were
// promoted.

import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {valueTypes} from '../../src/api/value-types.ts';
import {allTables} from '../../src/streams/all.ts';
import {countRows} from '../../src/sweeps/story.ts';
import {type CaptureWorld, neededBy, openCaptureWorld} from '../changes/capture-world.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

let world: CaptureWorld;
let stranger: string;

beforeAll(async () => {
  world = await openCaptureWorld();
  const {rows} = await world.pool.query<{name: string}>(
    `SELECT 'bi_' || current_database() AS name`,
  );
  stranger = rows[0]?.name ?? '';
  await makeRole(stranger);
  await world.pool.query(`GRANT USAGE ON SCHEMA mart TO ${stranger}`);
  for (const {name} of allTables) {
    await promoteEveryType(name);
    await world.pool.query(`GRANT SELECT ON mart.${name} TO ${stranger}`);
  }
});
afterAll(async () => {
  await world.pool.query(`DROP OWNED BY ${stranger}`);
  await dropRoles(stranger);
  await world.close();
});

beforeEach(() => world.empty());

async function promoteEveryType(table: string): Promise<void> {
  for (const type of [...valueTypes.map(({name}) => name), 'nested'])
    await world.pool.query(
      `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id,
        promoted_as)
       VALUES ($1, $2, $3, 'x', ARRAY[$4], 1, $3)`,
      [world.accountId, table, `promoted_${type.toLowerCase()}`, type],
    );
}

/** Reads as a role, in a transaction that is rolled back. */
async function readAs(role: string, text: string): Promise<pg.QueryResult> {
  const client = await world.pool.connect();
  try {
    await client.query(`BEGIN; SET LOCAL ROLE ${role}`);
    return await client.query(text);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

test('the reader role, and a BI role with views alone, read fields of every type', async () => {
  const extra = {
    promoted_datetime: '2026-11-02T10:00:00Z',
    promoted_float: '1.5',
    promoted_boolean: 'true',
  };
  await world.sent('jobs', {job_number: '4', extra});
  for (const role of ['fieldmirror_reader', stranger]) {
    const {rows} = await readAs(role, 'SELECT * FROM mart.jobs');
    expect(rows).toMatchObject([
      {promoted_float: 1.5, promoted_boolean: true, promoted_decimal: null},
    ]);
    expect(rows[0].promoted_datetime).toBe('2026-11-02T10:00:00Z');
  }
});

test.each(allTables)(
  'a role that may read mart.$name may run every function that it uses',
  async ({name}) => {
    const {rows} = await world.pool.query(
      `SELECT DISTINCT role, refobjid::regprocedure::text AS function,
        has_function_privilege(role, refobjid, 'EXECUTE') AS may
       FROM pg_rewrite JOIN pg_depend ON pg_depend.objid = pg_rewrite.oid
       AND refclassid = 'pg_proc'::regclass
      CROSS JOIN unnest(ARRAY['fieldmirror_reader', $2]) AS role
      WHERE ev_class = format('mart.%I', $1::text)::regclass`,
      [name, stranger],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({may}) => may !== true)).toEqual([]);
  },
);

describe('a change that the service does not have', () => {
  // An assignment is a part of its job.
  const creatable = allTables.filter(
    ({name, capture}) => capture.operations.includes('create') && name !== 'job_employees',
  );
  const count = async (view: string) =>
    Number((await world.author(`SELECT count(*) FROM mart.${view}`))[0]?.count);
  const wanted = (columns: string) =>
    readAs('fieldmirror_reader', `SELECT ${columns} FROM mart.wanted ORDER BY change_id`).then(
      ({rows}) => rows,
    );

  test.each(creatable)(
    'a new row of $name is in mart.wanted alone, until the service has it',
    async (table) => {
      const {name, capture} = table;
      const {parent} = capture;
      if (parent !== null) await world.sent(parent.table, {[parent.numberColumn]: '4'});
      const given = {
        external_key: 'mine',
        ...neededBy(table),
        ...(parent === null ? {} : {[parent.numberColumn]: '4'}),
      };
      const places = Object.keys(given).map((_, at) => `$${at + 1}`);
      const [made] = await world.author(
        `INSERT INTO warehouse.${name} (${Object.keys(given).join(', ')})
          VALUES (${places.join(', ')}) RETURNING row_id`,
        Object.values(given),
      );
      expect(await count(name)).toBe(0);
      expect(await countRows(world.pool, table, world.accountId)).toBe(0);
      expect(await wanted('table_name, row_id, operation, state, external_key')).toEqual([
        {
          table_name: name,
          row_id: made?.row_id,
          operation: 'create',
          state: 'pending',
          external_key: 'mine',
        },
      ]);
      await world.author(`SELECT sync.close_change(change_id, 'rejected', 'no') FROM sync.changes`);
      expect(await count(name)).toBe(0);
      expect(await wanted('state, reason')).toEqual([{state: 'rejected', reason: 'no'}]);
      await world.sweep(`UPDATE warehouse.${name} SET ${capture.key} = 99`);
      expect(await count(name)).toBe(1);
    },
  );

  test('a rejected row that was deleted is no longer in mart.wanted', async () => {
    await world.author(`INSERT INTO warehouse.customers (name) VALUES ('mine')`);
    await world.author(`SELECT sync.close_change(change_id, 'rejected', 'no') FROM sync.changes`);
    await world.author('DELETE FROM warehouse.customers');
    expect(await wanted('state')).toEqual([]);
  });

  test('an edited row stays and is pending, and mart.wanted has its new values', async () => {
    await world.sent('customers', {customer_number: '3', name: 'a'});
    await world.sent('customers', {customer_number: '4', name: 'b'});
    await world.author(`UPDATE warehouse.customers SET name = 'mine' WHERE customer_number = 3`);
    const {rows} = await readAs(
      'fieldmirror_reader',
      'SELECT name, _pending FROM mart.customers ORDER BY 1',
    );
    expect(rows).toEqual([
      {name: 'b', _pending: null},
      {name: 'mine', _pending: true},
    ]);
    expect(await wanted('number, operation, fields')).toEqual([
      {number: '3', operation: 'update', fields: {name: 'mine'}},
    ]);
  });

  test('a new assignment is only in mart.wanted before the service has it', async () => {
    await world.sent('jobs', {job_number: '4'});
    await world.sent('job_employees', {job_number: '4', employee_id: '7'});
    await world.author(
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 8)',
    );
    const assigned = async () =>
      (await world.author('SELECT employee_id FROM mart.job_employees')).map(
        (row) => row.employee_id,
      );
    expect(await assigned()).toEqual(['7']);
    expect(await wanted('table_name, fields')).toEqual([
      {table_name: 'jobs', fields: {employee_ids: ['7', '8']}},
    ]);
  });

  test('each column of mart.wanted has a comment', async () => {
    const rows = await world.author(
      `SELECT attname FROM pg_attribute WHERE attrelid = 'mart.wanted'::regclass AND attnum > 0
       AND col_description(attrelid, attnum) IS NULL`,
    );
    expect(rows).toEqual([]);
  });
});
