import fc from 'fast-check';
import {Temporal} from 'temporal-polyfill';
import {describe, expect, test} from 'vitest';
import type {Element, Value} from '../../src/api/xml-document.ts';
import {readRows} from '../../src/streams/record-rows.ts';
import {tasks} from '../../src/streams/team.ts';
import {epochSeconds, meaningOf} from '../../src/streams/values.ts';
import {element, timeZone} from './sample-record.ts';

const hashOf = (fields: Readonly<Record<string, Value>>): string =>
  readRows(tasks, element({id: '1', ...fields}), {timeZone}).row.hash;

const ALIKE: readonly [string, Readonly<Record<string, Value>>, Readonly<Record<string, Value>>][] =
  [
    ['a decimal with zeros behind it', {duration: '275.10'}, {duration: '275.1'}],
    ['a decimal with an exponent', {duration: '1.5e3'}, {duration: '1500.00'}],
    ['a zero with a sign', {duration: '-0.0'}, {duration: '0'}],
    [
      'one moment under two offsets',
      {ends_at: '2031-01-04T09:00:00-05:00'},
      {ends_at: '2031-01-04T14:00:00Z'},
    ],
    [
      'a moment with a fraction of zero',
      {ends_at: '2031-01-04T09:00:00.000-05:00'},
      {ends_at: '2031-01-04T09:00:00-05:00'},
    ],
    [
      'a moment as text of the zone',
      {ends_at: '1/4/2031 09:00am'},
      {ends_at: '2031-01-04T09:00:00-05:00'},
    ],
    ['CRLF and LF in a column', {name: 'a\r\nb\rc'}, {name: 'a\nb\nc'}],
    ['CRLF and LF in attributes', {other: 'a\r\nb\rc'}, {other: 'a\nb\nc'}],
    [
      'CRLF and LF deep in attributes',
      {other: element({a: 'b\r\n'})},
      {other: element({a: 'b\n'})},
    ],
    ['1 and true', {completed: '1'}, {completed: 'true'}],
    ['a field that is nil and one not sent', {name: null, other: null}, {}],
    [
      'an empty text and nil where no text is expected',
      {duration: '', ends_at: ''},
      {duration: null},
    ],
    ['an empty branch and none', {other: {names: [], values: [], isArray: true}}, {}],
  ];

const DIFFERENT: readonly [
  string,
  Readonly<Record<string, Value>>,
  Readonly<Record<string, Value>>,
][] = [
  ['nil and empty in a column', {name: null}, {name: ''}],
  ['nil and empty in attributes', {other: null}, {other: ''}],
  ['empty and an equals sign', {name: ''}, {name: '='}],
  ['an equals sign and two', {name: '='}, {name: '=='}],
  ['a value in one column and in the next', {name: 'a'}, {description: 'a'}],
  ['texts cut at another place', {name: 'a', description: 'b'}, {name: 'ab', description: ''}],
  ['two decimals', {duration: '10'}, {duration: '1'}],
  ['a decimal and its negative', {duration: '-1'}, {duration: '1'}],
  [
    'a local time in winter and in summer',
    {ends_at: '1/4/2031 09:00am'},
    {ends_at: '7/4/2031 09:00am'},
  ],
  [
    'moments a millisecond apart',
    {ends_at: '2031-01-04T14:00:00.001Z'},
    {ends_at: '2031-01-04T14:00:00Z'},
  ],
  ['blanks around a text', {name: ' a'}, {name: 'a'}],
  ['a backslash and a line break in attributes', {other: '\\r'}, {other: '\n'}],
  ['false and nothing', {completed: 'false'}, {}],
];

test.each(ALIKE)('%s give the same hash', (_what, one, other) => {
  expect(hashOf(one)).toBe(hashOf(other));
});

test.each(DIFFERENT)('%s give different hashes', (_what, one, other) => {
  expect(hashOf(one)).not.toBe(hashOf(other));
});

