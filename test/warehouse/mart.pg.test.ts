// Who may read a view of mart can read all of it, whatever was promoted.

import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {valueTypes} from '../../src/api/value-type.ts';
import {allTables} from '../../src/streams/all-tables.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
let stranger: string;

beforeAll(async () => {
  world = await openCaptureWorld();
  const {rows} = await world.pool.query<{name: string}>(`SELECT 'bi_' || current_database() AS name`);
  stranger = rows[0]?.name ?? '';
  await world.pool.query(`CREATE ROLE ${stranger}; GRANT USAGE ON SCHEMA mart TO ${stranger}`);
  for (const {name} of allTables) {
    await promoteEveryType(name);
    await world.pool.query(`GRANT SELECT ON mart.${name} TO ${stranger}`);
  }
});
afterAll(async () => {
  await world.pool.query(`DROP OWNED BY ${stranger}; DROP ROLE ${stranger}`);
  await world.close();
});

async function promoteEveryType(table: string): Promise<void> {
  for (const type of [...valueTypes.map(({name}) => name), 'nested'])
    await world.pool.query(
      `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id, promoted_as)
       VALUES ($1, $2, $3, 'x', ARRAY[$4], 1, $3)`,
      [world.accountId, table, `promoted_${type.toLowerCase()}`, type],
    );
}

/** Reads as a role does, in a transaction that is rolled back. */
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

test('the reader, and a BI user to whom the view alone was granted, read fields of every type', async () => {
  const attributes = {
    promoted_datetime: '2026-11-02T10:00:00Z',
    promoted_float: '1.5',
    promoted_boolean: 'true',
  };
  await world.sent('jobs', {job_number: '4', attributes});
  for (const role of ['fieldmirror_reader', stranger]) {
    const {rows} = await readAs(role, 'SELECT * FROM mart.jobs');
    expect(rows).toMatchObject([{promoted_float: 1.5, promoted_boolean: true, promoted_decimal: null}]);
    expect(rows[0].promoted_datetime).toBe('2026-11-02T10:00:00Z');
  }
});

test.each(allTables)(
  'every function that mart.$name stands on may be run by who may read it',
  async ({name}) => {
    const {rows} = await world.pool.query(
      `SELECT DISTINCT role, refobjid::regprocedure::text AS function, has_function_privilege(role, refobjid, 'EXECUTE') AS may
       FROM pg_rewrite JOIN pg_depend ON pg_depend.objid = pg_rewrite.oid AND refclassid = 'pg_proc'::regclass
      CROSS JOIN unnest(ARRAY['fieldmirror_reader', $2]) AS role
      WHERE ev_class = format('mart.%I', $1::text)::regclass`,
      [name, stranger],
    );
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({may}) => may !== true)).toEqual([]);
  },
);
