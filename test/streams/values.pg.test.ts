import fc from 'fast-check';
import pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import type {ColumnType} from '../../src/streams/table.ts';
import {meaningOf, readValue} from '../../src/streams/values.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {timeZone} from './sample-record.ts';

let database: TestDatabase;
let client: pg.Client;

beforeAll(async () => {
  database = await createDatabase();
  client = new pg.Client({connectionString: database.url});
  await client.connect();
});

afterAll(async () => {
  await client.end();
  await database.drop();
});

const digits = fc.string({unit: fc.constantFrom('0', '0', '1', '9'), maxLength: 25});
const number = fc
  .tuple(
    fc.constantFrom('', '-', '+'),
    digits,
    fc.constantFrom('', '.'),
    digits,
    fc.constantFrom('', 'e', 'E-'),
    fc.integer({min: 0, max: 9999}),
  )
  .map(
    ([sign, whole, point, fraction, e, exponent]) =>
      `${sign}${whole}${point}${fraction}${e}${e === '' ? '' : exponent}`,
  );
const field = (max: number, width = 2) =>
  fc.integer({min: 0, max}).map((value) => String(value).padStart(width, '0'));
const instant = fc
  .tuple(
    field(9999, 4),
    field(13),
    field(32),
    field(24),
    field(60),
    field(60),
    fc.constantFrom('', '.5', '.123456', '.10'),
    fc.constantFrom('Z', '-05:00', '+14:59', '+00:00'),
  )
  .map(
    ([year, month, day, hour, minute, second, fraction, zone]) =>
      `${year}-${month}-${day}T${hour}:${minute}:${second}${fraction}${zone}`,
  );

const WRITTEN: readonly (readonly [ColumnType, string, fc.Arbitrary<string>])[] = [
  // Without CR: line breaks alone mean the same here and are not equal there.
  ['text', 'text', fc.string({unit: 'binary'}).map((text) => text.replaceAll('\r', ''))],
  [
    'integer',
    'bigint',
    fc.oneof(number, fc.bigInt({min: -(2n ** 64n), max: 2n ** 64n}).map(String)),
  ],
  ['decimal', 'numeric', number],
  ['float', 'float8', fc.oneof(number, fc.double().map(String))],
  ['boolean', 'boolean', fc.constantFrom('true', 'false', '1', '0')],
  [
    'instant',
    'timestamptz',
    fc.oneof(
      instant,
      fc.date({noInvalidDate: true}).map((date) => date.toISOString()),
    ),
  ],
];

/** Values that the column took, each once. */
function taken(type: ColumnType, arbitrary: fc.Arbitrary<string>): string[] {
  const values = fc.sample(arbitrary, 5_000).map((text) => readValue(type, text, timeZone));
  return [...new Set(values.filter((value) => typeof value === 'string'))];
}

test.each(WRITTEN)(
  'Postgres accepts every value that a column of type %s accepts, as %s',
  async (type, pgType, arbitrary) => {
    const values = taken(type, arbitrary);
    expect(values.length).toBeGreaterThan(1);
    const {rows} = await client.query(
      `SELECT count(value::${pgType})::int AS count FROM unnest($1::text[]) AS value`,
      [values],
    );
    expect(rows).toEqual([{count: values.length}]);
  },
);

test.each(WRITTEN)(
  'values of type %s have as many meanings as Postgres, as %s, finds distinct values',
  async (type, pgType, arbitrary) => {
    const values = taken(type, arbitrary).slice(0, 700);
    const meanings = values.map((value) => meaningOf(type, value));
    const {rows} = await client.query(
      `SELECT count(DISTINCT value::${pgType})::int AS distinct_values
       FROM unnest($1::text[]) AS value`,
      [values],
    );
    expect(rows).toEqual([{distinct_values: new Set(meanings).size}]);
  },
);
