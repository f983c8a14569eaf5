// The HTTP API reads the rows of one account, each once, and no row of another account.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {packPosition} from '../../src/http/row-routes.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {allTables} from '../../src/streams/all.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

/** Tasks as the service sends them. */
async function addTasks(from: number, count: number): Promise<void> {
  const text = `INSERT INTO warehouse.tasks (account_id, id, name, _sweep_id)
                SELECT $1, n, 'Task ' || n, 1 FROM generate_series($2::int, $2::int + $3::int - 1)
                  AS n`;
  await inSweepTransaction(place.pool, (client) =>
    client.query(text, [place.account.accountId, from, count]),
  );
}

async function readAll(query: string, between: (page: number) => Promise<void> = async () => {}) {
  const rows: {row_id: string; id: string}[] = [];
  for (let page = '', at = 0; ; at++) {
    const {status, body} = await place.get(`/v1/tasks?${query}${page}`);
    expect(status, JSON.stringify(body)).toBe(200);
    rows.push(...body.rows);
    if (body.next_page === null) return rows;
    page = `&page=${body.next_page}`;
    await between(at);
  }
}

test('each of 1,000 rows is read once while other rows are added and deleted', async () => {
  await addTasks(1000, 1000);
  const rows = await readAll('limit=37', async (page) => {
    await addTasks(3000 + page * 5, 5);
    await inSweepTransaction(place.pool, (client) =>
      client.query(`DELETE FROM warehouse.tasks WHERE id = $1`, [3000 + page * 5]),
    );
  });
  const ids = rows.map(({id}) => Number(id));
  expect(new Set(rows.map(({row_id}) => row_id)).size).toBe(rows.length);
  const stood = new Set(ids.filter((id) => id >= 1000 && id < 2000));
  expect(stood.size).toBe(1000);
  expect(ids.filter((id) => id >= 3000).length).toBeGreaterThan(50);
});

test('a page that holds exactly the remaining rows is the last', async () => {
  expect((await place.get('/v1/customers?limit=2')).body.next_page).not.toBeNull();
  expect((await place.get('/v1/customers?limit=3')).body.next_page).toBeNull();
});

test('every table is listed, with numbers as text and instants in UTC', async () => {
  for (const table of allTables) {
    const {status, body} = await place.get(`/v1/${table.name}?limit=1`);
    expect(status, table.name).toBe(200);
    expect(Array.isArray(body.rows)).toBe(true);
  }
  const [job] = (await place.get('/v1/jobs')).body.rows;
  expect(job).toMatchObject({
    job_number: '11',
    customer_number: '1',
    name: 'Roof',
    scheduled_on: '2027-01-31T14:00:00Z',
    total: '12.50',
    extra: {},
    _deleted_at: null,
    _pending: null,
  });
  for (const hidden of ['account_id', '_hash', '_sweep_id', '_page', '_change_id'])
    expect(job).not.toHaveProperty(hidden);
});

test('deleted rows are listed only if requested', async () => {
  await inSweepTransaction(place.pool, (client) =>
    client.query(
      `UPDATE warehouse.customers SET _deleted_at = now()
        WHERE account_id = $1 AND customer_number = 3`,
      [place.account.accountId],
    ),
  );
  const numbers = async (query: string) =>
    (await place.get(`/v1/customers${query}`)).body.rows.map(
      (row: {customer_number: string}) => row.customer_number,
    );
  expect(await numbers('')).toEqual(['1', '2']);
  expect(await numbers('?deleted=false')).toEqual(['1', '2']);
  expect(await numbers('?deleted=true')).toEqual(['1', '2', '3']);
});

test('changed_since lists the rows written since that time', async () => {
  const {rows} = await place.pool.query<{at: string}>('SELECT clock_timestamp() AS at');
  const since = rows[0]?.at ?? '';
  await addTasks(9000, 2);
  expect((await readAll(`limit=1&changed_since=${since}`)).map(({id}) => id)).toEqual([
    '9000',
    '9001',
  ]);
  const offset = since.replace('Z', '+00:00');
  expect(
    (await place.get(`/v1/tasks?changed_since=${encodeURIComponent(offset)}`)).body.rows,
  ).toHaveLength(2);
  const unescaped = await place.get(`/v1/tasks?changed_since=${offset}`);
  expect(unescaped.status).toBe(400);
  expect(unescaped.body.errors[0]).toMatchObject({in: 'query', at: 'changed_since'});
  expect(unescaped.body.errors[0].expected).toContain('%2B');
});

