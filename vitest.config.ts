import {defineConfig} from 'vitest/config';
import {temporaryFolder} from './test/support/temporary-folder.ts';

process.env.TMPDIR = temporaryFolder();

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Minutes each: npm run test:long.
    exclude:
      process.env.LONG === '1'
        ? []
        : [
            'test/**/*.long.*',
            'test/push/{faults,convergence}.pg.test.ts',
            'test/sweeps/killed-steps.pg.redis.test.ts',
            '**/node_modules/**',
            // Those that need a Postgres: left out by npm run test:fast.
            ...(process.env.FAST === '1' ? ['test/**/*.pg.*'] : []),
          ],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 3,
    // Files of one worker share their modules: hooks on import would run for the first file only,
    // so helpers add theirs in a function (test/structure.test.ts).
    isolate: false,
    // V8's guard of its pages of code can end a process: docs/traps.md "Node".
    execArgv: ['--no-memory-protection-keys'],
  },
});
