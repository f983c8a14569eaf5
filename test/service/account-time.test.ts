import {describe, expect, test} from 'vitest';
import {UsageError} from '../../src/core/errors.ts';
import {AccountTime} from '../../src/service/account-time.ts';

const newYork = new AccountTime('America/New_York');

describe('reading a time', () => {
  test.each([
    ['10/2/26 09:30am', '2026-10-02T13:30:00Z'],
    ['10/02/2026 09:30am', '2026-10-02T13:30:00Z'],
    ['1/4/2027 9:30 PM', '2027-01-05T02:30:00Z'],
    ['1/4/27 12:00am', '2027-01-04T05:00:00Z'],
    ['1/4/27 12:00pm', '2027-01-04T17:00:00Z'],
    ['1/4/27 17:05', '2027-01-04T22:05:00Z'],
    ['1/4/69 12:00pm', '1969-01-04T17:00:00Z'],
    ['1/4/68 12:00pm', '2068-01-04T17:00:00Z'],
    ['2026-10-02 09:30', '2026-10-02T13:30:00Z'],
    ['2026-10-02T09:30:15.9Z', '2026-10-02T09:30:15Z'],
    ['2026-10-02T09:30:15+02:00', '2026-10-02T07:30:15Z'],
    ['  10/2/26 09:30am\n', '2026-10-02T13:30:00Z'],
  ])('%s is %s', (text, utc) => {
    expect(newYork.parse(text)).toBe(utc);
  });

  test.each([
    '',
    'soon',
    '2/30/26 09:00am',
    '13/1/26 09:00am',
    '1/1/26 13:00pm',
    '1/1/26 00:00am',
    '1/1/26 9:60am',
    '1/1/26',
    '2026-02-30 10:00',
    '2026-10-02T25:00',
    '1/1/026 9:00am',
  ])('"%s" is not a valid time', (text) => {
    expect(newYork.parse(text)).toBeNull();
  });

  test('a local time that occurs twice is the first one; a skipped time moves forward', () => {
    expect(newYork.parse('11/1/26 01:30am')).toBe('2026-11-01T05:30:00Z');
    expect(newYork.parse('3/8/26 02:30am')).toBe('2026-03-08T07:30:00Z');
  });
});

describe('writing a time', () => {
  test.each([
    ['M/D/YY', '7/4/26 09:05am'],
    ['MM/DD/YYYY', '07/04/2026 09:05am'],
    ['M/D/YYYY', '7/4/2026 09:05am'],
  ] as const)('produces the format %s, which parses back to the same time', (shape, text) => {
    expect(newYork.writeTextual('2026-07-04T13:05:00Z', shape)).toBe(text);
    expect(newYork.parse(text)).toBe('2026-07-04T13:05:00Z');
  });

  test('writes midnight as 12:00am and noon as 12:00pm', () => {
    expect(newYork.writeTextual('2026-07-04T04:00:00Z', 'M/D/YY')).toBe('7/4/26 12:00am');
    expect(newYork.writeTextual('2026-07-04T16:00:00Z', 'M/D/YY')).toBe('7/4/26 12:00pm');
  });

  test.each([
    'America/New_York',
    'Australia/Lord_Howe',
    'Asia/Kathmandu',
    'Pacific/Apia',
    'Europe/London',
    'UTC',
  ])('in %s, every quarter hour around a clock change parses back to the same time', (timeZone) => {
    const time = new AccountTime(timeZone);
    for (const day of [
      '2026-03-08',
      '2026-03-29',
      '2026-04-05',
      '2026-10-04',
      '2026-10-25',
      '2026-11-01',
    ]) {
      const start = Date.parse(`${day}T00:00:00Z`) - 86_400_000;
      for (let quarter = 0; quarter < 3 * 96; quarter++) {
        const utc = `${new Date(start + quarter * 900_000 + 61_000).toISOString().slice(0, 19)}Z`;
        const written = time.writeIso(utc);
        expect(written).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d$/);
        expect(new Date(written).toISOString().slice(0, 19)).toBe(utc.slice(0, 19));
        expect(time.parse(written)).toBe(utc);
      }
    }
  });
});

describe('named spans of days', () => {
  const at = (now: string, timeZone = 'America/New_York') =>
    new AccountTime(timeZone, () => Date.parse(now));

  test('a week starts on Sunday, even if today is Sunday', () => {
    expect(at('2026-11-01T15:00:00Z').span('this_week')).toEqual({
      from: '2026-11-01T04:00:00Z',
      until: '2026-11-08T05:00:00Z',
    });
    expect(at('2026-11-07T15:00:00Z').span('this_week')).toEqual({
      from: '2026-11-01T04:00:00Z',
      until: '2026-11-08T05:00:00Z',
    });
  });

  test('today is the local day of the account, not the UTC day', () => {
    expect(at('2026-11-03T04:30:00Z').span('today')).toEqual({
      from: '2026-11-02T05:00:00Z',
      until: '2026-11-03T05:00:00Z',
    });
  });

  test('next_month has its own length; last_month can be in the previous year', () => {
    expect(at('2028-01-31T15:00:00Z').span('next_month')).toEqual({
      from: '2028-02-01T05:00:00Z',
      until: '2028-03-01T05:00:00Z',
    });
    expect(at('2028-01-31T15:00:00Z').span('last_month')).toEqual({
      from: '2027-12-01T05:00:00Z',
      until: '2028-01-01T05:00:00Z',
    });
  });

  test('a word that is not in the specification has no span', () => {
    for (const word of ['', 'someday', 'constructor', 'Today'])
      expect(newYork.span(word)).toBeNull();
  });
});

test('an invalid time zone is refused', () => {
  expect(() => new AccountTime('EST5')).toThrow(UsageError);
});
