// An update and a delete do the same however often they are sent: a change that a read shows undone
// is sent again at once. Only later changes of the record wait until no lost request can arrive any
// more.

import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {customerResource} from '../../src/service/resource.ts';
import type {Answer} from '../labs/push/backend.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
  await place.author(
    "INSERT INTO warehouse.customers (name, fax) VALUES ('Ada Example', '555-0100')",
  );
  await place.rest();
  // A record that is missing a short while after its creation may be in a copy of the service's
  // that is behind.
  await place.pass(100);
  place.service.store.journal.splice(0);
});
afterEach(async () => await place.close());

const update = "UPDATE warehouse.customers SET fax = '555-0199'";
const remove = 'DELETE FROM warehouse.customers';
const html = {'content-type': 'text/html'};
const later: Answer = {
  status: 503,
  headers: {...html, 'retry-after': '1'},
  body: Buffer.from('<html>later'),
};
const broken: Answer = {status: 500, headers: html, body: Buffer.from('<html>oops')};

const effects = () => place.service.store.journal.map(({kind, changed}) => ({kind, ...changed}));
const record = () => place.service.store.list(customerResource, null)[0]?.fields;
const lastChange = async () => (await place.changes('state, sends')).at(-1);

/** Gives this fate to the first writing requests; the others pass. */
function meetFirst(
  count: number,
  fate: NonNullable<ReturnType<NonNullable<typeof place.mischief.script>>>,
) {
  let met = 0;
  place.mischief.script = () => (++met <= count ? fate : 'pass');
}

describe.each([
  ['an update', update, {kind: 'update', fax: '555-0199'}],
  ['a delete', remove, {kind: 'delete'}],
])('%s', (_, statement, effect) => {
  test.each([
    ['a 503 with Retry-After: 1', 1, later],
    ['a 500', 2, broken],
    ['a reset before the first byte of an answer', 2, 'drop'],
  ] as const)('that met %s is done %i seconds later', async (__, seconds, fate) => {
    meetFirst(1, fate);
    await place.author(statement);
    expect(await place.rest()).toBe(seconds);
    expect(effects()).toEqual([effect]);
    expect(await lastChange()).toEqual({state: 'done', sends: 2});
  });

  test('that was done, though its answer was lost, is not sent again', async () => {
    meetFirst(1, 'lose');
    await place.author(statement);
    expect(await place.rest()).toBe(2);
    expect(effects()).toEqual([effect]);
    expect(await lastChange()).toEqual({state: 'done', sends: 1});
  });

  test('is retried less and less often if the service reads but does not write', async () => {
    meetFirst(7, later);
    await place.author(statement);
    expect(await place.rest()).toBeGreaterThan(900);
    expect(effects()).toEqual([effect]);
    expect(await lastChange()).toEqual({state: 'done', sends: 8});
  });

  test('that is refused temporarily when sent again stays in doubt until it is done', async () => {
    let met = 0;
    const refusal = {
      status: 429,
      headers: {'content-type': 'application/xml'},
      body: Buffer.from('<errors/>'),
    };
    place.mischief.script = () => (++met === 1 ? 'drop' : met === 2 ? refusal : 'pass');
    await place.author(statement);
    await place.push();
    await place.pass(2);
    await place.push();
    expect(await lastChange()).toEqual({state: 'in_doubt', sends: 1});
    await place.rest();
    expect(effects()).toEqual([effect]);
  });
});

test('a later change is not overtaken by a lost request that arrives late', async () => {
  meetFirst(1, 'late');
  await place.author(update);
  await place.push();
  await place.pass(2);
  await place.push();
  expect(record()).toMatchObject({fax: '555-0199'});
  await place.author("UPDATE warehouse.customers SET fax = '555-0111'");
  await place.push();
  expect(await place.changes('state, reason')).toEqual([
    {state: 'done', reason: null},
    {state: 'done', reason: null},
    {state: 'pending', reason: expect.stringContaining('may still arrive')},
  ]);
  expect(await place.rest()).toBeGreaterThan(800);
  expect(record()).toMatchObject({fax: '555-0111'});
});

test('a value that another client wrote meanwhile is not overwritten', async () => {
  meetFirst(1, 'drop');
  await place.author(update);
  await place.push();
  const [held] = place.service.store.list(customerResource, null);
  if (held === undefined) throw new Error('expected a customer');
  const by = {method: 'PUT', path: '', isOurs: false};
  place.service.store.update(held, {changes: {fax: '555-0122'}, employeeIds: null}, by);
  expect(await place.rest()).toBeGreaterThanOrEqual(900);
  expect(await lastChange()).toEqual({state: 'conflict', sends: 1});
  expect(record()).toMatchObject({fax: '555-0122'});
});
