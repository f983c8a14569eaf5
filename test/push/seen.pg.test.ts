// A write of an author who says what it had read: whatever somebody else wrote since then is kept,
// or becomes a conflict.

import type pg from 'pg';
import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {customerResource, jobResource} from '../../src/service/resource.ts';
import {Random} from '../../src/service/vocabulary.ts';
import {PageReader} from '../../src/sweeps/page-reader.ts';
import {Erp} from '../labs/push/erp.ts';
import {toEffects} from '../labs/push/final-state.ts';
import type {Intent} from '../labs/push/history.ts';
import {loadNow} from '../labs/push/load-now.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {openScriptedPlace, type ScriptedPlace} from './scripted-place.ts';

const by = {method: 'PUT', path: '', isOurs: false};
const erp = 'seen_erp';
const office = 'seen_office';
const pageReader = new PageReader();

let place: ScriptedPlace;
let pools: Record<string, pg.Pool> = {};

beforeAll(async () => {
  await dropRoles(erp, office);
  for (const name of [erp, office])
    await makeRole(name, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_author`);
});
afterAll(async () => {
  await dropRoles(erp, office);
  await pageReader.close();
});

beforeEach(async () => {
  place = await openScriptedPlace();
  const {store} = place.service;
  const customer = store.create(
    customerResource,
    {
      changes: {
        name: 'Ada',
        phone_number: '555-0100',
        fax: '555-0200',
        service_address: '1 Elm',
        service_city: 'Rome',
      },
      employeeIds: [],
      owner: null,
    },
    by,
  );
  store.create(jobResource, {changes: {name: 'Roof'}, employeeIds: [], owner: customer}, by);
  pools = Object.fromEntries(
    [erp, office].map((name) => {
      const url = new URL(place.url);
      Object.assign(url, {username: name, password: 'made-up'});
      return [name, openPool(url.href, {max: 2, applicationName: name})];
    }),
  );
  expect(await loadNow(place, pageReader)).toBe(true);
});
afterEach(async () => {
  for (const pool of Object.values(pools)) await pool.end();
  await place.close();
});

/** What a dispatcher writes at the service, and a sweep reads. */
async function dispatch(changes: Record<string, string>, isRead = true): Promise<void> {
  const {store} = place.service;
  const customer = store.find(customerResource, '1');
  if (customer === null) throw new Error('the customer is gone');
  store.update(customer, {changes, employeeIds: null}, by);
  if (isRead) expect(await loadNow(place, pageReader, 'customers')).toBe(true);
}

async function cursor(): Promise<string> {
  await place.pool.query('SELECT sync.sequence_feed()');
  const {rows} = await place.pool.query<{at: string}>('SELECT sync.feed_end() AS at');
  return rows[0]?.at ?? '';
}

/** One transaction of a login that says what it had seen. */
async function write(seen: string | null, text: string, login = erp): Promise<void> {
  const client = await (pools[login] as pg.Pool).connect();
  try {
    await client.query('BEGIN');
    if (seen !== null) await client.query(`SET LOCAL fieldmirror.seen = '${seen}'`);
    await client.query(text);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

const set = (seen: string | null, assignments: string, login = erp) =>
  write(seen, `UPDATE warehouse.customers SET ${assignments} WHERE customer_number = 1`, login);

const conflicts = () =>
  place.author(
    `SELECT field, base_value AS base, warehouse_value AS here, service_value AS there, winner
       FROM sync.conflicts ORDER BY field`,
  );
const states = async () => (await place.changes('state')).map(({state}) => state);
const there = (field: string) => place.service.store.find(customerResource, '1')?.fields[field];
const here = async (field: string) =>
  (await place.author(`SELECT ${field} AS held FROM warehouse.customers`))[0]?.held;

describe('a field that a dispatcher changed and a sweep read', () => {
  test('is a conflict, and is not overwritten, if the author had not seen it', async () => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-B'`);
    await place.push();
    expect(await states()).toEqual(['conflict']);
    expect(await conflicts()).toEqual([
      {field: 'phone_number', base: '555-0100', here: '555-B', there: '555-A', winner: null},
    ]);
    expect(there('phone_number')).toBe('555-A');
  });

  test('is overwritten without conflict if the author sets no cursor or had seen it', async () => {
    await dispatch({phone_number: '555-A'});
    await set(null, `phone_number = '555-B'`);
    await place.rest();
    await dispatch({phone_number: '555-C'});
    await set(await cursor(), `phone_number = '555-D'`);
    await place.rest();
    expect([await states(), await conflicts(), there('phone_number')]).toEqual([
      ['done', 'done'],
      [],
      '555-D',
    ]);
  });

  test('stays if the author wrote the value that it had seen, and the rest is sent', async () => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-0100', fax = '555-0201'`);
    expect(await here('phone_number')).toBe('555-A');
    await place.rest();
    expect(await place.changes('fields, state')).toEqual([
      {fields: {fax: '555-0201'}, state: 'done'},
    ]);
    expect([there('phone_number'), there('fax')]).toEqual(['555-A', '555-0201']);
  });

  test('is no conflict if both wrote the same value', async () => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-A', fax = '555-0201'`);
    await place.rest();
    expect([await states(), await conflicts(), there('fax')]).toEqual([['done'], [], '555-0201']);
  });

  test('belongs to its address: a street there and a city here are one conflict', async () => {
    const seen = await cursor();
    await dispatch({service_address: '2 Oak'});
    await set(seen, `service_city = 'Bari'`);
    await place.push();
    expect(await conflicts()).toEqual([
      {field: 'service_address', base: '1 Elm', here: '1 Elm', there: '2 Oak', winner: null},
      {field: 'service_city', base: 'Rome', here: 'Bari', there: 'Rome', winner: null},
    ]);
  });

  test.each([
    ['warehouse', 'pending', '555-B'],
    ['service', 'cancelled', '555-A'],
  ])('can be resolved like any conflict: for the %s', async (side, state, value) => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-B'`);
    await place.push();
    expect(await place.author(`SELECT sync.resolve_change(1, '${side}') AS state`)).toEqual([
      {state},
    ]);
    await place.rest();
    expect(await loadNow(place, pageReader, 'customers')).toBe(true);
    expect([there('phone_number'), await here('phone_number')]).toEqual([value, value]);
    expect(await conflicts()).toMatchObject([{winner: side}]);
  });

  test.each([
    ['warehouse', '555-B'],
    ['service', '555-A'],
  ])('is decided by the rule %s, and both values are kept', async (rule, value) => {
    await place.author(
      `UPDATE sync.write_rules SET rule = '${rule}'
        WHERE table_name = 'customers' AND field = 'phone_number'`,
    );
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-B'`);
    // What was read of the record is not all that it holds by now.
    await dispatch({fax: '555-0222'}, false);
    await place.rest();
    expect([await states(), there('phone_number'), await here('phone_number')]).toEqual([
      ['done'],
      value,
      value,
    ]);
    expect(await conflicts()).toMatchObject([{here: '555-B', there: '555-A', winner: rule}]);
  });

  test('is restored in the row when the change is cancelled', async () => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await set(seen, `phone_number = '555-B'`);
    await place.author('SELECT sync.cancel_change(1)');
    expect(await here('phone_number')).toBe('555-A');
  });
});

