// The rows that a batch leaves as they are, and the ones that it reports as gone.

import {beforeEach, describe, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {loadRows, markVanished} from '../../src/rows/load.ts';
import type {EncodedRow} from '../../src/streams/table.ts';
import {machines, parts, rowOf} from '../support/sample.ts';
import {load, machine, useLoadPlace, world} from './load-place.ts';

useLoadPlace();

describe('an unchanged row', () => {
  const rows = Array.from({length: 300}, (_, at) =>
    machine(String(at + 1), {name: `machine ${at}`, price: '1.50'}),
  );
  const readVersions = async () =>
    (await world.pool.query('SELECT xmin, ctid FROM warehouse.machines ORDER BY 2')).rows;

  test('is not written, and keeps its version', async () => {
    await load(rows);
    const before = await readVersions();
    expect(await load(rows, '2')).toEqual({
      inserted: 0,
      updated: 0,
      revived: 0,
      unchanged: 300,
      fresher: 0,
    });
    expect(await readVersions()).toEqual(before);
  });

  test('needs no transaction ID and no lock', async () => {
    await load(rows);
    await inTransaction(world.pool, async (client) => {
      await loadRows(client, machines, rows, {accountId: world.account.accountId, sweepId: '2'});
      // A transaction that writes or locks a row gets a number; WAL comes of nothing else here.
      const {rows: used} = await client.query('SELECT pg_current_xact_id_if_assigned() AS id');
      expect(used).toEqual([{id: null}]);
    });
  });

  test('writes no WAL', async () => {
    await load(rows);
    await load(rows);
    await world.pool.query('VACUUM warehouse.machines');
    const before = await readWal();
    for (let repeated = 0; repeated < 20; repeated++) await load(rows, '2');
    // Other tests write to the same cluster, so that the least of several looks counts.
    let least = await walSince(before);
    for (let look = 0; look < 20 && least > 0; look++) {
      const start = await readWal();
      await load(rows, '2');
      least = Math.min(least, await walSince(start));
    }
    expect(least).toBeLessThan(1_000);
  });

  test('is not written when only its place in the batch changed', async () => {
    await load(rows);
    expect(await load(rows.toReversed())).toMatchObject({unchanged: 300});
  });
});

async function readWal(): Promise<string> {
  return (await world.pool.query('SELECT pg_current_wal_lsn()::text AS at')).rows[0].at;
}

async function walSince(start: string): Promise<number> {
  const {rows} = await world.pool.query('SELECT pg_current_wal_lsn() - $1::pg_lsn AS bytes', [
    start,
  ]);
  return Number(rows[0].bytes);
}

describe('markVanished', () => {
  const part = (number: string, code: string) =>
    rowOf(parts, {machine_number: number, code, size: '1'});
  const readParts = async () =>
    (
      await world.pool.query(
        `SELECT code, _deleted_at IS NOT NULL AS gone, _sweep_id FROM warehouse.machine_parts
          ORDER BY code`,
      )
    ).rows.map((row) => `${row.code}${row.gone ? ' gone' : ''} ${row._sweep_id}`);
  const vanish = (parents: string[], kept: readonly EncodedRow[], sweepId = '2') =>
    inTransaction(world.pool, (client) =>
      markVanished(client, parts, {
        accountId: world.account.accountId,
        sweepId,
        parentColumn: 'machine_number',
        parents,
        kept,
      }),
    );

  beforeEach(() =>
    load([part('1', '11'), part('1', '12'), part('2', '13'), part('3', '14')], '1', parts),
  );

  test('marks the rows that a parent no longer lists, and no others', async () => {
    expect(await vanish(['1', '2'], [part('1', '11'), part('2', '13')])).toBe(1);
    expect(await readParts()).toEqual(['11 1', '12 gone 2', '13 1', '14 1']);
  });

  test('marks every child of a parent whose list is empty', async () => {
    expect(await vanish(['1'], [])).toBe(2);
    expect(await readParts()).toEqual(['11 gone 2', '12 gone 2', '13 1', '14 1']);
  });

  test('compares the whole key: the same code under another parent keeps no row', async () => {
    expect(await vanish(['1'], [part('2', '11'), part('1', '12')])).toBe(1);
    expect(await readParts()).toEqual(['11 gone 2', '12 1', '13 1', '14 1']);
  });

  test('does not touch rows that are already marked', async () => {
    await vanish(['1'], [], '2');
    expect(await vanish(['1'], [], '3')).toBe(0);
    expect(await readParts()).toEqual(['11 gone 2', '12 gone 2', '13 1', '14 1']);
  });

  test('does not touch rows that were authored here and have no key yet', async () => {
    const {accountId} = world.account;
    await world.pool.query(
      'INSERT INTO warehouse.machine_parts (account_id, machine_number, size) VALUES ($1, 1, 2)',
      [accountId],
    );
    expect(await vanish(['1'], [part('1', '11'), part('1', '12')])).toBe(0);
  });

  test('does not touch other accounts', async () => {
    await world.pool.query('UPDATE warehouse.machine_parts SET account_id = 999 WHERE code = $1', [
      '11',
    ]);
    expect(await vanish(['1'], [])).toBe(1);
  });

  test('without parents does nothing', async () => {
    expect(await vanish([], [])).toBe(0);
  });

  test('is undone when the child comes back, though its hash is the same', async () => {
    await vanish(['1'], []);
    expect(await load([part('1', '11')], '3', parts)).toEqual({
      inserted: 0,
      updated: 0,
      revived: 1,
      fresher: 0,
      unchanged: 0,
    });
    expect(await readParts()).toEqual(['11 3', '12 gone 2', '13 1', '14 1']);
  });
});
