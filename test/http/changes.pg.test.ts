// The HTTP API changes the warehouse just as plain SQL does: same change, same row, same refusal.

import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {allWrites} from '../../src/streams/all.ts';
import {cases} from './cases.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

test('the cases cover every operation of every table that can be written', () => {
  const asked = cases.map(({ask}) => `${ask.table} ${ask.operation}`);
  const all = allWrites.flatMap(({table}) =>
    ['create', 'update', 'delete'].map((verb) => `${table.name} ${verb}`),
  );
  expect(asked.sort()).toEqual(all.sort());
});

test.each(cases)('$ask.operation of $ask.table has the same result in SQL', async ({ask, sql}) => {
  const {pool, account, stranger} = place;
  const answer = await place.post(ask);
  const refusal = await runSql(pool, stranger.accountId, sql);
  expect(await readAccount(pool, account.accountId)).toEqual(
    await readAccount(pool, stranger.accountId),
  );
  if (refusal !== null) {
    expect(answer.status).toBe(422);
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.body).toMatchObject({detail: refusal.message, hint: refusal.hint});
    return;
  }
  expect(answer.status, JSON.stringify(answer.body)).toBe(202);
  const {rows} = await pool.query('SELECT * FROM sync.changes WHERE account_id = $1', [
    account.accountId,
  ]);
  expect(rows).toHaveLength(1);
  const {change_id, row_id, fields, base, operation} = rows[0];
  expect(answer.body).toMatchObject({change_id, row_id, fields, base, operation, state: 'pending'});
  expect(answer.headers.get('location')).toBe(`/v1/changes/${change_id}`);
  expect(rows[0].application).toBe('http: erp');
});

async function runSql(
  pool: pg.Pool,
  accountId: string,
  statements: readonly string[],
): Promise<{readonly message: string; readonly hint?: string} | null> {
  try {
    await inTransaction(pool, async (client) => {
      for (const statement of statements) await client.query(statement, [accountId]);
    });
    return null;
  } catch (error) {
    return error as {message: string; hint?: string};
  }
}

/** All rows of an account, without the numbers and times that no two accounts can share. */
async function readAccount(pool: pg.Pool, accountId: string): Promise<unknown> {
  const tables = [
    'customers',
    'customer_notes',
    'jobs',
    'job_employees',
    'job_notes',
    'time_entries',
    'job_charges',
  ];
  const held = [];
  for (const table of [...tables, 'employees', 'tasks']) {
    const {rows} = await pool.query(
      `SELECT to_jsonb(held) - ARRAY['row_id', 'account_id', 'parent_row_id', '_first_seen_at',
        '_changed_at', '_deleted_at']
              || jsonb_build_object('is_deleted', _deleted_at IS NOT NULL, 'has_parent',
                parent_row_id IS NOT NULL) AS row
         FROM warehouse.${table} AS held WHERE account_id = $1 ORDER BY row_id`,
      [accountId],
    );
    held.push({table, rows: rows.map(({row}) => row)});
  }
  const changes = await pool.query(
    `SELECT table_name, operation, number, external_key, fields, base, state, reason, waits_for,
            parent_row_id IS NOT NULL AS has_parent, requested_by
       FROM sync.changes WHERE account_id = $1 ORDER BY change_id`,
    [accountId],
  );
  return {held, changes: changes.rows};
}

describe('several changes in one request', () => {
  const customer = {
    table: 'customers',
    operation: 'create',
    external_key: 'C-7',
    fields: {name: 'New'},
  };

  test('create a customer, its job and a note on the job, each with its parent', async () => {
    const {status, body} = await place.post([
      customer,
      {
        table: 'jobs',
        operation: 'create',
        external_key: 'J',
        parent: {index: 0},
        fields: {name: 'First'},
      },
      {
        table: 'job_notes',
        operation: 'create',
        parent: {external_key: 'J'},
        fields: {note: 'Ring twice'},
      },
    ]);
    expect(status, JSON.stringify(body)).toBe(202);
    const [made, job, note] = body.changes;
    expect(job).toMatchObject({
      table: 'jobs',
      parent_row_id: made.row_id,
      waits_for: made.change_id,
    });
    expect(note).toMatchObject({parent_row_id: job.row_id, waits_for: job.change_id});
  });

  test('have no effect if one of them is rejected', async () => {
    const refused = {
      table: 'job_notes',
      operation: 'create',
      parent: {number: 999},
      fields: {note: 'x'},
    };
    const {status, body} = await place.post([customer, refused]);
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      {in: 'body', at: '/1/parent', expected: 'one of the jobs', got: 'number 999'},
    ]);
    expect((await place.pool.query('SELECT FROM sync.changes')).rowCount).toBe(0);
    expect((await place.get('/v1/customers')).body.rows).toHaveLength(3);
  });

  test.each([0, 1, 5])(
    'are rejected if a job has change %i as parent, not an earlier customer',
    async (index) => {
      const other = {table: 'tasks', operation: 'create', fields: {name: 'x'}};
      const {status, body} = await place.post([
        other,
        {table: 'jobs', operation: 'create', parent: {index}, fields: {name: 'x'}},
        customer,
      ]);
      expect(status).toBe(422);
      expect(body.errors[0]).toMatchObject({at: '/1/parent/index', got: String(index)});
    },
  );

  test('of one row are merged, and each is answered with the merged change', async () => {
    const {body} = await place.post([
      {table: 'customers', operation: 'update', number: 1, fields: {fax: '1'}},
      {table: 'customers', operation: 'update', number: 1, fields: {email_address: 'a@b.c'}},
    ]);
    const [first, second] = body.changes;
    expect(first).toEqual(second);
    expect(first.fields).toEqual({fax: '1', email_address: 'a@b.c'});
  });
});