describe('an author’s own earlier writes since its cursor', () => {
  test('cause it no conflict, sent or not, in one transaction or in several', async () => {
    const seen = await cursor();
    await set(seen, `phone_number = '555-B'`);
    await set(seen, `phone_number = '555-C'`);
    await place.rest();
    await write(
      seen,
      `UPDATE warehouse.customers SET phone_number = '555-D';
       UPDATE warehouse.customers SET phone_number = '555-E'`,
    );
    await place.rest();
    expect([await states(), await conflicts(), there('phone_number')]).toEqual([
      ['done', 'done'],
      [],
      '555-E',
    ]);
  });

  test('do not hide a value that somebody else wrote over them', async () => {
    const seen = await cursor();
    await set(seen, `phone_number = '555-B'`);
    await place.rest();
    // By then no reading is older than the write.
    await place.pass(100);
    await dispatch({phone_number: '555-0100'});
    await set(seen, `phone_number = '555-C'`);
    await place.push();
    expect(await conflicts()).toEqual([
      {field: 'phone_number', base: '555-B', here: '555-C', there: '555-0100', winner: null},
    ]);
  });

  test('do not count after they are cancelled', async () => {
    const seen = await cursor();
    await set(seen, `phone_number = '555-B'`);
    await place.author('SELECT sync.cancel_change(1)');
    await set(seen, `phone_number = '555-C'`);
    await place.rest();
    expect([await states(), await conflicts()]).toEqual([['cancelled', 'done'], []]);
  });

  test('cause it no conflict if one of them restored a value that was not sent yet', async () => {
    await set(await cursor(), `phone_number = '555-B'`);
    const between = await cursor();
    await set(between, `phone_number = '555-0100'`);
    await set(between, `phone_number = '555-C'`);
    await place.rest();
    expect([await states(), await conflicts(), there('phone_number')]).toEqual([
      ['cancelled', 'done'],
      [],
      '555-C',
    ]);
  });

  test('cause a conflict if another author reverted them unseen', async () => {
    await set(await cursor(), `phone_number = '555-B'`);
    const between = await cursor();
    await set(await cursor(), `phone_number = '555-0100'`, office);
    await set(between, `phone_number = '555-C'`);
    await place.rest();
    expect(await states()).toEqual(['cancelled', 'conflict']);
  });

  test('count as seen for a record that it created itself', async () => {
    const seen = await cursor();
    await write(seen, `INSERT INTO warehouse.customers (name, external_key) VALUES ('Bo', 'K-1')`);
    await place.rest();
    await write(seen, `UPDATE warehouse.customers SET name = 'Bob' WHERE external_key = 'K-1'`);
    await place.rest();
    expect([await states(), await conflicts()]).toEqual([['done', 'done'], []]);
  });
});