test('two rows of texts have the same hash only if they are equal', () => {
  const cell = fc.option(
    fc.string({unit: fc.constantFrom('=', 'a', '\n', '\u0001'), maxLength: 3}),
    {
      nil: null,
    },
  );
  const cells = fc.record({name: cell, description: cell, other: cell});
  fc.assert(
    fc.property(cells, cells, (one, other) => {
      const isSame = JSON.stringify(one) === JSON.stringify(other);
      expect(hashOf(one) === hashOf(other)).toBe(isSame);
    }),
    {numRuns: 2000},
  );
});

test('decimals mean the same exactly when they are the same number', () => {
  const digits = fc.string({unit: fc.constantFrom('0', '0', '1', '5'), minLength: 1, maxLength: 4});
  const decimal = fc.record({
    digits,
    fraction: digits,
    exponent: fc.integer({min: -3, max: 3}),
    sign: fc.constantFrom('', '-', '+'),
  });
  fc.assert(
    fc.property(decimal, decimal, (...pair) => {
      const [one, other] = pair.map((part) => {
        const text = `${part.sign}${part.digits}.${part.fraction}e${part.exponent}`;
        const exact =
          BigInt(part.digits + part.fraction) *
          10n ** BigInt(part.exponent + 3 + 4 - part.fraction.length);
        return {meaning: meaningOf('decimal', text), exact: part.sign === '-' ? -exact : exact};
      });
      expect(one?.meaning === other?.meaning).toBe(one?.exact === other?.exact);
    }),
    {numRuns: 2000},
  );
});

test('line breaks in JSON text are normalised, escaped backslashes before an r are not', () => {
  fc.assert(
    fc.property(fc.string({unit: fc.constantFrom('\\', 'r', 'n', '\r', '\n', '"')}), (text) => {
      expect(JSON.parse(meaningOf('nested', JSON.stringify(text)))).toBe(
        text.replace(/\r\n?/g, '\n'),
      );
    }),
  );
});

describe('the seconds of an instant', () => {
  const pad = (value: number, width = 2) => String(value).padStart(width, '0');
  const field = (max: number) => fc.integer({min: 0, max});
  const parts = fc.tuple(
    fc.integer({min: 1, max: 9999}),
    field(13),
    field(32),
    field(25),
    field(61),
    field(61),
    field(16),
    field(61),
  );

  test('are those that Temporal computes, and NaN if the time does not exist', () => {
    fc.assert(
      fc.property(
        parts,
        fc.constantFrom('+', '-'),
        ([year, month, day, hour, minute, second, hours, minutes], sign) => {
          const date = `${pad(year, 4)}-${pad(month)}-${pad(day)}`;
          const clock = `${pad(hour)}:${pad(minute)}:${pad(second)}`;
          const text = `${date}T${clock}${sign}${pad(hours)}:${pad(minutes)}`;
          const exists = second < 60 && hours < 15;
          expect(epochSeconds(text)).toBe(exists ? readByTemporal(text) : Number.NaN);
        },
      ),
      {numRuns: 3000},
    );
  });

  test('are NaN for a text of another format', () => {
    for (const text of [
      '',
      '2031-01-04T09:00:00Z',
      '2031-01-04 09:00:00-05:00',
      '2031-01-04T09:00:00 05:00',
      '2o31-01-04T09:00:00-05:00',
    ])
      expect(epochSeconds(text)).toBe(Number.NaN);
  });

  function readByTemporal(text: string): number {
    try {
      return Temporal.Instant.from(text).epochMilliseconds / 1000;
    } catch {
      return Number.NaN;
    }
  }
});

test('nested elements sent in another order give the same hash', () => {
  const turn = ({names, values, isArray}: Element): Element => ({
    names: names.toReversed(),
    values: values.toReversed(),
    isArray,
  });
  const job = element({id: '1', name: 'a', status: null});
  expect(hashOf({job: turn(job)})).toBe(hashOf({job}));
});
