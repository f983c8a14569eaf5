// The undo of a create deletes its record. What others have done to that record at the service, and
// no sweep has read, is not deleted with it.

import {afterAll, afterEach, beforeEach, expect, test} from 'vitest';
import {
  customerResource,
  jobResource,
  notes,
  type ServiceResource,
} from '../../src/service/resource.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {loadNow} from '../labs/push/load-now.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const by = {method: 'POST', path: '', isOurs: false};
const pageReader = new PageReader();

let place: ScriptedPlace;

beforeEach(async () => {
  place = await openScriptedPlace();
  await place.author(`INSERT INTO warehouse.customers (name, fax) VALUES ('Ada', '555-0200')`);
  await place.rest();
  expect(await place.changes('state')).toEqual([{state: 'done'}]);
  await place.pass(100);
});
afterEach(async () => await place.close());
afterAll(async () => await pageReader.close());

/** The record of a number at the service. */
function find(resource: ServiceResource, number = '1') {
  const record = place.service.store.find(resource, number);
  if (record === null) throw new Error('expected the record');
  return record;
}

const isThere = (resource: ServiceResource) =>
  place.service.store.find(resource, '1')?.isDeleted === false;

/** Takes back all that was done, and releases it. @returns the states and reasons of the deletes */
async function undoAll(): Promise<Record<string, unknown>[]> {
  await place.author('SELECT sync.undo_changes(ARRAY(SELECT change_id FROM sync.changes))');
  await place.author(
    `SELECT sync.release_change(change_id) FROM sync.changes WHERE state = 'held'`,
  );
  await place.rest();
  return (await place.changes('table_name, state, reason, undoes'))
    .filter(({undoes}) => undoes !== null)
    .map(({table_name: table, state, reason}) => ({table, state, reason}));
}

test('a record that was not touched is deleted', async () => {
  expect(await undoAll()).toMatchObject([{state: 'done'}]);
  expect(isThere(customerResource)).toBe(false);
});

test('a record with a newer value at the service stays, and a person decides', async () => {
  place.service.store.update(
    find(customerResource),
    {changes: {fax: '555-A'}, employeeIds: null},
    by,
  );
  expect(await undoAll()).toEqual([
    {
      table: 'customers',
      state: 'conflict',
      reason: 'changed at the service since its author had read it: fax',
    },
  ]);
  expect(isThere(customerResource)).toBe(true);
});

test.each([false, true])(
  'a customer that has got a job stays (read by a sweep since the undo: %s)',
  async (isRead) => {
    const {store} = place.service;
    await place.author('SELECT sync.undo_changes(ARRAY[1])');
    store.create(
      jobResource,
      {changes: {name: 'Roof'}, employeeIds: [], owner: find(customerResource)},
      by,
    );
    if (isRead) expect(await loadNow(place, pageReader, 'jobs')).toBe(true);
    await place.author('SELECT sync.release_change(2)');
    await place.rest();
    expect(await place.changes('state, reason')).toMatchObject([
      {state: 'done'},
      {
        state: 'conflict',
        reason: expect.stringMatching(
          /^expected no records that belong to customer 1, got jobs 1: they would be deleted/,
        ),
      },
    ]);
    expect([isThere(customerResource), isThere(jobResource)]).toEqual([true, true]);
    await place.author(`SELECT sync.resolve_change(2, 'resend')`);
    await place.rest();
    expect([isThere(customerResource), isThere(jobResource)]).toEqual([false, false]);
  },
);

test('a job is deleted together with its own note', async () => {
  await place.author(`INSERT INTO warehouse.jobs (customer_number, name) VALUES (1, 'Roof')`);
  await place.rest();
  await place.author(`INSERT INTO warehouse.job_notes (job_number, note) VALUES (1, 'own')`);
  await place.rest();
  await place.pass(100);
  expect(await undoAll()).toMatchObject([
    {table: 'job_notes', state: 'done'},
    {table: 'jobs', state: 'done'},
    {table: 'customers', state: 'done'},
  ]);
});

test('a job to which somebody has added a note stays', async () => {
  await place.author(`INSERT INTO warehouse.jobs (customer_number, name) VALUES (1, 'Roof')`);
  await place.rest();
  await place.pass(100);
  place.service.store.create(
    notes,
    {changes: {note: 'theirs'}, employeeIds: [], owner: find(jobResource)},
    by,
  );
  expect(await undoAll()).toMatchObject([
    {table: 'jobs', state: 'conflict', reason: expect.stringContaining('got job_notes 1')},
    {table: 'customers', state: 'conflict'},
  ]);
  expect(isThere(jobResource)).toBe(true);
});