describe('a value that another author wrote', () => {
  test('is not replaced while it is unsent, and is a conflict once it is sent', async () => {
    const seen = await cursor();
    await set(null, `phone_number = '555-A'`, office);
    await set(seen, `phone_number = '555-B'`);
    expect(await place.changes('requested_by, waits_for')).toEqual([
      {requested_by: office, waits_for: null},
      {requested_by: erp, waits_for: '1'},
    ]);
    await place.rest();
    expect(await states()).toEqual(['done', 'conflict']);
    expect(await conflicts()).toEqual([
      {field: 'phone_number', base: '555-0100', here: '555-B', there: '555-A', winner: null},
    ]);
  });

  test('to another field is no conflict', async () => {
    const seen = await cursor();
    await set(null, `fax = '555-A'`, office);
    await set(seen, `phone_number = '555-B'`);
    await place.rest();
    expect([await conflicts(), there('fax'), there('phone_number')]).toEqual([
      [],
      '555-A',
      '555-B',
    ]);
  });
});

test('an update of a record that appeared after the cursor is a conflict', async () => {
  const seen = await cursor();
  const {store} = place.service;
  store.create(customerResource, {changes: {name: 'New'}, employeeIds: [], owner: null}, by);
  expect(await loadNow(place, pageReader, 'customers')).toBe(true);
  await write(seen, `UPDATE warehouse.customers SET name = 'Mine' WHERE name = 'New'`);
  await place.push();
  expect(await conflicts()).toEqual([
    {field: 'name', base: null, here: 'Mine', there: 'New', winner: null},
  ]);
});

