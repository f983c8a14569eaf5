// Whatever stands in an author's statement, its writes are an author's: they become a change, or
// are refused.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
  // As an administrator may let an author do.
  await world.author(
    `GRANT TEMPORARY ON DATABASE ${new URL(world.url).pathname.slice(1)} TO fieldmirror_author`,
  );
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  await world.sent('customers', {customer_number: '1', name: 'old'});
  await world.sent('jobs', {job_number: '4', name: 'old'});
  await world.sent('job_employees', {job_number: '4', employee_id: '7'});
});

/** Runs statements as an author in one transaction. @returns whether they were refused */
async function tryAsAuthor(text: string): Promise<boolean> {
  const client = await world.pool.connect();
  try {
    await client.query('BEGIN; SET LOCAL ROLE fieldmirror_author');
    await client.query(text);
    await client.query('COMMIT');
    return false;
  } catch (error) {
    // Refused on purpose, not for an error of the test.
    expect(String(error)).toMatch(/only a worker may set it|Fieldmirror's own|permission denied/);
    await client.query('ROLLBACK');
    return true;
  } finally {
    client.release(true);
  }
}

/** All rows that an author could have left, with the writer that history names. */
const left = async (table: string) => ({
  rows: await world.author(`SELECT * FROM warehouse.${table} ORDER BY row_id`),
  past: await world.author(`SELECT * FROM history.past_${table} ORDER BY row_id`),
});
const edits = () => world.author('SELECT table_name, kind FROM history.edits ORDER BY at');

const writer = (word: string) => `set_config('fieldmirror.writer', '${word}', true)`;
const claims = ['sweep', 'repair'].flatMap((word) => {
  const claim = writer(word);
  const setter = `CREATE FUNCTION pg_temp.claim() RETURNS text
    LANGUAGE sql VOLATILE AS $f$ SELECT ${claim} $f$;`;
  return [
    [
      'in WHERE',
      `UPDATE warehouse.customers SET name = 'FORGED'
        WHERE customer_number = 1 AND ${claim} = '${word}'`,
    ],
    ['in SET', `UPDATE warehouse.customers SET name = left(${claim}, 0) || 'FORGED'`],
    ['in RETURNING', `UPDATE warehouse.customers SET name = 'FORGED' RETURNING ${claim}`],
    [
      'in FROM',
      `UPDATE warehouse.customers SET name = 'FORGED' FROM (SELECT ${claim} AS said) AS s
        WHERE said <> ''`,
    ],
    [
      'in a CTE',
      `WITH s AS MATERIALIZED (SELECT ${claim} AS said) UPDATE warehouse.customers
        SET name = 'FORGED' FROM s WHERE said <> ''`,
    ],
    [
      'in a function',
      `${setter} UPDATE warehouse.customers SET name = 'FORGED' || left(pg_temp.claim(), 0)`,
    ],
    [
      'in a DEFAULT',
      `CREATE TEMP TABLE mine (name text DEFAULT 'FORGED' || left(${claim}, 0)) ON COMMIT DROP;
       WITH made AS (INSERT INTO mine DEFAULT VALUES RETURNING name) UPDATE warehouse.customers
         SET name = made.name FROM made`,
    ],
    [
      'in ON CONFLICT',
      `INSERT INTO warehouse.customers AS c (name, external_key) VALUES ('x', 'K') ON CONFLICT
        DO NOTHING RETURNING ${claim}; UPDATE warehouse.customers SET name = 'FORGED'`,
    ],
    ['before it', `SELECT ${claim}; UPDATE warehouse.customers SET name = 'FORGED'`],
  ].map(([place, text]) => ({word, place, text: String(text)}));
});

describe('an UPDATE that claims to be from a worker', () => {
  test.each(claims)(
    'with $word $place is captured like any other change, or refused',
    async ({text}) => {
      const before = await left('customers');
      if (await tryAsAuthor(text)) {
        expect(await left('customers')).toEqual(before);
        return;
      }
      expect(await world.changes('operation, fields')).toContainEqual({
        operation: 'update',
        fields: {name: 'FORGED'},
      });
      expect(
        await world.author(
          'SELECT name, _pending, _sweep_id FROM warehouse.customers WHERE customer_number = 1',
        ),
      ).toEqual([{name: 'FORGED', _pending: true, _sweep_id: null}]);
      expect(await edits()).toContainEqual({table_name: 'customers', kind: 'update'});
    },
  );
});

describe.each(['sweep', 'repair'])('a DELETE that claims to be from a worker, by %s', (word) => {
  test.each([
    ['customers', `DELETE FROM warehouse.customers WHERE ${writer(word)} <> ''`],
    ['customers', `DELETE FROM warehouse.customers RETURNING ${writer(word)}`],
    ['customers', `SELECT ${writer(word)}; DELETE FROM warehouse.customers`],
    ['job_employees', `DELETE FROM warehouse.job_employees WHERE ${writer(word)} <> ''`],
    ['job_employees', `DELETE FROM warehouse.job_employees RETURNING ${writer(word)}`],
  ])('from %s keeps the row, and is captured or refused: %s', async (table, text) => {
    const before = await left(table);
    if (await tryAsAuthor(text)) {
      expect(await left(table)).toEqual(before);
      return;
    }
    expect(await world.changes('state')).toEqual([{state: 'pending'}]);
    const [row] = await world.author(
      `SELECT _pending, _deleted_at IS NOT NULL AS gone FROM warehouse.${table}`,
    );
    expect(row).toEqual({_pending: true, gone: true});
    expect(await edits()).toContainEqual({table_name: table, kind: 'delete'});
  });
});

describe.each(['sweep', 'repair'])('an INSERT that claims to be from a worker, by %s', (word) => {
  test.each([
    [
      'customers',
      `INSERT INTO warehouse.customers (name) SELECT 'FORGED' WHERE ${writer(word)} <> ''`,
    ],
    [
      'customers',
      `INSERT INTO warehouse.customers (name) VALUES ('FORGED') RETURNING ${writer(word)}`,
    ],
    [
      'customers',
      `INSERT INTO warehouse.customers (name, external_key) VALUES ('FORGED', ${writer(word)})`,
    ],
    [
      'job_employees',
      `INSERT INTO warehouse.job_employees (job_number, employee_id) SELECT 4, 9
        WHERE ${writer(word)} <> ''`,
    ],
    [
      'job_employees',
      `INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 9)
        RETURNING ${writer(word)}`,
    ],
  ])('into %s is captured or refused: %s', async (table, text) => {
    const before = await left(table);
    if (await tryAsAuthor(text)) {
      expect(await left(table)).toEqual(before);
      return;
    }
    expect(await world.changes('state')).toEqual([{state: 'pending'}]);
    expect(await edits()).toContainEqual({table_name: table, kind: 'insert'});
  });
});

test('an UPDATE of external_key that claims to be a worker is recorded as an edit', async () => {
  await tryAsAuthor(
    `UPDATE warehouse.customers SET external_key = 'K' RETURNING ${writer('sweep')}`,
  );
  expect(await edits()).toEqual([{table_name: 'customers', kind: 'update'}]);
});

// Each column of each table: author-columns.pg.test.ts.
describe('an author cannot set row_id in an INSERT', () => {
  test.each(allTables)('into $name', async ({name}) => {
    const [row] = await world.author(
      `SELECT has_column_privilege('fieldmirror_author', $1, 'row_id', 'INSERT') AS may`,
      [`warehouse.${name}`],
    );
    expect(row).toEqual({may: false});
  });

  test('even with OVERRIDING SYSTEM VALUE', async () => {
    const text = `INSERT INTO warehouse.tasks (row_id, name)
      OVERRIDING SYSTEM VALUE VALUES (9, 'x')`;
    expect(await tryAsAuthor(text)).toBe(true);
    expect(await tryAsAuthor(`INSERT INTO warehouse.tasks (name) VALUES ('x')`)).toBe(false);
  });
});

test('not even the owner can reserve a future row_id by an INSERT', async () => {
  await expect(
    world.author(
      `INSERT INTO warehouse.customers (row_id, name) OVERRIDING SYSTEM VALUE VALUES (100000, 'x')`,
    ),
  ).rejects.toThrow('warehouse.customers.row_id: expected it to be left out');
});
