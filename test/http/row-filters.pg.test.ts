// Lists are filtered by the values of columns.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {packPosition} from '../../src/http/row-routes.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {allTables} from '../../src/streams/all.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

const numbers = async (query: string, key = place.keys.writer) => {
  const {status, body} = await place.get(`/v1/customers?${query}`, {key});
  expect(status, JSON.stringify(body)).toBe(200);
  return body.rows.map((row: {customer_number: string}) => Number(row.customer_number));
};
const set = (assignment: string, number: number) =>
  inSweepTransaction(place.pool, (client) =>
    client.query(
      `UPDATE warehouse.customers SET ${assignment} WHERE account_id = $1 AND customer_number = $2`,
      [place.account.accountId, number],
    ),
  );

test('a filter returns the rows with a value, or those without one', async () => {
  expect(await numbers('service_city=Salem')).toEqual([1]);
  expect(await numbers('service_city=salem')).toEqual([]);
  expect(await numbers('service_city=')).toEqual([2, 3]);
  await set(`service_city = '', is_active = true`, 3);
  expect(await numbers('service_city=')).toEqual([2, 3]);
  expect(await numbers('is_active=true')).toEqual([3]);
  expect(await numbers('id=102')).toEqual([2]);
  expect(await numbers('id=102&service_city=Salem')).toEqual([]);
  expect(await numbers(`name=${encodeURIComponent("' OR 1=1 --")}`)).toEqual([]);
  expect(await numbers('service_city=Salem', place.keys.strange)).toEqual([1]);
});

test('a value or a key of several lines finds its row, and the changes of that', async () => {
  const text = '12 "B" St.\n2nd\tfloor';
  const named = encodeURIComponent(text);
  const update = {table: 'customers', operation: 'update', number: 3, external_key: text};
  const {body} = await place.post({...update, fields: {service_address: text}});
  expect(await numbers(`service_address=${named}`)).toEqual([3]);
  expect(await numbers(`key=${named}`)).toEqual([3]);
  const {changes} = (await place.get(`/v1/changes?external_key=${named}`)).body;
  expect(changes).toMatchObject([{change_id: body.change_id}]);
  for (const parameter of ['service_address', 'key'])
    expect(await place.get(`/v1/customers?${parameter}=%00`)).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at: parameter}]},
    });
});

test('a filter with changed_since returns only the matching rows that changed since', async () => {
  const {rows} = await place.pool.query<{at: string}>('SELECT clock_timestamp() AS at');
  const since = rows[0]?.at ?? '';
  await set(`service_city = 'Salem'`, 2);
  await set(`service_city = 'Oslo'`, 3);
  expect(await numbers(`service_city=Salem&changed_since=${since}`)).toEqual([2]);
});

test('a page token keeps the filters of the first page', async () => {
  await set(`service_city = 'Salem'`, 2);
  const {body} = await place.get('/v1/customers?service_city=Salem&limit=1');
  expect(await numbers(`page=${body.next_page}`)).toEqual([2]);
  expect(await numbers(`page=${body.next_page}&service_city=Salem`)).toEqual([2]);
  for (const more of ['service_city=Oslo', 'name=Bolt']) {
    const other = await place.get(`/v1/customers?page=${body.next_page}&${more}`);
    expect(other).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at: more.split('=')[0]}]},
    });
  }
});

test('a forged page token is rejected, whatever it filters by', async () => {
  const made = {table: 'customers', afterRowId: '0', showsDeleted: true, changedSince: null};
  for (const where of [{id: 'x'}, {extra: '1'}, {'id" OR 1=1 --': '1'}])
    expect(await place.get(`/v1/customers?page=${packPosition({...made, where})}`)).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at: 'page'}]},
    });
});

test('a filter by an unknown or unsuitable column or value is rejected by name', async () => {
  const manyNames = ['pager', 'fax', 'mobile', 'phone', 'email', 'contact', 'origin', 'name', 'id'];
  for (const [query, at] of [
    ['city=Salem', 'city'],
    ['extra=1', 'extra'],
    ['created_at=2027-01-01T00:00:00Z', 'created_at'],
    ['id=x', 'id'],
    ['company=yes', 'company'],
  ])
    expect(await place.get(`/v1/customers?${query}`)).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at}]},
    });
  const many = await place.get(`/v1/customers?${manyNames.map((name) => `${name}=1`).join('&')}`);
  expect(many.status).toBe(400);
  expect(JSON.stringify(many.body)).toContain('at most 8 columns');
});

test('every column of one value filters its list, and is in the OpenAPI document', async () => {
  const {paths} = (await place.get('/v1/openapi.json')).body;
  const samples: Record<string, string> = {text: 'x', integer: '1', boolean: 'true'};
  for (const {name, columns} of allTables) {
    const parameters = paths[`/v1/${name}`].get.parameters.map((each: {name: string}) => each.name);
    for (const column of columns) {
      const sample = samples[column.type];
      if (sample === undefined || ['limit', 'page', 'deleted', 'key'].includes(column.name)) {
        expect(parameters).not.toContain(column.type === 'nested' ? column.name : '');
        continue;
      }
      expect(parameters).toContain(column.name);
      const {status} = await place.get(`/v1/${name}?${column.name}=${sample}`);
      expect(status, `${name}.${column.name}`).toBe(200);
    }
  }
});
