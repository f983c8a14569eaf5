// Rows of job_employees are the employee_ids of their job.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {giveNumber, settleAssignments} from '../../src/changes/authored-rows.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {lockRows} from '../../src/rows/load.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {type CaptureWorld, openCaptureWorld, send} from './capture-world.ts';

let world: CaptureWorld;
let jobRow: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  jobRow = await world.sent('jobs', {job_number: '4', name: 'Roof'});
  for (const id of ['1', '2'])
    await world.sent('job_employees', {job_number: '4', employee_id: id});
});

const assign = (...ids: number[]) =>
  world.author(
    `INSERT INTO warehouse.job_employees (job_number, employee_id) SELECT 4,
      unnest('{${ids.join()}}'::bigint[])`,
  );
const unassign = (...ids: number[]) =>
  world.author(
    `DELETE FROM warehouse.job_employees
      WHERE job_number = 4 AND employee_id = ANY ('{${ids.join()}}')`,
  );
const changes = () => world.changes('operation, row_id, number, fields, base, state');
const change = (fields: string[], base: string[], state = 'pending') => ({
  operation: 'update',
  row_id: jobRow,
  number: '4',
  fields: {employee_ids: fields},
  base: {employee_ids: base},
  state,
});
/** The `id`, then `-` when it is marked deleted, then `*` when it is pending. */
const links = async () => {
  const rows = await world.author(
    `SELECT employee_id || CASE WHEN _deleted_at IS NOT NULL THEN '-' ELSE '' END
     || CASE WHEN _pending THEN '*' ELSE '' END AS link
       FROM warehouse.job_employees ORDER BY employee_id`,
  );
  return rows.map((row) => row.link);
};
const isJobPending = async () => (await world.row('jobs', jobRow, '_pending'))?._pending;

test('assigning several employees in one statement makes one change of the job', async () => {
  await assign(7, 5);
  expect(await changes()).toEqual([change(['1', '2', '5', '7'], ['1', '2'])]);
  expect([await links(), await isJobPending()]).toEqual([['1*', '2*', '5*', '7*'], true]);
});

test('removing several employees at once makes one change and leaves tombstones', async () => {
  await unassign(1, 2);
  expect(await changes()).toEqual([change([], ['1', '2'])]);
  expect(await links()).toEqual(['1-*', '2-*']);
});

test('an assignment that is removed before it was sent leaves nothing', async () => {
  await assign(7);
  await unassign(7);
  expect(await world.changes('state, fields')).toEqual([
    {state: 'cancelled', fields: {employee_ids: ['1', '2', '7']}},
  ]);
  expect([await links(), await isJobPending()]).toEqual([['1', '2'], null]);
});

test('an employee removed during a lease stays removed after another edit of the job', async () => {
  await assign(7);
  await world.pool.query(`UPDATE sync.changes SET lease_until = now() + interval '1 minute'`);
  await unassign(7);
  await world.author(`UPDATE warehouse.jobs SET name = 'Attic'`);
  expect(await world.changes('fields, base')).toEqual([
    {fields: {employee_ids: ['1', '2', '7']}, base: {employee_ids: ['1', '2']}},
    {
      fields: {employee_ids: ['1', '2'], name: 'Attic'},
      base: {employee_ids: ['1', '2', '7'], name: 'Roof'},
    },
  ]);
});

test('removing and reassigning cancels out; the next change has the original base', async () => {
  await unassign(1);
  await assign(1);
  expect(await world.changes('state')).toEqual([{state: 'cancelled'}]);
  expect([await links(), await isJobPending()]).toEqual([['1', '2'], null]);
  await assign(7);
  expect((await changes())[1]).toEqual(change(['1', '2', '7'], ['1', '2']));
});

test('removing, reassigning and removing again keeps the base and the tombstone', async () => {
  await unassign(1);
  await assign(7);
  await assign(1);
  expect(await changes()).toEqual([change(['1', '2', '7'], ['1', '2'])]);
  await unassign(1);
  expect(await changes()).toEqual([change(['2', '7'], ['1', '2'])]);
  expect(await links()).toEqual(['1-*', '2*', '7*']);
});

