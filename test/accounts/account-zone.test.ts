import {expect, test} from 'vitest';
import {findZoneMismatch, guessZones} from '../../src/cli/accounts-check.ts';
import {inSequence} from '../support/patterns.ts';

const customer = (at: string) =>
  `<customer><created-at type="dateTime">${at}</created-at></customer>`;
const page = (...instants: string[]) =>
  `<customers type="array">${instants.map(customer).join('\n')}</customers>`;
const [winter, summer] = ['2026-01-04T09:00:00-05:00', '2026-07-04T09:00:00-04:00'];

test.each([
  ['America/New_York', page(winter, summer)],
  [
    'America/New_York in the documented dialect',
    page(winter).replaceAll('created-at', 'created_at'),
  ],
  ['US/Eastern', page(winter, summer)],
  // Rules of zones change: an old clock may not know the new one.
  ['America/New_York', page(winter, summer, '2026-07-05T09:00:00-05:00')],
  ['Europe/London', page('2026-01-04T09:00:00+00:00')],
  // A service that writes all instants in UTC tells nothing of the account.
  ['America/New_York', page('2026-07-04T09:00:00Z', '2026-01-04T09:00:00+00:00')],
  ['America/New_York', page()],
  ['America/New_York', '<html>2026-07-04T09:00:00+02:00</html>'],
])('%s is accepted if the timestamps of the service do not contradict it', (zone, body) => {
  expect(findZoneMismatch(body, zone.replace(/ in .*/, ''))).toBeNull();
});

test.each([
  [
    'America/Los_Angeles',
    inSequence(
      /did you mean America\/New_York\?\), got America\/Los_Angeles, /,
      /whose clock has -08:00 then; the service writes 2026-01-04T09:00:00-05:00/,
    ),
  ],
  // Right in winter only.
  ['America/Panama', /whose clock has -05:00 then; the service writes 2026-07-04T09:00:00-04:00/],
])('%s is reported as a mismatch with the timestamps of the service', (zone, words) => {
  expect(findZoneMismatch(page(winter, summer, '2026-08-04T09:00:00-04:00'), zone)).toMatch(words);
});

test('a guessed zone fits every timestamp; timestamps in UTC lead to no guess', () => {
  expect(guessZones(page(winter, summer), 'UTC')).toEqual(['America/New_York']);
  expect(guessZones(page(winter, summer), 'America/Toronto')).toEqual(['America/Toronto']);
  expect(guessZones(page('2026-07-04T09:00:00-07:00'), 'Europe/Berlin')).toEqual([
    'America/Phoenix',
    'America/Los_Angeles',
  ]);
  expect(guessZones(page('2026-07-04T09:00:00Z'), 'UTC')).toEqual([]);
  expect(guessZones(page(), 'Europe/Berlin')).toEqual([]);
});
