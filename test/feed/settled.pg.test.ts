// What became of a change is in the feed of its author, who asks for it.

import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {putInConflict, send} from '../changes/capture-world.ts';
import {openPlace, type Place} from '../http/place.ts';
import {type Login, openLogin} from './logins.ts';
import {type Entry, type FeedPlace, openFeedPlace} from './place.ts';

describe('a login', () => {
  let place: FeedPlace;
  let erp: Login;
  let shop: Login;
  beforeAll(async () => {
    place = await openFeedPlace();
    erp = await openLogin(place.url, 'fieldmirror_author');
    shop = await openLogin(place.url, 'fieldmirror_author');
  });
  afterAll(async () => {
    for (const login of [erp, shop]) await login?.close();
    await place?.close();
  });

  let lastNumber = 0;
  let rowId = '';
  let start = '';
  beforeEach(async () => {
    const number = ++lastNumber;
    rowId = await place.sent('customers', {customer_number: number, id: number, name: 'Ada'});
    start = await place.end();
  });

  async function write(phone: string): Promise<string> {
    await erp.pool.query('UPDATE warehouse.customers SET phone_number = $2 WHERE row_id = $1', [
      rowId,
      phone,
    ]);
    const {rows} = await place.pool.query('SELECT max(change_id)::text AS id FROM sync.changes');
    return rows[0].id;
  }

  async function read({pool}: Login, more = ', of_changes => true'): Promise<Entry[]> {
    await place.end();
    return (await pool.query<Entry>(`SELECT * FROM sync.feed($1${more})`, [start])).rows;
  }
  const told = async (login: Login, more?: string) =>
    (await read(login, more)).map(({operation, change_id}) => [operation, change_id]);

  test('gets outcomes of its changes in order: done, refused, conflict, cancelled', async () => {
    const done = await write('1');
    await place.pool.query(send, [done]);
    await place.pool.query(
      `UPDATE sync.changes SET state = 'done', settled_at = now(), lease_until = NULL
        WHERE change_id = $1`,
      [done],
    );
    const refused = await write('2');
    await place.pool.query(send, [refused]);
    await place.pool.query(`SELECT sync.close_change($1, 'rejected', 'no such number')`, [refused]);
    const conflict = await write('3');
    await putInConflict(place, conflict, {phone_number: '555'});
    await erp.pool.query('SELECT sync.cancel_change($1)', [conflict]);
    const states = (await told(erp)).filter(([operation]) => operation !== 'changed');
    expect(states).toEqual([
      ['done', done],
      ['rejected', refused],
      ['conflict', conflict],
      ['cancelled', conflict],
    ]);
    const [entry] = (await read(erp)).filter(({operation}) => operation === 'done');
    expect(entry).toMatchObject({
      account: 'acme',
      table_name: 'customers',
      row_id: rowId,
      number: String(lastNumber),
      before: null,
      after: null,
      own: false,
      overwritten: false,
      written_by: erp.name,
    });
  });

  test('gets no outcome if it does not request it or did not write the change', async () => {
    const change = await write('1');
    await erp.pool.query('SELECT sync.cancel_change($1)', [change]);
    const rows = [
      ['changed', change],
      ['changed', change],
    ];
    expect(await told(erp, '')).toEqual(rows);
    expect(await told(shop)).toEqual(rows);
    expect((await told(erp)).map(([operation]) => operation).sort()).toEqual([
      'cancelled',
      'changed',
      'changed',
    ]);
  });

  test('that writes as of an earlier cursor has not seen the values after it', async () => {
    const before = await place.end();
    const change = await write('1');
    await place.sweep(`UPDATE warehouse.customers SET fax = 'theirs' WHERE row_id = $1`, [rowId]);
    await place.pool.query(send, [change]);
    await place.pool.query(
      `UPDATE sync.changes SET state = 'done', settled_at = now(), lease_until = NULL
        WHERE change_id = $1`,
      [change],
    );
    const client = await erp.pool.connect();
    await client.query(`BEGIN; SET LOCAL fieldmirror.seen = '${before}'`);
    await client.query(`UPDATE warehouse.customers SET fax = 'ours' WHERE row_id = ${rowId}`);
    await client.query('COMMIT');
    client.release();
    const {rows} = await place.pool.query(
      'SELECT seen FROM sync.changes ORDER BY change_id DESC LIMIT 1',
    );
    expect(rows[0].seen).toEqual({fax: null});
    expect(
      (await read(erp))
        .filter(({after}) => after?.fax === 'theirs')
        .map((each) => each.overwritten),
    ).toEqual([true]);
  });
});

describe('a key of the HTTP API', () => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());

  test('reads writes of others and outcomes of the reader’s changes with one cursor', async () => {
    const {cursor} = (await place.get('/v1/feed?after=end')).body;
    const {body} = await place.post({
      table: 'customers',
      operation: 'update',
      number: 1,
      external_key: 'C-1',
      fields: {phone_number: '555-0188'},
    });
    const path = '/v1/changes/decide';
    await place.post({decision: 'cancel', change_ids: [body.change_id]}, {path});
    const read = async (query: string, key = place.keys.writer) =>
      (await place.get(`/v1/feed?after=${cursor}${query}`, {key})).body.entries;
    expect(await read('&changes=true&own=false')).toContainEqual(
      expect.objectContaining({
        operation: 'cancelled',
        change_id: body.change_id,
        table: 'customers',
        number: '1',
        external_key: 'C-1',
        before: null,
        after: null,
        own: false,
      }),
    );
    const operations = async (query: string, key?: string) =>
      new Set((await read(query, key)).map((entry: Entry) => entry.operation));
    expect(await operations('')).toEqual(new Set(['changed']));
    expect(await operations('&changes=true', place.keys.reader)).toEqual(new Set(['changed']));
    expect(await operations('&changes=true&columns=fax')).toEqual(new Set(['cancelled']));
  });
});
