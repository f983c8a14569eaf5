import {Temporal} from 'temporal-polyfill';
import {describe, expect, test} from 'vitest';
import {formatTime, parseTime} from '../../src/api/times.ts';
import {TIME_SHAPES} from '../../src/api/value-types.ts';
import {RecordError} from '../../src/core/errors.ts';

const NEW_YORK = 'America/New_York';
const ZONES = [
  NEW_YORK,
  'Europe/Berlin',
  'Australia/Lord_Howe',
  'America/St_Johns',
  'Pacific/Chatham',
  'America/Santiago',
];
const DAY = 24 * 60;
const SHAPES = Object.values(TIME_SHAPES);

describe('parsing a time', () => {
  test.each([
    ['7/4/31 09:00am', '2031-07-04T09:00:00-04:00'],
    ['07/04/2031 09:00am', '2031-07-04T09:00:00-04:00'],
    ['7/4/2031 9:00 AM', '2031-07-04T09:00:00-04:00'],
    ['1/4/2031 09:00pm', '2031-01-04T21:00:00-05:00'],
    ['1/4/2031 12:00am', '2031-01-04T00:00:00-05:00'],
    ['1/4/2031 12:59am', '2031-01-04T00:59:00-05:00'],
    ['1/4/2031 12:00pm', '2031-01-04T12:00:00-05:00'],
    ['2/29/28 01:05pm', '2028-02-29T13:05:00-05:00'],
    ['1/1/69 01:05pm', '2069-01-01T13:05:00-05:00'],
    ['1/1/99 01:05pm', '2099-01-01T13:05:00-05:00'],
    ['1/1/00 01:05pm', '2000-01-01T13:05:00-05:00'],
    ['1/1/1999 01:05pm', '1999-01-01T13:05:00-05:00'],
    ['2031-07-04T09:00:00-04:00', '2031-07-04T09:00:00-04:00'],
    ['2031-07-04T13:00:00Z', '2031-07-04T13:00:00Z'],
    ['2031-07-04T13:00:00.123456+05:45', '2031-07-04T13:00:00.123456+05:45'],
  ])('accepts %s', (text, instant) => {
    expect(parseTime(text, NEW_YORK)).toEqual({instant, isAmbiguous: false});
  });

  test.each([
    '2/30/26 09:00am',
    '2/29/2027 09:00am',
    '13/1/26 09:00am',
    '0/1/26 09:00am',
    '1/0/26 09:00am',
    '4/31/26 09:00am',
    '1/1/26 00:00am',
    '1/1/26 13:00pm',
    '1/1/26 09:60am',
    '1/1/26 9:0am',
    '1/1/26 09:00',
    '1/1/026 09:00am',
    '1/1/0026 09:00am',
    '1-1-26 09:00am',
    ' 1/1/26 09:00am',
    '2026-01-01',
    '2026-01-01T09:00:00',
    '2026-02-29T09:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01 09:00:00Z',
    '',
    'tomorrow',
  ])('rejects %j', (text) => {
    expect(() => parseTime(text, NEW_YORK)).toThrow(RecordError);
  });

  test('rejects a time that the clock skips', () => {
    expect(() => parseTime('3/8/26 02:30am', NEW_YORK)).toThrow(/skips/);
    expect(() => parseTime('10/4/2026 02:15am', 'Australia/Lord_Howe')).toThrow(/skips/);
  });

  test('reads a time that comes twice as the first of the two, and flags it', () => {
    expect(parseTime('11/1/26 01:30am', NEW_YORK)).toEqual({
      instant: '2026-11-01T01:30:00-04:00',
      isAmbiguous: true,
    });
    expect(parseTime('11/1/26 02:00am', NEW_YORK)).toEqual({
      instant: '2026-11-01T02:00:00-05:00',
      isAmbiguous: false,
    });
    expect(parseTime('4/5/2026 01:45am', 'Australia/Lord_Howe')).toEqual({
      instant: '2026-04-05T01:45:00+11:00',
      isAmbiguous: true,
    });
  });
});

