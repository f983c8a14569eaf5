// The effect of sweeps while changes are on their way.

import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {settleAssignments, stampAssignments} from '../../src/changes/authored-rows.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {loadRows, markVanished} from '../../src/rows/load.ts';
import {allTables} from '../../src/streams/all.ts';
import type {MirrorTable} from '../../src/streams/table.ts';
import {rowOf} from '../support/sample.ts';
import {type CaptureWorld, openCaptureWorld, send} from './capture-world.ts';

const tableOf = (name: string): MirrorTable => {
  const table = allTables.find((candidate) => candidate.name === name);
  if (table === undefined) throw new Error(`no table ${name}`);
  return table;
};
const [customers, jobEmployees, jobNotes] = [
  tableOf('customers'),
  tableOf('job_employees'),
  tableOf('job_notes'),
];

let world: CaptureWorld;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
});

type Fields = Readonly<Record<string, string | null>>;
const inSweep = <T>(work: (client: pg.PoolClient) => Promise<T>) =>
  inSweepTransaction(world.pool, work);
const batch = (sweepId = '2') => ({accountId: world.accountId, sweepId});
const load = (table: MirrorTable, rows: readonly Fields[], sweepId = '2') =>
  inSweep((client) =>
    loadRows(
      client,
      table,
      rows.map((fields) => rowOf(table, fields)),
      batch(sweepId),
    ),
  );
const vanish = (table: MirrorTable, kept: readonly Fields[]) =>
  inSweep((client) =>
    markVanished(client, table, {
      ...batch(),
      parentColumn: 'job_number',
      parents: ['4'],
      kept: kept.map((fields) => rowOf(table, fields)),
    }),
  );

const old = {customer_number: '3', name: 'a', fax: '1', phone_number: '5'};
const held = async () =>
  (
    await world.author(
      `SELECT name, fax, phone_number, _pending, _sweep_id, _deleted_at IS NOT NULL AS gone
         FROM warehouse.customers`,
    )
  )[0];
const settle = (state: string) =>
  world.author(
    `UPDATE sync.changes SET state = $1, reason = 'why', settled_at = now(),
      number = coalesce(number, 3), waits_for = NULL`,
    [state],
  );

describe('a row with open changes', () => {
  beforeEach(async () => {
    await load(customers, [old], '1');
    await world.author(`UPDATE warehouse.customers SET name = 'mine'`);
  });

  test('gets from a sweep the fields that no change touches', async () => {
    await load(customers, [{...old, name: 'theirs', fax: '2'}]);
    expect(await held()).toMatchObject({
      name: 'mine',
      fax: '2',
      phone_number: '5',
      _pending: true,
      _sweep_id: '2',
    });
  });

  test('is not written if the service still has the same values', async () => {
    const before = await world.author('SELECT * FROM warehouse.customers');
    expect(await load(customers, [old])).toMatchObject({updated: 0, unchanged: 1});
    expect(await world.author('SELECT * FROM warehouse.customers')).toEqual(before);
  });

  test('keeps the latest of several edits, even while an earlier one is being sent', async () => {
    await world.author(send, [(await world.changes('change_id'))[0]?.change_id]);
    await world.author(`UPDATE warehouse.customers SET name = 'mine too', fax = '9'`);
    await load(customers, [{...old, name: 'theirs', fax: '2', phone_number: '6'}]);
    expect(await held()).toMatchObject({
      name: 'mine too',
      fax: '9',
      phone_number: '6',
      _pending: true,
    });
  });

  test('keeps its edited fields when a worker updates them', async () => {
    await world.sweep(`UPDATE warehouse.customers SET name = 'theirs', fax = NULL, _sweep_id = 2`);
    expect(await held()).toMatchObject({name: 'mine', fax: null, _pending: true});
  });

  test.each(['done', 'rejected', 'cancelled'])(
    'gets every field from a sweep once the change is %s',
    async (state) => {
      await settle(state);
      await load(customers, [{...old, name: 'theirs'}]);
      expect(await held()).toMatchObject({name: 'theirs', _pending: null, _sweep_id: '2'});
    },
  );

  test('accepts the record that was read back, even if its hash is the same', async () => {
    await settle('done');
    const [{change_id: changeId} = {}] = await world.changes('change_id');
    const row = rowOf(customers, old);
    const readBackOf = new Map([
      [row, {changeId: String(changeId), since: new Date(0).toISOString()}],
    ]);
    await inSweep((client) =>
      loadRows(client, customers, [row], {...batch(), sweepId: null, readBackOf}),
    );
    expect(await held()).toMatchObject({name: 'a', _pending: null, _sweep_id: null});
  });

  test('keeps its edits when a sweep finds the record deleted', async () => {
    await world.sweep('UPDATE warehouse.customers SET _deleted_at = now(), _sweep_id = 2');
    expect(await held()).toMatchObject({name: 'mine', gone: true, _pending: true});
  });
});

