// npm run torture -- NAME: tests that take too long for every change.

const tortures: Record<string, () => Promise<unknown>> = {
  chaos: () => import('./chaos.ts'),
  converge: () => import('./converge.ts'),
  feed: () => import('./feed.ts'),
  kills: () => import('./kills.ts'),
  push: () => import('./push.ts'),
  sweeps: () => import('./sweeps.ts'),
};
const name = process.argv[2] ?? '';
const torture = tortures[name];
if (torture === undefined) {
  process.stderr.write(
    `torture: expected one of ${Object.keys(tortures).join(', ')}, got "${name}"\n`,
  );
  process.exit(2);
}
await torture();
