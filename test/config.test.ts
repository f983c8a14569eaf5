import {inspect} from 'node:util';
import {expect, test} from 'vitest';
import {loadConfig} from '../src/config.ts';
import {UsageError} from '../src/errors.ts';

const account = {
  FIELDMIRROR_API_URL: 'https://app.example.com/acme',
  FIELDMIRROR_API_TOKEN: 'canary-token',
  FIELDMIRROR_TIME_ZONE: 'America/Chicago',
};

function problemsOf(env: Record<string, string>): string {
  try {
    loadConfig(env);
  } catch (error) {
    if (error instanceof UsageError) return error.message;
    throw error;
  }
  return '';
}

test('nothing set means made-up data, embedded Postgres, the queue in Postgres', () => {
  const config = loadConfig({});
  expect([config.account, config.databaseUrl, config.redisUrl]).toEqual([null, null, null]);
});

test('an empty variable counts as not set, as docker compose passes it', () => {
  expect(loadConfig({FIELDMIRROR_API_URL: '', DATABASE_URL: ' '})).toEqual(loadConfig({}));
});

test('a real account is read whole', () => {
  const config = loadConfig(account);
  expect(config.account?.apiUrl).toBe('https://app.example.com/acme');
  expect(config.timeZone).toBe('America/Chicago');
  expect(config.account?.token.reveal()).toBe('canary-token');
});

test.each(Object.keys(account))('a real account without %s is refused by that name', (name) => {
  const {[name]: _, ...rest} = account as Record<string, string>;
  const problem = problemsOf(rest);
  // The zone alone names no account.
  expect(problem).toContain(`config: ${name}: expected`);
});

test.each([
  ['EST5', 'America/New_York'],
  ['PST', 'America/Los_Angeles'],
  ['Chicago', 'America/Chicago'],
])('the zone "%s" is refused, and %s is offered', (given, meant) => {
  const problem = problemsOf({...account, FIELDMIRROR_TIME_ZONE: given});
  expect(problem).toBe(
    `config: FIELDMIRROR_TIME_ZONE: expected an IANA zone (did you mean ${meant}?), got "${given}"`,
  );
});

test('all that is wrong is said at once', () => {
  const problem = problemsOf({
    DATABASE_URL: 'mysql://x',
    REDIS_URL: 'localhost',
    FIELDMIRROR_LOG_LEVEL: 'loud',
  });
  expect(problem.split('\n')).toHaveLength(3);
  expect(problem).toContain(
    'config: REDIS_URL: expected an address that begins with redis:// or rediss://, got "localhost"',
  );
});

test('neither the token nor a password is in the settings, in an error, or in a dump of the configuration', () => {
  const env = {...account, DATABASE_URL: 'postgres://u:canary-word@h/d', REDIS_URL: 'redis://:canary-word@h'};
  const shown = inspect(loadConfig(env).settings, {depth: 9}) + inspect(loadConfig(env).account, {depth: 9});
  expect(shown).not.toMatch(/canary/);
  expect(problemsOf({...env, DATABASE_URL: 'mysql://u:canary-word@h/d'})).not.toMatch(/canary-word/);
});