test('a sweep revives a row with an open delete only after the delete was rejected', async () => {
  await load(customers, [old], '1');
  await world.author('DELETE FROM warehouse.customers');
  await load(customers, [{...old, name: 'theirs'}]);
  expect(await held()).toMatchObject({name: 'theirs', gone: true, _pending: true});
  await settle('rejected');
  await load(customers, [old], '3');
  expect(await held()).toMatchObject({name: 'a', gone: false, _pending: null});
});

describe('a row that a change has written', () => {
  const moment = async () =>
    String((await world.author('SELECT clock_timestamp()::text AS at'))[0]?.at);
  const readBack = (rows: readonly (readonly [Fields, string, string])[]) =>
    inSweep((client) => {
      const read = rows.map(
        ([fields, changeId, since]) => [rowOf(customers, fields), {changeId, since}] as const,
      );
      const readBackOf = new Map(read);
      return loadRows(client, customers, [...readBackOf.keys()], {
        ...batch(),
        sweepId: null,
        readBackOf,
      });
    });

  test('is not overwritten by an older read; a newer read in the same batch applies', async () => {
    const before = await moment();
    await readBack([
      [{customer_number: '3', name: 'a'}, '1', before],
      [{customer_number: '4', name: 'a'}, '2', before],
    ]);
    const counts = await readBack([
      [{customer_number: '3', name: 'stale'}, '3', before],
      [{customer_number: '4', name: 'b'}, '4', await moment()],
    ]);
    expect(counts).toMatchObject({updated: 1, fresher: 1});
    expect(
      await world.author('SELECT name FROM warehouse.customers ORDER BY customer_number'),
    ).toEqual([{name: 'a'}, {name: 'b'}]);
  });

  test('is marked as deleted only by a newer read in which its parent omits it', async () => {
    const before = await moment();
    for (const [number, id] of [
      ['4', '1'],
      ['5', '2'],
    ])
      await world.sent('job_employees', {
        job_number: number,
        employee_id: id,
        _sweep_id: null,
        _change_id: 1,
      });
    const readBacks = [
      {changeId: '2', since: before},
      {changeId: '3', since: await moment()},
    ];
    const family = {
      ...batch(),
      sweepId: null,
      parentColumn: 'job_number',
      parents: ['4', '5'],
      kept: [],
      readBacks,
    };
    expect(await inSweep((client) => markVanished(client, jobEmployees, family))).toBe(1);
    expect(
      await world.author(
        'SELECT _change_id FROM warehouse.job_employees WHERE _deleted_at IS NOT NULL',
      ),
    ).toEqual([{_change_id: '3'}]);
  });

  test('does not get back a removed employee from an older page', async () => {
    const rowId = await world.sent('jobs', {job_number: '4', name: 'Roof'});
    await world.sent('job_employees', {job_number: '4', employee_id: '7'});
    await world.author('DELETE FROM warehouse.job_employees');
    const sweepBegan = await moment();
    const [{change_id: changeId} = {}] = await world.changes('change_id');
    const assigned = {
      changeId: String(changeId),
      accountId: world.accountId,
      rowId,
      number: '4',
      isNew: false,
      employeeIds: [],
    };
    await settle('done');
    await inSweep(async (client) => {
      await settleAssignments(client, [assigned]);
      await stampAssignments(client, [assigned]);
    });
    const link = rowOf(jobEmployees, {job_number: '4', employee_id: '7'});
    const counts = await inSweep((client) =>
      loadRows(client, jobEmployees, [link], {...batch(), since: sweepBegan}),
    );
    expect(counts).toMatchObject({revived: 0, fresher: 1});
  });

  test('keeps an employee that was sent a short time ago if a page omits it', async () => {
    const rowId = await world.sent('jobs', {job_number: '4', name: 'Roof'});
    await world.author(
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 7)',
    );
    const [{change_id: changeId} = {}] = await world.changes('change_id');
    const {accountId} = world;
    const assigned = {
      changeId: String(changeId),
      accountId,
      rowId,
      number: '4',
      isNew: false,
      employeeIds: ['7'],
    };
    await settle('done');
    await inSweep(async (client) => {
      await settleAssignments(client, [assigned]);
      await stampAssignments(client, [assigned]);
    });
    const family = {
      ...batch(),
      since: await moment(),
      parentColumn: 'job_number',
      parents: ['4'],
      kept: [],
    };
    expect(await inSweep((client) => markVanished(client, jobEmployees, family))).toBe(0);
  });
});

