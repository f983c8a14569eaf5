// An entry with a field that its reader has set since says so.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {readFeed, readFeedBatch} from '../../src/feed/feed.ts';
import {type FeedPlace, openFeedPlace} from './place.ts';

let place: FeedPlace;
let start = '';
let rowId = '';
let lastNumber = 0;
beforeAll(async () => {
  place = await openFeedPlace();
});
afterAll(() => place?.close());

/** A customer with a phone number that a dispatcher sets, and the author over it. */
async function dispatch(): Promise<void> {
  rowId = await place.sent('customers', {customer_number: ++lastNumber, name: 'Ada'});
  start = await place.end();
  await place.sweep(`UPDATE warehouse.customers SET phone_number = '555-A' WHERE row_id = $1`, [
    rowId,
  ]);
}
const set = (assignment: string) =>
  place.author(`UPDATE warehouse.customers SET ${assignment} WHERE row_id = $1`, [rowId]);
const told = async () =>
  (await place.feed(start)).map(({operation, own, overwritten}) => ({operation, own, overwritten}));
const theirs = {operation: 'changed', own: false, overwritten: true};
const ours = {operation: 'changed', own: true, overwritten: false};

describe('an entry', () => {
  test('is marked as overwritten once its reader has set the field', async () => {
    await dispatch();
    await set(`phone_number = '555-B'`);
    expect(await told()).toEqual([theirs, ours]);
  });

  test('is not marked as overwritten by a write of another field or writer', async () => {
    await dispatch();
    await set(`fax = '555-B'`);
    await place.sweep(`UPDATE warehouse.customers SET phone_number = '555-C' WHERE row_id = $1`, [
      rowId,
    ]);
    expect((await told()).map(({overwritten}) => overwritten)).toEqual([false, false, false]);
  });

  test('is not marked as overwritten by a write that was cancelled', async () => {
    await dispatch();
    await set(`phone_number = '555-B'`);
    await place.author('SELECT sync.cancel_change(sync.last_change())');
    expect((await told()).map(({overwritten}) => overwritten)).toEqual([false, false, false]);
  });

  test('is marked as overwritten by a delete of its record', async () => {
    await dispatch();
    await place.author('DELETE FROM warehouse.customers WHERE row_id = $1', [rowId]);
    expect(await told()).toEqual([theirs, {...ours, operation: 'removed'}]);
  });
});

test('the reader names the writers that count; for a subscriber, those it leaves out', async () => {
  await dispatch();
  await place.author(
    `SET application_name = 'http: erp';
     UPDATE warehouse.customers SET phone_number = '555-B' WHERE row_id = ${rowId};
     SET application_name = 'erp'`,
  );
  await place.end();
  const query = {
    after: start,
    limit: 10,
    tables: null,
    columns: null,
    changes: false,
    accountId: null,
    system: null,
  };
  const read = async (readers: string[] | null) =>
    (await readFeed(place.pool, {...query, readers})).entries.map(({overwritten}) => overwritten);
  expect([await read(['http: erp']), await read(['http: other']), await read(null)]).toEqual([
    [true, false],
    [false, false],
    [false, false],
  ]);
  const hook = {accountId: null, tables: null, columns: null, masks: false, most: 10};
  const send = async (leavesOut: string[] | null) =>
    (
      await readFeedBatch(
        place.pool,
        {...hook, leavesOut} as unknown as Parameters<typeof readFeedBatch>[1],
        {cursor: start, batchTo: null},
      )
    ).entries;
  expect(await send(['http: erp'])).toMatchObject([{overwritten: true}]);
  expect(await send(null)).toMatchObject([{overwritten: false}, {overwritten: false}]);
});
