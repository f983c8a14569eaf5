// Over HTTP, too, an author says what it had read: by a cursor of the feed, or by the values.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

const customer = {table: 'customers', operation: 'update', number: 1} as const;

/** A sweep reads what a dispatcher wrote. */
const dispatch = (sql: string) => inSweepTransaction(place.pool, (client) => client.query(sql));
const cursor = async (): Promise<string> => (await place.get('/v1/feed?after=end')).body.cursor;
const changes = async () =>
  (await place.pool.query('SELECT operation, fields, base, seen FROM sync.changes ORDER BY 1'))
    .rows;
const phone = `UPDATE warehouse.customers SET phone_number = '555-A' WHERE customer_number = 1`;

describe('the request field seen', () => {
  test('records the value that its author had read if the field has changed since', async () => {
    const seen = await cursor();
    await dispatch(phone);
    const fields = {phone_number: '555-B', service_city: 'Keene'};
    expect((await place.post({...customer, seen, fields})).status).toBe(202);
    expect(await changes()).toMatchObject([
      {fields, base: {phone_number: '555-A'}, seen: {phone_number: '555-0100'}},
    ]);
  });

  test('applies to one change only, and counts the key’s own writes as read', async () => {
    const seen = await cursor();
    const fields = {phone_number: '555-B'};
    await place.post({...customer, seen, fields});
    await dispatch(`UPDATE warehouse.customers SET name = 'Bold' WHERE customer_number = 2`);
    const answer = await place.post([
      {...customer, seen, fields: {phone_number: '555-C'}},
      {...customer, number: 2, fields: {name: 'Mine'}},
      {...customer, number: 2, seen, fields: {name: 'Ours'}},
    ]);
    expect(answer.status).toBe(202);
    expect(await changes()).toMatchObject([
      {fields: {phone_number: '555-C'}, seen: null},
      {fields: {name: 'Ours'}, base: {name: 'Bold'}, seen: null},
    ]);
  });

  test('prevents an overwrite if its author sends back the value that it had read', async () => {
    const seen = await cursor();
    await dispatch(phone);
    const answer = await place.post({...customer, seen, fields: {phone_number: '555-0100'}});
    expect([answer.status, answer.body.state]).toEqual([200, 'unchanged']);
    expect((await place.get('/v1/customers?limit=1')).body.rows).toMatchObject([
      {phone_number: '555-A'},
    ]);
  });

  test.each([
    ['yesterday', 422, 'refused', 'seen: expected a cursor that the feed gave'],
    ['0123456789ab-1', 410, 'cursor-gone', 'expected one of this warehouse'],
  ])('with the cursor %s is refused, and nothing is written', async (seen, status, kind, words) => {
    const fields = {name: 'Bold'};
    for (const body of [
      {...customer, seen, fields},
      {table: 'customers', operation: 'create', seen, fields},
      {table: 'customer_notes', operation: 'delete', number: 71, seen},
    ]) {
      const answer = await place.post([{...customer, fields: {phone_number: '1'}}, body]);
      expect(answer).toMatchObject({
        status,
        body: {
          type: `urn:fieldmirror:problem:${kind}`,
          detail: expect.stringContaining(words),
          errors: [{in: 'body', at: '/1/seen', expected: 'a cursor that the feed gave'}],
        },
      });
    }
    expect(await changes()).toEqual([]);
  });
});

describe('the request field was', () => {
  test('names the values that its author had read, and leaves the other fields alone', async () => {
    await dispatch(phone);
    const answer = await place.post({
      ...customer,
      was: {phone_number: '555-0100'},
      fields: {phone_number: '555-B', service_city: 'Keene'},
    });
    expect(answer.status).toBe(202);
    expect(await changes()).toMatchObject([{seen: {phone_number: '555-0100'}}]);
  });

  test('is parsed like the new values: local times, and employees as a list', async () => {
    const job = {table: 'jobs', operation: 'update', number: 11} as const;
    const wish = {scheduled_on: '2027-02-01 10:00', employee_ids: [502]};
    const was = {scheduled_on: '2027-01-31 09:00', employee_ids: [501]};
    await place.post({...job, was, fields: wish});
    await place.post({
      ...job,
      number: 12,
      was: {scheduled_on: '2027-01-31 09:00', employee_ids: [501]},
      fields: {...wish, employee_ids: [501]},
    });
    expect(await changes()).toMatchObject([
      {seen: null},
      {seen: {scheduled_on: '2027-01-31T09:00:00-05:00', employee_ids: ['501']}},
    ]);
  });

  test('does not affect a delete if it is equal, and is recorded if it differs', async () => {
    const remove = {table: 'tasks', operation: 'delete', number: 61} as const;
    await place.post({...remove, was: {name: 'Call'}});
    expect(await changes()).toMatchObject([{operation: 'delete', seen: null}]);
    const note = {table: 'customer_notes', operation: 'delete', number: 71} as const;
    await place.post({...note, was: {note: 'Cat'}});
    expect(await changes()).toMatchObject([{seen: null}, {seen: {note: 'Cat'}}]);
  });

  test.each([
    ['an unknown field', {was: {nonsense: '1'}}, '/was/nonsense'],
    ['a cursor beside it', {was: {name: 'Acme'}, seen: 'x'}, '/seen'],
  ])('with %s is refused', async (_, more, at) => {
    const answer = await place.post({...customer, ...more, fields: {name: 'Bold'}});
    expect(answer).toMatchObject({status: 400, body: {errors: [{in: 'body', at}]}});
  });
});

test.each(['If-Match', 'If-None-Match', 'If-Unmodified-Since'])(
  'the header %s of a write is rejected, because rows have no ETag',
  async (name) => {
    const answer = await place.post(
      {...customer, fields: {name: 'Bold'}},
      {headers: {[name]: '"1"'}},
    );
    expect(answer).toMatchObject({
      status: 400,
      body: {
        hint: expect.stringContaining('seen, a cursor of the feed'),
        errors: [{in: 'header', at: name.toLowerCase(), expected: 'nothing: rows have no ETag'}],
      },
    });
    expect(await changes()).toEqual([]);
  },
);
