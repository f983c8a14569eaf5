// One request has one effect, however often it comes.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

const create = {table: 'tasks', operation: 'create', fields: {name: 'Order parts'}};
const once = (body: unknown, key = 'k-1') => place.post(body, {headers: {'idempotency-key': key}});

async function countChanges(): Promise<number> {
  return (await place.pool.query('SELECT FROM sync.changes')).rowCount ?? 0;
}

describe('the same Idempotency-Key', () => {
  test('with the same body returns the same change in its current state', async () => {
    const first = await once(create);
    expect(first.status).toBe(202);
    await place.pool.query('SELECT sync.cancel_change($1)', [first.body.change_id]);
    const again = await once(create);
    expect(again).toMatchObject({
      status: 200,
      body: {change_id: first.body.change_id, state: 'cancelled'},
    });
    expect(await countChanges()).toBe(1);
  });

  test('with another body is rejected and has no effect', async () => {
    await once(create);
    const {status, body} = await once({...create, fields: {name: 'Order more'}});
    expect(status).toBe(422);
    expect(body.type).toBe('urn:fieldmirror:problem:key-reused');
    expect(await countChanges()).toBe(1);
  });

  test('with the same body in another notation is the same request', async () => {
    const ask = {table: 'time_entries', operation: 'create', parent: {number: 11}};
    const first = await once({
      ...ask,
      fields: {employee_id: 501, number_of_hours: 2, started_on: '2026-05-05T10:00:00Z'},
    });
    const fields =
      '{"number_of_hours": "2", "started_on": "2026-05-05T10:00:00Z", "employee_id": "501"}';
    const again = await once(
      `{ "parent": {"number": "11"}, "fields": ${fields}, ` +
        '"operation": "create", "table": "time_entries" }',
    );
    expect(again).toMatchObject({status: 200, body: {change_id: first.body.change_id}});
  });

  test('sent ten times at once has one effect and ten equal answers', async () => {
    const answers = await Promise.all(Array.from({length: 10}, () => once([create, create])));
    expect(await countChanges()).toBe(2);
    expect(answers.map(({status}) => status).sort()).toEqual([...Array(9).fill(200), 202]);
    expect(new Set(answers.map(({body}) => JSON.stringify(body))).size).toBe(1);
  });

  test('sent ten times at once with ten bodies is accepted once', async () => {
    const answers = await Promise.all(
      Array.from({length: 10}, (_, at) => once({...create, fields: {name: `Part ${at}`}})),
    );
    expect(answers.map(({status}) => status).sort()).toEqual([202, ...Array(9).fill(422)]);
    expect(await countChanges()).toBe(1);
  });

  test('of another account is another request', async () => {
    await once(create);
    const other = await place.post(create, {
      key: place.keys.strange,
      headers: {'idempotency-key': 'k-1'},
    });
    expect(other.status).toBe(202);
    expect(await countChanges()).toBe(2);
  });

  test('can be used again if its request was rejected', async () => {
    expect((await once({...create, fields: {name: '\u0001'}})).status).toBe(422);
    expect((await once(create)).status).toBe(202);
  });

  test('can be used again after it has expired', async () => {
    await once(create);
    await place.pool.query(
      `UPDATE sync.api_requests SET requested_at = now() - interval '31 days'`,
    );
    expect((await once({...create, fields: {name: 'x'}})).status).toBe(202);
  });
});

describe('a repeated update', () => {
  const update = (phone_number: string) => ({
    table: 'customers',
    operation: 'update',
    number: 1,
    fields: {phone_number},
  });

  test('that was merged into an earlier change does not undo later updates', async () => {
    const first = await place.post(update('1'));
    const second = await once(update('2'), 'second');
    expect(second.body.change_id).toBe(first.body.change_id);
    await once(update('3'), 'third');
    expect((await once(update('2'), 'second')).body.fields).toEqual({phone_number: '3'});
    expect((await place.get('/v1/customers')).body.rows[0].phone_number).toBe('3');
  });

  test('that was answered as unchanged is answered so again and changes nothing', async () => {
    expect((await once(update('555-0100'))).body.state).toBe('unchanged');
    await place.post(update('9'));
    expect(await once(update('555-0100'))).toMatchObject({status: 200, body: {state: 'unchanged'}});
    expect((await place.get('/v1/customers')).body.rows[0].phone_number).toBe('9');
  });
});

test.each(['', 'a b', 'ä'.repeat(2), 'x'.repeat(201)])(
  'an invalid Idempotency-Key is rejected: %j',
  async (key) => {
    const answer = await place.post(create, {
      headers: {'idempotency-key': Buffer.from(key).toString('latin1')},
    });
    expect(answer).toMatchObject({
      status: 400,
      body: {errors: [{in: 'header', at: 'idempotency-key'}]},
    });
    expect(await countChanges()).toBe(0);
  },
);