test('a value that the service changed and changed back is still a conflict', async () => {
  const seen = await cursor();
  await dispatch({phone_number: '555-A'});
  await set(seen, `phone_number = '555-B'`);
  await dispatch({phone_number: '555-0100'}, false);
  await place.push();
  expect(await states()).toEqual(['conflict']);
});

describe('a delete', () => {
  const remove = (seen: string) => write(seen, 'DELETE FROM warehouse.customers');

  test('of a record that somebody else changed unseen is left to a person', async () => {
    const seen = await cursor();
    await dispatch({phone_number: '555-A'});
    await remove(seen);
    await place.push();
    expect(await place.changes('operation, state, reason')).toEqual([
      {
        operation: 'delete',
        state: 'conflict',
        reason: 'changed by somebody else since its author had read it: phone_number',
      },
    ]);
    await place.author(`SELECT sync.resolve_change(1, 'resend')`);
    await place.rest();
    expect([await states(), there('name')]).toEqual([['done'], undefined]);
  });

  test('of a record whose current state the author had seen or written is sent', async () => {
    const seen = await cursor();
    await set(seen, `phone_number = '555-B'`);
    await place.rest();
    await remove(seen);
    await place.rest();
    expect([await states(), there('name')]).toEqual([['done', 'done'], undefined]);
  });

  test('of a record that was changed since its last reading is left to a person', async () => {
    await dispatch({phone_number: '555-A'}, false);
    await remove(await cursor());
    await place.push();
    expect(await place.changes('state, reason')).toEqual([
      {
        state: 'conflict',
        reason: 'changed at the service since its author had read it: phone_number',
      },
    ]);
    expect(there('phone_number')).toBe('555-A');
    await place.author(`SELECT sync.resolve_change(1, 'resend')`);
    await place.rest();
    expect([await states(), there('name')]).toEqual([['done'], undefined]);
  });

  test('right after an update waits for it, and is compared with its result', async () => {
    const seen = await cursor();
    await place.pass(100);
    place.mischief.script = ({method}) => (method === 'PUT' ? 'lose' : 'pass');
    place.service.lag = () => 10;
    await set(seen, `phone_number = '555-B'`);
    await place.push();
    expect(await states()).toEqual(['in_doubt']);
    await remove(seen);
    expect(await place.changes('base')).toMatchObject([{}, {base: {phone_number: '555-B'}}]);
    await place.rest();
    expect([await states(), there('name')]).toEqual([['done', 'done'], undefined]);
  });

  test('of a record that is deleted already is done', async () => {
    const {store} = place.service;
    const customer = store.find(customerResource, '1');
    await remove(await cursor());
    if (customer !== null) store.delete(customer, by);
    await place.rest();
    expect(await states()).toEqual(['done']);
  });

  test('does not cancel a change of another author', async () => {
    const seen = await cursor();
    await set(null, `phone_number = '555-A'`, office);
    await remove(seen);
    await place.rest();
    expect([await states(), there('phone_number')]).toEqual([['done', 'conflict'], '555-A']);
  });
});

test('a write to a record that was deleted since the cursor is rejected', async () => {
  const seen = await cursor();
  await place.sweep('UPDATE warehouse.customers SET _deleted_at = now()');
  await expect(set(seen, `phone_number = '555-B'`)).rejects.toThrow('the record is deleted');
});

test('removing an employee whom another author assigned unseen is a separate change', async () => {
  const seen = await cursor();
  const assigned = (sql: string, login: string, at: string | null) => write(at, sql, login);
  await assigned(
    'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (1, 7)',
    office,
    null,
  );
  const off = 'DELETE FROM warehouse.job_employees WHERE employee_id = 7';
  await assigned(off, erp, seen);
  expect(await place.changes('fields, seen')).toEqual([
    {fields: {employee_ids: ['7']}, seen: null},
    {fields: {employee_ids: []}, seen: {employee_ids: []}},
  ]);
});

