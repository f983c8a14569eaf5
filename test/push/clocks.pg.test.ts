// Workers with wrong clocks, by minutes and by days: the clock of Postgres alone decides who has a
// change, and until when.

import {afterEach, expect, test} from 'vitest';
import {carryAndDie} from '../labs/push/killed-push.ts';
import {type FaultyLine, openFaultyLine} from '../support/faulty-line.ts';
import {openRecordingProxy} from '../support/recording-proxy.ts';
import {openService, openWorld, timeZone} from '../support/world.ts';

const minuteMs = 60_000;
const dayMs = 1_440 * minuteMs;
const closers: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

/** Loses the answer to every second create. */
function loseAnswers(line: FaultyLine): void {
  let creates = 0;
  line.setDraw((chunk) =>
    chunk.subarray(0, 5).toString() === 'POST ' && ++creates % 2 === 0
      ? {kind: 'lose-reply'}
      : null,
  );
}

test('workers whose clocks differ by minutes or days send each change once', {
  timeout: 120_000,
}, async () => {
  const service = await openService();
  const proxy = await openRecordingProxy(service.url);
  const line = await openFaultyLine(Number(new URL(proxy.url).port));
  const reach = {url: `http://127.0.0.1:${line.port}`, token: service.token};
  const world = await openWorld(reach);
  closers.push(service.close, proxy.close, () => line.close(), world.close);
  await world.sweep('customers');
  await world.pool.query(`
    UPDATE warehouse.customers SET fax = '555-' || customer_number WHERE customer_number <= 10;
    INSERT INTO warehouse.customers (name) SELECT 'New ' || n FROM generate_series(1, 8) AS n`);
  loseAnswers(line);
  const {databaseUrl, account, pool} = world;
  const settle = {checkDelaysMs: [0], arrivalLimitMs: dayMs};
  const work = {
    databaseUrl,
    accountId: account.accountId,
    service: reach,
    timeZone,
    diesAt: null,
    settle,
  };
  const states = async () =>
    (await pool.query<{state: string}>('SELECT DISTINCT state FROM sync.changes')).rows.map(
      ({state}) => state,
    );
  for (let round = 1; round <= 5 && (await states()).join() !== 'done'; round++) {
    await pool.query('UPDATE sync.changes SET due_at = now() WHERE due_at > now()');
    await Promise.all([2 * minuteMs, dayMs, -dayMs].map((offMs) => carryAndDie(work, offMs)));
  }
  expect(await states()).toEqual(['done']);
  const writes = proxy.takeWrites().map(({method, path, body}) => `${method} ${path} ${body}`);
  expect(new Set(writes).size).toBe(writes.length);
  expect(line.struck['lose-reply']).toBe(4);
});
