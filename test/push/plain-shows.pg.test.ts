// Changes of a service whose shows embed nothing: the children of a record are looked for where the
// specification promises them, and a value that is shown nowhere is no conflict.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {pushAccount} from '../../src/push/push.ts';
import {allWrites} from '../../src/streams/all.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';
import {authoredIn} from './authored.ts';

let service: TestService;
let world: TestWorld;
let jobNumber = '';
let customerNumber = '';
let employeeId = '';

beforeAll(async () => {
  service = await openService({showsEmbed: false});
  world = await openWorld(service);
  await world.sweepAll();
  const {rows} = await world.pool.query(
    'SELECT job_number, customer_number FROM warehouse.jobs ORDER BY 1 LIMIT 1',
  );
  jobNumber = String(rows[0].job_number);
  customerNumber = String(rows[0].customer_number);
  const employees = await world.pool.query(
    'SELECT id FROM warehouse.employees WHERE active ORDER BY id LIMIT 1',
  );
  employeeId = String(employees.rows[0].id);
});

afterAll(async () => {
  await world.close();
  await service.close();
});

const push = async () =>
  await pushAccount(world, world.account.accountId, new AbortController().signal);

async function write(text: string, values: unknown[] = []): Promise<string> {
  const {rows} = await world.pool.query(text, values);
  return String(rows[0]?.row_id);
}

describe.each(allWrites)('$table.name', ({table, operations, key}) => {
  const authored = () =>
    authoredIn({customerNumber, jobNumber, employeeId})[table.name] ?? {made: {}, later: {}};
  let rowId = '';
  const state = async () =>
    (
      await world.pool.query(
        'SELECT state, reason, result FROM sync.changes ORDER BY change_id DESC LIMIT 1',
      )
    ).rows;
  const row = async () =>
    (await world.pool.query(`SELECT * FROM warehouse.${table.name} WHERE row_id = $1`, [rowId]))
      .rows[0];

  test('a create that is answered with 200 is done, and its row has its number', async () => {
    const {made} = authored();
    const names = Object.keys(made);
    rowId = await write(
      `INSERT INTO warehouse.${table.name} (${names.join(', ')})
        VALUES (${names.map((_, at) => `$${at + 1}`).join(', ')}) RETURNING row_id`,
      Object.values(made),
    );
    await push();
    expect(await state()).toEqual([{state: 'done', reason: null, result: null}]);
    expect(Number((await row())[key])).toBeGreaterThan(0);
    for (const name of names) expect(await row()).toHaveProperty(name, expect.anything());
  });

  if (operations.includes('update'))
    test('an update is no conflict', async () => {
      const [[name, value] = ['', '']] = Object.entries(authored().later);
      await write(`UPDATE warehouse.${table.name} SET ${name} = $1 WHERE row_id = $2`, [
        value,
        rowId,
      ]);
      await push();
      expect(await state()).toEqual([{state: 'done', reason: null, result: null}]);
      expect(String((await row())[name])).toBe(value);
    });

  if (operations.includes('delete'))
    test('a delete is done', async () => {
      await write(`DELETE FROM warehouse.${table.name} WHERE row_id = $1`, [rowId]);
      await push();
      expect(await state()).toEqual([{state: 'done', reason: null, result: null}]);
    });
});

describe('the employees assigned to a job', () => {
  const assigned = async () =>
    (
      await world.pool.query(
        `SELECT employee_id::text AS id FROM warehouse.job_employees
          WHERE job_number = $1 AND _deleted_at IS NULL ORDER BY employee_id`,
        [jobNumber],
      )
    ).rows.map(({id}) => id);
  const state = async () =>
    (
      await world.pool.query(
        'SELECT state, reason FROM sync.changes ORDER BY change_id DESC LIMIT 1',
      )
    ).rows[0];
  const others = async () =>
    (
      await world.pool.query(
        'SELECT id::text FROM warehouse.employees WHERE id::text <> ALL ($1) ORDER BY id',
        [await assigned()],
      )
    ).rows.map(({id}) => String(id));
  const assign = async (id: string) =>
    await write('INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES ($1, $2)', [
      jobNumber,
      id,
    ]);

  test('cause no conflict if one more is assigned', async () => {
    const [one = ''] = await others();
    const before = await assigned();
    await assign(one);
    await push();
    expect(await state()).toEqual({state: 'done', reason: null});
    expect(await assigned()).toEqual([...before, one].sort((a, b) => Number(a) - Number(b)));
    expect(await world.sweep('jobs')).toMatchObject({counts: {updated: 0, vanished: 0}});
  });

  test('still conflict if the service has assigned another employee meanwhile', async () => {
    const [one = '', other = ''] = await others();
    await world.api.jobs.update(jobNumber, {employee_ids: [other]});
    await assign(one);
    await push();
    expect(await state()).toMatchObject({
      state: 'conflict',
      reason: 'changed on both sides: employee_ids',
    });
  });
});

test('a note, a time entry and an employee added to one job are all loaded', async () => {
  await world.pool.query(
    `WITH job AS (SELECT row_id FROM warehouse.jobs AS job WHERE NOT EXISTS (
                    SELECT FROM warehouse.job_employees WHERE job_number = job.job_number)
                      ORDER BY 1 LIMIT 1),
          note AS (INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'Together'
            FROM job),
          link AS (INSERT INTO warehouse.job_employees (parent_row_id, employee_id) SELECT row_id,
            $1 FROM job)
     INSERT INTO warehouse.time_entries (parent_row_id, employee_id, started_on, number_of_hours)
     SELECT row_id, $1, '2026-11-04 09:00-05', 1 FROM job`,
    [employeeId],
  );
  await push();
  const {rows} = await world.pool.query(
    `SELECT note.job_number = entry.job_number
     AND link.job_number = note.job_number AS "areTogether",
            link._change_id IS NOT NULL AS "isLoaded"
       FROM warehouse.job_notes AS note JOIN warehouse.time_entries AS entry USING (parent_row_id)
       JOIN warehouse.job_employees AS link USING (parent_row_id) WHERE note.note = 'Together'`,
  );
  expect(rows).toEqual([{areTogether: true, isLoaded: true}]);
});