describe('a requested change', () => {
  test('whose values the row already has is answered as unchanged', async () => {
    const {status, body} = await place.post({
      table: 'customers',
      operation: 'update',
      number: 1,
      fields: {phone_number: '555-0100'},
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({state: 'unchanged', table: 'customers', number: '1'});
  });

  test('is answered as cancelled if its row is deleted before it was sent', async () => {
    const {body} = await place.post({table: 'tasks', operation: 'create', fields: {name: 'x'}});
    const answer = await place.post({table: 'tasks', operation: 'delete', row_id: body.row_id});
    expect(answer.body).toMatchObject({change_id: body.change_id, state: 'cancelled'});
    expect((await place.get('/v1/tasks')).body.rows).toHaveLength(1);
  });

  test('with hold: true is held, and the next one is not', async () => {
    const ask = {table: 'tasks', operation: 'create', fields: {name: 'x'}};
    expect((await place.post({...ask, hold: true})).body.state).toBe('held');
    expect((await place.post(ask)).body.state).toBe('pending');
  });

  test('finds its row by external_key, and a create with a taken key is rejected', async () => {
    const ask = {table: 'customers', operation: 'create', external_key: 'K', fields: {name: 'x'}};
    const {body} = await place.post(ask);
    const update = {
      table: 'customers',
      operation: 'update',
      external_key: 'K',
      fields: {name: 'y'},
    };
    expect((await place.post(update)).body).toMatchObject({
      change_id: body.change_id,
      fields: {name: 'y'},
    });
    const again = await place.post(ask);
    expect(again.status).toBe(422);
    expect(again.body).toMatchObject({detail: 'external_key: another row of the table has it'});
  });

  test('of a row that does not exist or is deleted is answered 404', async () => {
    const ask = {table: 'customers', operation: 'delete', number: 3};
    expect((await place.post({...ask, number: 99})).body).toMatchObject({
      status: 404,
      detail: 'customers: there is no number 99',
    });
    await place.post(ask);
    expect((await place.post(ask)).body).toMatchObject({
      status: 404,
      detail: 'customers: number 3 is deleted',
    });
  });

  test('is rejected for a local time that the clock skips, but not with an offset', async () => {
    const ask = (scheduled_on: string) =>
      place.post({table: 'jobs', operation: 'update', number: 11, fields: {scheduled_on}});
    const {status, body} = await ask('2027-03-14 02:30');
    expect(status).toBe(422);
    expect(body.errors).toEqual([
      {
        in: 'body',
        at: '/fields/scheduled_on',
        expected:
          'a time that exists in America/New_York, got one that the clock skips, ' +
          'from -05:00 to -04:00',
        got: '2027-03-14 02:30',
      },
    ]);
    expect((await ask('2027-03-14T02:30:00-05:00')).body.fields).toEqual({
      scheduled_on: '2027-03-14T07:30:00+00:00',
    });
  });

  test.each([
    ['2027-07-04 09:30:59', '2027-07-04T13:30:00+00:00'],
    ['2027-07-04T09:30:59.999', '2027-07-04T13:30:00+00:00'],
    ['2027-07-04T09:30:59-07:00', '2027-07-04T16:30:00+00:00'],
  ])('with the time %s is truncated to the minute', async (scheduled_on, wanted) => {
    const ask = {table: 'jobs', operation: 'update', number: 11, fields: {scheduled_on}};
    expect((await place.post(ask)).body.fields).toEqual({scheduled_on: wanted});
  });

  test.each([0.1 + 0.2, '0.30000000000000004', 0.3])(
    'with the floating-point amount %j is stored as 0.3',
    async (price_per_unit) => {
      const parent = {number: 11};
      const ask = {table: 'job_charges', operation: 'create', parent, fields: {price_per_unit}};
      expect((await place.post(ask)).body.fields).toEqual({price_per_unit: '0.3'});
    },
  );

  test.each([1 / 3, 0.1234567890123456, 1e21])(
    'with the amount %j, which has more digits than are exact, is rejected',
    async (price_per_unit) => {
      const ask = {
        table: 'job_charges',
        operation: 'create',
        parent: {number: 11},
        fields: {price_per_unit},
      };
      const {status, body} = await place.post(ask);
      expect(status).toBe(400);
      expect(body.errors[0].expected).toContain('one of more than 15 digits as text');
    },
  );

  test('that a trigger rejects is answered with the name of the field', async () => {
    const {body} = await place.post({
      table: 'jobs',
      operation: 'update',
      number: 11,
      fields: {scheduled_on: '2027-11-07T01:30:00-05:00'},
    });
    expect(body).toMatchObject({
      status: 422,
      type: 'urn:fieldmirror:problem:refused',
      errors: [
        {
          in: 'body',
          at: '/fields/scheduled_on',
          expected: 'a time that can be said, got the second 01:30 in America/New_York',
        },
      ],
    });
    expect(body.hint).toContain('the clock shows this time twice');
  });
});

test('the HTTP API writes as an author that sends immediately, on any connection', async () => {
  const clients = await Promise.all(
    Array.from({length: place.writes.options.max}, () => place.writes.connect()),
  );
  for (const client of clients) {
    await client.query(`SET fieldmirror.writer = 'sweep'; SET fieldmirror.mode = 'hold'`);
    client.release();
  }
  const {body} = await place.post({table: 'tasks', operation: 'create', fields: {name: 'x'}});
  expect(body.state).toBe('pending');
});
