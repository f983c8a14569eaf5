// Rows under parents that the service does not know yet.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSequence} from '../support/patterns.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(() => world.empty());

const oneStatement = `
  WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('Ada'), ('Bob')
    RETURNING row_id, name),
  job AS (INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, name || '''s roof'
    FROM customer RETURNING row_id, name),
  link AS (INSERT INTO warehouse.job_employees (parent_row_id, employee_id) SELECT row_id, 7
    FROM job),
  note AS (INSERT INTO warehouse.customer_notes (parent_row_id, note) SELECT row_id, 'of ' || name
    FROM customer)
  INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'on ' || name FROM job`;

const oneTransaction = `
  BEGIN;
  INSERT INTO warehouse.customers (name) VALUES ('Ada'), ('Bob');
  INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, name || '''s roof'
    FROM warehouse.customers ORDER BY row_id;
  INSERT INTO warehouse.job_employees (parent_row_id, employee_id) SELECT row_id, 7
    FROM warehouse.jobs;
  INSERT INTO warehouse.customer_notes (parent_row_id, note) SELECT row_id, 'of ' || name
    FROM warehouse.customers;
  INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'on ' || name
    FROM warehouse.jobs;
  COMMIT`;

test.each([
  ['one statement', oneStatement],
  ['one transaction', oneTransaction],
])(
  'a customer, its job and their notes in %s: each create waits for its parent',
  async (_, text) => {
    await world.author(text);
    const chain = await world.author(
      `SELECT change.table_name AS "table", change.fields, parent.table_name AS "waitsFor",
      parent.fields->>'name' AS "of",
            change.parent_row_id = parent.row_id AS "hangsOnIt",
              change.change_id > parent.change_id AS "later"
       FROM sync.changes AS change LEFT JOIN sync.changes AS parent
       ON parent.change_id = change.waits_for
      ORDER BY change.table_name, change.change_id`,
    );
    const parent = (table: string | null, of: string | null) => ({
      waitsFor: table,
      of,
      hangsOnIt: table === null ? null : true,
      later: table === null ? null : true,
    });
    const both = (make: (name: string) => Record<string, unknown>) => [make('Ada'), make('Bob')];
    expect(chain).toEqual([
      ...both((name) => ({
        table: 'customer_notes',
        fields: {note: `of ${name}`},
        ...parent('customers', name),
      })),
      ...both((name) => ({table: 'customers', fields: {name}, ...parent(null, null)})),
      ...both((name) => ({
        table: 'job_notes',
        fields: {note: `on ${name}'s roof`},
        ...parent('jobs', `${name}'s roof`),
      })),
      ...both((name) => ({
        table: 'jobs',
        fields: {name: `${name}'s roof`, employee_ids: ['7']},
        ...parent('customers', name),
      })),
    ]);
  },
);

test('a child of a parent that the service knows does not wait', async () => {
  const rowId = await world.sent('customers', {customer_number: '3'});
  await world.author(
    `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base)
     VALUES ($1, 'customers', $2, 'create', NULL, '{}', '{}'),
       ($1, 'customers', $2, 'create', 3, '{}', '{}')`,
    [world.accountId, rowId],
  );
  await world.author(
    `UPDATE sync.changes SET state = CASE WHEN number IS NULL THEN 'rejected' ELSE 'done' END,
      reason = 'no', settled_at = now()`,
  );
  await world.author(`INSERT INTO warehouse.jobs (customer_number, name) VALUES (3, 'Roof')`);
  await world.author(`INSERT INTO warehouse.jobs (parent_row_id, name) VALUES ($1, 'Roof')`, [
    rowId,
  ]);
  const [, , ...made] = await world.changes('waits_for, parent_row_id');
  expect(made).toEqual([
    {waits_for: null, parent_row_id: rowId},
    {waits_for: null, parent_row_id: rowId},
  ]);
});

