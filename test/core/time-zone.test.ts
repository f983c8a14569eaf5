import {describe, expect, test} from 'vitest';
import {expectTimeZone, isTimeZone, suggestTimeZone} from '../../src/core/names.ts';

describe('a zone', () => {
  test.each([
    'America/New_York',
    'UTC',
    'Asia/Kathmandu',
    'US/Eastern',
    'America/Argentina/Buenos_Aires',
  ])('%s is one', (name) => {
    expect(isTimeZone(name)).toBe(true);
  });

  test.each(['EST5', 'EST', 'New York', '+05:00', '-0500', '', 'Nope/Zone', 'America/New_York '])(
    '%j is none',
    (name) => {
      expect(isTimeZone(name)).toBe(false);
    },
  );

  test('of every name that is listed is one', () => {
    expect(Intl.supportedValuesOf('timeZone').filter((name) => !isTimeZone(name))).toEqual([]);
  });

  test.each([
    ['EST5', 'America/New_York'],
    ['Eastern', 'America/New_York'],
    ['Pacific Standard Time', 'America/Los_Angeles'],
    ['new york', 'America/New_York'],
    ['America/NewYork', 'America/New_York'],
    ['Europe/Berln', 'Europe/Berlin'],
    ['US/Chicago', 'America/Chicago'],
    ['utc', 'UTC'],
    ['qwertyuiop', null],
    ['', null],
  ])('%j suggests %s', (name, zone) => {
    expect(suggestTimeZone(name)).toBe(zone);
  });

  test('that nobody can guess is answered with an example', () => {
    expect(expectTimeZone('qwertyuiop')).toBe('expected an IANA zone such as America/New_York');
    expect(expectTimeZone('Berlin')).toBe('expected an IANA zone (did you mean Europe/Berlin?)');
  });
});
