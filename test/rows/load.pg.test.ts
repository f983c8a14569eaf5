import type pg from 'pg';
import {describe, expect, test} from 'vitest';
import {RecordError} from '../../src/core/errors.ts';
import {inTransaction} from '../../src/postgres/database.ts';
import {loadRows} from '../../src/rows/load.ts';
import type {EncodedRow} from '../../src/streams/table.ts';
import {countRows} from '../../src/sweeps/story.ts';
import {machines, rowOf} from '../support/sample.ts';
import {load, machine, readAll, useLoadPlace, world} from './load-place.ts';

useLoadPlace();

describe('values', () => {
  const difficult = {
    backslash: '\\',
    'two backslashes and an n': '\\\\n',
    'what COPY writes for null': '\\N',
    'what ends a COPY': '\\.',
    'tab, line feed, carriage return': 'a\tb\nc\r\nd',
    'nothing but line breaks': '\n\r\n',
    unicode: 'Zoë “Ø” 𝄞 日本語 \u2028',
    quotes: `O'Brien "and" $1 ; DROP TABLE x; --`,
    'leading zeros': '00712',
    blanks: '  two  ',
    control: '\u0001\u001f\u007f',
  };

  test.each(Object.entries(difficult))(
    '%s is stored exactly, when inserted and when updated',
    async (_what, text) => {
      await load([machine('1', {name: text}, JSON.stringify({text}))]);
      await load([machine('2', {name: 'before'})]);
      expect(await load([machine('2', {name: text}, JSON.stringify({text}))])).toMatchObject({
        updated: 1,
      });
      const {rows} = await world.pool.query(
        `SELECT name, extra->>'text' AS text FROM warehouse.machines`,
      );
      expect(rows).toEqual([
        {name: text, text},
        {name: text, text},
      ]);
    },
  );

  test('of every type are stored as they were sent', async () => {
    const fields = {name: 'Lathe', serial: '007', price: '275.10', weight: '1.5', in_use: 'false'};
    await load([
      machine('1', {
        ...fields,
        bought_at: '2026-03-08T01:30:00-05:00',
        options: '{"colors":["red",null]}',
      }),
    ]);
    expect(await readAll()).toEqual([
      {
        machine_number: '1',
        ...fields,
        bought_at: '2026-03-08 06:30:00+00',
        options: '{"colors": ["red", null]}',
        extra: '{}',
        sweep: '1',
        deleted: false,
      },
    ]);
  });

  test('null and empty text remain distinct', async () => {
    await load([machine('1', {name: null}), machine('2', {name: ''})]);
    expect((await readAll()).map((row) => row.name)).toEqual([null, '']);
  });

  test('that Postgres rejects are reported by table, key and column, but not quoted', async () => {
    const refused = load([machine('1'), machine('2', {price: 'secret-price'})]);
    await expect(refused).rejects.toThrow(RecordError);
    await expect(refused).rejects.toThrow(/machines 2: .* column price .*22P02/);
    await expect(refused).rejects.not.toThrow(/secret/);
    expect(await readAll()).toEqual([]);
  });

  test('that Postgres rejects in a changed row are reported in the same way', async () => {
    await load([machine('1'), machine('2')]);
    await expect(
      load([machine('1', {name: 'x'}), machine('2', {price: 'secret'})]),
    ).rejects.toThrow(/machines 2: .* column price/);
  });

  test('of a row without its key are refused: it could never be found again', () => {
    expect(() => rowOf(machines, {name: 'no number'})).toThrow(/machines\.machine_number/);
  });
});

