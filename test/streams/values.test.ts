import fc from 'fast-check';
import {describe, expect, test} from 'vitest';
import type {ColumnType} from '../../src/streams/table.ts';
import {readValue} from '../../src/streams/values.ts';
import {timeZone} from './sample-record.ts';

const read = (type: ColumnType, text: string) => readValue(type, text, timeZone);

const KEPT: Readonly<Record<string, readonly string[]>> = {
  text: ['', ' ', 'None', '00123', ' a\r\nb\n', '\u{1F527}', 'null', '=', '\u0001', '\uFFFD'],
  integer: ['0', '-1', '41', '9223372036854775807', '-9223372036854775808'],
  decimal: ['0', '0.0', '275.10', '-.5', '+3.', '1e5', '1.5E-7', '00.10', '9'.repeat(900)],
  float: ['0', '33.3333333333333', '-80.25', '1e308', '1e-300', '0e-999'],
  boolean: ['true', 'false'],
  instant: [
    '2031-01-04T09:00:00-05:00',
    '2031-01-04T14:00:00Z',
    '2032-02-29T23:59:59.123456+05:45',
    '0001-01-01T00:00:00+00:00',
  ],
};

const REFUSED: Readonly<Record<string, readonly string[]>> = {
  text: ['a\0', '\ud800', 'a\udc00b'],
  integer: [
    '1.0',
    '1e3',
    '0x10',
    ' 1',
    '1 ',
    '1,000',
    '9223372036854775808',
    '-9223372036854775809',
    '-',
    '١',
    'true',
  ],
  decimal: [
    'NaN',
    'Infinity',
    '-inf',
    '12,50',
    '$5',
    '1.2.3',
    '.',
    'e5',
    '1e',
    '1e99999',
    '--1',
    '9'.repeat(1001),
    '٣',
  ],
  float: ['NaN', '-Infinity', '1e309', '1e-400', '0x1p3', '5°'],
  boolean: ['True', 'yes', 't', '2', 'null', ' true'],
  instant: [
    '2031-02-29T09:00:00-05:00',
    '2031-13-01T09:00:00-05:00',
    '2031-01-04T24:00:00-05:00',
    '2031-01-04T09:60:00-05:00',
    '2031-01-04T09:00:60-05:00',
    '2031-01-04T09:00:00-15:00',
    '2031-01-04T09:00:00',
    '2031-01-04 09:00:00-05:00',
    '0000-01-01T00:00:00+00:00',
    '0000-01-01T00:00:00Z',
    '13/1/31 09:00am',
    '2/30/31 09:00am',
    '3/9/31 02:30am',
    'tomorrow',
    'infinity',
    'now',
  ],
};

describe.each(Object.keys(KEPT).filter((type): type is ColumnType => type in KEPT))(
  'a column of type %s',
  (type) => {
    test.each(KEPT[type] ?? [])('keeps %j as sent', (text) => {
      expect(read(type, text)).toBe(text);
    });

    test.each(REFUSED[type] ?? [])('refuses %j', (text) => {
      expect(read(type, text)).toBeUndefined();
    });

    test('reads an empty text as null, unless its type is text', () => {
      expect(read(type, '')).toBe(type === 'text' ? '' : null);
    });

    test('accepts or refuses any text without an exception', () => {
      fc.assert(
        fc.property(
          fc.string({unit: 'binary', maxLength: 40}),
          (text) => read(type, text) !== null || text === '',
        ),
      );
    });
  },
);

test('whole numbers lose a plus sign and leading zeros', () => {
  expect(['+41', '007', '-007', '000', '-0', '+0'].map((text) => read('integer', text))).toEqual([
    '41',
    '7',
    '-7',
    '0',
    '0',
    '0',
  ]);
});

test('an integer is kept if it fits into a bigint, and refused otherwise', () => {
  fc.assert(
    fc.property(fc.bigInt({min: -(2n ** 66n), max: 2n ** 66n}), (number) => {
      const fits = number >= -(2n ** 63n) && number < 2n ** 63n;
      expect(read('integer', String(number))).toBe(fits ? String(number) : undefined);
    }),
  );
});

test('every number that JavaScript writes is a valid float and decimal', () => {
  fc.assert(
    fc.property(fc.double({noNaN: true, noDefaultInfinity: true}), (number) => {
      expect(read('float', String(number))).toBe(String(number));
      expect(read('decimal', String(number))).toBe(String(number));
    }),
  );
});

test('one and zero are booleans too', () => {
  expect(['1', '0'].map((text) => read('boolean', text))).toEqual(['true', 'false']);
});

test('times without an offset are read in the zone of the account', () => {
  expect(read('instant', '7/4/31 09:00am')).toBe('2031-07-04T09:00:00-04:00');
  expect(read('instant', '01/04/2031 12:05pm')).toBe('2031-01-04T12:05:00-05:00');
  expect(readValue('instant', '7/4/2031 9:00am', 'Europe/Berlin')).toBe(
    '2031-07-04T09:00:00+02:00',
  );
});

test('a date is read as the start of its day', () => {
  expect(read('instant', '2031-01-04')).toBe('2031-01-04T00:00:00-05:00');
  expect(readValue('instant', '2018-11-04', 'America/Sao_Paulo')).toBe('2018-11-04T01:00:00-02:00');
  expect(read('instant', '2031-02-30')).toBeUndefined();
});
