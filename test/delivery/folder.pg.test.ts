// Snapshots in a folder: what a reader finds there is one state of the warehouse, whole or not at
// all, whatever happens to the process that writes it.

import {mkdir, readdir, readFile, rm} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {exportedTables} from '../../src/star/star.ts';
import {tieOuts} from '../../src/star/tie-outs.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {withClient} from '../support/with-client.ts';
import {
  type DeliveryPlace,
  listShown,
  openDeliveryPlace,
  queryDuck,
  readSnapshot,
} from './delivery-place.ts';

let place: DeliveryPlace;
beforeAll(async () => {
  place = await openDeliveryPlace();
});
afterAll(() => place?.close());
beforeEach(async () => {
  expect(await place.apply({delivery: {lake: {to: place.lake}}})).toMatchObject({code: 0});
});
afterEach(async () => {
  await place.query('DELETE FROM sync.delivery_targets');
  await rm(place.lake, {recursive: true, force: true});
});

const held = () => place.query('SELECT name, rows, bytes FROM sync.snapshots ORDER BY name');

describe('a snapshot', () => {
  test('has every table of the star, and a manifest with their rows and sums', async () => {
    const {code, stdout} = await place.deliver('--json');
    expect(code).toBe(0);
    const manifest = await readSnapshot(place.lake);
    expect(JSON.parse(stdout)).toMatchObject([{target: 'lake', name: manifest?.snapshot}]);
    expect(manifest?.tables.map(({table}) => table)).toEqual(exportedTables.map(({name}) => name));
    for (const {table, file, rows, sums} of manifest?.tables ?? []) {
      const sql = [
        'count(*) AS rows',
        ...Object.keys(sums).map((name) => `sum(${name}) AS ${name}`),
      ];
      const [read] = await queryDuck(
        `SELECT ${sql.join(', ')} FROM '${join(place.lake, manifest?.snapshot ?? '', file)}'`,
      );
      const [now] = await place.query(`SELECT ${sql.join(', ')} FROM mart.${table}`);
      expect(String(read?.rows)).toBe(String(rows));
      for (const [name, sum] of Object.entries(sums)) {
        expect(Number(String(read?.[name])), `${table}.${name}`).toBeCloseTo(Number(sum), 6);
        expect(Number(now?.[name]), `${table}.${name}`).toBe(Number(sum));
      }
    }
    expect(manifest?.tables.find(({table}) => table === 'fct_job')?.columns).toContainEqual({
      name: 'subtotal',
      type: 'DECIMAL(18, 4)',
      comment: expect.stringMatching(/./),
    });
  });

  test('has the certificates of its sweeps and the results of the tie-outs', async () => {
    await place.deliver();
    const manifest = await readSnapshot(place.lake);
    const sweeps = await place.query(
      `SELECT stream, sweep_id AS sweep, records::integer AS records, evidence FROM sync.sweeps
        WHERE state = 'certified' ORDER BY stream`,
    );
    expect(sweeps).toHaveLength(4);
    expect(manifest?.sweeps).toMatchObject(sweeps);
    expect(manifest?.tieOuts.map(({name, brokenRows}) => [name, brokenRows])).toEqual(
      tieOuts.map(({name}) => [name, 0]),
    );
    expect(await place.query('SELECT sweep_ids AS ids FROM sync.snapshots')).toEqual([
      {ids: sweeps.map(({sweep}) => sweep)},
    ]);
  });

  test('has the same bytes as the one before if nothing changed', async () => {
    await place.deliver();
    const before = await readSnapshot(place.lake);
    await place.deliver();
    const after = await readSnapshot(place.lake);
    expect(after?.snapshot).not.toBe(before?.snapshot);
    expect(after?.tables).toEqual(before?.tables);
    expect(await listShown(place.lake)).toHaveLength(3);
  });
});

