import {defineConfig} from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    // Minutes each: npm run test:long.
    exclude:
      process.env.LONG === '1'
        ? []
        : [
            'test/**/*.long.*',
            'test/sync/push/{faults,convergence}.pg.test.ts',
            'test/sync/killed-steps.pg.redis.test.ts',
            '**/node_modules/**',
          ],
    globalSetup: ['test/support/global-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 120_000,
    maxWorkers: 3,
    // Where a processor has protection keys, V8 keeps a list of pages of code for the whole process. Threads and
    // WebAssembly that come and go can desync it, and then V8 ends the process: docs/traps.md "Node".
    execArgv: ['--no-memory-protection-keys'],
  },
});
