import {randomBytes} from 'node:crypto';
import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {inSweepTransaction, inTransaction} from '../../src/postgres/database.ts';
import {loadRows, markVanished} from '../../src/rows/load.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {machines, openWorld, parts, rowOf, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld({keepsHistory: true});
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.pool.query('TRUNCATE warehouse.machines, warehouse.machine_parts');
  await world.pool.query(
    'TRUNCATE history.past_machines, history.past_machine_parts, history.edits',
  );
});

const machine = (number: string, name: string | null, price: string | null = null) =>
  rowOf(machines, {machine_number: number, name, price});

const batch = (sweepId: string) => ({accountId: world.account.accountId, sweepId});

async function sweep(rows: readonly ReturnType<typeof machine>[], sweepId: string): Promise<void> {
  await inSweepTransaction(world.pool, (client) =>
    loadRows(client, machines, rows, batch(sweepId)),
  );
}

const query = async (text: string, values: unknown[] = []) =>
  (await world.pool.query(text, values)).rows;

/**
 * The versions of one machine, the oldest first: name, sweep, whether a hash is held, any other
 * writer.
 */
async function versions(number = '1'): Promise<unknown[][]> {
  const rows = await query(
    `SELECT name, _sweep_id AS sweep, _hash IS NOT NULL AS "hasHash", written_by AS by,
      valid_to IS NULL AS "isCurrent"
       FROM history.machines WHERE machine_number = $1 ORDER BY valid_from`,
    [number],
  );
  return rows.map((row) => [row.name, row.sweep ?? row.by, row.hasHash, row.isCurrent]);
}

const nameOf = ([name]: readonly unknown[]) => name;
async function readClock(): Promise<string> {
  return (await query('SELECT clock_timestamp() AS now'))[0].now;
}

async function namesAsOf(moment: string): Promise<string[]> {
  const rows = await query('SELECT name FROM history.machines_as_of($1) ORDER BY machine_number', [
    moment,
  ]);
  return rows.map((row) => row.name);
}

describe('a row written by a sweep', () => {
  test('for the first time has no earlier version', async () => {
    await sweep([machine('1', 'a'), machine('2', 'b')], '1');
    expect(await query('SELECT 1 FROM history.past_machines')).toEqual([]);
    expect(await query('SELECT 1 FROM history.edits')).toEqual([]);
    expect(await versions()).toEqual([['a', '1', true, true]]);
  });

  test('again without a difference makes no version', async () => {
    await sweep([machine('1', 'a')], '1');
    await sweep([machine('1', 'a')], '2');
    expect(await versions()).toEqual([['a', '1', true, true]]);
  });

  test('with a difference makes a version, and keeps the earlier one as it was', async () => {
    await sweep([machine('1', 'a', '1.50')], '1');
    const [before] = await query('SELECT * FROM warehouse.machines');
    await sweep([machine('1', 'b', '2')], '2');
    const [{valid_to, ...kept}] = await query('SELECT * FROM history.past_machines');
    expect(kept).toEqual(before);
    expect(valid_to).toBe(
      (await query('SELECT _changed_at FROM warehouse.machines'))[0]._changed_at,
    );
    expect(await versions()).toEqual([
      ['a', '1', true, false],
      ['b', '2', true, true],
    ]);
  });

  test('starts at the same time as its children in one transaction', async () => {
    const part = rowOf(parts, {machine_number: '1', code: '9'});
    await sweep([machine('1', 'a')], '1');
    await inSweepTransaction(world.pool, async (client) => {
      await loadRows(client, machines, [machine('1', 'b')], batch('2'));
      await loadRows(client, parts, [part], batch('2'));
    });
    const instants = await query(
      `SELECT valid_from FROM history.machines WHERE valid_to IS NULL UNION SELECT valid_from
       FROM history.machine_parts`,
    );
    expect(instants).toHaveLength(1);
  });

  test('that vanishes is marked deleted, and is absent at any later time', async () => {
    const family = {parentColumn: 'machine_number', parents: ['1'], kept: []};
    const part = rowOf(parts, {machine_number: '1', code: '9'});
    await inSweepTransaction(world.pool, (client) => loadRows(client, parts, [part], batch('1')));
    const alive = await readClock();
    await inSweepTransaction(world.pool, (client) =>
      markVanished(client, parts, {...batch('2'), ...family}),
    );
    const count = (moment: string) =>
      query('SELECT code FROM history.machine_parts_as_of($1)', [moment]);
    expect([await count(alive), await count(await readClock())]).toEqual([[{code: '9'}], []]);
    const rows = await query(
      `SELECT _sweep_id, _deleted_at IS NULL AS lives FROM history.machine_parts
        ORDER BY valid_from`,
    );
    expect(rows).toEqual([
      {_sweep_id: '1', lives: true},
      {_sweep_id: '2', lives: false},
    ]);
  });
});

