// A process that keeps one vitest for many runs: what all tests share is set up once. It is sent
// the tests of a run, and answers whether they passed. One that stands still is ended from outside.

import {setTimeout as pause} from 'node:timers/promises';
import {createVitest} from 'vitest/node';

/**
 * What a runner is asked: the source that was changed since, and the tests to run, with paths from
 * the root.
 */
export interface TestRequest {
  readonly source: string;
  readonly tests: readonly string[];
}

const root = process.cwd();
const vitest = await createVitest(
  'test',
  {
    root,
    watch: false,
    bail: 1,
    reporters: [{}],
    fileParallelism: false,
    isolate: false,
    testTimeout: 20_000,
    ...(process.argv.includes('--no-servers') && {globalSetup: []}),
  },
  {clearScreen: false},
);

let lastSource = '';

async function run({source, tests}: TestRequest): Promise<boolean> {
  // The one before is without its fault again.
  for (const changed of [lastSource, source]) vitest.invalidateFile(`${root}/${changed}`);
  lastSource = source;
  // A run ends with its first failure, and vitest would count those of the runs before.
  vitest.state.filesMap.clear();
  vitest.state.idMap.clear();
  const specifications = [];
  for (const test of tests) specifications.push(...(await vitest.globTestSpecifications([test])));
  if (specifications.length < tests.length)
    throw new Error(`not all of ${tests.join(', ')} are tests`);
  const {testModules, unhandledErrors} = await vitest.runTestSpecifications(specifications);
  return unhandledErrors.length === 0 && testModules.every((module) => module.ok());
}

process.on('message', async (request: TestRequest) => {
  const hasPassed = await run(request).catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    return null;
  });
  if (process.connected) process.send?.(hasPassed);
});
process.once('disconnect', async () => {
  await Promise.race([vitest.close(), pause(20_000)]);
  process.exit();
});
process.send?.('ready');
