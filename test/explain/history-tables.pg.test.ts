// Every warehouse table has all that its history needs: a new table or column without it fails
// here.

import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {allStreams, allTables} from '../../src/streams/all.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(asRepair(database.url), {max: 2, applicationName: 'test'});
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

const query = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;
const names = allTables.map((table) => table.name);
const children = allStreams.flatMap((stream) =>
  stream.children.filter(({isOfStream}) => isOfStream !== true).map((child) => ({stream, child})),
);

/** `name type` of every column, in order. */
async function columnsOf(relation: string): Promise<string[]> {
  const rows = await query(
    `SELECT format('%s %s', attname, format_type(atttypid, atttypmod)) AS column FROM pg_attribute
      WHERE attrelid = $1::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum`,
    [relation],
  );
  return rows.map((row) => row.column);
}

async function insertRow(table: string, fields: Readonly<Record<string, string>>): Promise<void> {
  const columns = Object.keys(fields);
  await query(
    `INSERT INTO warehouse.${table} (_sweep_id, _hash, ${columns.join(', ')})
     VALUES (1, '\\x00', ${columns.map((_, at) => `$${at + 1}`).join(', ')})`,
    Object.values(fields),
  );
}

describe.each(allTables)('the history of $name', ({name, key}) => {
  test('has the columns of the table, in order, after the times', async () => {
    const columns = await columnsOf(`warehouse.${name}`);
    expect(await columnsOf(`history.past_${name}`)).toEqual([
      'valid_to timestamp with time zone',
      ...columns,
    ]);
    expect(await columnsOf(`history.${name}`)).toEqual([
      'valid_from timestamp with time zone',
      'valid_to timestamp with time zone',
      'written_by text',
      ...columns,
    ]);
  });

  test('records every kind of write', async () => {
    const account = {account_id: '77'};
    const numbers = Object.fromEntries(key.map((column) => [column, '1']));
    await insertRow(name, {...account, ...numbers});
    const lives = async (moment: string) =>
      (await query(`SELECT 1 FROM history.${name}_as_of($1) WHERE account_id = 77`, [moment]))
        .length;
    const [{now}] = await query('SELECT clock_timestamp() AS now');
    await query(`UPDATE warehouse.${name} SET external_key = 'x' WHERE account_id = 77`);
    await query(`DELETE FROM warehouse.${name} WHERE account_id = 77`);
    await insertRow(name, {...account, ...numbers});
    await query(`TRUNCATE warehouse.${name}`);
    const versions = await query(
      `SELECT external_key FROM history.${name} WHERE account_id = 77 ORDER BY valid_from`,
    );
    expect(versions.map((version) => version.external_key)).toEqual([null, 'x', null]);
    const [{later}] = await query('SELECT clock_timestamp() AS later');
    expect([await lives(now), await lives(later), await lives('2020-01-01')]).toEqual([1, 0, 0]);
  });

  test('is read through its indexes, for a row and for a time', async () => {
    const conditions = ['account_id', ...key].map((column) => `${column} = 1`).join(' AND ');
    const moment = `SELECT * FROM history.${name}_as_of('2026-01-01')`;
    for (const [statement, index] of [
      [`SELECT * FROM history.${name} WHERE ${conditions}`, `past_${name}_key_idx`],
      [`${moment} WHERE ${conditions}`, `past_${name}_key_idx`],
      [moment, `past_${name}_held_idx`],
    ] as const) {
      const plan = await explainWithoutScans(statement);
      expect(plan).toContain(index);
      expect(plan).not.toContain('Function Scan');
    }
  });
});

async function explainWithoutScans(statement: string): Promise<string> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL enable_seqscan = off; SET LOCAL enable_bitmapscan = off');
    const {rows} = await client.query(`EXPLAIN ${statement}`);
    await client.query('ROLLBACK');
    return rows.map((row) => row['QUERY PLAN']).join('\n');
  } finally {
    client.release();
  }
}

describe('a row embedded in another record', () => {
  test.each(children)(
    'of $child.table.name makes its record in $stream.name unknown when it is edited',
    async ({stream, child}) => {
      await query(`TRUNCATE sync.known_records, warehouse.${child.table.name}`);
      await query(
        `INSERT INTO sync.known_records (account_id, stream, number, bytes_hash, shape)
       VALUES (88, $1, 1, '\\x00', 0), (88, $1, 2, '\\x00', 0), (89, $1, 1, '\\x00', 0)`,
        [stream.name],
      );
      const keys = Object.fromEntries(child.table.key.map((column) => [column, '1']));
      const parent = Object.fromEntries(
        Object.entries(child.parentColumns).map(([column]) => [column, '1'] as const),
      );
      await insertRow(child.table.name, {account_id: '88', ...keys, ...parent});
      await query(
        `UPDATE warehouse.${child.table.name} SET extra = '{"edited":"yes"}' WHERE account_id = 88`,
      );
      const known = await query('SELECT account_id, number FROM sync.known_records ORDER BY 1, 2');
      // An edit of a row that many records share makes all of them unknown.
      const others = child.isOwned ? [{account_id: '88', number: '2'}] : [];
      expect(known).toEqual([...others, {account_id: '89', number: '1'}]);
    },
  );
});

describe('a column added to a table', () => {
  const add = `ALTER TABLE warehouse.tasks ADD COLUMN added text DEFAULT 'none'`;

  test('is in the history after history.keep, which may run twice', async () => {
    await insertRow('tasks', {account_id: '1', id: '1'});
    await query(`UPDATE warehouse.tasks SET external_key = 'before'`);
    await query(add);
    await query(`SELECT history.keep('tasks')`);
    await query(`SELECT history.keep('tasks')`);
    await query(`UPDATE warehouse.tasks SET added = 'some'`);
    await query(`UPDATE warehouse.tasks SET added = 'more'`);
    const versions = await query(
      'SELECT added FROM history.tasks WHERE account_id = 1 ORDER BY valid_from',
    );
    expect(versions.map((version) => version.added)).toEqual([null, 'none', 'some', 'more']);
    expect(await query('SELECT added FROM history.tasks_as_of(now())')).toEqual([{added: 'more'}]);
    expect(await columnsOf('history.past_tasks')).toEqual([
      'valid_to timestamp with time zone',
      ...(await columnsOf('warehouse.tasks')),
    ]);
  });

  test('without history.keep makes updates fail, and no value is lost', async () => {
    await insertRow('employees', {account_id: '1', employee_number: '1'});
    await query(add.replace('tasks', 'employees'));
    await expect(query(`UPDATE warehouse.employees SET added = 'x'`)).rejects.toThrow(
      'warehouse.employees: expected no columns but those of Fieldmirror, got added; drop what was',
    );
  });
});

test('the schema history has only the tables of the streams, and edits', async () => {
  const rows = await query(
    `SELECT relname FROM pg_class WHERE relnamespace = 'history'::regnamespace
     AND relkind IN ('r', 'v')`,
  );
  const expected = ['edits', ...names, ...names.map((name) => `past_${name}`)];
  expect(rows.map((row) => row.relname).sort()).toEqual(expected.sort());
});
