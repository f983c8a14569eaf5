import pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {withClient} from '../support/with-client.ts';
import {type Entry, type FeedPlace, openFeedPlace, readEntries} from './place.ts';

let place: FeedPlace;
beforeAll(async () => {
  place = await openFeedPlace();
});
afterAll(() => place?.close());

const brief = ({table_name, operation, number, before, after, own}: Entry) => ({
  table: table_name,
  operation,
  number,
  before,
  after,
  own,
});

test('a sweep that creates, changes and deletes a row adds an entry each time', async () => {
  const start = await place.end();
  const rowId = await place.sent('customers', {
    customer_number: 1,
    id: 101,
    name: 'Acme',
    phone_number: '555-0100',
  });
  await place.sweep(
    `UPDATE warehouse.customers SET name = 'Bolt', _sweep_id = 2, _hash = '\\x01'
      WHERE row_id = $1`,
    [rowId],
  );
  await place.sweep(
    'UPDATE warehouse.customers SET _deleted_at = now(), _sweep_id = 3 WHERE row_id = $1',
    [rowId],
  );
  const entries = await place.feed(start);
  const whole = (name: string) => ({
    customer_number: '1',
    id: '101',
    name,
    phone_number: '555-0100',
    extra: {},
  });
  const of = {table: 'customers', number: '1', own: false};
  expect(entries.map(brief)).toEqual([
    {...of, operation: 'created', before: null, after: whole('Acme')},
    {...of, operation: 'changed', before: {name: 'Acme'}, after: {name: 'Bolt'}},
    {...of, operation: 'removed', before: whole('Bolt'), after: null},
  ]);
  expect(entries.map(({written_by, row_id, account}) => ({written_by, row_id, account}))).toEqual(
    Array(3).fill({written_by: null, row_id: rowId, account: 'acme'}),
  );
  expect(new Set(entries.map(({entry_id}) => entry_id)).size).toBe(3);
});

test('a restored record has a created entry with all its values', async () => {
  const rowId = await place.sent('tasks', {id: 61, name: 'Call'});
  await place.sweep('UPDATE warehouse.tasks SET _deleted_at = now() WHERE row_id = $1', [rowId]);
  const start = await place.end();
  await place.sweep('UPDATE warehouse.tasks SET _deleted_at = NULL WHERE row_id = $1', [rowId]);
  const [entry] = await place.feed(start);
  expect(entry).toMatchObject({
    operation: 'created',
    before: null,
    after: {name: 'Call', id: '61'},
  });
});

test('an edit is marked as own for the login that made it, and for no other', async () => {
  const rowId = await place.sent('customers', {customer_number: 2, id: 102, name: 'Cove'});
  const start = await place.end();
  await place.author(`UPDATE warehouse.customers SET name = 'Dell' WHERE row_id = $1`, [rowId]);
  const [entry] = await place.feed(start);
  expect(entry).toMatchObject({
    operation: 'changed',
    before: {name: 'Cove'},
    after: {name: 'Dell'},
    own: true,
  });
  expect(entry?.application).toBe('erp');
  const {rows} = await place.pool.query(`SELECT own FROM sync.feed($1, readers => '{http: erp}')`, [
    start,
  ]);
  expect(rows).toEqual([{own: false}]);
});

test('an effect of a change names the change, but is not marked as own', async () => {
  const rowId = await place.sent('customers', {customer_number: 3, id: 103, name: 'Edge'});
  await place.author(`UPDATE warehouse.customers SET name = 'Fox' WHERE row_id = $1`, [rowId]);
  const start = await place.end();
  await place.sweep(
    `UPDATE warehouse.customers SET _pending = NULL, _change_id = 7 WHERE row_id = $1`,
    [rowId],
  );
  expect(await place.feed(start)).toEqual([]);
  await place.sweep(
    `UPDATE warehouse.customers SET name = 'Fox', email_address = 'a@example.com', _change_id = 7
      WHERE row_id = $1`,
    [rowId],
  );
  expect(
    (await place.feed(start)).map(({after, own, change_id}) => ({after, own, change_id})),
  ).toEqual([{after: {email_address: 'a@example.com'}, own: false, change_id: '7'}]);
});

test('several versions in one transaction are separate entries, in order', async () => {
  const start = await place.end();
  await place.sweep(
    `WITH made AS (INSERT INTO warehouse.tasks (account_id, id, name, _sweep_id)
      VALUES ($1, 62, 'a', 1) RETURNING row_id) SELECT * FROM made`,
    [place.accountId],
  );
  await withClient(place.url, async (client) => {
    await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
    for (const name of ['b', 'c'])
      await client.query('UPDATE warehouse.tasks SET name = $1 WHERE id = 62', [name]);
    await client.query('DELETE FROM warehouse.tasks WHERE id = 62; COMMIT');
  });
  const told = (await place.feed(start)).map(({before, after}) => [before?.name, after?.name]);
  expect(told).toEqual([
    [undefined, 'a'],
    ['a', 'b'],
    ['b', 'c'],
    ['c', undefined],
  ]);
});