describe('a delivery killed midway', () => {
  test('shows no partial snapshot, and the next delivery completes', async () => {
    await place.deliver();
    const before = await readSnapshot(place.lake);
    const shown = await listShown(place.lake);
    await withClient(place.env.DATABASE_URL ?? '', async (holder) => {
      // Some tables are written by then, and some are not.
      await holder.query('BEGIN; LOCK TABLE warehouse.tasks IN ACCESS EXCLUSIVE MODE');
      const running = startCommand(['deliver'], place.env);
      await running.prints(/writing fct_task/);
      expect((await listParts()).length).toBeGreaterThan(5);
      expect(await listShown(place.lake)).toEqual(shown);
      // Stopped, it keeps its lease: the next one waits until it is certainly gone.
      running.process.kill('SIGSTOP');
      await holder.query('ROLLBACK');
      const next = startCommand(['deliver'], place.env);
      await next.prints(/lake: waiting for another process/);
      expect(await listShown(place.lake)).toEqual(shown);
      expect(await readSnapshot(place.lake)).toEqual(before);
      running.process.kill('SIGKILL');
      await running.ended;
      expect(await next.ended).toMatchObject({code: 0});
    });
    expect((await readSnapshot(place.lake))?.snapshot).not.toBe(before?.snapshot);
    expect(await listParts()).toEqual([]);
    expect(await held()).toHaveLength(2);
  });

  async function listParts(): Promise<string[]> {
    const parts = (await readdir(place.lake)).filter((name) => name.startsWith('.part-'));
    return (await Promise.all(parts.map((name) => readdir(join(place.lake, name))))).flat();
  }

  test('releases its lease if it is stopped by SIGTERM', async () => {
    await withClient(place.env.DATABASE_URL ?? '', async (holder) => {
      await holder.query('BEGIN; LOCK TABLE warehouse.tasks IN ACCESS EXCLUSIVE MODE');
      const running = startCommand(['deliver'], place.env);
      await running.prints(/writing fct_task/);
      running.process.kill('SIGTERM');
      await holder.query('ROLLBACK');
      await running.ended;
    });
    expect(await listShown(place.lake)).toEqual([]);
    expect(await place.deliver()).toMatchObject({code: 0});
  });
});

test('the newest snapshots are kept, and old ones are removed with their rows', async () => {
  await place.apply({delivery: {lake: {to: place.lake, keep: 2}}});
  await mkdir(place.lake);
  await mkdir(join(place.lake, 'of somebody else'));
  const names: (string | undefined)[] = [];
  for (let night = 0; night < 3; night++) {
    expect(await place.deliver()).toMatchObject({code: 0});
    names.push((await readSnapshot(place.lake))?.snapshot);
  }
  expect(await listShown(place.lake)).toEqual([
    ...names.slice(1),
    'latest.json',
    'of somebody else',
  ]);
  expect((await held()).map(({name}) => name)).toEqual(names.slice(1));
});

test('a snapshot of a time to come is an error, until it is removed', async () => {
  const future = join(place.lake, '2999-01-01T000000.000Z');
  await mkdir(future, {recursive: true});
  const refused = await place.deliver();
  expect(refused).toMatchObject({code: 3, stderr: expect.stringContaining('remove that snapshot')});
  expect(refused.stderr).toContain('got 2999-01-01T000000.000Z');
  expect(await listShown(place.lake)).toEqual(['2999-01-01T000000.000Z']);
  await rm(future, {recursive: true});
  expect(await place.deliver()).toMatchObject({code: 0});
  expect(await readSnapshot(place.lake)).not.toBeNull();
});

test('a missing folder is an error, and the delivery is due again later', async () => {
  const to = join(place.folder, 'not', 'mounted');
  await place.apply({delivery: {lake: {to}}});
  const error = `${to}: expected a folder that can be written, got ENOENT; make the folder above`;
  expect(await place.deliver()).toMatchObject({code: 3, stderr: expect.stringContaining(error)});
  expect(
    await place.query(
      `SELECT attempts, last_error, due_at > now() AS waits, lease_until AS lease
         FROM sync.delivery_targets`,
    ),
  ).toEqual([{attempts: 1, last_error: expect.stringContaining(error), waits: true, lease: null}]);
  expect(await held()).toEqual([]);
});

test('a target is a setting that can be exported, checked, changed and removed', async () => {
  const {stdout} = await runCommand(['config', 'export', '-'], place.env);
  expect(stdout).toMatch(/^delivery:\n +lake:\n +to: .*\/lake\n +keep: 30 # default$/m);
  expect(await place.apply({delivery: {lake: {to: 'lake'}}})).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected the absolute path of a folder, such as /srv/lake'),
  });
  await place.deliver();
  const other = join(place.folder, 'other');
  await place.apply({delivery: {lake: {to: other}}});
  // At another place there is none of its snapshots.
  expect(await held()).toEqual([]);
  expect(await readFile(join(place.lake, 'latest.json'), 'utf8')).toContain('snapshot');
  expect(await place.apply({delivery: {lake: {remove: true}}})).toMatchObject({code: 0});
  expect(await place.deliver()).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected a target, got none'),
  });
});
