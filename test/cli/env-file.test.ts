import {chmod, mkdtemp, readFile, rm, stat, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {withEnvFile, writeEnvFile} from '../../src/cli/verb.ts';

let folder: string;
let file: string;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-env-'));
  file = join(folder, '.env');
});
afterEach(() => rm(folder, {recursive: true}));

async function hold(text: string, mode = 0o600): Promise<void> {
  await writeFile(file, text);
  await chmod(file, mode);
}

function read(env: Record<string, string> = {}) {
  const {env: seen, fromFile} = withEnvFile({...env, FIELDMIRROR_ENV_FILE: file});
  const {FIELDMIRROR_ENV_FILE: _, ...rest} = seen;
  return {env: rest, fromFile: [...fromFile].toSorted()};
}

test('a file adds only our settings, and the environment overrides it', async () => {
  await hold(
    'FIELDMIRROR_HOME=/data\nREDIS_URL="redis://a"\nexport FIELDMIRROR_LOG_LEVEL=info\nEDITOR=vi\n',
  );
  expect(read({FIELDMIRROR_HOME: '/own'})).toEqual({
    env: {FIELDMIRROR_HOME: '/own', REDIS_URL: 'redis://a', FIELDMIRROR_LOG_LEVEL: 'info'},
    fromFile: ['FIELDMIRROR_LOG_LEVEL', 'REDIS_URL'],
  });
});

test('a token of the file is not used for another address in the environment', async () => {
  await hold(
    'FIELDMIRROR_API_URL=https://a.example.com\n' +
      'FIELDMIRROR_API_TOKEN=t\nFIELDMIRROR_TIME_ZONE=UTC\n',
  );
  expect(read({FIELDMIRROR_API_URL: 'https://b.example.com'})).toEqual({
    env: {FIELDMIRROR_API_URL: 'https://b.example.com'},
    fromFile: [],
  });
  expect(read({FIELDMIRROR_API_URL: 'https://a.example.com'}).fromFile).toHaveLength(2);
});

test("another program's file is ignored; our file is rejected if others may read it", async () => {
  await hold('DATABASE_URL=postgres://theirs\n', 0o644);
  expect(read()).toEqual({env: {}, fromFile: []});
  await hold('DATABASE_URL=postgres://ours\nFIELDMIRROR_API_TOKEN=t\n', 0o644);
  expect(() => read()).toThrow(
    /expected a file that only its owner can read, got mode 0644 .*chmod 600/,
  );
  expect(() => withEnvFile({FIELDMIRROR_ENV_FILE: join(folder, 'none')})).toThrow(
    /none: expected a file of settings, got none of that name; fix FIELDMIRROR_ENV_FILE/,
  );
});

test('settings are written for the owner only and read back, and other lines stay', async () => {
  await hold(
    '# mine\nEDITOR=vi\nFIELDMIRROR_API_TOKEN=old\n DATABASE_DIRECT_URL = postgres://old\n',
    0o644,
  );
  const given = {
    FIELDMIRROR_API_TOKEN: `a#b "c" $d`,
    DATABASE_URL: "postgres://u:p'w@h/d?sslmode=require",
  };
  writeEnvFile(file, {...given, DATABASE_DIRECT_URL: null});
  expect((await stat(file)).mode & 0o777).toBe(0o600);
  expect((await readFile(file, 'utf8')).split('\n').slice(0, 2)).toEqual(['# mine', 'EDITOR=vi']);
  expect(read().env).toEqual(given);
  expect(() => writeEnvFile('/dev/null', given)).toThrow(
    /expected a file of settings, or none yet/,
  );
});
