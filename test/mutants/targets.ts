// The sources whose tests are tried by `npm run mutants`, and for each the tests that must notice a fault in it: the
// quickest first. A source that moves, moves here.

const decide = (name: string, ...more: readonly string[]) =>
  [
    `src/sync/push/decide/${name}.ts`,
    [name, ...more].map((test) => `test/sync/push/decide/${test}.test.ts`),
  ] as const;

/** The tests of each source. Those whose name has `.pg.` need a Postgres. */
export const targets: ReadonlyMap<string, readonly string[]> = new Map([
  decide('decide', 'decide-update'),
  decide('decide-look'),
  decide('decide-update', 'decide'),
  decide('finish', 'decide', 'decide-look'),
  decide('kinds', 'merge', 'remote'),
  decide('merge', 'decide-update', 'decide-look'),
  decide('older', 'decide', 'decide-look'),
  decide('postponements', 'decide', 'decide-look'),
  decide('recognize', 'decide-look'),
  decide('remote', 'decide', 'decide-look'),
  decide('same-value', 'merge', 'older', 'recognize'),
  ['src/api/pace/limiter.ts', ['test/api/limiter.test.ts']],
  ['src/sync/lease.ts', ['test/sync/lease.test.ts']],
  ['src/sync/sweep/breaker.ts', ['test/sync/breaker.test.ts']],
  ['src/sync/verify/open-numbers.ts', ['test/sync/open-numbers.test.ts']],
]);