describe('a parent', () => {
  const refused = inSequence(
    /warehouse.jobs.customer_number: expected one of the live customers /,
    /of this account, got (99|row \d+|3|nothing)/,
  );

  test('that is unknown, missing, deleted or contradictory is rejected', async () => {
    const gone = await world.sent('customers', {customer_number: '3', _deleted_at: '2026-01-01'});
    const other = await world.sent('customers', {customer_number: '4'});
    const insert = (columns: string, values: string) =>
      world.author(`INSERT INTO warehouse.jobs (name${columns}) VALUES ('x'${values})`);
    for (const [columns, values] of [
      ['', ''],
      [', customer_number', ', 99'],
      [', parent_row_id', ', 999999'],
      [', customer_number', ', 3'],
      [', parent_row_id', `, ${gone}`],
      [', parent_row_id, customer_number', `, ${other}, 3`],
    ] as const)
      await expect(insert(columns, values), values).rejects.toThrow(refused);
    await world.author('DELETE FROM warehouse.customers WHERE customer_number = 4');
    await expect(insert(', customer_number', ', 4')).rejects.toThrow(/got 4/);
    const [local] = await world.author(
      `INSERT INTO warehouse.customers (name) VALUES ('x') RETURNING row_id`,
    );
    await expect(
      insert(', parent_row_id, customer_number', `, ${local?.row_id}, 3`),
      'a number the parent has not got yet',
    ).rejects.toThrow(refused);
    expect(await world.changes('table_name, operation')).toEqual([
      {table_name: 'customers', operation: 'delete'},
      {table_name: 'customers', operation: 'create'},
    ]);
  });

  test('with an unknown row_id, or for a table without parents, is rejected', async () => {
    const job = await world.sent('jobs', {job_number: '4'});
    await expect(
      world.author(`INSERT INTO warehouse.jobs (parent_row_id) VALUES (${job} + 1000)`),
    ).rejects.toThrow(refused);
    await expect(
      world.author(`INSERT INTO warehouse.tasks (parent_row_id) VALUES (${job})`),
    ).rejects.toThrow('warehouse.tasks.parent_row_id: the record hangs on no other');
  });

  test('of another account is rejected', async () => {
    const other = await upsertAccount(world.pool, {
      name: 'other',
      apiUrl: 'https://example.com/other',
      timeZone: 'UTC',
    });
    const theirs = await world.sent('customers', {
      account_id: other.accountId,
      customer_number: '3',
    });
    const insert = (columns: string, values: string) =>
      world.author(
        `INSERT INTO warehouse.jobs (account_id, ${columns})
         VALUES (${world.accountId}, ${values})`,
      );
    await expect(insert('customer_number', '3')).rejects.toThrow(refused);
    await expect(insert('parent_row_id', theirs)).rejects.toThrow(refused);
    const job = await world.sent('jobs', {account_id: other.accountId, job_number: '4'});
    await expect(
      world.author(
        `INSERT INTO warehouse.job_employees (account_id, parent_row_id, employee_id)
          VALUES (${world.accountId}, ${job}, 7)`,
      ),
    ).rejects.toThrow(
      'warehouse.job_employees.job_number: expected one of the live jobs of this account',
    );
    await expect(
      world.author(`INSERT INTO warehouse.customers (name) VALUES ('x')`),
    ).rejects.toThrow('account_id: expected it to be given, for there is more than one account');
    await world.author('DELETE FROM sync.accounts WHERE account_id = $1', [other.accountId]);
  });
});

test('without account_id the only account is used; an unknown account is rejected', async () => {
  await world.author(`INSERT INTO warehouse.customers (name) VALUES ('x')`);
  expect(await world.changes('account_id')).toEqual([{account_id: world.accountId}]);
  await expect(
    world.author(`INSERT INTO warehouse.customers (account_id, name) VALUES (999, 'x')`),
  ).rejects.toThrow('warehouse.customers.account_id: expected an account, got 999');
});

test('a child inserted while its parent is being created finds it created', async () => {
  const [parent] = await world.author(
    `INSERT INTO warehouse.customers (name) VALUES ('Ada') RETURNING row_id`,
  );
  const author = await world.pool.connect();
  const worker = await world.pool.connect();
  try {
    await worker.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
    await worker.query('SELECT FROM warehouse.customers WHERE row_id = $1 FOR UPDATE', [
      parent?.row_id,
    ]);
    const inserted = author.query(
      `INSERT INTO warehouse.jobs (parent_row_id, name) VALUES ($1, 'Roof')`,
      [parent?.row_id],
    );
    await worker.query(`UPDATE sync.changes SET state = 'done', number = 3, settled_at = now()`);
    await worker.query('UPDATE sync.changes SET waits_for = NULL');
    await worker.query('UPDATE warehouse.customers SET customer_number = 3');
    await worker.query('COMMIT');
    await inserted;
  } finally {
    author.release();
    worker.release();
  }
  expect(await world.changes('table_name, state, waits_for')).toEqual([
    {table_name: 'customers', state: 'done', waits_for: null},
    {table_name: 'jobs', state: 'pending', waits_for: null},
  ]);
});
