// The sources whose tests are tried by `npm run mutants`, and for each the tests that must notice a
// fault in it: the quickest first. A source that moves, moves here.

const decide = (name: string, ...tests: readonly string[]) =>
  [`src/push/${name}.ts`, tests.map((test) => `test/push/${test}.test.ts`)] as const;

/** The tests of each source. Those whose name has `.pg.` need a Postgres. */
export const targets: ReadonlyMap<string, readonly string[]> = new Map<string, readonly string[]>([
  decide('decide', 'decide', 'decide-update', 'decide-look', 'older'),
  decide(
    'decision',
    'finish',
    'postponements',
    'remote',
    'made',
    'kinds',
    'merge',
    'decide',
    'decide-look',
  ),
  decide('compare', 'merge', 'older', 'recognize', 'decide-update', 'decide', 'decide-look'),
  [
    'src/rows/change-values.ts',
    ['same-value', 'merge', 'older', 'recognize'].map((test) => `test/push/${test}.test.ts`),
  ],
  [
    'src/api/concurrency.ts',
    ['limiter', 'learned-concurrency', 'latency'].map((test) => `test/api/${test}.test.ts`),
  ],
  ['src/core/secret.ts', ['test/core/seal.test.ts', 'test/core/config.test.ts']],
  [
    'src/api/addresses.ts',
    ['refused-addresses', 'base-url', 'rebinding'].map((test) => `test/api/${test}.test.ts`),
  ],
  ['src/core/lease.ts', ['test/core/lease.test.ts', 'test/core/lease-holder.test.ts']],
  [
    'src/console/access.ts',
    ['access', 'own-path', 'sign-in.pg'].map((test) => `test/console/${test}.test.ts`),
  ],
  ['src/sweeps/evidence.ts', ['test/sweeps/open-numbers.test.ts']],
  [
    'src/http/keys.ts',
    [
      'test/console/access.test.ts',
      'test/http/turns.test.ts',
      ...['http/keys', 'http/requests', 'feed/http', 'http/wait-change'].map(
        (test) => `test/${test}.pg.test.ts`,
      ),
      ...['own-keys', 'load', 'streamed-changes', 'many-changes'].map(
        (test) => `test/http/${test}.pg.test.ts`,
      ),
    ],
  ],
  [
    'src/console/sign-in.ts',
    ['access', 'sign-in.pg', 'session-reads.pg', 'documents.pg'].map(
      (test) => `test/console/${test}.test.ts`,
    ),
  ],
  [
    'src/sweeps/tombstones.ts',
    ['tombstones', 'false-deletes', 'approval', 'merged-customers'].map(
      (test) => `test/sweeps/${test}.pg.test.ts`,
    ),
  ],
  [
    'src/sweeps/full-sweep.ts',
    [
      'test/sweeps/breaker.test.ts',
      'test/star/fields.pg.test.ts',
      ...[
        ...['false-deletes', 'approval', 'false-deletes-employees', 'endless-lists'],
        ...['quarantine', 'sub-customers', 'capped-lists', 'drift'],
      ].map((test) => `test/sweeps/${test}.pg.test.ts`),
      'test/push/lagging.pg.test.ts',
    ],
  ],
]);