test('removing an employee whom the author had seen assigned adds no separate change', async () => {
  await write(
    null,
    'INSERT INTO warehouse.job_employees (job_number, employee_id) VALUES (1, 7)',
    office,
  );
  await write(await cursor(), 'DELETE FROM warehouse.job_employees WHERE employee_id = 7');
  expect(await place.changes('seen')).toEqual([{seen: null}]);
});

test('an undo is held, and the cursor of the session does not affect it', async () => {
  const seen = await cursor();
  await set(null, `phone_number = '555-B'`, office);
  await place.rest();
  await write(seen, 'SELECT sync.undo_changes(ARRAY[1])');
  expect(await place.changes('fields, seen, state')).toMatchObject([
    {},
    {fields: {phone_number: '555-0100'}, seen: null, state: 'held'},
  ]);
});

describe('a cursor', () => {
  test.each([
    [
      'in a wrong form',
      'yesterday',
      'fieldmirror.seen: expected a cursor that the feed gave, such',
    ],
    ['of another warehouse', '0123456789ab-1', 'expected one of this warehouse'],
  ])('%s is rejected, and nothing is written', async (_, seen, words) => {
    await expect(set(seen, `phone_number = '555-B'`)).rejects.toThrow(words);
    await expect(
      write(seen, `INSERT INTO warehouse.customers (name) VALUES ('x')`),
    ).rejects.toThrow(words);
    await expect(write(seen, 'DELETE FROM warehouse.customers')).rejects.toThrow(words);
    expect(await states()).toEqual([]);
  });

  test('older than the retained feed, or ahead of the feed, is rejected', async () => {
    const [feed] = (await cursor()).split('-');
    await expect(set(`${feed}-999`, `fax = '1'`)).rejects.toMatchObject({code: 'FM410'});
    await place.author('UPDATE sync.feed_state SET removed_to = last_position');
    const error = {code: 'FM410', hint: expect.stringContaining('Begin again')};
    await expect(set(`${feed}-0`, `fax = '1'`)).rejects.toMatchObject(error);
  });
});

/** Edits the customer, one field at a time; sometimes to a value that others write as well. */
class Plain extends Random {
  isShared = false;
  override isTrue(probability: number): boolean {
    return probability === 0.2 && this.isShared;
  }
  override integer(from: number): number {
    return from;
  }
  override pick<T>([first]: readonly [T, ...T[]]): T {
    return first;
  }
}

test('replacing an unsent change back to the value that was read causes no conflict', async () => {
  const random = new Plain('1', 'plain', 0);
  const intents: Intent[] = [];
  const about = {fields: {customers: ['fax'], jobs: ['name']}, lag: 0, intents};
  const groupOf = (field: string) => [field];
  const first = new Erp(place.pool, random, {...about, groupOf, name: 'http: erp'});
  const second = new Erp(place.pool, random, {...about, groupOf, name: 'http: erp 2'});
  for (const each of [first, second]) await each.begin();
  random.isShared = true;
  await first.write(1);
  await place.rest();
  for (const each of [first, second]) await each.read();
  random.isShared = false;
  await first.write(1);
  await place.rest();
  await first.read();
  random.isShared = true;
  await first.write(1);
  random.isShared = false;
  await second.write(1);
  await place.rest();
  expect(intents.map(({fields}) => fields.fax)).toEqual([
    'fax 1',
    'fax of http: erp 1',
    'fax 1',
    'fax of http: erp 2 1',
  ]);
  expect([await states(), await conflicts()]).toEqual([['done', 'done', 'done'], []]);
  const effects = toEffects(place.service.store.journal);
  expect(effects.at(-1)).toMatchObject({
    before: {fax: 'fax of http: erp 1'},
    fields: {fax: 'fax of http: erp 2 1'},
  });
  const outcome = {effects, numberOf: () => '1', conflictsOf: () => []};
  for (const each of [first, second]) expect(each.findLost(outcome)).toEqual([]);
});
