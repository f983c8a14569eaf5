// One caller may keep itself waiting, but no other caller.

import pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {openPools} from '../../src/http/api.ts';
import {Turns} from '../../src/http/keys.ts';
import {type Answer, openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

/** Does some work while another transaction holds a lock, and then lets the lock go. */
async function whileLocked<T>(
  statement: string,
  work: (letGo: () => Promise<void>) => Promise<T>,
): Promise<T> {
  const holder = new pg.Client(place.databaseUrl);
  await holder.connect();
  try {
    await holder.query(`BEGIN; ${statement}`);
    return await work(async () => void (await holder.query('ROLLBACK')));
  } finally {
    await holder.end();
  }
}

async function countWaiting(): Promise<number> {
  const {rows} = await place.pool.query<{count: number}>(
    `SELECT count(*)::int FROM pg_stat_activity
      WHERE datname = current_database() AND application_name LIKE 'http%'
      AND wait_event_type = 'Lock'`,
  );
  return rows[0]?.count ?? 0;
}

const rename = (name: string) => ({
  table: 'customers',
  operation: 'update',
  number: 1,
  fields: {name},
});
const lockCustomer =
  'SELECT FROM warehouse.customers WHERE customer_number = 1 AND account_id = 1 FOR UPDATE';

function isProblem({status, headers, body}: Answer, expected: number): void {
  expect(status, JSON.stringify(body)).toBe(expected);
  expect(headers.get('content-type')).toBe('application/problem+json');
  expect(Number(headers.get('retry-after'))).toBeGreaterThan(0);
  expect(body.hint).toMatch(/again later/);
}

describe('while writes wait for a locked row', () => {
  beforeAll(async () => {
    await place.close();
    place = await openPlace({lockTimeoutMs: 60_000});
  });
  afterAll(async () => {
    await place.close();
    place = await openPlace();
  });

  const answered: Answer[] = [];
  const flood = (key: string) =>
    Array.from({length: 25}, async (_, at) => {
      const answer = await place.post(rename(`Name ${at}`), {key});
      answered.push(answer);
      return answer;
    });
  const waiting = () => expect.poll(countWaiting, {timeout: 20_000});

  test('only four of one key wait in Postgres, and another key can write', async () => {
    await whileLocked(lockCustomer, async (letGo) => {
      const writes = flood(place.keys.writer);
      await waiting().toBe(4);
      const other = {table: 'tasks', operation: 'create', fields: {name: 'x'}};
      expect((await place.post(other, {key: place.keys.strange})).status).toBe(202);
      expect(await countWaiting()).toBe(4);
      expect(answered).toEqual([]);
      await letGo();
      for (const {status} of await Promise.all(writes)) expect(status).toBe(202);
    });
  });

  test('those of two keys use every write connection, and all keys can read', async () => {
    answered.length = 0;
    await whileLocked('SELECT FROM warehouse.customers FOR UPDATE', async (letGo) => {
      const writes = [...flood(place.keys.writer), ...flood(place.keys.strange)];
      await waiting().toBe(place.writes.options.max);
      for (const key of Object.values(place.keys))
        expect((await place.get('/v1/customers', {key})).status).toBe(200);
      expect((await fetch(`${place.url}/livez`)).status).toBe(200);
      expect(answered).toEqual([]);
      await letGo();
      for (const {status} of await Promise.all(writes)) expect([200, 202]).toContain(status);
    });
  });
});

test('a write that waits too long for a row is answered 503 and has no effect', async () => {
  const answer = await whileLocked(lockCustomer, () => place.post(rename('Never')));
  isProblem(answer, 503);
  expect(answer.body).toMatchObject({
    type: 'urn:fieldmirror:problem:locked',
    detail: expect.stringContaining('another transaction'),
  });
  const [line] = place.logged.map((text) => JSON.parse(text)).filter(({reason}) => reason);
  expect(line).toMatchObject({level: 40, docs: answer.body.docs, msg: 'http: a row was locked'});
  const {rowCount} = await place.pool.query(
    `SELECT FROM sync.changes WHERE fields ->> 'name' = 'Never'`,
  );
  expect(rowCount).toBe(0);
});

test('by default every connection waits at most 3 seconds for a lock', async () => {
  const pools = openPools(place.databaseUrl);
  try {
    for (const pool of [pools.reads, pools.writes])
      expect((await pool.query('SHOW lock_timeout')).rows).toEqual([{lock_timeout: '3s'}]);
  } finally {
    await pools.close();
  }
});

test('a key is accepted even if its own row is locked', async () => {
  await place.pool.query(`UPDATE sync.api_keys SET last_used_at = '2026-01-01Z'`);
  await whileLocked('SELECT FROM sync.api_keys FOR UPDATE', async () => {
    expect((await place.get('/v1/tasks?limit=1')).status).toBe(200);
  });
});

test('one key can run and queue only a limited number of requests; others get 429', async () => {
  const turns = new Turns('writes', {atOnce: 2, waiting: 3});
  const gates: (() => void)[] = [];
  let underWay = 0;
  const take = (key: string) =>
    turns.take(key, async () => {
      underWay++;
      await new Promise<void>((open) => gates.push(open));
      underWay--;
    });
  const held = Array.from({length: 5}, () => take('1'));
  await expect(take('1')).rejects.toMatchObject({
    body: {status: 429, type: 'urn:fieldmirror:problem:too-many'},
  });
  expect(underWay).toBe(2);
  const other = take('2');
  expect(underWay).toBe(3);
  while (gates.length > 0) {
    gates.shift()?.();
    await new Promise((turn) => setImmediate(turn));
  }
  await Promise.all([...held, other]);
  const again = take('1');
  gates.shift()?.();
  await again;
});
