// The name that an author gives to a transaction, and many changes decided by one statement.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, openCaptureWorld} from './capture-world.ts';

let world: CaptureWorld;
let rowId: string;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  rowId = await world.sent('customers', {customer_number: '3', name: 'a', fax: '1'});
});

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;
const setIn = (batch: string, assignment: string, more = '') =>
  world.author(
    `BEGIN; SET LOCAL fieldmirror.batch = ${quoted(batch)}; ${more} UPDATE warehouse.customers
      SET ${assignment} WHERE row_id = ${rowId}; COMMIT`,
  );
const decide = (verb: string, given: string | null = null) =>
  world.author(
    `SELECT change_id, state, refusal FROM sync.decide_changes(ARRAY(SELECT change_id
      FROM sync.changes), $1, $2) ORDER BY change_id`,
    [verb, given],
  );

describe('the batch name of a transaction', () => {
  test('is stored in each of its changes; without a name the batch is NULL', async () => {
    await setIn(' import 4711 ', `name = 'b'`, `INSERT INTO warehouse.tasks (name) VALUES ('x');`);
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('y')`);
    const changes = await world.changes('batch, transaction_id');
    expect(changes.map(({batch}) => batch)).toEqual(['import 4711', 'import 4711', null]);
    const [one, two, three] = changes.map(({transaction_id}) => transaction_id);
    expect(one).toMatch(/^\d+$/);
    expect([two === one, three === one]).toEqual([true, false]);
  });

  test('prevents merging with updates of another batch, except into an unsent create', async () => {
    await setIn('one', `name = 'b'`);
    await setIn('one', `fax = '2'`);
    await setIn('two', `name = 'c'`);
    await world.author(`UPDATE warehouse.customers SET fax = '3' WHERE row_id = $1`, [rowId]);
    expect(await world.changes('batch, fields, base, waits_for IS NULL AS goes')).toEqual([
      {batch: 'one', fields: {name: 'b', fax: '2'}, base: {name: 'a', fax: '1'}, goes: true},
      {batch: 'two', fields: {name: 'c'}, base: {name: 'b'}, goes: false},
      {batch: null, fields: {fax: '3'}, base: {fax: '2'}, goes: false},
    ]);
    await world.empty();
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    await world.author(
      `BEGIN; SET LOCAL fieldmirror.batch = 'two'; UPDATE warehouse.tasks SET name = 'y'; COMMIT`,
    );
    expect(await world.changes('batch, fields')).toEqual([{batch: null, fields: {name: 'y'}}]);
  });

  test.each(["'); DROP TABLE sync.changes; --", '<img onerror=…>', 'x'.repeat(200)])(
    'is stored as plain text: %s',
    async (batch) => {
      await setIn(batch, `name = 'b'`);
      expect(await world.changes('batch')).toEqual([{batch}]);
    },
  );

  test.each(['x'.repeat(201), 'two\nlines'])(
    'is rejected if it is too long or has several lines: %j',
    async (batch) => {
      await expect(setIn(batch, `name = 'b'`)).rejects.toThrow(
        'fieldmirror.batch: expected a name of at most 200 characters',
      );
      await world.author('ROLLBACK');
      expect(await world.changes()).toEqual([]);
    },
  );
});

describe('many changes decided by one statement', () => {
  test('are cancelled, and each row has the values of the service again', async () => {
    const second = await world.sent('customers', {customer_number: '4', name: 'c', fax: null});
    await world.author(
      `INSERT INTO sync.known_records SELECT account_id, 'customers', customer_number, '\\x00', 1
        FROM warehouse.customers`,
    );
    await world.author(
      `UPDATE warehouse.customers SET name = 'spoilt' WHERE customer_number IN (3, 4)`,
    );
    await world.author(`UPDATE warehouse.customers SET fax = '9' WHERE customer_number = 4`);
    expect((await decide('cancel', 'why not')).map(({state}) => state)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(await world.changes('state, reason, settled_at IS NOT NULL AS over')).toEqual(
      Array(2).fill({state: 'cancelled', reason: 'why not', over: true}),
    );
    const columns = 'name, fax, _pending, _hash';
    expect(await world.row('customers', rowId, columns)).toEqual({
      name: 'a',
      fax: '1',
      _pending: null,
      _hash: null,
    });
    expect(await world.row('customers', second, columns)).toEqual({
      name: 'c',
      fax: null,
      _pending: null,
      _hash: null,
    });
    expect(await world.author('SELECT number FROM sync.known_records')).toEqual([]);
  });

  test('are held, released and retried, even if one of them is refused', async () => {
    await world.author(
      `INSERT INTO warehouse.tasks (name) SELECT 'task ' || n FROM generate_series(1, 5) AS n`,
    );
    await world.author(`UPDATE sync.changes SET due_at = now() + interval '1 day'`);
    await world.author(
      `UPDATE sync.changes SET lease_until = now() + interval '1 minute'
        WHERE change_id = (SELECT min(change_id) FROM sync.changes)`,
    );
    const taken = {
      state: null,
      refusal: expect.stringContaining('got pending, and a worker has it'),
    };
    const all = (state: string) => [taken, ...Array(4).fill({state, refusal: null})];
    expect(await decide('hold')).toMatchObject(all('held'));
    expect(await decide('release')).toMatchObject([
      {state: null, refusal: expect.stringContaining('expected held to release it, got pending')},
      ...all('pending').slice(1),
    ]);
    expect(await decide('retry')).toMatchObject(all('pending'));
    expect(await world.changes('due_at <= now() AS due, reason')).toEqual([
      {due: false, reason: null},
      ...Array(4).fill({due: true, reason: null}),
    ]);
  });

  test('wait for a locked row and are decided after its lock is released', async () => {
    await world.author(`UPDATE warehouse.customers SET name = 'spoilt'`);
    const other = await world.pool.connect();
    await other.query('BEGIN');
    await other.query('SELECT FROM warehouse.customers WHERE row_id = $1 FOR UPDATE', [rowId]);
    const decided = decide('cancel');
    await expect
      .poll(async () => await world.author(`SELECT 1 AS one FROM pg_locks WHERE NOT granted`))
      .toEqual([{one: 1}]);
    await other.query('COMMIT');
    other.release();
    expect(await decided).toMatchObject([{state: 'cancelled', refusal: null}]);
    expect(await world.row('customers', rowId, 'name')).toEqual({name: 'a'});
  });
});