describe('an assignment', () => {
  const links = async () => {
    const rows = await world.author(
      `SELECT employee_id, _deleted_at IS NULL AS lives, _pending FROM warehouse.job_employees
       ORDER BY employee_id`,
    );
    return rows.map(({employee_id, lives, _pending}) => [employee_id, lives, _pending]);
  };
  const one = {job_number: '4', employee_id: '1'};

  beforeEach(async () => {
    await world.sent('jobs', {job_number: '4'});
    await load(jobEmployees, [one, {...one, employee_id: '2'}], '1');
  });

  test('that is not sent yet is not marked as deleted and not changed by a sweep', async () => {
    await world.author(
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 7)',
    );
    const before = await world.author(
      'SELECT * FROM warehouse.job_employees WHERE employee_id = 7',
    );
    expect(await vanish(jobEmployees, [one, {...one, employee_id: '2'}])).toBe(0);
    expect(
      await world.author('SELECT * FROM warehouse.job_employees WHERE employee_id = 7'),
    ).toEqual(before);
  });

  test('that is removed in the warehouse is not revived until the change is done', async () => {
    await world.author('DELETE FROM warehouse.job_employees WHERE employee_id = 1');
    await load(jobEmployees, [one]);
    expect(await vanish(jobEmployees, [one])).toBe(0);
    expect(await links()).toEqual([
      ['1', false, true],
      ['2', true, true],
    ]);
    await settle('done');
    expect(await vanish(jobEmployees, [one])).toBe(1);
    await load(jobEmployees, [one], '3');
    expect(await links()).toEqual([
      ['1', true, null],
      ['2', false, null],
    ]);
  });

  test('that was sent is marked as deleted if the service does not list it', async () => {
    await world.author(
      'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (4, 7)',
    );
    await settle('done');
    expect(await vanish(jobEmployees, [one, {...one, employee_id: '2'}])).toBe(1);
    expect((await links())[2]).toEqual(['7', false, null]);
  });
});

test('a sweep does not mark an unsent note as deleted', async () => {
  await world.sent('jobs', {job_number: '4'});
  await load(jobNotes, [{id: '8', job_number: '4', note: 'a'}], '1');
  await world.author(`INSERT INTO warehouse.job_notes (job_number, note) VALUES (4, 'mine')`);
  await vanish(jobNotes, []);
  expect(
    await world.author(
      'SELECT note, _deleted_at IS NULL AS lives FROM warehouse.job_notes ORDER BY 1',
    ),
  ).toEqual([
    {note: 'a', lives: false},
    {note: 'mine', lives: true},
  ]);
});

describe('external_key', () => {
  beforeEach(() => load(customers, [old, {...old, customer_number: '4'}], '1'));

  test('can be set without a change; _hash and _sweep_id stay', async () => {
    const columns = 'external_key, _hash IS NOT NULL AS hashed, _sweep_id, _pending';
    await world.author(
      `UPDATE warehouse.customers SET external_key = 'K3' WHERE customer_number = 3`,
    );
    expect(
      await world.author(`SELECT ${columns} FROM warehouse.customers WHERE customer_number = 3`),
    ).toEqual([{external_key: 'K3', hashed: true, _sweep_id: '1', _pending: null}]);
    expect(await world.changes()).toEqual([]);
    expect(await load(customers, [old])).toMatchObject({unchanged: 1});
  });

  test('is unique in its account', async () => {
    await expect(world.author(`UPDATE warehouse.customers SET external_key = 'K'`)).rejects.toThrow(
      'customers_external_key',
    );
  });
});