describe('a write outside of sweeps', () => {
  beforeEach(() => sweep([machine('1', 'a', '1.5')], '1'));

  test('is a version with the name of its role, without a sweep or hash', async () => {
    await query(`UPDATE warehouse.machines SET name = 'edited'`);
    expect(await versions()).toEqual([
      ['a', '1', true, false],
      ['edited', 'fieldmirror', false, true],
    ]);
    const edit = {kind: 'update', table_name: 'machines', application: 'test'};
    expect(await query('SELECT kind, table_name, application FROM history.edits')).toEqual([edit]);
  });

  test('is corrected by the next sweep, and all three versions stay', async () => {
    await query(`UPDATE warehouse.machines SET name = 'edited'`);
    await sweep([machine('1', 'a', '1.5')], '2');
    expect(await versions()).toEqual([
      ['a', '1', true, false],
      ['edited', 'fieldmirror', false, false],
      ['a', '2', true, true],
    ]);
  });

  test('that changes no value makes no version', async () => {
    await query(`UPDATE warehouse.machines SET name = 'a'`);
    expect(await versions()).toEqual([['a', '1', true, true]]);
    expect(await query('SELECT 1 FROM history.edits')).toEqual([]);
  });

  test('of 1.50 in place of 1.5 makes a version', async () => {
    await query('UPDATE warehouse.machines SET price = 1.50');
    expect(await versions()).toHaveLength(2);
  });

  test('cannot pose as a sweep, as another row, or as a write of another time', async () => {
    await query(
      `UPDATE warehouse.machines SET name = 'x', _sweep_id = 9, _page = 3,
        _changed_at = '2001-01-01'`,
    );
    expect(
      await query(
        'SELECT _sweep_id, _page, _changed_at > _first_seen_at AS later FROM warehouse.machines',
      ),
    ).toEqual([{_sweep_id: null, _page: null, later: true}]);
    await expect(query('UPDATE warehouse.machines SET row_id = DEFAULT')).rejects.toThrow(
      /row_id never changes/,
    );
  });

  test('repeated in one transaction makes two versions without a gap', async () => {
    await inTransaction(world.pool, async (client) => {
      await client.query(`UPDATE warehouse.machines SET name = 'b'`);
      await client.query(`UPDATE warehouse.machines SET name = 'c'`);
    });
    expect(await versions()).toEqual([
      ['a', '1', true, false],
      ['b', 'fieldmirror', false, false],
      ['c', 'fieldmirror', false, true],
    ]);
    await expectTouching('1', 3);
  });

  test('of a new row is recorded with the name of its role, and no earlier version', async () => {
    await query(
      'INSERT INTO warehouse.machines (account_id, machine_number, name) VALUES (1, 2, $1)',
      ['new'],
    );
    expect(await versions('2')).toEqual([['new', 'fieldmirror', false, true]]);
    expect(await query('SELECT kind FROM history.edits')).toEqual([{kind: 'insert'}]);
  });

  test.each([
    ['deleted', 'DELETE FROM warehouse.machines'],
    ['emptied', 'TRUNCATE warehouse.machines'],
  ])('keeps the rows that were %s in the history', async (_, statement) => {
    const alive = await readClock();
    await query(statement);
    expect(await versions()).toEqual([['a', '1', true, false]]);
    expect([await namesAsOf(alive), await namesAsOf(await readClock())]).toEqual([['a'], []]);
    const edit = {kind: 'delete', written_by: 'fieldmirror'};
    expect(await query('SELECT kind, written_by FROM history.edits')).toEqual([edit]);
  });

  test('is kept in the history though its role may not write there', async () => {
    const role = `erp_${randomBytes(6).toString('hex')}`;
    await makeRole(role);
    await query(`GRANT USAGE ON SCHEMA warehouse TO ${role}`);
    await query(`GRANT SELECT, INSERT, UPDATE, DELETE ON warehouse.machines TO ${role}`);
    const client = await world.pool.connect();
    try {
      await client.query(`SET ROLE ${role}`);
      await client.query(`UPDATE warehouse.machines SET name = 'by the ERP'`);
      await client.query(
        'INSERT INTO warehouse.machines (account_id, machine_number) VALUES (1, 5)',
      );
      await client.query('DELETE FROM warehouse.machines WHERE machine_number = 5');
      await expect(client.query('DELETE FROM history.past_machines')).rejects.toThrow(
        /permission denied/,
      );
    } finally {
      client.release(true);
      await query(`DROP OWNED BY ${role}`);
      await dropRoles(role);
    }
    expect((await versions()).length + (await versions('5')).length).toBe(3);
  });

  test('with a row_id that is in use until later is rejected', async () => {
    const insert = `INSERT INTO warehouse.machines (row_id, account_id, machine_number)
                    OVERRIDING SYSTEM VALUE VALUES (4711, 1, 7)`;
    const remove = 'DELETE FROM warehouse.machines WHERE row_id = 4711';
    const twice = inTransaction(world.pool, async (client) => {
      for (const statement of [insert, remove, insert]) await client.query(statement);
    });
    await expect(twice).rejects.toThrow(/row 4711: its row_id was in use until/);
    for (const statement of [insert, remove, insert]) await query(statement);
    expect(await versions('7')).toHaveLength(2);
  });
});

