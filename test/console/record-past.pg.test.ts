// The past of a record in the console: of one field, at any moment, version by version.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import type {Person} from './place.ts';
import {openRecords, type RecordsPlace, writeAsSweep} from './records-place.ts';

let place: RecordsPlace;
let person: Person;

beforeAll(async () => {
  place = await openRecords();
  person = await place.person();
});
afterAll(() => place?.close());

describe('the history of a field', () => {
  test('is shown from the first value on, with the writer', async () => {
    const {field} = await person.json('/records/jobs/31?field=total');
    expect(field).toMatchObject({
      field: 'total',
      value: '24.90',
      earlier: [{value: '10.00', writer: {sweepId: '1'}}],
    });
    expect((await person.get('/records/jobs/31?field=total')).text).toContain('10.00');
  });

  test('answers 404 and suggests the nearest name if the field is unknown', async () => {
    const {status, text} = await person.get('/records/jobs/31?field=totl');
    expect(status).toBe(404);
    expect(text).toContain('did you mean total?');
  });
});

describe('a record at an earlier time', () => {
  test('shows its values and parts as they were, and marks differences', async () => {
    const {record} = await person.json(`/records/jobs/31?at=${place.after.made}`);
    expect(record).toMatchObject({at: place.after.made, version: 1, isThere: true});
    const total = record.values.find(({field}: {field: string}) => field === 'total');
    expect(total).toMatchObject({value: '10.00', now: '24.90'});
    const [charges] = record.parts;
    expect(charges.rows).toMatchObject([
      {fields: {description: 'Valve', total: '4'}, differs: 'changed since'},
    ]);
    expect(charges.laterCount).toBe(1);
    const {text} = await person.get(`/records/jobs/31?at=${place.after.made}`);
    expect(text).toContain('As of ');
    expect(text).toContain('1 came later');
    expect(text).toContain('Back to now');
  });

  test('can be requested by version number, as the slider does', async () => {
    const now = await person.get('/records/jobs/31');
    expect(now.text).toMatch(/type="range" name="version" min="1" max="3" value="3"/);
    const {record} = await person.json('/records/jobs/31?version=2');
    expect(record).toMatchObject({version: 2, at: record.moments[1]});
    expect((await person.json('/records/jobs/31?version=3')).record.at).toBeNull();
  });

  test('shows that there was no row before the first version', async () => {
    const {record} = await person.json('/records/jobs/31?at=2020-01-01T00:00');
    expect(record).toMatchObject({isThere: false, version: 0, values: []});
    expect((await person.get('/records/jobs/31?at=2020-01-01T00:00')).text).toContain(
      'There was no row',
    );
  });

  test('is requested in the time zone of the account', async () => {
    const {record} = await person.json('/records/jobs/31?at=2020-01-01T00:00');
    expect(record.at).toBe('2020-01-01T05:00:00.000Z');
  });

  test('is shown as not deleted if the time is before the deletion', async () => {
    const {record} = await person.json(`/records/jobs/32?at=${place.after.priced}`);
    expect(record).toMatchObject({isThere: true, deletedSince: null});
  });

  test.each(['yesterday', '2026-13-01T00:00', '2026-03-08T02:30'])(
    'is refused if the time is %s',
    async (at) => {
      expect((await person.get(`/records/jobs/31?at=${at}`)).status).toBe(422);
    },
  );
});

test('a long history is shown twenty versions at a time', async () => {
  for (let n = 1; n <= 25; n++)
    await writeAsSweep(
      place,
      `UPDATE warehouse.tasks SET name = 'Call ${n}', _sweep_id = 1
        WHERE account_id = $1 AND id = 61`,
    );
  const {record} = await person.json('/records/tasks/61');
  expect(record).toMatchObject({events: {length: 20}, olderFrom: 20});
  const older = await person.json('/records/tasks/61?older=20');
  expect(older.record).toMatchObject({events: {length: 6}, olderFrom: null});
  expect(older.record.events.at(-1).what).toBe('appeared');
});