describe('a batch', () => {
  test('inserts, updates, revives and skips rows, and returns the count of each', async () => {
    await load([machine('1'), machine('2'), machine('3'), machine('4')]);
    await world.pool.query(
      'UPDATE warehouse.machines SET _deleted_at = now() WHERE machine_number IN (3, 4)',
    );
    const batch = [
      machine('1'),
      machine('2', {name: 'new'}),
      machine('3'),
      machine('4', {name: 'x'}),
      machine('5'),
    ];
    expect(await load(batch, '2')).toEqual({
      inserted: 1,
      updated: 1,
      revived: 2,
      unchanged: 1,
      fresher: 0,
    });
    const rows = await readAll();
    expect(rows.map((row) => [row.sweep, row.name, row.deleted])).toEqual([
      ['1', null, false],
      ['2', 'new', false],
      ['2', null, false],
      ['2', 'x', false],
      ['2', null, false],
    ]);
  });

  test('that holds a row twice stores it once, with the values that came last', async () => {
    const rows = [machine('7', {name: 'first'}), machine('8'), machine('7', {name: 'last'})];
    expect(await load(rows)).toEqual({
      inserted: 2,
      updated: 0,
      revived: 0,
      unchanged: 0,
      fresher: 0,
    });
    expect((await readAll())[0]?.name).toBe('last');
    expect(await load(rows.toReversed())).toEqual({
      inserted: 0,
      updated: 1,
      revived: 0,
      unchanged: 1,
      fresher: 0,
    });
    expect((await readAll())[0]?.name).toBe('first');
  });

  test('that holds the same row twice stores the first page that had it', async () => {
    const at = (page: number, name: string) =>
      rowOf(machines, {machine_number: '7', name}, '{}', page);
    const readPage = async () =>
      (await world.pool.query('SELECT _page FROM warehouse.machines')).rows[0]?._page;
    await load([at(1, 'a'), at(2, 'b'), at(3, 'b')]);
    expect(await readPage()).toBe(2);
    await world.pool.query('TRUNCATE warehouse.machines');
    for (const row of [at(1, 'a'), at(2, 'b'), at(3, 'b')]) await load([row]);
    expect(await readPage()).toBe(2);
  });

  test('treats 007 and 7 as the same number', async () => {
    expect(await load([machine('007', {name: 'a'}), machine('7', {name: 'b'})])).toMatchObject({
      inserted: 1,
    });
    expect(await load([machine('007', {name: 'b'})])).toMatchObject({inserted: 0, updated: 1});
  });

  test('without rows does nothing', async () => {
    expect(await load([])).toEqual({inserted: 0, updated: 0, revived: 0, unchanged: 0, fresher: 0});
  });

  test('of several thousand rows is inserted at once', async () => {
    const rows = Array.from({length: 5000}, (_, at) =>
      machine(String(at + 1), {name: `machine ${at}`}),
    );
    expect(await load(rows)).toMatchObject({inserted: 5000});
    expect(await countRows(world.pool, machines, world.account.accountId)).toBe(5000);
  });

  test('updates a row in place: row_id, external_key and _first_seen_at stay', async () => {
    await load([machine('1')]);
    await world.pool.query(`UPDATE warehouse.machines SET external_key = 'ERP-1'`);
    const read = async () => (await world.pool.query('SELECT * FROM warehouse.machines')).rows[0];
    const before = await read();
    await load([machine('1', {name: 'x'})], '2');
    const after = await read();
    expect(after).toMatchObject({
      row_id: before.row_id,
      external_key: 'ERP-1',
      _first_seen_at: before._first_seen_at,
    });
    expect(after._changed_at > before._changed_at).toBe(true);
  });

  test('leaves the rows of other accounts alone', async () => {
    await load([machine('1', {name: 'ours'})]);
    await inTransaction(world.pool, (client) =>
      loadRows(client, machines, [machine('1', {name: 'theirs'})], {
        accountId: '999',
        sweepId: '1',
      }),
    );
    expect((await readAll()).map((row) => row.name).sort()).toEqual(['ours', 'theirs']);
  });
});

describe('concurrent or failed transactions', () => {
  test('that insert the same new row both succeed, and the later one wins', async () => {
    const {pool, account} = world;
    const batch = (sweepId: string) => ({accountId: account.accountId, sweepId});
    const early = await pool.connect();
    const late = await pool.connect();
    try {
      await early.query('BEGIN');
      await late.query('BEGIN');
      await loadRows(early, machines, [machine('1', {name: 'early'}), machine('2')], batch('1'));
      const waiting = loadRows(
        late,
        machines,
        [machine('1', {name: 'late'}), machine('3')],
        batch('2'),
      );
      await untilBlocked(late);
      await early.query('COMMIT');
      await waiting;
      await late.query('COMMIT');
    } finally {
      early.release(true);
      late.release(true);
    }
    expect((await readAll()).map((row) => [row.machine_number, row.name])).toEqual([
      ['1', 'late'],
      ['2', null],
      ['3', null],
    ]);
  });

  test('that load the same rows in opposite order do not deadlock', async () => {
    const rows = (name: string) =>
      Array.from({length: 50}, (_, at) => machine(String(at + 1), {name}));
    await load(rows('before'));
    const {accountId} = world.account;
    // Not by inTransaction: it would run the loser of a deadlock again.
    const loadOnce = async (given: readonly EncodedRow[]) => {
      const client = await world.pool.connect();
      await client.query('BEGIN');
      await loadRows(client, machines, given, {accountId, sweepId: '2'});
      await client.query('COMMIT');
      client.release();
    };
    await Promise.all(
      ['a', 'b', 'c', 'd', 'e', 'f'].map((name, at) =>
        loadOnce(at % 2 ? rows(name) : rows(name).toReversed()),
      ),
    );
    expect(new Set((await readAll()).map((row) => row.name)).size).toBe(1);
  });

  test('that are rolled back leave nothing, and their connection can load again', async () => {
    const failed = inTransaction(world.pool, async (client) => {
      await loadRows(client, machines, [machine('1')], {
        accountId: world.account.accountId,
        sweepId: '1',
      });
      await loadRows(client, machines, [machine('1', {name: 'x'})], {
        accountId: world.account.accountId,
        sweepId: '1',
      });
      throw new Error('stop');
    });
    await expect(failed).rejects.toThrow('stop');
    expect(await readAll()).toEqual([]);
    for (let repeated = 0; repeated < 8; repeated++) {
      expect(await load([machine('1', {name: `${repeated}`})])).toMatchObject({
        revived: 0,
        unchanged: 0,
      });
    }
  });
});

/** Waits until Postgres says that the connection waits for a lock. */
async function untilBlocked(client: pg.PoolClient & {processID?: number}): Promise<void> {
  for (;;) {
    const {rows} = await world.pool.query('SELECT cardinality(pg_blocking_pids($1)) AS blockers', [
      client.processID,
    ]);
    if (rows[0].blockers > 0) return;
  }
}