describe('two transactions on one row', () => {
  test('leave versions without a gap if the earlier one writes later', async () => {
    await sweep([machine('1', 'a')], '1');
    await interleave(async (early, late) => {
      await late.query(`UPDATE warehouse.machines SET name = 'late'`);
      await late.query('COMMIT');
      await early.query(`UPDATE warehouse.machines SET name = 'early'`);
      await early.query('COMMIT');
    });
    expect((await versions()).map(nameOf)).toEqual(['a', 'late', 'early']);
    await expectTouching('1', 3);
  });

  test('leave versions without a gap if one waits for the other', async () => {
    for (const [number, isSweep] of [
      ['1', false],
      ['2', true],
    ] as const) {
      await sweep([machine(number, 'a')], '1');
      await interleave(async (early, late) => {
        if (isSweep) await early.query(`SET LOCAL fieldmirror.writer = 'sweep'`);
        await late.query(`UPDATE warehouse.machines SET name = 'late' WHERE machine_number = $1`, [
          number,
        ]);
        const waiting = isSweep
          ? loadRows(early, machines, [machine(number, 'early')], batch('2'))
          : early.query(`UPDATE warehouse.machines SET name = 'early' WHERE machine_number = $1`, [
              number,
            ]);
        await untilBlocked(early);
        await late.query('COMMIT');
        await waiting;
        await early.query('COMMIT');
      });
      expect((await versions(number)).map(nameOf)).toEqual(['a', 'late', 'early']);
      await expectTouching(number, 3);
    }
  });

  test('leave no open version if one deletes what the other wrote', async () => {
    await sweep([machine('1', 'a')], '1');
    await interleave(async (early, late) => {
      await late.query(`UPDATE warehouse.machines SET name = 'late'`);
      await late.query('COMMIT');
      await early.query('DELETE FROM warehouse.machines');
      await early.query('COMMIT');
    });
    await expectTouching('1', 2);
    expect(await namesAsOf(await readClock())).toEqual([]);
  });
});

/** Runs some work in two transactions, of which the first began before the second. */
async function interleave(
  work: (early: pg.PoolClient, late: pg.PoolClient) => Promise<void>,
): Promise<void> {
  const early = await world.pool.connect();
  const late = await world.pool.connect();
  try {
    // now() is the time at which the first statement after BEGIN arrives, not the first that
    // writes.
    await early.query('BEGIN; SELECT now()');
    await late.query('BEGIN; SELECT now()');
    await work(early, late);
  } finally {
    early.release(true);
    late.release(true);
  }
}

async function untilBlocked(client: pg.PoolClient & {processID?: number}): Promise<void> {
  for (;;) {
    const [row] = await query('SELECT cardinality(pg_blocking_pids($1)) AS blockers', [
      client.processID,
    ]);
    if (row.blockers > 0) return;
  }
}

async function expectTouching(number: string, count: number): Promise<void> {
  const rows = await query(
    `SELECT valid_from, valid_to FROM history.machines WHERE machine_number = $1
      ORDER BY valid_from`,
    [number],
  );
  expect(rows).toHaveLength(count);
  for (const [at, row] of rows.entries()) {
    if (at > 0) expect(row.valid_from).toBe(rows[at - 1].valid_to);
  }
}
