// A process that lives for weeks gives large buffers back to the system at once, and collects its
// heap early, however it is started. A short verb begins once.

import {readFile} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {main, programLine, startProgram} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;

beforeAll(async () => {
  database = await createDatabase();
});

afterAll(() => database.drop());

const heapFlags = [
  '--max-semi-space-size=4',
  '--initial-heap-size=36',
  '--heap-growing-percent=50',
];

/** Starts the reference service, reads limits and command line of its process, and stops it. */
async function readProcess(
  env: Readonly<Record<string, string>>,
  [program = '', ...words] = programLine(),
) {
  const args = ['service', '--json', '--port', '0', '--customers', '1', '--database', database.url];
  const running = startProgram([program, ...words, ...args], env);
  await running.prints(/\{.*\}/s);
  const read = async (name: string) =>
    (await readFile(`/proc/${running.process.pid}/${name}`, 'utf8')).split('\0');
  const [environment, line] = [await read('environ'), await read('cmdline')];
  running.process.kill('SIGTERM');
  return {
    limits: environment.filter((word) => word.startsWith('MALLOC_')).sort(),
    line,
    ended: await running.ended,
  };
}

const allocatorLimits = [
  'MALLOC_ARENA_MAX=2',
  'MALLOC_MMAP_THRESHOLD_=131072',
  'MALLOC_TRIM_THRESHOLD_=131072',
];

test.runIf(process.platform === 'linux')(
  'a service process starts with fixed memory limits and exits with 0',
  async () => {
    const {limits, line, ended} = await readProcess({});
    expect(limits).toEqual(allocatorLimits);
    expect(line.slice(1, 6)).toEqual([...heapFlags, main, 'service']);
    expect(ended.code).toBe(0);
  },
);

test.runIf(process.platform === 'linux')(
  'allocator limits and Node flags that an operator has set are kept',
  async () => {
    const [node = '', ...words] = programLine();
    const {limits, line} = await readProcess({MALLOC_ARENA_MAX: '4'}, [
      node,
      '--max-old-space-size=900',
      ...words,
    ]);
    expect(limits).toEqual(['MALLOC_ARENA_MAX=4']);
    expect(line.slice(1, 6)).toEqual(['--max-old-space-size=900', ...heapFlags, main]);
  },
);

test('a short verb starts without memory flags, so that Node uses its compiled code', async () => {
  const [node = '', ...words] = programLine('status', '--help');
  const seen = `process.on('exit', () => process.stderr.write(JSON.stringify(process.execArgv)))`;
  const hook = `data:text/javascript,${encodeURIComponent(seen)}`;
  const {stderr} = await startProgram([node, '--import', hook, ...words], {}).ended;
  expect(JSON.parse(stderr)).toEqual(['--import', hook]);
});
