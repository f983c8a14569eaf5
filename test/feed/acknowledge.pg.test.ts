// An author's place in the feed is stored with its writes, and is its own alone.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {addApiKey} from '../../src/accounts/access.ts';
import {openPlace, type Place} from '../http/place.ts';
import {type Login, openLogin} from './logins.ts';
import {type FeedPlace, openFeedPlace} from './place.ts';

describe('a login', () => {
  let place: FeedPlace;
  let erp: Login;
  let shop: Login;
  let analyst: Login;
  let stranger: Login;
  beforeAll(async () => {
    place = await openFeedPlace();
    [erp, shop, analyst, stranger] = await Promise.all([
      openLogin(place.url, 'fieldmirror_author'),
      openLogin(place.url, 'fieldmirror_author'),
      openLogin(place.url, 'fieldmirror_reader'),
      openLogin(place.url, null),
    ]);
  });
  afterAll(async () => {
    for (const login of [erp, shop, analyst, stranger]) await login?.close();
    await place?.close();
  });

  const ack = (login: Login, ...values: unknown[]) =>
    login.pool.query('SELECT sync.feed_ack($1, $2)', [values[0], values[1] ?? null]);
  const told = async ({pool}: Login) =>
    (await pool.query('SELECT account, cursor, state FROM sync.feed_place()')).rows;

  test('stores cursor and state with its writes; a rollback undoes both', async () => {
    const [before, after] = [await place.end(), `${(await place.end()).split('-')[0]}-0`];
    await ack(erp, before, {run: 1});
    const client = await erp.pool.connect();
    await client.query(`BEGIN; INSERT INTO warehouse.customers (name) VALUES ('Taken back')`);
    await client.query('SELECT sync.feed_ack($1, $2)', [after, {run: 2}]);
    await client.query('ROLLBACK');
    expect(await told(erp)).toEqual([{account: 'acme', cursor: before, state: {run: 1}}]);
    await client.query(`BEGIN; INSERT INTO warehouse.customers (name) VALUES ('Kept')`);
    await client.query('SELECT sync.feed_ack($1, $2)', [after, {run: 2}]);
    await client.query('COMMIT');
    client.release();
    expect(await told(erp)).toEqual([{account: 'acme', cursor: after, state: {run: 2}}]);
    await ack(erp, before);
    expect(await told(erp)).toEqual([{account: 'acme', cursor: before, state: {run: 2}}]);
  });

  test('can neither read nor write the feed place of another login', async () => {
    await ack(erp, await place.end(), {secret: 'of the ERP'});
    expect(await told(shop)).toEqual([]);
    const of = (login: Login, text: string) =>
      login.pool.query(text.replace('ERP', erp.name), []).then(
        () => 'done',
        (error: Error) => error.message,
      );
    for (const text of [
      `SELECT * FROM sync.feed_place(reader => 'ERP')`,
      `SELECT sync.feed_ack(sync.feed_end(), NULL, NULL, 'ERP')`,
    ]) {
      expect(await of(shop, text)).toContain('reader: expected nothing');
      expect(await of(erp, text)).toBe('done');
    }
    for (const login of [erp, shop, analyst, stranger])
      for (const text of ['SELECT * FROM sync.feed_acks', 'DELETE FROM sync.feed_acks'])
        expect(await of(login, text)).toContain('permission denied');
    for (const login of [analyst, stranger])
      for (const text of ['SELECT * FROM sync.feed_place()', `SELECT sync.feed_ack('')`])
        expect(await of(login, text)).toContain('permission denied');
    expect(await told(erp)).toMatchObject([{state: {secret: 'of the ERP'}}]);
  });

  test('cannot store an invalid cursor, a large state or a place in another account', async () => {
    await ack(erp, await place.end(), {run: 3});
    const before = await told(erp);
    await expect(ack(erp, null)).rejects.toThrow('cursor: expected one that the feed gave');
    await expect(ack(erp, '7')).rejects.toMatchObject({
      message: expect.stringContaining('cursor: expected a cursor that the feed gave'),
      hint: expect.stringContaining('SELECT sync.feed_end() gives that of now.'),
    });
    await expect(ack(erp, '000000000000-7')).rejects.toMatchObject({code: 'FM410'});
    await expect(ack(erp, await place.end(), {text: 'x'.repeat(8_200)})).rejects.toThrow(
      'state: expected at most 8192 bytes as text, got 8212',
    );
    await expect(
      erp.pool.query('SELECT sync.feed_ack(sync.feed_end(), NULL, 99)'),
    ).rejects.toMatchObject({code: '42501'});
    expect(await told(erp)).toEqual(before);
  });
});

describe('a key of the HTTP API', () => {
  let place: Place;
  beforeAll(async () => {
    place = await openPlace();
  });
  afterAll(() => place?.close());

  const path = '/v1/feed/place';
  const put = async (body: unknown, key = place.keys.writer) => {
    const answer = await fetch(place.url + path, {
      method: 'PUT',
      headers: {authorization: `Bearer ${key}`, 'content-type': 'application/json'},
      body: JSON.stringify(body),
    });
    return {status: answer.status, body: await answer.json()};
  };
  const end = async () => (await place.get('/v1/feed?after=end')).body.cursor;

  test('stores its feed place, which no other key can read', async () => {
    const none = {cursor: null, state: null, acked_at: null};
    expect((await place.get(path)).body).toEqual(none);
    const cursor = await end();
    expect(await put({cursor, state: {run: 1}})).toMatchObject({
      status: 200,
      body: {cursor, state: {run: 1}, acked_at: expect.any(String)},
    });
    expect((await place.get(path)).body).toMatchObject({cursor, state: {run: 1}});
    const {accountId} = place.account;
    const made = {name: 'shop', accountId, role: 'operator', masks: false} as const;
    const shop = (await addApiKey(place.pool, made))?.reveal() ?? '';
    for (const key of [shop, place.keys.strange, place.keys.reader])
      expect((await place.get(path, {key})).body).toEqual(none);
    expect((await put({cursor}, place.keys.reader)).status).toBe(403);
  });

  test('stores its feed place together with its changes, or neither', async () => {
    const [before, after] = [`${(await end()).split('-')[0]}-0`, await end()];
    await put({cursor: before});
    const change = {table: 'customers', operation: 'update', number: 1, fields: {fax: '1'}};
    const post = (body: unknown) => place.post(body, {path: `/v1/changes?ack=${after}`});
    const refused = await post([change, {...change, number: 999}]);
    expect(refused.status).toBe(404);
    expect((await place.get(path)).body.cursor).toBe(before);
    expect((await post(change)).status).toBe(202);
    expect((await place.get(path)).body).toMatchObject({cursor: after, state: {run: 1}});
    const gone = await place.post(
      {...change, fields: {fax: '2'}},
      {path: '/v1/changes?ack=000000000000-1'},
    );
    expect(gone).toMatchObject({status: 410, body: {errors: [{in: 'query', at: 'ack'}]}});
    const {body} = await place.get('/v1/customers/1');
    expect(body.fax).toBe('1');
  });

  test('gets 422 with the invalid part of its feed place', async () => {
    expect(await put({cursor: '7'})).toMatchObject({
      status: 422,
      body: {errors: [{in: 'body', at: '/cursor'}]},
    });
    expect(await put({cursor: await end(), state: {text: 'x'.repeat(9_000)}})).toMatchObject({
      status: 422,
      body: {errors: [{in: 'body', at: '/state'}]},
    });
  });
});
