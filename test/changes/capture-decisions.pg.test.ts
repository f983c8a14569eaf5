// People's decisions on changes, and the effect of a change's end on the others.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, claim, openCaptureWorld, putInConflict, send} from './capture-world.ts';

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

const set = (assignment: string, mode = '') =>
  world.author(
    `BEGIN; SET LOCAL fieldmirror.mode = '${mode}'; UPDATE warehouse.customers SET ${assignment}
      WHERE row_id = ${rowId}; COMMIT`,
  );
const held = () =>
  world.row('customers', rowId, 'name, fax, _pending, _hash IS NOT NULL AS hashed');
const ids = async () => (await world.changes('change_id')).map(({change_id}) => String(change_id));
const decide = async (call: string) => {
  const [row] = await world.author(`SELECT sync.${call} AS state`);
  return row?.state;
};
/** Makes three changes of the name that wait for one another: b, c, d. */
async function stack(): Promise<[string, string, string]> {
  await set(`name = 'b'`);
  await set(`name = 'c', fax = '2'`, 'hold');
  await set(`name = 'd'`);
  return (await ids()) as [string, string, string];
}
const stacked = () => world.changes('fields, base, state, waits_for');
const inConflict = (id: string, values: Readonly<Record<string, string>>) =>
  putInConflict(world, id, values);

describe('a change that the service refused', () => {
  const refuse = (id: unknown) =>
    world.author(`SELECT sync.close_change($1, 'rejected', '422: no')`, [id]);

  test('can be cancelled if it is an update; the row does not change', async () => {
    await set(`name = 'b'`);
    const [id] = await ids();
    await refuse(id);
    const before = await held();
    expect(await decide(`cancel_change(${id}, 'never mind')`)).toBe('cancelled');
    expect(await world.changes('state, reason')).toEqual([
      {state: 'cancelled', reason: 'never mind; refused before: 422: no'},
    ]);
    expect(await held()).toEqual(before);
  });

  test('is cancelled with its row and its waiting changes if it is a create', async () => {
    await world.author(`WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('x')
      RETURNING row_id)
                        INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'y'
                          FROM customer`);
    const [id] = await ids();
    await refuse(id);
    await decide(`cancel_change(${id})`);
    expect(await world.changes('state')).toEqual([{state: 'cancelled'}, {state: 'cancelled'}]);
    expect(await world.author(`SELECT name FROM warehouse.customers WHERE name = 'x'`)).toEqual([]);
    expect(await world.author(`SELECT name FROM warehouse.jobs WHERE name = 'y'`)).toEqual([]);
  });

  test('leaves the row to a later create when the refused create is cancelled', async () => {
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    const [id] = await ids();
    await refuse(id);
    await world.author(`UPDATE warehouse.tasks SET name = 'mended'`);
    await decide(`cancel_change(${id})`);
    expect(await world.changes('state')).toEqual([{state: 'cancelled'}, {state: 'pending'}]);
    expect(await world.author('SELECT name FROM warehouse.tasks')).toEqual([{name: 'mended'}]);
  });
});