test('a new row comes before its dependent rows; a table filter leaves out others', async () => {
  const start = await place.end();
  await place.author(
    `INSERT INTO warehouse.customers (name, external_key) VALUES ('Gate', 'erp-1')`,
  );
  await place.author(
    `INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'Roof' FROM warehouse.customers
      WHERE external_key = 'erp-1'`,
  );
  const entries = await place.feed(start);
  expect(entries.map(({table_name}) => table_name)).toEqual(['customers', 'jobs']);
  expect(entries[0]).toMatchObject({external_key: 'erp-1', number: null, own: true});
  expect((await place.feed(start, ['jobs'])).map(({table_name}) => table_name)).toEqual(['jobs']);
});

test('a first load is one entry, added once a sweep of the stream is certified', async () => {
  const start = await place.end();
  const load = (id: number) =>
    place.sweep(
      `INSERT INTO warehouse.employees (account_id, employee_number, id, name, _sweep_id)
       SELECT $1, $2::bigint, $2::bigint, 'Ann', 1
       FROM (SELECT set_config('fieldmirror.feed', 'off', true)) AS setting`,
      [place.accountId, id],
    );
  await load(1);
  await load(2);
  expect(await place.feed(start)).toEqual([]);
  const endSweep = async (state: string, reasons: string) => {
    await place.author(`INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state,
      started_at, lease_until)
                        VALUES (${place.accountId}, 'employees', 'full', 'schedule', 'running',
                          now(), now())`);
    await place.author(
      `UPDATE sync.sweeps SET state = '${state}', reasons = '${reasons}', ended_at = now(),
        lease_until = NULL WHERE state = 'running'`,
    );
  };
  await endSweep('uncertified', '{the list moved}');
  await place.sent('employees', {employee_number: 3, id: 3, name: 'Bob'});
  await endSweep('certified', '{}');
  expect(
    (await place.feed(start)).map(({table_name, operation, number}) => [
      table_name,
      operation,
      number,
    ]),
  ).toEqual([
    ['employees', 'loaded', null],
    ['employees', 'created', '3'],
  ]);
});

test('an author cannot keep its own rows out of the feed', async () => {
  const start = await place.end();
  await asRole('fieldmirror_author', async (client) => {
    await client.query(`SET fieldmirror.feed = 'off'`);
    await client.query(`INSERT INTO warehouse.customers (name) VALUES ('Hill')`);
  });
  expect((await place.feed(start)).map(({after}) => after?.name)).toEqual(['Hill']);
});

test('an author reads the entries of its accounts, a reader those of all', async () => {
  const {rows} = await place.pool.query<{account_id: string}>(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('other', 'https://example.com/other', 'UTC') RETURNING account_id`,
  );
  const start = await place.end();
  await place.sent('tasks', {id: 70, name: 'ours'});
  await place.sent('tasks', {id: 71, name: 'theirs', account_id: rows[0]?.account_id});
  await place.feed();
  await place.author(`SELECT sync.grant_account('fieldmirror_author', 'acme')`);
  const names = async (role: string) =>
    await asRole(role, async (client) =>
      (await readEntries(client, start)).map(({after}) => after?.name),
    );
  expect(await names('fieldmirror_author')).toEqual(['ours']);
  expect(await names('fieldmirror_reader')).toEqual(['ours', 'theirs']);
  for (const role of ['fieldmirror_author', 'fieldmirror_reader'])
    await expect(
      asRole(role, (client) => client.query('SELECT sync.sequence_feed()')),
    ).rejects.toThrow(/permission denied/);
});

test('a cursor that is malformed, of another warehouse or too old is refused', async () => {
  const end = await place.end();
  const [feedId = '', last = ''] = end.split('-');
  const refusal = async (cursor: string) => {
    const error: unknown = await place.feed(cursor).catch((thrown: unknown) => thrown);
    if (!(error instanceof pg.DatabaseError)) throw new Error(`expected a refusal of ${cursor}`);
    return {code: error.code, message: error.message, hint: error.hint};
  };
  expect(await refusal('7')).toMatchObject({
    code: '22023',
    message: expect.stringContaining("got '7'"),
  });
  expect(await refusal(`000000000000-${last}`)).toMatchObject({
    code: 'FM410',
    message: expect.stringContaining(`begin with ${feedId}`),
  });
  expect(await refusal(`${feedId}-${Number(last) + 1}`)).toMatchObject({
    message: expect.stringContaining('restored'),
  });
  await place.pool.query(
    `UPDATE sync.feed_entries SET at = at - interval '31 days' WHERE position <= 3`,
  );
  expect(
    (
      await place.pool.query(
        `SELECT sync.prune('feed', 10) AS removed, sync.prune('feed', 10) AS again`,
      )
    ).rows,
  ).toEqual([{removed: '3', again: '0'}]);
  const old = await refusal(`${feedId}-2`);
  expect(old).toMatchObject({code: 'FM410', message: expect.stringContaining('kept for 30 days')});
  expect(old.hint).toContain('sync.feed_end()');
  expect(await place.feed(`${feedId}-3`)).toEqual(await place.feed());
});

async function asRole<T>(role: string, work: (client: pg.Client) => Promise<T>): Promise<T> {
  return await withClient(place.url, async (client) => {
    await client.query(`SET ROLE ${role}; SET fieldmirror.writer = ''`);
    return await work(client);
  });
}
