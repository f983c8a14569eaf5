// A process that lives for weeks gives large buffers back to the system at once, however it is
// started.

import {readFile} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {startCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

/** Starts the reference service, tells its process' environment, and stops it. */
async function readEnvironment(env: Readonly<Record<string, string>>) {
  const args = ['service', '--json', '--port', '0', '--customers', '1', '--database', database.url];
  const running = startCommand(args, env);
  await running.prints(/\{.*\}/s);
  const words = (await readFile(`/proc/${running.process.pid}/environ`, 'utf8')).split('\0');
  const flags = (await readFile(`/proc/${running.process.pid}/cmdline`, 'utf8')).split('\0');
  running.process.kill('SIGTERM');
  return {
    words: words.filter((word) => word.startsWith('MALLOC_')).sort(),
    flags,
    ended: await running.ended,
  };
}

test.runIf(process.platform === 'linux')(
  'the process that was started has fixed limits, and ends as any other',
  async () => {
    const {words, flags, ended} = await readEnvironment({});
    expect(words).toEqual([
      'MALLOC_ARENA_MAX=2',
      'MALLOC_MMAP_THRESHOLD_=131072',
      'MALLOC_TRIM_THRESHOLD_=131072',
    ]);
    expect(flags).toContain('service');
    expect(ended.code).toBe(0);
  },
);

test.runIf(process.platform === 'linux')(
  'limits that an operator has set stay as they are',
  async () => {
    const {words} = await readEnvironment({MALLOC_ARENA_MAX: '4'});
    expect(words).toEqual(['MALLOC_ARENA_MAX=4']);
  },
);
