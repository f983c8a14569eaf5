import {chmodSync, mkdtempSync, rmSync, writeFileSync} from 'node:fs';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {inspect} from 'node:util';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {loadConfig} from '../../src/core/config.ts';
import {UsageError} from '../../src/core/errors.ts';

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

test('without settings, the account, the database URL and the Redis URL are null', () => {
  const config = loadConfig({});
  expect([config.account, config.databaseUrl, config.redisUrl]).toEqual([null, null, null]);
});

test('an empty variable counts as not set, as docker compose passes it', () => {
  expect(loadConfig({FIELDMIRROR_API_URL: '', DATABASE_URL: ' '})).toEqual(loadConfig({}));
});

test('all settings of a real account are read', () => {
  const config = loadConfig(account);
  expect(config.account?.apiUrl).toBe('https://app.example.com/acme');
  expect(config.timeZone).toBe('America/Chicago');
  expect(config.account?.token.reveal()).toBe('canary-token');
});

test.each(Object.keys(account))(
  'a real account without %s is rejected, and the error names the setting',
  (name) => {
    const {[name]: _, ...rest} = account as Record<string, string>;
    const problem = problemsOf(rest);
    // The zone alone names no account.
    expect(problem).toContain(`config: ${name}: expected`);
  },
);

test.each([
  ['EST5', 'America/New_York'],
  ['PST', 'America/Los_Angeles'],
  ['Chicago', 'America/Chicago'],
])('the zone "%s" is rejected, and %s is suggested', (given, meant) => {
  const problem = problemsOf({...account, FIELDMIRROR_TIME_ZONE: given});
  expect(problem).toBe(
    `config: FIELDMIRROR_TIME_ZONE: expected an IANA zone (did you mean ${meant}?), got "${given}"`,
  );
});

test.each([
  ['FIELDMIRROR_APIURL', 'FIELDMIRROR_API_URL'],
  ['FIELDMIRROR_TOKEN', 'FIELDMIRROR_API_TOKEN'],
  ['FIELDMIRROR_TIMEZONE', 'FIELDMIRROR_TIME_ZONE'],
  ['FIELDMIRROR_KEYFILE', 'FIELDMIRROR_KEY_FILE'],
])('the unknown setting %s is rejected, and %s is suggested', (typed, meant) => {
  expect(problemsOf({...account, [typed]: 'canary'})).toBe(
    `config: ${typed}: there is no such setting (did you mean ${meant}?); unset it`,
  );
});

test('variables of other programs are ignored', () => {
  expect(
    problemsOf({...account, FIELD_MIRROR: 'x', PATH: '/bin', npm_config_fieldmirror_x: 'y'}),
  ).toBe('');
});

test('all errors are reported at once', () => {
  const problem = problemsOf({
    DATABASE_URL: 'mysql://x',
    REDIS_URL: 'localhost',
    FIELDMIRROR_LOG_LEVEL: 'loud',
  });
  expect(problem.split('\n')).toHaveLength(3);
  expect(problem).toContain(
    'config: REDIS_URL: expected an address that begins with redis://, ' +
      'redis-cluster:// or redis-sentinel://, or with rediss for TLS, got "localhost"',
  );
});

test('the address of the console has no path, because its links begin at the root', () => {
  const console = (url: string) => problemsOf({...account, FIELDMIRROR_CONSOLE_URL: url});
  expect(console('https://mirror.example.com')).toBe('');
  expect(console('https://mirror.example.com:8443/')).toBe('');
  expect(console('https://example.com/mirror')).toBe(
    'config: FIELDMIRROR_CONSOLE_URL: expected a name without a path, such as ' +
      'https://example.com, got "https://example.com/mirror"',
  );
});

test('neither token nor password is in the settings, an error, or a dump', () => {
  const env = {
    ...account,
    DATABASE_URL: 'postgres://u:canary-word@h/d',
    REDIS_URL: 'redis://:canary-word@h',
  };
  const shown =
    inspect(loadConfig(env).settings, {depth: 9}) + inspect(loadConfig(env).account, {depth: 9});
  expect(shown).not.toMatch(/canary/);
  expect(problemsOf({...env, DATABASE_URL: 'mysql://u:canary-word@h/d'})).not.toMatch(
    /canary-word/,
  );
});

test('DATABASE_DIRECT_URL without DATABASE_URL is rejected', () => {
  expect(problemsOf({DATABASE_DIRECT_URL: 'postgres://u:canary-word@h/d'})).toBe(
    'config: DATABASE_DIRECT_URL: expected DATABASE_URL beside it, got nothing; ' +
      'without a pooler DATABASE_URL alone is enough',
  );
  const both = {
    DATABASE_URL: 'postgres://pooler/d',
    DATABASE_DIRECT_URL: 'postgres://u:canary-word@h/d',
  };
  const {directUrl, settings} = loadConfig(both);
  expect(directUrl).toBe(both.DATABASE_DIRECT_URL);
  expect(inspect(settings)).not.toMatch(/canary/);
});

