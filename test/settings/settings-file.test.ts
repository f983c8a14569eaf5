// Mistakes in a file of settings: each is told with its line, its place, what was expected, what
// came and the nearest.

import {describe, expect, test} from 'vitest';
import {parseSettings} from '../../src/cli/config-file.ts';
import {UsageError} from '../../src/core/errors.ts';

function refusalOf(text: string): string {
  try {
    parseSettings(text, 'f.yaml');
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return 'nothing is refused';
}

describe('an error in a settings file is reported with its place', () => {
  test.each([
    [
      'an unknown section',
      'schedule: {}',
      /^f\.yaml:1:1: schedule: .*no such key \(did you mean schedules\?\)/,
    ],
    [
      'an unknown key of an account',
      'accounts:\n  north:\n    zone: UTC',
      /^f\.yaml:3:5: accounts \/ north \/ zone: .*there are url, time_zone, paused/m,
    ],
    [
      'a token',
      'accounts: {north: {token: s3cret}}',
      /token: .*never in this file: fieldmirror accounts add/,
    ],
    [
      'an address with a password',
      'accounts: {n: {url: "https://u:s3cret@x.example.com"}}',
      /no user name or password/,
    ],
    ['a number as an address', 'accounts: {n: {url: 5}}', /expected the base address .*, got 5$/],
    [
      'a zone',
      'accounts: {n: {time_zone: EST5}}',
      /did you mean America\/New_York\?\), got "EST5"$/,
    ],
    ['true as a word', 'accounts: {n: {paused: yes}}', /expected true or false, got "yes"$/],
    [
      'an account of null',
      'accounts: {n: null}',
      /accounts \/ n: expected a value, got nothing; .* with \{remove: true\}$/,
    ],
    ['a name with a blank', 'accounts: {"a b": {}}', /without blanks .*, got "a b"$/],
    [
      'an unknown stream',
      'schedules: {n: {x: {stream: job}}}',
      /expected one of .*jobs.*, got "job"$/,
    ],
    [
      'an interval',
      'schedules: {n: {x: {every: 5 min}}}',
      /expected an interval .*such as .*5m.*, got "5 min"$/,
    ],
    [
      'a time of day',
      'schedules: {n: {x: {at: 3am}}}',
      /expected a time of day in UTC .*, got "3am"$/,
    ],
    ['an unknown table', 'write_rules: {customer: {}}', /no such key \(did you mean customers\?\)/],
    [
      'an unknown field',
      'write_rules: {customers: {phone_numbr: ask}}',
      /\(did you mean phone_number\?\)/,
    ],
    [
      'an unknown rule',
      'write_rules: {customers: {fax: servce}}',
      /expected one of service, .*, got "servce"$/,
    ],
    [
      'a column',
      'promoted_fields: {n: {jobs: {f: {name: Warranty}}}}',
      /small letters.*, got "Warranty"$/,
    ],
    ['a currency', 'insight: {n: {currency: usd}}', /three capital letters.*, got "usd"$/],
    [
      'hours of six days',
      'capacity: {n: {7: [8, 8, 8, 8, 8, 0]}}',
      /hours of Monday to Sunday.*, got \[8,8,8,8,8,0\]$/,
    ],
    [
      '25 hours',
      'capacity: {n: {7: [8, 8, 8, 8, 25, 0, 0]}}',
      /7 \/ 4: expected hours of a day, 0 to 24, got 25$/,
    ],
    [
      'an employee without number',
      'capacity: {n: {bob: {remove: true}}}',
      /expected a number from 1 on, got "bob"$/,
    ],
    ['30 February', 'closed_days: {n: {2026-02-30: x}}', /expected a day, .*, got "2026-02-30"$/],
    ['a name that is a number', 'closed_days: {n: {2026-12-25: 3}}', /expected a text, got 3$/],
    ['an unknown kind of label', 'labels: {n: {task_typ: {}}}', /\(did you mean task_type\?\)/],
    [
      'a number twice',
      'labels: {n: {task_type: {7: x, "7": y}}}',
      /task_type \/ 7: expected it once, got it twice/,
    ],
    [
      'half a day',
      'insight: {n: {repeat_visit_days: 1.5}}',
      /expected whole days, 1 to 365, got 1\.5$/,
    ],
  ])('%s', (_, text, words) => {
    expect(refusalOf(text)).toMatch(words);
    expect(refusalOf(text)).not.toContain('s3cret');
  });

  test.each([
    ['nothing', '', /^f\.yaml: expected sections .*, got nothing$/],
    ['a list', '- accounts', /^f\.yaml: expected sections .*, got something else$/],
    ['a bracket that stays open', 'accounts: {\n', /^f\.yaml:2:1: expected YAML, got /],
    [
      'a key twice',
      'labels: {}\nlabels: {}',
      /^f\.yaml:2:1: expected each key once, got this one again: /,
    ],
    ['an alias without its anchor', 'labels: *x', /^f\.yaml: expected YAML, got unresolved alias/i],
    ['two documents', 'labels: {}\n---\nlabels: {}', /^f\.yaml:2:1: expected YAML, got /],
  ])('%s is not a settings file', (_, text, words) => {
    expect(refusalOf(text)).toMatch(words);
  });

  test('all errors are reported at once, in the order of the file', () => {
    const told = refusalOf(
      'insight: {n: {currency: usd}}\nschedules:\n  n:\n    x:\nlabel: {}',
    ).split('\n');
    expect(told.map((line) => line.split(': ')[0])).toEqual([
      'f.yaml:1:15',
      'f.yaml:4:5',
      'f.yaml:5:1',
    ]);
  });
});

test.each([
  ['schedules: {n: {x: }}', /x: expected a value, got nothing; .*\{remove: true\}$/],
  ['schedules: {n: {x: null}}', /x: expected a value, got nothing; .*\{remove: true\}$/],
  ['hooks: {erp: {host: x.example.com, limit: ~}}', /limit: expected a value, got nothing/],
  [
    'schedules:\n  # all of it is commented out',
    /schedules: expected a value, got nothing; leave the key out/,
  ],
])('a key without a value, as in %j, is rejected and removes nothing', (text, words) => {
  expect(refusalOf(text)).toMatch(words);
});

test.each([
  ['labels: {n: {task_type: {7: {remove: true}}}}', 'nothing is refused'],
  [
    'schedules: {n: {x: {remove: false}}}',
    /x \/ remove: expected remove: true alone, .*got false$/,
  ],
  ['schedules: {n: {x: {remove: true, every: 1h}}}', /n \/ x: expected remove: true alone/],
  ['accounts: {n: {remove: true}}', /an account is never removed; paused: true lets it rest/],
  ['write_rules: {customers: {fax: {remove: true}}}', /expected one of service, .*got keys with/],
])('an entry is removed only by remove: true, and only if that is allowed: %j', (text, words) => {
  expect(refusalOf(text)).toMatch(words);
});

test('a required key that is missing from an entry is reported', () => {
  expect(refusalOf('schedules:\n  n:\n    x: {stream: jobs}')).toMatch(
    /^f\.yaml:3:5: schedules \/ n \/ x \/ every: expected an interval .*, got nothing$/,
  );
});

test('a long number keeps all its digits as a key, and a day is not read as a time', () => {
  const text =
    'labels: {n: {task_type: {123456789012345678: x}}}\nclosed_days: {n: {2026-12-25: y}}';
  expect(parseSettings(text, 'f.yaml').settings).toEqual({
    labels: {n: {task_type: {'123456789012345678': 'x'}}},
    closed_days: {n: {'2026-12-25': 'y'}},
  });
});