test('replacing an employee in one statement makes one change', async () => {
  await world.author(
    `WITH gone AS (DELETE FROM warehouse.job_employees WHERE employee_id = 1)
     INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 9)`,
  );
  expect(await changes()).toEqual([change(['2', '9'], ['1', '2'])]);
});

test('an assignment is merged into the pending change of its job', async () => {
  await world.author(`UPDATE warehouse.jobs SET name = 'New roof'`);
  await assign(7);
  expect(await world.changes('fields, base')).toEqual([
    {
      fields: {name: 'New roof', employee_ids: ['1', '2', '7']},
      base: {name: 'Roof', employee_ids: ['1', '2']},
    },
  ]);
});

describe('an assignment to a job that is not created yet', () => {
  const create = async () => {
    await world.sent('customers', {customer_number: '3'});
    const [made] = await world.author(
      `INSERT INTO warehouse.jobs (customer_number, name) VALUES (3, 'New') RETURNING row_id`,
    );
    return String(made?.row_id);
  };
  const assignTo = (row: string, id: number) =>
    world.author(
      `INSERT INTO warehouse.job_employees (parent_row_id, employee_id) VALUES ($1, $2)`,
      [row, id],
    );

  test('is added to the create of the job, and removed from it when deleted', async () => {
    const row = await create();
    await assignTo(row, 5);
    await assignTo(row, 6);
    expect(await world.changes('operation, fields')).toEqual([
      {operation: 'create', fields: {name: 'New', employee_ids: ['5', '6']}},
    ]);
    await world.author('DELETE FROM warehouse.job_employees WHERE parent_row_id = $1', [row]);
    expect(await world.changes('operation, fields')).toEqual([
      {operation: 'create', fields: {name: 'New'}},
    ]);
    expect(await links()).toEqual(['1', '2']);
  });

  test('waits for a create that is being sent', async () => {
    const row = await create();
    const [made] = await world.changes('change_id');
    await world.author(send, [made?.change_id]);
    await assignTo(row, 5);
    expect((await world.changes('fields, base, number, waits_for'))[1]).toEqual({
      fields: {employee_ids: ['5']},
      base: {employee_ids: []},
      number: null,
      waits_for: made?.change_id,
    });
  });

  test('makes a new create if the service refused the first one', async () => {
    const row = await create();
    const [made] = await world.changes('change_id');
    await world.author(send, [made?.change_id]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [made?.change_id]);
    await assignTo(row, 5);
    expect(await world.changes('operation, state, fields')).toEqual([
      {operation: 'create', state: 'rejected', fields: {name: 'New'}},
      {operation: 'create', state: 'pending', fields: {name: 'New', employee_ids: ['5']}},
    ]);
  });
});

test('an employee whose assignment is being sent is removed by the next change', async () => {
  await assign(7);
  const [sent] = await world.changes('change_id');
  await world.author(send, [sent?.change_id]);
  await world.author(`UPDATE warehouse.jobs SET name = 'Attic' WHERE job_number = 4`);
  await unassign(7);
  expect((await changes())[1]).toEqual({
    ...change(['1', '2'], ['1', '2', '7']),
    fields: {name: 'Attic', employee_ids: ['1', '2']},
    base: {name: 'Roof', employee_ids: ['1', '2', '7']},
  });
});

test('an assignment by parent_row_id gets the number of its job', async () => {
  await world.author(
    'INSERT INTO warehouse.job_employees (parent_row_id, employee_id) VALUES ($1, 7)',
    [jobRow],
  );
  expect(
    await world.author(
      'SELECT job_number, parent_row_id FROM warehouse.job_employees WHERE employee_id = 7',
    ),
  ).toEqual([{job_number: '4', parent_row_id: jobRow}]);
});

test('cancelling a change of assignments restores the earlier assignments', async () => {
  await unassign(1);
  await assign(7);
  const [made] = await world.changes('change_id');
  await world.author('SELECT sync.cancel_change($1)', [made?.change_id]);
  expect([await links(), await isJobPending()]).toEqual([['1', '2', '7-'], null]);
  await assign(8);
  expect((await changes())[1]).toEqual(change(['1', '2', '8'], ['1', '2']));
});