describe('formatting a time', () => {
  test.each([
    ['2031-07-04T13:05:00Z', 'M/D/YY hh:mmam', '7/4/31 09:05am'],
    ['2031-07-04T13:05:00Z', 'MM/DD/YYYY hh:mmam', '07/04/2031 09:05am'],
    ['2031-07-04T13:05:00Z', 'M/D/YYYY hh:mmam', '7/4/2031 09:05am'],
    ['2031-07-04T13:05:00Z', 'iso', '2031-07-04T09:05:00-04:00'],
    ['2031-07-04T13:05:07Z', 'iso', '2031-07-04T09:05:07-04:00'],
    ['2031-01-01T05:00:00Z', 'M/D/YY hh:mmam', '1/1/31 12:00am'],
    ['2031-01-01T17:00:00Z', 'M/D/YY hh:mmam', '1/1/31 12:00pm'],
    ['2005-12-31T23:59:00-05:00', 'M/D/YY hh:mmam', '12/31/05 11:59pm'],
  ] as const)('writes %s as %s', (instant, shape, text) => {
    expect(formatTime(instant, {timeZone: NEW_YORK, shape})).toEqual({text, isAmbiguous: false});
  });

  test.each([
    ['2031-07-04T13:05:07Z', 'M/D/YY hh:mmam'],
    ['2031-07-04T13:05:00.5Z', 'M/D/YY hh:mmam'],
    ['1999-07-04T13:05:00Z', 'M/D/YY hh:mmam'],
    ['2069-07-04T13:05:00Z', 'M/D/YY hh:mmam'],
    ['yesterday', 'iso'],
    ['2031-07-04T13:05:00', 'iso'],
  ] as const)('cannot write %s as %s', (instant, shape) => {
    expect(() => formatTime(instant, {timeZone: NEW_YORK, shape})).toThrow(RecordError);
  });
});

describe.each(ZONES)('in %s', (timeZone) => {
  test.each(SHAPES)(
    'every minute around each clock change of three years round-trips as %s, except repeats',
    (shape) => {
      const lost: string[] = [];
      let twice = 0;
      const changes = changesOf(timeZone);
      for (const {at} of changes) {
        for (let minute = -DAY; minute < DAY; minute++) {
          const instant = new Date(at + minute * 60_000).toISOString().replace('.000Z', 'Z');
          const {text, isAmbiguous} = formatTime(instant, {timeZone, shape});
          const back = parseTime(text, timeZone);
          const isSame = Date.parse(back.instant) === Date.parse(instant);
          if (isAmbiguous !== back.isAmbiguous || !(isSame || isAmbiguous))
            lost.push(`${instant} ${text} ${back.instant}`);
          if (!isSame) twice++;
        }
      }
      expect(lost).toEqual([]);
      // Only a repeated time's second pass is beyond the shapes: as many minutes as the clock went
      // back.
      expect(twice).toBe(changes.reduce((sum, {backMinutes}) => sum + backMinutes, 0));
      expect(twice).toBeGreaterThanOrEqual(3 * 30);
    },
  );
});

test('every local minute of the skipped hour is refused, and no other', () => {
  const refused: string[] = [];
  for (let minute = 0; minute < 24 * 60; minute++) {
    const hour = Math.floor(minute / 60);
    const clock = [hour % 12 || 12, minute % 60].map((part) => String(part).padStart(2, '0'));
    const text = `3/8/26 ${clock.join(':')}${hour < 12 ? 'am' : 'pm'}`;
    try {
      parseTime(text, NEW_YORK);
    } catch {
      refused.push(text);
    }
  }
  expect(refused).toEqual(
    Array.from({length: 60}, (_, n) => `3/8/26 02:${String(n).padStart(2, '0')}am`),
  );
});

function changesOf(timeZone: string): {at: number; backMinutes: number}[] {
  const changes: {at: number; backMinutes: number}[] = [];
  let before = Temporal.Instant.from('2026-01-01T00:00:00Z').toZonedDateTimeISO(timeZone);
  for (;;) {
    const next = before.getTimeZoneTransition('next');
    if (next === null || next.year > 2028) return changes;
    const back = (before.offsetNanoseconds - next.offsetNanoseconds) / 60e9;
    changes.push({at: next.epochMilliseconds, backMinutes: Math.max(back, 0)});
    before = next;
  }
}
