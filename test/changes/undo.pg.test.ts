// Changes taken back: what was not sent is given up, what is done gets a held change that writes
// what was before.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {dropRoles, makeRole} from '../support/roles.ts';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {customer_number: '3', name: 'a', fax: '1'});
});

const set = (assignment: string) =>
  world.author(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = ${rowId}`);
const ids = async () => (await world.changes('change_id')).map(({change_id}) => String(change_id));
/** Ends every open change as a worker does when the service has taken it. */
async function finish(result: object | null = null): Promise<void> {
  await world.author(
    `UPDATE sync.changes SET state = 'done', settled_at = now(), waits_for = NULL,
      number = coalesce(number, 70 + change_id), result = $1
      WHERE is_open`,
    [result === null ? null : JSON.stringify(result)],
  );
  for (const table of ['customers', 'jobs', 'job_notes', 'tasks', 'job_employees'])
    await world.sweep(
      `UPDATE warehouse.${table} SET _hash = '\\x01', _sweep_id = 2 WHERE _pending`,
    );
}
const undo = (changes: readonly string[], batch = 'undo') =>
  world.author('SELECT * FROM sync.undo_changes($1, $2) ORDER BY change_id', [changes, batch]);
const made = () =>
  world.author(
    `SELECT operation, fields, base, state, batch, undoes, requested_by = session_user AS own
     FROM sync.changes WHERE undoes IS NOT NULL ORDER BY change_id`,
  );

describe('the undo of an update', () => {
  test('that is done makes a held change with the values of its base', async () => {
    await set(`name = 'b', fax = '2'`);
    await finish();
    const [id] = await ids();
    const [undone] = await undo([id ?? '']);
    expect(undone).toMatchObject({outcome: 'held', fields: ['fax', 'name'], refusal: null});
    expect(await made()).toEqual([
      {
        operation: 'update',
        fields: {name: 'a', fax: '1'},
        base: {name: 'b', fax: '2'},
        state: 'held',
        batch: 'undo',
        undoes: [id],
        own: true,
      },
    ]);
    expect(await world.row('customers', rowId, 'name, fax')).toEqual({name: 'a', fax: '1'});
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    expect((await world.changes('state, batch, undoes')).at(-1)).toEqual({
      state: 'pending',
      batch: null,
      undoes: null,
    });
  });

  test('leaves the settings of its transaction as they were', async () => {
    await set(`name = 'b'`);
    await finish();
    const [id] = await ids();
    await world.author(`BEGIN;
      SET LOCAL fieldmirror.batch = 'import 5';
      SELECT sync.undo_changes('{${id}}', 'undo');
      SELECT sync.undo_changes('{${id}}', 'refused');
      INSERT INTO warehouse.tasks (name) VALUES ('x');
      COMMIT`);
    expect((await world.changes('state, batch, undoes')).slice(1)).toEqual([
      {state: 'held', batch: 'undo', undoes: [id]},
      {state: 'pending', batch: 'import 5', undoes: null},
    ]);
  });

  test('that was not sent cancels it', async () => {
    await set(`name = 'b'`);
    const [undone] = await undo(await ids());
    expect(undone).toMatchObject({outcome: 'cancelled', undo_id: null, refusal: null});
    expect(await world.changes('state, reason')).toEqual([
      {state: 'cancelled', reason: expect.stringMatching(/^taken back by /)},
    ]);
    expect(await world.row('customers', rowId, 'name, _pending')).toEqual({
      name: 'a',
      _pending: null,
    });
  });

  test('of a row that was changed twice restores the values before the first change', async () => {
    await set(`name = 'b'`);
    await finish();
    await set(`name = 'c', fax = '2'`);
    await finish();
    const all = await ids();
    await undo(all);
    expect(await made()).toMatchObject([
      {fields: {name: 'a', fax: '1'}, base: {name: 'c', fax: '2'}, undoes: all.toReversed()},
    ]);
  });

  test('skips the fields that were changed since, and reports them', async () => {
    await set(`name = 'b', fax = '2', email_address = 'x@example.com'`);
    await finish();
    const [id] = await ids();
    await world.sweep(`UPDATE warehouse.customers SET fax = '9'`);
    await set(`email_address = 'y@example.com'`);
    const [undone] = await undo([id ?? '']);
    expect(undone).toMatchObject({
      outcome: 'held',
      fields: ['name'],
      refusal: `change ${id}: email_address: changed since; fax: changed since`,
    });
    expect(await world.row('customers', rowId, 'name, fax, email_address')).toEqual({
      name: 'a',
      fax: '9',
      email_address: 'y@example.com',
    });
  });

  test('of an address restores it as a whole or not at all', async () => {
    await set(`service_city = 'Rome'`);
    await finish();
    const [id] = await ids();
    await world.sweep(`UPDATE warehouse.customers SET service_zip_code = '00100'`);
    expect(await undo([id ?? ''])).toMatchObject([
      {outcome: null, refusal: `change ${id}: service_city: changed since`},
    ]);
    await world.sweep(`UPDATE warehouse.customers SET service_zip_code = NULL`);
    expect(await undo([id ?? ''])).toMatchObject([{outcome: 'held', fields: ['service_city']}]);
  });

  test('recognises a value that the service tidied; it skips one that it already had', async () => {
    await set(`name = 'b ', fax = '2'`);
    await finish({tidied: {name: {sent: 'b ', got: 'b'}}, unsent: ['fax']});
    const [id] = await ids();
    await world.sweep(`UPDATE warehouse.customers SET name = 'b'`);
    expect(await undo([id ?? ''])).toMatchObject([
      {fields: ['name'], refusal: `change ${id}: fax: the service held it before this change`},
    ]);
  });

  test('of assigned employees restores the earlier assignments of the job', async () => {
    const job = await world.sent('jobs', {job_number: '8', customer_number: '3', name: 'j'});
    for (const id of ['1', '2'])
      await world.sent('job_employees', {job_number: '8', parent_row_id: job, employee_id: id});
    await world.author(`BEGIN; DELETE FROM warehouse.job_employees WHERE employee_id = 1;
      INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (8, 5); COMMIT`);
    await finish();
    await world.sweep(`DELETE FROM warehouse.job_employees WHERE _deleted_at IS NOT NULL`);
    await undo(await ids());
    expect(await made()).toMatchObject([{fields: {employee_ids: ['1', '2']}, state: 'held'}]);
    expect(
      await world.author(
        `SELECT employee_id FROM warehouse.job_employees WHERE _deleted_at IS NULL ORDER BY 1`,
      ),
    ).toEqual([{employee_id: '1'}, {employee_id: '2'}]);
  });

  test.each([
    [
      `state = 'sending', sends = 1, sent_at = now(), lease_until = now() + interval '1 h'`,
      'it is on its way',
    ],
    [`lease_until = now() + interval '1 h'`, 'it is on its way'],
    [`state = 'cancelled', reason = 'no', settled_at = now()`, 'it was given up'],
  ])('is refused if %s', async (values, why) => {
    await set(`name = 'b'`);
    await world.author(`UPDATE sync.changes SET ${values}`);
    const [id] = await ids();
    expect(await undo([id ?? ''])).toMatchObject([
      {outcome: null, undo_id: null, refusal: expect.stringContaining(`change ${id}: ${why}`)},
    ]);
  });

  test('is possible only once', async () => {
    await set(`name = 'b'`);
    await finish();
    const [id] = await ids();
    const [{undo_id: first} = {undo_id: null}] = await undo([id ?? '']);
    expect(await undo([id ?? ''])).toMatchObject([
      {
        outcome: null,
        earlier_undo: first,
        is_quote: false,
        refusal: `change ${id}: change ${first} takes it back already`,
      },
    ]);
    expect(await undo(['999999'])).toMatchObject([
      {refusal: 'change 999999: no change has that number', earlier_undo: null},
    ]);
  });

  test('is refused with the error of the warehouse if the old value is invalid', async () => {
    await set(`name = 'b'`);
    await finish();
    await world.sweep(`UPDATE sync.changes SET base = '{"name": "\\u0001"}'`);
    expect(await undo(await ids())).toMatchObject([
      {outcome: null, refusal: expect.stringContaining('U+0001'), is_quote: true},
    ]);
  });
});

describe('the undo of a create', () => {
  test('makes held deletes of the record and of the records created under it', async () => {
    await world.author(`WITH job AS (INSERT INTO warehouse.jobs (customer_number, name)
      VALUES (3, 'x') RETURNING row_id)
                        INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'n'
                          FROM job`);
    await finish();
    await world.sweep(`UPDATE warehouse.jobs SET job_number = 71`);
    await world.sweep(`UPDATE warehouse.job_notes SET job_number = 71, id = 72`);
    expect((await undo(await ids())).map(({outcome, refusal}) => ({outcome, refusal}))).toEqual(
      Array(2).fill({outcome: 'held', refusal: null}),
    );
    expect((await made()).map(({operation, state}) => [operation, state])).toEqual(
      Array(2).fill(['delete', 'held']),
    );
  });

  test('is refused if others have added records to it', async () => {
    await world.author(`INSERT INTO warehouse.jobs (customer_number, name) VALUES (3, 'x')`);
    await finish();
    const [job] = await world.sweep(
      `UPDATE warehouse.jobs SET job_number = (SELECT number FROM sync.changes)
        RETURNING job_number`,
    );
    await world.sent('job_notes', {job_number: job?.job_number, id: '5', note: 'theirs'});
    const [id] = await ids();
    expect(await undo([id ?? ''])).toMatchObject([
      {outcome: null, refusal: `change ${id}: 1 of the job_notes hang on its record`},
    ]);
  });

  test('is refused if the record was changed since', async () => {
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    await finish();
    const [id] = await ids();
    await world.sweep(`UPDATE warehouse.tasks SET id = 71, name = 'theirs'`);
    expect(await undo([id ?? ''])).toMatchObject([
      {outcome: null, refusal: `change ${id}: name changed since`},
    ]);
  });

  test('is refused with the reason if the service cannot delete the record', async () => {
    await world.sent('jobs', {job_number: '8', customer_number: '3', name: 'j'});
    await world.author(
      `INSERT INTO warehouse.job_charges (job_number, item_id, quantity, price_per_unit)
        VALUES (8, 5, 1, 2)`,
    );
    await finish();
    const [id] = await ids();
    expect(await undo([id ?? ''])).toMatchObject([
      {
        outcome: null,
        refusal: expect.stringContaining(
          `change ${id}: the service cannot delete one of the job_charges`,
        ),
      },
    ]);
  });

  test('cancels an unsent create, unless another change waits for its record', async () => {
    await world.author(`INSERT INTO warehouse.jobs (customer_number, name) VALUES (3, 'x')`);
    await world.author(
      `INSERT INTO warehouse.job_notes (parent_row_id, note) SELECT row_id, 'n'
        FROM warehouse.jobs`,
    );
    const [job = '', note = ''] = await ids();
    expect(await undo([job])).toMatchObject([
      {outcome: null, refusal: `change ${job}: another change waits for its record`},
    ]);
    expect(await undo([job, note])).toMatchObject([{outcome: 'cancelled'}, {outcome: 'cancelled'}]);
    expect(await world.author('SELECT row_id FROM warehouse.jobs')).toEqual([]);
  });
});

test('the undo of a delete that is done is refused: the record does not come back', async () => {
  await world.author('DELETE FROM warehouse.customers');
  await finish();
  const [id] = await ids();
  expect(await undo([id ?? ''])).toMatchObject([
    {
      outcome: null,
      refusal: expect.stringContaining('a record that was deleted does not come back'),
    },
  ]);
});

test('undo runs with the rights of the role that calls it', async () => {
  await set(`name = 'b'`);
  await finish();
  const [id] = await ids();
  const client = await world.pool.connect();
  try {
    await makeRole('erp_of_undo', 'IN ROLE fieldmirror_author');
    await makeRole('erp_of_other', 'IN ROLE fieldmirror_author');
    await makeRole('reader_of_undo', 'IN ROLE fieldmirror_reader');
    await client.query('BEGIN; SET LOCAL ROLE erp_of_undo');
    const {rows} = await client.query('SELECT outcome, refusal FROM sync.undo_changes($1)', [[id]]);
    expect(rows).toEqual([{outcome: 'held', refusal: null}]);
    await client.query('ROLLBACK');
    await client.query('BEGIN; SET LOCAL ROLE reader_of_undo');
    await expect(client.query('SELECT outcome FROM sync.undo_changes($1)', [[id]])).rejects.toThrow(
      'permission denied',
    );
    await client.query('ROLLBACK');
    await client.query(`BEGIN; INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('other', 'https://example.com/other', 'UTC');
      SELECT sync.grant_account('erp_of_other', 'other'); SET LOCAL ROLE erp_of_other`);
    const foreign = await client.query('SELECT outcome, refusal FROM sync.undo_changes($1)', [
      [id],
    ]);
    expect(foreign.rows).toEqual([
      {outcome: null, refusal: `change ${id}: no change has that number`},
    ]);
  } finally {
    await client.query('ROLLBACK');
    client.release();
    await dropRoles('erp_of_undo', 'erp_of_other', 'reader_of_undo');
  }
});

describe('an edit that claims to undo a change by fieldmirror.undoes', () => {
  const claiming = (id: unknown, statement: string) =>
    world.author(`BEGIN; SET LOCAL fieldmirror.undoes = '${id}'; ${statement}; COMMIT`);
  const edit = (assignment: string) =>
    `UPDATE warehouse.customers SET ${assignment} WHERE row_id = ${rowId}`;

  test.each([
    ['edits another field', `fax = '3'`],
    ['writes another value', `name = 'c'`],
    ['writes more than was there before', `name = 'a', fax = '3'`],
  ])('and %s is no undo: the change can still be undone', async (_, assignment) => {
    await set(`name = 'b'`);
    await finish();
    const [id = ''] = await ids();
    await claiming(id, edit(assignment));
    expect(await made()).toEqual([]);
    const [, claimed] = await ids();
    expect(await world.changes('reason')).toEqual([{reason: null}, {reason: null}]);
    await world.author('SELECT sync.cancel_change($1)', [claimed]);
    expect(await undo([id])).toMatchObject([{outcome: 'held', fields: ['name'], refusal: null}]);
  });

  test('is no undo of another row or table, of a create, or of an open change', async () => {
    const other = await world.sent('customers', {customer_number: '4', name: 'b'});
    await set(`name = 'b'`);
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('a')`);
    await finish();
    const [id, create] = await ids();
    await claiming(id, `UPDATE warehouse.customers SET name = 'a' WHERE row_id = ${other}`);
    await claiming(id, `INSERT INTO warehouse.tasks (name) VALUES ('a')`);
    await claiming(create, `UPDATE warehouse.tasks SET name = 'c'`);
    const [, , open] = await ids();
    await claiming(open, `UPDATE warehouse.customers SET name = 'b' WHERE row_id = ${other}`);
    expect(await made()).toEqual([]);
  });

  test('and writes the earlier values is an undo', async () => {
    await set(`name = 'b'`);
    await finish();
    const [id = ''] = await ids();
    await claiming(id, edit(`name = 'a'`));
    expect(await made()).toMatchObject([{fields: {name: 'a'}, undoes: [id]}]);
    expect(await undo([id])).toMatchObject([
      {outcome: null, refusal: expect.stringMatching(/change \d+ takes it back already$/)},
    ]);
  });

  test('is no undo of assignments if it does not restore the earlier list', async () => {
    await world.sent('jobs', {job_number: '5', id: '55'});
    await world.author(
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (5, 7)',
    );
    await finish();
    const [id = ''] = await ids();
    await claiming(
      id,
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (5, 8)',
    );
    expect(await made()).toEqual([]);
  });
});
