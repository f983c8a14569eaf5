import {describe, expect, test} from 'vitest';
import {expectTimeZone, isTimeZone, suggestTimeZone} from '../../src/core/names.ts';

describe('a time zone', () => {
  test.each([
    'America/New_York',
    'UTC',
    'Asia/Kathmandu',
    'US/Eastern',
    'America/Argentina/Buenos_Aires',
  ])('%s is valid', (name) => {
    expect(isTimeZone(name)).toBe(true);
  });

  test.each(['EST5', 'EST', 'New York', '+05:00', '-0500', '', 'Nope/Zone', 'America/New_York '])(
    '%j is invalid',
    (name) => {
      expect(isTimeZone(name)).toBe(false);
    },
  );

  test('is valid for every name that Intl lists', () => {
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
  ])('the suggestion for %j is %s', (name, zone) => {
    expect(suggestTimeZone(name)).toBe(zone);
  });

  test('that is invalid is answered with a suggestion, or else with an example', () => {
    expect(expectTimeZone('qwertyuiop')).toBe('expected an IANA zone such as America/New_York');
    expect(expectTimeZone('Berlin')).toBe('expected an IANA zone (did you mean Europe/Berlin?)');
  });
});