describe('decisions on a change', () => {
  test('hold, release, retry and cancel return the new state', async () => {
    await set(`name = 'b'`);
    const [id] = await ids();
    expect(await decide(`hold_change(${id})`)).toBe('held');
    expect(await world.changes('reason')).toEqual([{reason: 'held by fieldmirror'}]);
    expect(await decide(`release_change(${id})`)).toBe('pending');
    await world.author(`UPDATE sync.changes SET due_at = now() + interval '1 hour'`);
    expect(await decide(`retry_change(${id})`)).toBe('pending');
    expect(await world.changes('due_at <= now() AS due, reason')).toEqual([
      {due: true, reason: null},
    ]);
    expect(await decide(`cancel_change(${id}, 'a slip')`)).toBe('cancelled');
    expect(await world.changes('state, reason')).toEqual([{state: 'cancelled', reason: 'a slip'}]);
    expect(await held()).toEqual({name: 'a', fax: '1', _pending: null, hashed: false});
  });

  test.each([
    ['hold_change', claim, 'expected pending to hold it, got pending, and a worker has it'],
    [
      'cancel_change',
      claim,
      'expected held or pending or conflict or rejected to cancel it, ' +
        'got pending, and a worker has it',
    ],
    ['retry_change', send, 'expected pending or in_doubt or rejected to try it again, got sending'],
    ['release_change', send, 'expected held to release it, got sending, and a worker has it'],
    [
      'hold_change',
      `UPDATE sync.changes SET state = 'done', settled_at = now() WHERE change_id = $1`,
      'got done',
    ],
  ])(
    '%s fails while a worker has the change or after the change has ended (%#)',
    async (call, statement, why) => {
      await set(`name = 'b'`);
      const [id] = await ids();
      await world.author(statement, [id]);
      await expect(decide(`${call}(${id})`)).rejects.toThrow(why);
    },
  );

  test('fail if no change has that number', async () => {
    for (const call of ['hold_change', 'release_change', 'retry_change', 'cancel_change', 'wait'])
      await expect(decide(`${call}(99999)`)).rejects.toThrow(
        'change 99999: no change has that number',
      );
    await expect(decide(`resolve_change(99999, 'service')`)).rejects.toThrow(
      'no change has that number',
    );
  });
});

describe('changes of one record that build on each other', () => {
  test('a cancelled change gives its base to the next; the row keeps the last edit', async () => {
    const [first, second] = await stack();
    await decide(`cancel_change(${first})`);
    expect(await stacked()).toMatchObject([
      {state: 'cancelled'},
      {fields: {name: 'c', fax: '2'}, base: {name: 'a', fax: '1'}, waits_for: null},
      {fields: {name: 'd'}, base: {name: 'c'}, waits_for: second},
    ]);
    expect(await held()).toMatchObject({name: 'd', fax: '2', _pending: true});
  });

  test('if the service refuses the second, the third builds on the first', async () => {
    const [first, second, third] = await stack();
    await decide(`release_change(${second})`);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [second]);
    expect(await stacked()).toMatchObject([
      {state: 'pending'},
      {state: 'rejected'},
      {fields: {name: 'd'}, base: {name: 'b'}, waits_for: first},
    ]);
    expect(await held()).toMatchObject({name: 'd', fax: '1', _pending: true});
    await world.author(`SELECT sync.close_change($1, 'cancelled', 'why')`, [third]);
    expect(await held()).toMatchObject({name: 'b', fax: '1', _pending: true});
    await world.author(`SELECT sync.close_change($1, 'cancelled', 'why')`, [first]);
    expect(await held()).toMatchObject({name: 'a', fax: '1', _pending: null});
  });

  test('a refused change cannot be retried if a later one has overtaken it', async () => {
    const [first] = await stack();
    await world.author(send, [first]);
    await world.author(`SELECT sync.close_change($1, 'rejected', 'no')`, [first]);
    await expect(decide(`retry_change(${first})`)).rejects.toThrow(
      'a later change of the same record has overtaken it',
    );
  });
});

test.each([
  ['customers', 'customers'],
  ['job_notes', 'jobs'],
])(
  'cancelling a change of %s removes its record, and no other, from sync.known_records',
  async (table, stream) => {
    await world.sent('job_notes', {id: '9', job_number: '4', note: 'a'});
    await world.author(
      `UPDATE warehouse.${table} SET ${table === 'customers' ? 'name' : 'note'} = 'b'`,
    );
    await world.author(
      `INSERT INTO sync.known_records (account_id, stream, number, bytes_hash, shape)
     SELECT account_id, 'customers', 3, '\\x00'::bytea, 0 FROM sync.accounts
     UNION ALL SELECT account_id, 'jobs', 4, '\\x00', 0 FROM sync.accounts`,
    );
    await decide(`cancel_change(${(await ids())[0]})`);
    const known = await world.author('SELECT stream FROM sync.known_records');
    expect(known).toEqual([{stream: stream === 'jobs' ? 'customers' : 'jobs'}]);
  },
);