test('FIELDMIRROR_HOST_NAMES is a list of names without ports', () => {
  expect(loadConfig({}).hostNames).toEqual([]);
  expect(loadConfig({FIELDMIRROR_HOST_NAMES: 'mirror, mirror.prod.svc'}).hostNames).toEqual([
    'mirror',
    'mirror.prod.svc',
  ]);
  for (const wrong of ['mirror:8086', 'http://mirror', 'mirror,', '*.example.com', 'a b'])
    expect(problemsOf({FIELDMIRROR_HOST_NAMES: wrong})).toMatch(
      /^config: FIELDMIRROR_HOST_NAMES: expected names without a port, such as .*, got ".*"$/,
    );
});

test('a token alone is enough to add an account, but not to configure one', () => {
  const env = {FIELDMIRROR_API_TOKEN: 'canary-token'};
  expect(loadConfig(env, {isAdding: true})).toMatchObject({account: null, apiUrl: null});
  expect(loadConfig(env, {isAdding: true}).token?.reveal()).toBe('canary-token');
  expect(problemsOf(env)).toContain('a real account needs all three');
});

describe('keys', () => {
  const texts = ['canary-canary-canary-canary-cana', 'second-second-second-second-seco'].map(
    (text) => Buffer.from(text).toString('base64'),
  );
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'fieldmirror-key-'));
  });
  afterAll(() => rmSync(folder, {recursive: true}));

  function fileOf(text: string, mode: number): string {
    const path = join(folder, `key-${mode.toString(8)}`);
    writeFileSync(path, text);
    chmodSync(path, mode);
    return path;
  }

  test('are an empty list when none is given', () => {
    expect(loadConfig({}).keys).toEqual([]);
  });

  test('are the same from the variable and from a file', () => {
    const keys = loadConfig({FIELDMIRROR_KEY: texts.join(',')}).keys.map(({id}) => id);
    expect(new Set(keys).size).toBe(2);
    const path = fileOf(`${texts.join(',')}\n`, 0o600);
    expect(loadConfig({FIELDMIRROR_KEY_FILE: path}).keys.map(({id}) => id)).toEqual(keys);
  });

  test.each([0o640, 0o604, 0o644, 0o660, 0o666])('in a file of mode %o are rejected', (mode) => {
    const path = fileOf(texts.join(), mode);
    expect(problemsOf({FIELDMIRROR_KEY_FILE: path})).toBe(
      'config: FIELDMIRROR_KEY_FILE: expected a file that only its owner can read, ' +
        `got mode 0${mode.toString(8)} of ${path}: chmod 600 ${path}`,
    );
  });

  test('that are invalid (beside other errors), given twice or missing are reported', () => {
    const wrong = {REDIS_URL: 'localhost'};
    expect(problemsOf({...wrong, FIELDMIRROR_KEY: 'canary'}).split('\n')).toEqual([
      'config: FIELDMIRROR_KEY: expected 32 bytes in base64 (openssl rand -base64 32)',
      expect.stringContaining('REDIS_URL'),
    ]);
    expect(problemsOf({FIELDMIRROR_KEY: 'x', FIELDMIRROR_KEY_FILE: 'y'})).toMatch(
      /FIELDMIRROR_KEY_FILE, got both/,
    );
    expect(problemsOf({FIELDMIRROR_KEY_FILE: join(folder, 'nothing')})).toMatch(
      /expected a file, got .*ENOENT/,
    );
  });

  test('are in no setting, no error and no dump', () => {
    const config = loadConfig({FIELDMIRROR_KEY: texts.join(',')});
    const shown = inspect(config, {depth: 9}) + JSON.stringify(config.settings);
    for (const text of texts) expect(shown).not.toContain(text);
    expect(config.settings).toContainEqual({
      name: 'FIELDMIRROR_KEY',
      value: '[secret]',
      source: 'environment',
    });
    expect(problemsOf({FIELDMIRROR_KEY: `${texts[0]},${texts[1]}x`})).not.toContain(texts[1]);
  });
});

test.each([
  'redis:localhost:6379',
  'redis://',
  'redis://localhost/queue',
  'redis://user:%zz@localhost',
  'http://localhost:6379',
])('REDIS_URL=%s is rejected when the settings are read', (url) => {
  expect(problemsOf({REDIS_URL: url})).toMatch(
    /^config: REDIS_URL: expected .*redis:\/\/.*, got "/,
  );
});

test.each(['redis://localhost', 'rediss://u:p%40@cache.example.com:6380/3', 'redis://[::1]:6379/'])(
  'REDIS_URL=%s is accepted unchanged',
  (url) => {
    expect(loadConfig({REDIS_URL: url}).redisUrl).toBe(url);
  },
);
