// One pruning at a time, whichever worker begins it; and no more is removed than the settings let
// go.

import {expect, test} from 'vitest';
import {createLogger} from '../../src/core/log.ts';
import {Pulse} from '../../src/core/pauses.ts';
import {
  claimPruning,
  makePruner,
  pruneBatch,
  pruneHistory,
  readRetention,
} from '../../src/retention/retention.ts';
import {runCommand} from '../support/command.ts';
import {addSweep, database, ids, pool, pruneNow, useRetentionPlace} from './place.ts';

useRetentionPlace();

const hour = 3_600_000;
const readPrunedAt = async () => (await readRetention(pool)).prunedAt;
const signal = new AbortController().signal;
const log = createLogger({level: 'silent', secrets: []});

const fillOld = async () => {
  for (let at = 0; at < 6; at++) await addSweep(20);
  await addSweep(1);
};

test('if several workers start to prune at once, only one of them prunes', async () => {
  await fillOld();
  const all = await Promise.all(
    [1, 2, 3].map(() => pruneHistory({pool, signal, restMs: hour, batch: 1})),
  );
  expect(all.filter((removed) => removed !== null)).toEqual([[{kind: 'quiet_sweeps', count: 6}]]);
});

test('the next pruning starts no sooner than an hour later', async () => {
  expect(await pruneHistory({pool, signal, restMs: hour})).toEqual([]);
  await fillOld();
  expect(await pruneHistory({pool, signal, restMs: hour})).toBeNull();
  await pool.query(`UPDATE sync.prunings SET ended_at = now() - interval '1 hour'`);
  expect(await pruneHistory({pool, signal, restMs: hour})).toEqual([
    {kind: 'quiet_sweeps', count: 6},
  ]);
});

test('a killed worker blocks the others until its lease expires', async () => {
  await fillOld();
  const killed = await claimPruning(pool, 0);
  expect(await pruneHistory({pool, signal, restMs: 0})).toBeNull();
  await pool.query('UPDATE sync.prunings SET lease_until = now()');
  const next = await claimPruning(pool, 0);
  expect(next).not.toBeNull();
  if (killed === null) throw new Error('expected a lease, got none');
  expect(await pruneBatch(pool, killed, {kind: 'quiet_sweeps', most: 10, at: null})).toBeNull();
  expect(await ids('SELECT sweep_id AS id FROM sync.sweeps')).toHaveLength(7);
});

test('an aborted pruning releases its lease for the next one', async () => {
  await fillOld();
  expect(await pruneHistory({pool, signal: AbortSignal.abort(), restMs: 0})).toEqual([]);
  expect(await readPrunedAt()).toBeNull();
  expect(await pruneNow()).toEqual({quiet_sweeps: 6});
});

test('a worker prunes automatically, and checks at most once a minute', async () => {
  await fillOld();
  let now = 0;
  const pruner = makePruner({pool, log}, new Pulse(() => now));
  pruner.begin();
  await pruner.settled();
  expect(await ids('SELECT sweep_id AS id FROM sync.sweeps')).toHaveLength(1);
  await pool.query(`DELETE FROM sync.prunings`);
  now = 59_999;
  pruner.begin();
  await pruner.settled();
  expect(await readPrunedAt()).toBeNull();
  now = 60_000;
  pruner.begin();
  await pruner.settled();
  expect(await readPrunedAt()).not.toBeNull();
});

test('a worker removes nothing that is younger than the settings allow', async () => {
  for (const days of [6, 5, 4]) await addSweep(days);
  const gone = await pool.query(
    `SELECT sync.prune('quiet_sweeps', 100, now() + interval '1 year') AS count`,
  );
  expect(gone.rows).toEqual([{count: '0'}]);
});

test('prune --dry-run counts, prune removes, and status reports when it pruned', async () => {
  await fillOld();
  const env = {DATABASE_URL: database.url};
  const counted = await runCommand(['prune', '--dry-run'], env);
  expect(counted).toMatchObject({code: 0, stderr: ''});
  expect(counted.stdout).toContain('6 would be removed; nothing was');
  const dry = JSON.parse((await runCommand(['prune', '--dry-run', '--json'], env)).stdout);
  expect(dry.kinds[0]).toEqual({kind: 'quiet_sweeps', days: 7, prunedTo: null, count: 6});
  const pruned = JSON.parse((await runCommand(['prune', '--json'], env)).stdout);
  expect(pruned.kinds[0]).toMatchObject({kind: 'quiet_sweeps', count: 6});
  expect((await runCommand(['prune'], env)).stdout).toContain('0 removed');
  const status = await runCommand(['status'], env);
  expect(status.stdout.replaceAll(/\s+/g, ' ')).toContain(
    'kept: quiet sweeps 7 days, settled changes 90 days, versions for ever',
  );
  expect(status.stdout).toMatch(/pruned \d+ s ago/);
  const gone = await runCommand(['sweeps', 'show', '1'], env);
  expect(gone.stderr).toContain('sync.sweep_days has their days');
});