describe('a page token', () => {
  const tokenOf = async (query: string): Promise<string> =>
    (await place.get(`/v1/tasks?limit=1${query}`)).body.next_page;

  test('keeps the filters of the first page', async () => {
    await inSweepTransaction(place.pool, (client) =>
      client.query('UPDATE warehouse.tasks SET _deleted_at = now() WHERE id = 1001'),
    );
    const page = await tokenOf('&deleted=true');
    const next = await place.get(`/v1/tasks?limit=2&page=${page}`);
    expect(next.body.rows.map(({id}: {id: string}) => id)).toEqual(['1000', '1001']);
  });

  test.each(['&deleted=true', '&changed_since=2020-01-01T00:00:00Z'])(
    'is rejected if %s contradicts it',
    async (more) => {
      const {status, body} = await place.get(`/v1/tasks?page=${await tokenOf('')}${more}`);
      expect(status).toBe(400);
      expect(body.detail).toContain('the same as for the first page');
    },
  );

  const good = {table: 'tasks', afterRowId: '1', showsDeleted: false, changedSince: null};
  const foreign = [
    '',
    '0',
    'null',
    'x'.repeat(10_000),
    Buffer.from('{}').toString('base64url'),
    `${packPosition(good)}A`,
    packPosition({...good, table: 'jobs'}),
    packPosition({...good, afterRowId: '-1'}),
    packPosition({...good, afterRowId: '1; DROP TABLE x'}),
    packPosition({...good, afterRowId: '99999999999999999999'}),
    packPosition({...good, changedSince: 'yesterday'}),
  ];
  test.each(foreign)(
    'that the HTTP API did not issue for this list is rejected: %.40s',
    async (page) => {
      const {status, body} = await place.get(`/v1/tasks?page=${encodeURIComponent(page)}`);
      expect(status).toBe(400);
      expect(body.errors[0]).toMatchObject({in: 'query', at: 'page'});
    },
  );
});

test.each([
  'limit=0',
  'limit=501',
  'limit=-1',
  'limit=1.5',
  'limit=x',
  'limit=',
  'limit=1&limit=2',
  'deleted=1',
  'sort=x',
])('an invalid query is rejected: %s', async (query) => {
  const {status, body} = await place.get(`/v1/tasks?${query}`);
  expect(status).toBe(400);
  expect(body.errors[0]).toMatchObject({in: 'query', at: query.split('=')[0]});
});

describe('a key of one account', () => {
  test('lists no row of another account', async () => {
    const mine = (await readAll('limit=500')).map(({row_id}) => row_id);
    const theirs = await place.get('/v1/tasks?deleted=true', {key: place.keys.strange});
    expect(theirs.body.rows).toHaveLength(1);
    expect(mine).not.toContain(theirs.body.rows[0].row_id);
  });

  test('cannot update or add to a row of another account, or read its changes', async () => {
    const {body} = await place.get('/v1/customers', {key: place.keys.strange});
    const {row_id} = body.rows[0];
    const update = {table: 'customers', operation: 'update', row_id, fields: {name: 'Mine'}};
    expect((await place.post(update)).status).toBe(404);
    const note = {
      table: 'customer_notes',
      operation: 'create',
      parent: {row_id},
      fields: {note: 'x'},
    };
    expect((await place.post(note)).status).toBe(422);
    const theirs = await place.post(update, {key: place.keys.strange});
    expect(theirs.status).toBe(202);
    expect((await place.get(`/v1/changes/${theirs.body.change_id}`)).status).toBe(404);
    expect(
      (await place.get(`/v1/changes/${theirs.body.change_id}`, {key: place.keys.strange})).status,
    ).toBe(200);
  });
});

test('a change is returned with its attempts and conflicts', async () => {
  const {body} = await place.post({
    table: 'jobs',
    operation: 'update',
    number: 11,
    fields: {name: 'Tower'},
  });
  await place.pool.query(
    `INSERT INTO sync.attempts (change_id, fence, method, path, ended_at, outcome, status, answer)
     VALUES ($1, 1, 'PUT', '/jobs/11.xml', now(), 'refused', 422, 'Name is silly')`,
    [body.change_id],
  );
  await place.pool.query(
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule)
     VALUES ($1, 'name', '"Roof"', '"Tower"', '"Root"', 'ask')`,
    [body.change_id],
  );
  const {status, body: story} = await place.get(`/v1/changes/${body.change_id}`);
  expect(status).toBe(200);
  expect(story).toMatchObject({
    ...body,
    attempts: [
      {
        method: 'PUT',
        path: '/jobs/11.xml',
        outcome: 'refused',
        status: 422,
        answer: 'Name is silly',
      },
    ],
    conflicts: [
      {
        field: 'name',
        base_value: 'Roof',
        warehouse_value: 'Tower',
        service_value: 'Root',
        winner: null,
      },
    ],
  });
});

test.each(['0', '-1', 'x', '1.5', '99999999999999999999', '1%20OR%201=1'])(
  'the invalid change number %s is rejected',
  async (id) => {
    expect((await place.get(`/v1/changes/${id}`)).status).toBe(400);
  },
);

test('an unknown change is not found', async () => {
  expect((await place.get('/v1/changes/999999')).status).toBe(404);
});
