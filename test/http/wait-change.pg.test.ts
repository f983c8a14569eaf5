// A change that is waited for over HTTP: told as soon as it is settled, with no connection held
// until then.

import {once} from 'node:events';
import http from 'node:http';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {addApiKey, revokeApiKey} from '../../src/accounts/access.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeEach(async () => {
  place = await openPlace();
});
afterEach(() => place?.close());

async function make(number = 1): Promise<string> {
  const made = await place.post({
    table: 'customers',
    operation: 'update',
    number,
    fields: {name: 'Ace'},
  });
  return made.body.change_id;
}
const settle = (id: string, values: string) =>
  place.pool.query(`UPDATE sync.changes SET ${values} WHERE change_id = $1`, [id]);

/** The session that listens has begun: a request waits. */
async function untilListening(): Promise<void> {
  for (let count = 0; count === 0; ) {
    const {rowCount} = await place.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database()
       AND application_name = 'fieldmirror listens' AND query LIKE 'LISTEN%changes%'`,
    );
    count = rowCount ?? 0;
  }
}

describe('GET /v1/changes/ID?wait=', () => {
  test('is answered once that change is settled, not when another one is', async () => {
    const [id, other] = [await make(), await make(2)];
    const answer = place.get(`/v1/changes/${id}?wait=60`);
    await untilListening();
    await settle(other, `state = 'done', settled_at = now()`);
    const begun = performance.now();
    await settle(id, `state = 'done', settled_at = now()`);
    expect((await answer).body).toMatchObject({change_id: id, state: 'done'});
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  test('ends within seconds if its key is revoked, without anything about the change', async () => {
    const id = await make();
    const {accountId} = place.account;
    const key = await addApiKey(place.pool, {
      name: 'leaving',
      accountId,
      role: 'operator',
      masks: false,
    });
    const answer = place.get(`/v1/changes/${id}?wait=60`, {key: key?.reveal() ?? ''});
    await untilListening();
    const begun = performance.now();
    await revokeApiKey(place.pool, 'leaving');
    expect(await answer).toMatchObject({
      status: 401,
      body: {type: 'urn:fieldmirror:problem:unauthorized'},
    });
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  test('returns nothing if its key is revoked just before the change is settled', async () => {
    const id = await make();
    const {accountId} = place.account;
    const key = await addApiKey(place.pool, {
      name: 'leaving',
      accountId,
      role: 'operator',
      masks: false,
    });
    const answer = place.get(`/v1/changes/${id}?wait=60`, {key: key?.reveal() ?? ''});
    await untilListening();
    await revokeApiKey(place.pool, 'leaving');
    await settle(id, `state = 'done', settled_at = now()`);
    expect((await answer).status).toBe(401);
  });

  test('keeps none of the connections of the pool busy', async () => {
    const id = await make();
    const headers = {authorization: `Bearer ${place.keys.writer}`};
    const asked = Array.from({length: 21}, () =>
      http
        .get(`${place.url}/v1/changes/${id}?wait=60`, {headers, agent: false})
        .on('error', () => {}),
    );
    const statuses = asked.map((request) =>
      once(request, 'response').then(([answer]) => answer.statusCode),
    );
    // Twenty wait: the first answer is that of the one too many.
    expect(await Promise.race(statuses)).toBe(429);
    await untilListening();
    const {rows} = await place.pool.query(
      `SELECT FROM pg_stat_activity WHERE datname = current_database()
       AND application_name LIKE 'http %' AND state LIKE 'idle in%'`,
    );
    expect(rows).toHaveLength(0);
    expect((await place.get(`/v1/changes/${id}`)).body.state).toBe('pending');
    await settle(id, `state = 'rejected', settled_at = now(), reason = '422: no'`);
    expect((await Promise.all(statuses)).filter((status) => status === 200)).toHaveLength(20);
  });

  test('returns a change in conflict, a cancelled one, and one that is still pending', async () => {
    const [fought, over, slow] = [await make(1), await make(2), await make(3)];
    const answer = place.get(`/v1/changes/${fought}?wait=60`);
    await untilListening();
    await settle(fought, `state = 'conflict', reason = 'changed on both sides: name'`);
    expect((await answer).body).toMatchObject({state: 'conflict', docs: 'A11'});
    await settle(over, `state = 'cancelled', settled_at = now(), reason = 'no more'`);
    const {body} = await place.get(`/v1/changes/${over}?wait=60`);
    expect(body).toMatchObject({state: 'cancelled', docs: null});
    expect((await place.get(`/v1/changes/${slow}?wait=1`)).body.state).toBe('pending');
  });

  test('refuses a wait that is too long, and a change of another account', async () => {
    const id = await make();
    expect((await place.get(`/v1/changes/${id}?wait=61`)).status).toBe(400);
    expect((await place.get(`/v1/changes/${id}?waits=6`)).status).toBe(400);
    expect((await place.get(`/v1/changes/${id}?wait=60`, {key: place.keys.strange})).status).toBe(
      404,
    );
  });

  test('is answered when the server stops', async () => {
    const own = await openPlace();
    const made = await own.post({
      table: 'customers',
      operation: 'update',
      number: 1,
      fields: {name: 'Ace'},
    });
    const answer = own.get(`/v1/changes/${made.body.change_id}?wait=60`);
    await own.get('/v1/changes');
    const begun = performance.now();
    await Promise.all([answer.then(({body}) => expect(body.state).toBe('pending')), own.close()]);
    expect(performance.now() - begun).toBeLessThan(20_000);
  });
});
