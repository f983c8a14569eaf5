// Over HTTP each key gives and is given the external keys of its own outside system.

import {afterAll, afterEach, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
/** Keys of account acme for tryton and shopware, and of the other account for tryton. */
let tryton: string;
let shop: string;
let strange: string;
beforeAll(async () => {
  place = await openPlace();
  const make = async (name: string, accountId: string, system: string) => {
    const key = {name, accountId, system, role: 'operator', masks: false} as const;
    return (await addApiKey(place.pool, key))?.reveal() ?? '';
  };
  tryton = await make('tryton', place.account.accountId, 'tryton');
  shop = await make('shop', place.account.accountId, 'shopware');
  strange = await make('strange-tryton', place.stranger.accountId, 'tryton');
});
afterAll(() => place?.close());
beforeEach(async () => {
  await link(tryton, {number: 1, external_key: 'P-17'});
});
afterEach(async () => {
  for (const key of [tryton, shop, strange, place.keys.writer])
    await link(key, {number: 1, external_key: null});
});

const link = async (key: string, named: object) =>
  await place.post({table: 'customers', operation: 'update', ...named}, {key});
const keyOf = async (key: string, query = '', table = 'customers') =>
  (await place.get(`/v1/${table}?limit=1${query}`, {key})).body.rows.map(
    (row: {external_key: string | null}) => row.external_key,
  );

describe('a row', () => {
  test('is found by its external key, and shows it, only for API keys of that system', async () => {
    const found = await place.get('/v1/customers?system=tryton&key=P-17', {key: tryton});
    expect(found.body.rows).toMatchObject([{customer_number: '1', external_key: 'P-17'}]);
    expect(found.body.next_page).toBeNull();
    expect(await keyOf(tryton, '&key=P-17')).toEqual(['P-17']);
    for (const key of [shop, strange, place.keys.writer]) {
      expect(await keyOf(key, '&key=P-17')).toEqual([]);
      expect(await keyOf(key)).toEqual([null]);
    }
    expect(await keyOf(tryton, '&key=P-17', 'jobs')).toEqual([]);
  });

  test('is found by its external_key of the default system', async () => {
    await link(place.keys.writer, {number: 1, external_key: 'C-88'});
    expect(await keyOf(place.keys.reader, '&key=C-88&system=default')).toEqual(['C-88']);
    expect(await keyOf(tryton, '&key=C-88')).toEqual([]);
  });

  test('is not returned to an API key that names another system', async () => {
    const {status, body} = await place.get('/v1/customers?system=tryton&key=P-17', {key: shop});
    expect(status).toBe(403);
    expect(body).toMatchObject({
      type: 'urn:fieldmirror:problem:other-system',
      detail: 'system: expected shopware, the system of this key, got "tryton"',
      errors: [{in: 'query', at: 'system'}],
    });
  });

  test('cannot be filtered by an unknown name; the error suggests the nearest filter', async () => {
    const {status, body} = await place.get('/v1/customers?sistem=tryton', {key: tryton});
    expect(status).toBe(400);
    expect(body.detail).toBe(
      'sistem: expected a name that /v1/openapi.json lists (did you mean system?), got "tryton"',
    );
  });
});

describe('a change', () => {
  test('names its row and its parent by the external keys of the system', async () => {
    const made = await place.post(
      [
        {table: 'customers', operation: 'update', external_key: 'P-17', fields: {fax: '1'}},
        {
          table: 'jobs',
          operation: 'create',
          external_key: 'A-1',
          parent: {external_key: 'P-17'},
          fields: {name: 'Roof'},
        },
      ],
      {key: tryton},
    );
    expect(made.status, JSON.stringify(made.body)).toBe(202);
    expect(made.body.changes).toMatchObject([
      {table: 'customers', number: '1', external_key: 'P-17'},
      {table: 'jobs', operation: 'create', external_key: 'A-1'},
    ]);
    expect(await keyOf(tryton, '&key=A-1', 'jobs')).toEqual(['A-1']);
    expect(await keyOf(place.keys.writer, '&key=A-1', 'jobs')).toEqual([]);
    const [, {change_id: id}] = made.body.changes;
    const own = await place.get('/v1/changes?external_key=A-1', {key: tryton});
    expect(own.body.changes).toMatchObject([{change_id: id, external_key: 'A-1'}]);
    const others = await place.get('/v1/changes?external_key=A-1', {key: shop});
    expect(others.body.changes).toEqual([]);
    const story = await place.get(`/v1/changes/${id}`, {key: shop});
    expect(story.body.external_key).toBeNull();
    const unknown = await link(shop, {external_key: 'P-17', fields: {fax: '2'}});
    expect(unknown).toMatchObject({
      status: 404,
      body: {detail: 'customers: there is no external_key "P-17"'},
    });
  });

  test('sets and removes the external key of an existing row, alone or with fields', async () => {
    const set = await link(tryton, {number: 1, external_key: 'P-18'});
    expect(set).toMatchObject({status: 200, body: {state: 'unchanged', external_key: 'P-18'}});
    expect(await keyOf(tryton)).toEqual(['P-18']);
    const both = await link(tryton, {number: 1, external_key: 'P-19', fields: {fax: '555-0177'}});
    expect(both).toMatchObject({
      status: 202,
      body: {operation: 'update', fields: {fax: '555-0177'}, external_key: 'P-19'},
    });
    const [{row_id: rowId}] = (await place.get('/v1/customers', {key: tryton})).body.rows;
    expect(await link(tryton, {row_id: rowId, external_key: null})).toMatchObject({
      status: 200,
      body: {external_key: null},
    });
    expect(await keyOf(tryton)).toEqual([null]);
  });

  test.each([
    ['tryton', () => tryton],
    ['default', () => place.keys.writer],
  ])('is rejected without effect if another row has its external key of %s', async (_, key) => {
    await link(key(), {number: 2, external_key: 'K-2'});
    const answer = await place.post(
      [
        {table: 'customers', operation: 'update', number: 3, fields: {name: 'Never'}},
        {table: 'customers', operation: 'update', number: 3, external_key: 'K-2'},
      ],
      {key: key()},
    );
    expect(answer).toMatchObject({
      status: 422,
      body: {
        detail: 'external_key: another row of the table has it',
        errors: [{in: 'body', at: '/1/external_key'}],
      },
    });
    const rows = (await place.get('/v1/customers', {key: key()})).body.rows;
    expect(rows[2]).toMatchObject({name: 'Cove', external_key: null});
    await link(key(), {number: 2, external_key: null});
  });

  test.each([
    ['nothing to set', {number: 1}, '/fields: expected at least one field'],
    ['no row', {external_key: null}, 'expected one of number, row_id, external_key'],
    ['two ways', {number: 1, row_id: 1, external_key: 'x'}, 'expected one of number, row_id'],
    ['an empty key', {number: 1, external_key: ''}, '/external_key: expected string to have'],
  ])('with %s is refused', async (_, named, told) => {
    const {status, body} = await link(tryton, named);
    expect(status).toBe(400);
    expect(body.detail).toContain(told);
  });

  test('repeated with an Idempotency-Key sets its external key only once', async () => {
    const headers = {'idempotency-key': 'link-1'};
    const ask = {table: 'customers', operation: 'update', number: 1, external_key: 'P-20'};
    await place.post(ask, {key: tryton, headers});
    await link(tryton, {number: 1, external_key: 'P-21'});
    await place.post(ask, {key: tryton, headers});
    expect(await keyOf(tryton)).toEqual(['P-21']);
  });

  test('is set although another system sent the same under the same Idempotency-Key', async () => {
    const headers = {'idempotency-key': 'order-1'};
    const ask = {table: 'customers', operation: 'update', number: 1, external_key: '17'};
    for (const key of [place.keys.writer, tryton]) {
      const answer = await place.post(ask, {key, headers});
      expect(answer).toMatchObject({status: 200, body: {external_key: '17'}});
      expect(await keyOf(key)).toEqual(['17']);
    }
    const other = {...ask, external_key: '18'};
    expect(await place.post(other, {key: tryton, headers})).toMatchObject({
      body: {type: 'urn:fieldmirror:problem:key-reused'},
    });
    await link(place.keys.writer, {number: 1, external_key: null});
  });
});

describe('the external key of a deleted row', () => {
  let number = 40;
  let rowId: string;
  beforeEach(async () => {
    number++;
    rowId = await inSweepTransaction(place.pool, async (client) => {
      const {rows} = await client.query(
        `INSERT INTO warehouse.customers (account_id, customer_number, id, name, _sweep_id)
         VALUES ($1, $2, $2, 'Gone', 1) RETURNING row_id`,
        [place.account.accountId, number],
      );
      return rows[0].row_id;
    });
  });
  const key = () => `G-${number}`;
  const findOut = () =>
    inSweepTransaction(place.pool, (client) =>
      client.query('UPDATE warehouse.customers SET _deleted_at = now() WHERE row_id = $1', [rowId]),
    );
  const countChanges = async () =>
    (await place.pool.query('SELECT count(*)::integer AS n FROM sync.changes')).rows[0].n;
  const upsert = (of: string) =>
    place.post(
      {table: 'customers', operation: 'upsert', external_key: key(), fields: {name: 'Again'}},
      {key: of},
    );

  test.each([
    ['tryton', () => tryton],
    ['default', () => place.keys.writer],
  ])('can be freed by an API key of %s, for a new row', async (_, of) => {
    await link(of(), {number, external_key: key()});
    await findOut();
    const free = `An update of row_id ${rowId} with external_key null frees its key.`;
    expect(await upsert(of())).toMatchObject({
      status: 404,
      body: {
        detail: `customers: external_key "${key()}" is deleted`,
        hint: expect.stringContaining(free),
      },
    });
    const before = await countChanges();
    expect(await link(of(), {row_id: rowId, external_key: null})).toMatchObject({
      status: 200,
      body: {state: 'unchanged', row_id: rowId, external_key: null},
    });
    expect(await countChanges()).toBe(before);
    const made = await upsert(of());
    expect(made).toMatchObject({status: 202, body: {operation: 'create', external_key: key()}});
    expect(made.body.row_id).not.toBe(rowId);
    const {entries} = (await place.get('/v1/feed?limit=1000', {key: of()})).body;
    const own = entries.filter(({row_id}: {row_id: string}) => row_id === rowId);
    expect(own.at(-1)).toMatchObject({operation: 'removed', external_key: key()});
  });

  test('can be freed while the delete is pending, in one request with a new row', async () => {
    await link(tryton, {number, external_key: key()});
    const {status, body} = await place.post(
      [
        {table: 'customers', operation: 'delete', number},
        {table: 'customers', operation: 'update', number, external_key: null},
        {table: 'customers', operation: 'create', external_key: key(), fields: {name: 'Again'}},
      ],
      {key: tryton},
    );
    expect([status, body.changes.map(({operation}: {operation: string}) => operation)]).toEqual([
      202,
      ['delete', 'update', 'create'],
    ]);
  });

  test.each([
    ['a key beside it', {external_key: 'x'}, 404],
    ['a field beside it', {external_key: null, fields: {name: 'x'}}, 404],
  ])('is the only value that can change: %s is rejected', async (_, asked, status) => {
    await link(tryton, {number, external_key: key()});
    await findOut();
    expect(await link(tryton, {row_id: rowId, ...asked})).toMatchObject({
      status,
      body: {detail: `customers: row_id ${rowId} is deleted`},
    });
    expect(await keyOf(tryton, `&key=${key()}&deleted=true`)).toEqual([key()]);
  });

  test('cannot be freed by another system or account', async () => {
    await link(tryton, {number, external_key: key()});
    await findOut();
    expect((await link(shop, {row_id: rowId, external_key: null})).status).toBe(200);
    expect(await link(strange, {row_id: rowId, external_key: null})).toMatchObject({
      status: 404,
      body: {detail: `customers: there is no row_id ${rowId}`},
    });
    expect(await keyOf(tryton, `&key=${key()}&deleted=true`)).toEqual([key()]);
  });
});

describe('a record by its number', () => {
  const get = (path: string, key = place.keys.reader) => place.get(`/v1/${path}`, {key});

  test('is returned as one row, with the external key of the system', async () => {
    expect(await get('customers/1', tryton)).toMatchObject({
      status: 200,
      body: {customer_number: '1', name: 'Acme', external_key: 'P-17'},
    });
    expect((await get('customers/1')).body).toMatchObject({external_key: null});
    const rows = (await get('jobs?limit=1')).body.rows;
    expect((await get('jobs/11')).body).toEqual(rows[0]);
    expect((await get('tasks/61')).body).toMatchObject({id: '61', name: 'Call'});
  });

  test('is answered with an error if it does not exist, is deleted or is no number', async () => {
    expect(await get('customers/99')).toMatchObject({
      status: 404,
      body: {detail: 'customers: there is no number 99'},
    });
    expect(await get('customers/ada')).toMatchObject({
      status: 400,
      body: {detail: 'number: expected a number from 1 on, got "ada"'},
    });
    expect((await get('job_employees/11')).status).toBe(404);
    const remove = {table: 'customers', operation: 'delete', number: 3};
    expect((await place.post(remove)).status).toBe(202);
    const gone = await get('customers/3');
    expect(gone).toMatchObject({
      status: 404,
      body: {detail: 'customers: number 3 is deleted'},
    });
    expect(gone.body.hint).toContain('?deleted=true');
    expect(await get('customers/3?deleted=true')).toMatchObject({
      status: 200,
      body: {_deleted_at: expect.any(String)},
    });
  });
});

describe('an upsert', () => {
  const upsert = (key: string, external_key: string, name: string) =>
    place.post({table: 'customers', operation: 'upsert', external_key, fields: {name}}, {key});

  test.each([
    ['tryton', () => tryton],
    ['default', () => place.keys.writer],
  ])('with an external key of %s creates a row, and then updates it', async (system, key) => {
    const made = await upsert(key(), `U-${system}`, 'New');
    expect(made).toMatchObject({status: 202, body: {operation: 'create'}});
    const same = await upsert(key(), `U-${system}`, 'New');
    expect(same).toMatchObject({status: 200, body: {state: 'unchanged', operation: 'update'}});
    const again = await upsert(key(), `U-${system}`, 'Newer');
    expect(again.body).toMatchObject({
      change_id: made.body.change_id,
      row_id: made.body.row_id,
      fields: {name: 'Newer'},
      external_key: `U-${system}`,
    });
  });

  test.each([
    ['tryton', () => tryton],
    ['default', () => place.keys.writer],
  ])('sent twice at once with one new key of %s creates one row', async (system, key) => {
    const made = await Promise.all(['A', 'B'].map((name) => upsert(key(), `R-${system}`, name)));
    expect(made.map(({status}) => status)).toContain(202);
    for (const {status, body} of made.filter((each) => each.status !== 202))
      expect([status, body.detail]).toEqual([422, 'external_key: another row of the table has it']);
    const {rows} = await place.pool.query(
      `SELECT FROM warehouse.customers WHERE name IN ('A', 'B')`,
    );
    expect(rows).toHaveLength(1);
    await place.pool.query(`DELETE FROM warehouse.customers WHERE name IN ('A', 'B')`);
  });

  test('with an external key of another system creates a separate row', async () => {
    const made = await upsert(shop, 'P-17', 'Shop');
    expect(made.body).toMatchObject({operation: 'create', external_key: 'P-17'});
    const row = (await place.get('/v1/customers/1', {key: tryton})).body;
    expect(row).toMatchObject({name: 'Acme', external_key: 'P-17'});
  });

  test('without a key, or with an unknown field, is refused', async () => {
    const ask = {table: 'customers', operation: 'upsert', fields: {name: 'x'}};
    expect((await place.post(ask)).body.detail).toContain('/external_key: expected');
    const wrong = {...ask, external_key: 'x', fields: {nome: 'x'}};
    expect((await place.post(wrong)).body.detail).toContain('/fields/nome: expected one of');
  });
});
