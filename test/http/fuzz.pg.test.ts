// Any input of a stranger in a parameter, a page token or a field gets an answer or a problem in
// words, never a 500. Addresses and parameters come from the document, so that a new one is tried
// without any edit here.

import fc from 'fast-check';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {packPosition} from '../../src/http/row-routes.ts';
import {allTables, allWrites} from '../../src/streams/all.ts';
import {type Answer, openPlace, type Place} from './place.ts';

let place: Place;
/** Every list, with the names of its parameters. */
let lists: {readonly path: string; readonly parameters: readonly string[]}[];

beforeAll(async () => {
  place = await openPlace();
  const {paths} = (await place.get('/v1/openapi.json')).body;
  lists = Object.entries<Document>(paths).flatMap(([path, {get}]) =>
    get === undefined || path.includes('{')
      ? []
      : [{path, parameters: (get.parameters ?? []).map(({name}) => name)}],
  );
});
afterAll(() => place?.close());

interface Document {
  readonly get?: {readonly parameters?: readonly {readonly name: string}[]};
}

const years = fc.constantFrom('0000', '0001', '1582', '1970', '2027', '2100', '9999');
const days = fc.constantFrom('01-01', '02-29', '02-30', '12-31', '00-00', '13-01');
const clocks = fc.constantFrom(
  '00:00:00',
  '23:59:59',
  '23:59:60',
  '24:00:00',
  '12:00:00.123456789',
);
const offsets = fc.constantFrom('Z', '+00:00', '-00:00', '+14:59', '-14:59', '+15:00', '', '+0530');
const instants = fc
  .tuple(years, days, clocks, offsets)
  .map(([year, day, clock, at]) => `${year}-${day}T${clock}${at}`);
const numbers = fc.constantFrom(
  '0',
  '-0',
  '1',
  '-1',
  '1e3',
  '1e400',
  '0x10',
  ' 7 ',
  '9'.repeat(18),
  '9'.repeat(19),
  'NaN',
  'Infinity',
);
const texts = fc.oneof(
  fc.string({unit: 'binary', maxLength: 40}),
  fc.constantFrom(
    '',
    '\0',
    '%',
    "'",
    '"; --',
    'true',
    'null',
    '[]',
    '\u{1f4a9}',
    'a'.repeat(5_000),
    '__proto__',
  ),
);
const tokens = fc.oneof(
  fc
    .tuple(
      fc.constantFrom(...allTables.map(({name}) => name)),
      numbers,
      fc.boolean(),
      fc.option(instants),
    )
    .map(([table, afterRowId, showsDeleted, changedSince]) =>
      packPosition({table, afterRowId, showsDeleted, changedSince}),
    ),
  fc.json().map((json) => Buffer.from(json).toString('base64url')),
);
const values = fc.oneof(instants, numbers, texts, tokens);

/**
 * A token for the right list is refused for its contents, or read; one for another list is refused
 * first.
 */
const requests = fc.oneof(
  fc.record({list: fc.nat(), pairs: fc.array(fc.tuple(fc.nat(), values), {maxLength: 3})}),
  fc.record({list: fc.nat(), pairs: fc.tuple(fc.tuple(fc.nat(), instants))}),
);

function isAnswered({status, headers, body}: Answer): void {
  expect(status, JSON.stringify(body)).toBeLessThan(500);
  if (status < 400) return;
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(body.detail ?? body.hint, JSON.stringify(body)).toMatch(/\S/);
}

test('any value in any parameter of a list gets an answer or a problem, never a 500', async () => {
  const ask = async ({
    list,
    pairs,
  }: {
    readonly list: number;
    readonly pairs: readonly (readonly [number, string])[];
  }) => {
    const {path = '', parameters = []} = lists[list % lists.length] ?? {};
    const named = pairs.map(
      ([at, value]) => [parameters[at % parameters.length] ?? 'x', value] as const,
    );
    const query = named.map(
      ([name, value]) => `${name}=${encodeURIComponent(value.toWellFormed())}`,
    );
    isAnswered(await place.get(`${path}?${query.join('&')}`));
  };
  // The tables, the changes, the feed, and the place of a key in it.
  expect(lists.length).toBe(allTables.length + 3);
  await fc.assert(fc.asyncProperty(requests, ask), {numRuns: 300});
});

test.each(['0000-01-01T00:00:00Z', '0000-12-31T23:59:59-14:00'])(
  'a time in a year that Postgres does not have is rejected by name: %s',
  async (since) => {
    const asked = await place.get(`/v1/tasks?changed_since=${encodeURIComponent(since)}`);
    expect(asked).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at: 'changed_since'}]},
    });
    const page = packPosition({
      table: 'tasks',
      afterRowId: '1',
      showsDeleted: false,
      changedSince: since,
    });
    expect(await place.get(`/v1/tasks?page=${page}`)).toMatchObject({
      status: 400,
      body: {errors: [{in: 'query', at: 'page'}]},
    });
  },
);

test('any page token for any table gets an answer or a problem, never a 500', async () => {
  const forged = fc.tuple(
    fc.constantFrom(...allTables.map(({name}) => name)),
    numbers,
    fc.boolean(),
    fc.option(instants),
  );
  await fc.assert(
    fc.asyncProperty(forged, async ([table, afterRowId, showsDeleted, changedSince]) =>
      isAnswered(
        await place.get(
          `/v1/${table}?page=${packPosition({table, afterRowId, showsDeleted, changedSince})}`,
        ),
      ),
    ),
    {numRuns: 300},
  );
});

test('any change number and Idempotency-Key get an answer or a problem, never a 500', async () => {
  await fc.assert(
    fc.asyncProperty(values, async (value) => {
      isAnswered(await place.get(`/v1/changes/${encodeURIComponent(value.toWellFormed())}`));
      const header = Buffer.from(value)
        .toString('latin1')
        .replaceAll(/[^\x20-\x7e]/g, '?');
      isAnswered(await place.post({}, {headers: {'idempotency-key': header}}));
    }),
    {numRuns: 100},
  );
});

test('any value in any writable field gets an answer or a problem, never a 500', async () => {
  const wanted = fc.oneof(
    values,
    fc.boolean(),
    fc.constant(null),
    fc.double(),
    fc.maxSafeInteger(),
  );
  const change = fc.record({
    writes: fc.constantFrom(...allWrites),
    operation: fc.constantFrom('create', 'update'),
    field: fc.nat(),
    wanted,
    number: fc.constantFrom('1', '11', '61', '71', '81', '91', '501'),
  });
  await fc.assert(
    fc.asyncProperty(change, async ({writes, operation, field, number, wanted: value}) => {
      const {table, parent} = writes;
      const name = table.writable[field % table.writable.length]?.name ?? '';
      const where = operation === 'update' ? {number} : parent === null ? {} : {parent: {number}};
      isAnswered(
        await place.post({table: table.name, operation, ...where, fields: {[name]: value}}),
      );
    }),
    {numRuns: 250},
  );
});