test('retrying a refused change of assignments restores the wanted assignments', async () => {
  await unassign(1);
  await assign(7);
  const [made] = await world.changes('change_id');
  await world.author(send, [made?.change_id]);
  await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [made?.change_id]);
  expect(await links()).toEqual(['1', '2', '7-']);
  await world.author('SELECT sync.retry_change($1)', [made?.change_id]);
  expect([await links(), await isJobPending()]).toEqual([['1-*', '2*', '7*'], true]);
});

test.each([
  [
    'an unknown job',
    `INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (99, 1)`,
    'got 99',
  ],
  ['no job', `INSERT INTO warehouse.job_employees (employee_id) VALUES (1)`, 'got nothing'],
  [
    'no employee',
    `INSERT INTO warehouse.job_employees (job_number) VALUES (4)`,
    'employee_id: expected the id',
  ],
  [
    'an employee of 0',
    `INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 0)`,
    'got 0',
  ],
  [
    'another job',
    `UPDATE warehouse.job_employees SET job_number = 5`,
    'job_number: the service does not let',
  ],
  [
    'another employee',
    `UPDATE warehouse.job_employees SET employee_id = 5`,
    'employee_id: the service does not',
  ],
  [
    'a twin',
    `INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 1)`,
    'duplicate key',
  ],
])('an assignment with %s is rejected', async (_, statement, why) => {
  await expect(world.author(statement)).rejects.toThrow(why);
  expect([await changes(), await links()]).toEqual([[], ['1', '2']]);
});

test('assigning to a deleted job is rejected; removing from it makes no change', async () => {
  await world.author('DELETE FROM warehouse.jobs');
  await expect(assign(7)).rejects.toThrow('expected one of the live jobs of this account, got 4');
  await unassign(1);
  expect(await world.changes('operation')).toEqual([{operation: 'delete'}]);
});

test('removing an employee while the job gets its number makes an update of the job', async () => {
  const [job] = await world.author(`INSERT INTO warehouse.jobs (parent_row_id, name)
    VALUES (${await world.sent('customers', {customer_number: '7', name: 'Ada'})}, 'Attic')
      RETURNING row_id`);
  const rowId = String(job?.row_id);
  await world.author(
    `INSERT INTO warehouse.job_employees (parent_row_id, employee_id) SELECT $1,
      unnest('{5,6,6}'::bigint[])`,
    [rowId],
  );
  const {accountId, pool} = world;
  const waits = async () =>
    (
      await pool.query(
        `SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock'
         AND datname = current_database()`,
      )
    ).rowCount;
  const takenOff = await inSweepTransaction(pool, async (client) => {
    await lockRows(client, jobs.table, [rowId]);
    const [create] = (
      await client.query<{change_id: string}>(
        'SELECT change_id FROM sync.changes WHERE row_id = $1',
        [rowId],
      )
    ).rows;
    await client.query(send, [create?.change_id]);
    await client.query(
      `UPDATE sync.changes SET state = 'done', settled_at = now(), lease_until = NULL, number = 9
        WHERE row_id = $1`,
      [rowId],
    );
    await giveNumber(client, jobs.table, {accountId, rowId, key: 'job_number', number: '9'});
    await settleAssignments(client, [
      {changeId: '1', accountId, rowId, number: '9', isNew: true, employeeIds: ['5', '6']},
    ]);
    const deletion = pool.query(
      'DELETE FROM warehouse.job_employees WHERE parent_row_id = $1 AND employee_id = 5',
      [rowId],
    );
    await expect.poll(waits).toBe(1);
    return {deletion};
  });
  expect((await takenOff.deletion).rowCount).toBe(1);
  expect(await world.changes('operation, number, fields, state')).toContainEqual({
    operation: 'update',
    number: '9',
    fields: {employee_ids: ['6']},
    state: 'pending',
  });
});
