// Decisions about several fields, and about several changes, at once.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, openCaptureWorld, putInConflict} from './capture-world.ts';

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
const held = () => world.row('customers', rowId, 'name, fax, _pending');
const ids = async () => (await world.changes('change_id')).map(({change_id}) => String(change_id));
const decide = (changes: readonly string[], verb: string, given: string | null = null) =>
  world.author(
    'SELECT change_id, state, refusal FROM sync.decide_changes($1, $2, $3) ORDER BY change_id',
    [changes, verb, given],
  );
const resolve = async (id: unknown, sides: Readonly<Record<string, unknown>>) =>
  (
    await world.author('SELECT sync.resolve_fields($1, $2) AS state', [id, JSON.stringify(sides)])
  )[0]?.state;
const inConflict = (id: unknown, values: Readonly<Record<string, string>>) =>
  putInConflict(world, id, values);

describe('a conflict of several fields', () => {
  test('is resolved field by field, each for the chosen side', async () => {
    await set(`name = 'b', fax = '2'`);
    await set(`name = 'c'`, 'hold');
    const [id] = await ids();
    await inConflict(id, {name: 'theirs', fax: '9'});
    expect(await resolve(id, {name: 'service', fax: 'warehouse'})).toBe('pending');
    expect(await world.changes('fields, base, state')).toEqual([
      {fields: {fax: '2'}, base: {name: 'theirs', fax: '9'}, state: 'pending'},
      {fields: {name: 'c'}, base: {name: 'theirs'}, state: 'held'},
    ]);
    expect(await held()).toMatchObject({name: 'c', fax: '2', _pending: true});
    expect(await world.author('SELECT field, winner FROM sync.conflicts ORDER BY field')).toEqual([
      {field: 'fax', winner: 'warehouse'},
      {field: 'name', winner: 'service'},
    ]);
  });

  test('sets a field to the value of the service if the service wins it', async () => {
    await set(`name = 'b', fax = '2'`);
    const [id] = await ids();
    await inConflict(id, {name: 'theirs', fax: '9'});
    await resolve(id, {name: 'service', fax: 'warehouse'});
    expect(await held()).toMatchObject({name: 'theirs', fax: '2', _pending: true});
  });

  test('is cancelled if the service wins every field', async () => {
    await set(`name = 'b', fax = '2'`);
    const [id] = await ids();
    await inConflict(id, {name: 'theirs', fax: '9'});
    expect(await resolve(id, {name: 'service', fax: 'service'})).toBe('cancelled');
    expect(await held()).toMatchObject({name: 'theirs', fax: '9', _pending: null});
  });

  test.each([
    [{name: 'service'}],
    [{name: 'service', fax: 'neither'}],
    [{name: 'service', fax: null}],
    [{name: 'service', fax: 'warehouse', phone_number: 'service'}],
    [{}],
  ])('needs a side for each conflicting field and no other: %j fails', async (sides) => {
    await set(`name = 'b', fax = '2'`);
    const [id] = await ids();
    await inConflict(id, {name: 'theirs', fax: '9'});
    await expect(resolve(id, sides)).rejects.toThrow(
      `change ${id}: expected service or warehouse for each of fax, name, got`,
    );
    expect(await world.changes('state')).toEqual([{state: 'conflict'}]);
  });

  test('needs the same side for all fields of a group', async () => {
    await set(`service_city = 'Rome', name = 'b'`);
    const [id] = await ids();
    await inConflict(id, {service_city: 'Oslo', service_zip_code: '0150', name: 'theirs'});
    await expect(
      resolve(id, {service_city: 'service', service_zip_code: 'warehouse', name: 'service'}),
    ).rejects.toThrow(
      'expected one decision for service_city, service_zip_code, which move as one',
    );
    await resolve(id, {service_city: 'warehouse', service_zip_code: 'warehouse', name: 'service'});
    expect((await world.changes('fields'))[0]).toEqual({
      fields: {service_city: 'Rome', service_zip_code: null},
    });
  });

  test('cannot be resolved field by field if it has no conflicting field', async () => {
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    const [id] = await ids();
    await inConflict(id, {});
    await expect(resolve(id, {})).rejects.toThrow(
      'a field that both sides changed, and it has none',
    );
  });
});

describe('many changes', () => {
  test('are decided separately: one that is refused does not stop the others', async () => {
    await set(`name = 'b'`);
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x'), ('y')`);
    const [one, two, three] = await ids();
    await decide([String(two)], 'hold');
    expect(
      await decide([String(three), '999999', String(one), String(two), String(one)], 'hold'),
    ).toEqual([
      {change_id: one, state: 'held', refusal: null},
      {
        change_id: two,
        state: null,
        refusal: `change ${two}: expected pending to hold it, got held`,
      },
      {change_id: three, state: 'held', refusal: null},
      {change_id: '999999', state: null, refusal: 'change 999999: no change has that number'},
    ]);
    expect(await world.changes('state')).toEqual([
      {state: 'held'},
      {state: 'held'},
      {state: 'held'},
    ]);
  });

  test('that wait for each other are cancelled together, each with the given reason', async () => {
    await world.author(`WITH customer AS (INSERT INTO warehouse.customers (name) VALUES ('x')
      RETURNING row_id)
                        INSERT INTO warehouse.jobs (parent_row_id, name) SELECT row_id, 'y'
                          FROM customer`);
    const all = await ids();
    expect((await decide(all, 'cancel', 'typed twice')).map(({state}) => state)).toEqual([
      'cancelled',
      'cancelled',
    ]);
    expect(await world.changes('reason')).toEqual([
      {reason: 'typed twice'},
      {reason: 'typed twice'},
    ]);
  });

  test('in conflict are resolved by one decision, unless it is invalid for them', async () => {
    await set(`name = 'b'`);
    await world.author(`INSERT INTO warehouse.tasks (name) VALUES ('x')`);
    const [one, two] = await ids();
    await inConflict(one, {name: 'theirs'});
    await inConflict(two, {});
    expect(await decide([String(one), String(two)], 'resolve', 'warehouse')).toMatchObject([
      {state: 'pending'},
      {state: null, refusal: expect.stringContaining('expected service (give it up)')},
    ]);
  });

  test('cannot be decided with an unknown verb', async () => {
    await expect(decide([], 'undo')).rejects.toThrow(
      'expected hold, release, retry, cancel, accept or resolve',
    );
  });
});