describe('a conflict', () => {
  const winners = () =>
    world.author('SELECT field, winner, decided_by FROM sync.conflicts ORDER BY field');

  test.each([
    ['service', 'cancelled', {name: 'theirs', _pending: null}, {}],
    [
      'warehouse',
      'pending',
      {name: 'b', _pending: true},
      {fields: {name: 'b'}, base: {name: 'theirs'}},
    ],
  ])('resolved for the %s in all fields becomes %s', async (decision, state, row, change) => {
    await set(`name = 'b'`);
    const [id] = await ids();
    await inConflict(String(id), {name: 'theirs'});
    expect(await decide(`resolve_change(${id}, '${decision}')`)).toBe(state);
    expect(await held()).toMatchObject(row);
    expect(await world.changes('state, fields, base')).toMatchObject([{state, ...change}]);
    expect(await winners()).toEqual([{field: 'name', winner: decision, decided_by: 'fieldmirror'}]);
  });

  test('of some fields, resolved for the service, still sends the other fields', async () => {
    await set(`name = 'b', fax = '2'`);
    await set(`name = 'c'`, 'hold');
    const [id] = await ids();
    await inConflict(String(id), {name: 'theirs'});
    expect(await decide(`resolve_change(${id}, 'service')`)).toBe('pending');
    expect(await world.changes('fields, base, state')).toEqual([
      {fields: {fax: '2'}, base: {name: 'theirs', fax: '1'}, state: 'pending'},
      {fields: {name: 'c'}, base: {name: 'theirs'}, state: 'held'},
    ]);
    expect(await held()).toMatchObject({name: 'c', fax: '2', _pending: true});
  });

  test('of grouped fields, resolved for the warehouse, sends each conflicting field', async () => {
    await set(`service_city = 'Rome'`);
    const [id] = await ids();
    await inConflict(String(id), {service_city: 'Oslo', service_zip_code: '0150'});
    await decide(`resolve_change(${id}, 'warehouse')`);
    expect((await world.changes('fields'))[0]).toEqual({
      fields: {service_city: 'Rome', service_zip_code: null},
    });
  });

  test('that is cancelled is resolved for the service', async () => {
    await set(`name = 'b'`);
    const [id] = await ids();
    await inConflict(String(id), {name: 'theirs'});
    await decide(`cancel_change(${id})`);
    expect(await winners()).toMatchObject([{winner: 'service'}]);
    expect(await held()).toMatchObject({name: 'a', _pending: null});
  });

  test.each([
    ['77', 'in_doubt', {number: '77', sends: 1}],
    ['resend', 'pending', {number: null, sends: 0}],
    ['service', 'cancelled', {number: null}],
  ])('of a create can be resolved with %s', async (decision, state, change) => {
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    const [id] = await ids();
    await inConflict(String(id), {});
    expect(await decide(`resolve_change(${id}, '${decision}')`)).toBe(state);
    expect(await world.changes('state, number, sends')).toMatchObject([{state, ...change}]);
    expect(await world.author('SELECT 1 FROM warehouse.tasks')).toHaveLength(
      state === 'cancelled' ? 0 : 1,
    );
  });

  test.each([
    ['update', {name: 'x'}, `'resend'`, 'expected service or warehouse, got resend'],
    ['update', {}, `'warehouse'`, 'expected service (give it up), got warehouse'],
    ['update', {}, 'NULL', 'expected service (give it up), got nothing'],
  ])('of an %s cannot be resolved with an invalid value (%#)', async (_, values, decision, why) => {
    await set(`name = 'b'`);
    const [id] = await ids();
    await inConflict(String(id), values);
    await expect(decide(`resolve_change(${id}, ${decision})`)).rejects.toThrow(why);
  });
});
