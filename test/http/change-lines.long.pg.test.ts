// Ten thousand changes of one request, line by line. What they cost is printed, not judged.

import {readFile} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {count, expectThreeRefused, keyed, send, sendAll, upserts} from './change-lines.ts';
import {readLines} from './lines-place.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

/** CPU seconds of the sessions of the warehouse; null where this machine does not tell. */
async function readPostgresCpu(): Promise<number | null> {
  const {rows} = await place.pool.query<{pid: number}>(
    `SELECT pid FROM pg_stat_activity
      WHERE datname = current_database() AND backend_type = 'client backend'`,
  );
  const ticks = rows.map(async ({pid}) => {
    const [, fields = ''] = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ');
    const [user, system] = fields.split(' ').slice(11, 13).map(Number);
    return (user ?? 0) + (system ?? 0);
  });
  return await Promise.all(ticks).then(
    (all) => all.reduce((sum, each) => sum + each, 0) / 100,
    () => null,
  );
}

/** Does the work, and prints what it took here, where client and server are, and in Postgres. */
async function measure(what: string, work: () => Promise<void>): Promise<void> {
  const before = {cpu: process.cpuUsage(), postgres: await readPostgresCpu()};
  const beforeBytes = process.memoryUsage.rss();
  const began = performance.now();
  let most = beforeBytes;
  const sampling = setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 20);
  await work().finally(() => clearInterval(sampling));
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const {user, system} = process.cpuUsage(before.cpu);
  const here = ((user + system) / 1e6).toFixed(1);
  const postgres = await readPostgresCpu();
  const there =
    before.postgres === null || postgres === null ? '?' : (postgres - before.postgres).toFixed(1);
  const megabytes = Math.round((most - beforeBytes) / 1_048_576);
  process.stderr.write(
    `${what}: ${seconds} s; CPU seconds: ${here} of client and server, ${there} of Postgres; ` +
      `at most ${megabytes} MB more memory\n`,
  );
}

test('of ten thousand lines three are refused, and the others are captured', async () => {
  const lines = upserts(10_000).map((one) => JSON.stringify(one));
  await measure('10,000 lines', () => expectThreeRefused(place, lines));
}, 900_000);

test('a client that leaves amid ten thousand and resends all creates no row twice', async () => {
  const lines = upserts(10_000).map((one) => ({...one, external_key: `D${one.external_key}`}));
  const made = () => count(place, 'warehouse.customers', `external_key LIKE 'DC-%'`);
  const leaving = new AbortController();
  const answer = await send(place, lines, {signal: leaving.signal});
  const reader = answer.body?.getReader();
  if (reader === undefined) throw new TypeError('an answer has a body');
  const answered = await readLines(reader, 500);
  leaving.abort();
  // What is answered is made; of what is not, a batch is made as a whole, or left as a whole.
  const last = Number(answered.at(-1)?.line);
  expect(await made()).toBeGreaterThanOrEqual(last);
  const {lines: again, end} = await sendAll(place, lines);
  expect(again.slice(0, last).every(({state}) => state === 'unchanged')).toBe(true);
  const {changed, unchanged} = end.totals;
  expect([changed + unchanged, changed > 0]).toEqual([10_000, true]);
  expect(await made()).toBe(10_000);
  expect(await count(place, 'sync.changes')).toBe(
    10_000 + (await count(place, 'warehouse.customers', keyed)),
  );
}, 900_000);

/** Rows of the service that the system of the key knows. */
async function load(prefix: string, {from, to}: {readonly from: number; readonly to: number}) {
  await inSweepTransaction(place.pool, (client) =>
    client.query(
      `INSERT INTO warehouse.customers
         (account_id, customer_number, id, name, external_key, _sweep_id)
       SELECT $1, $2::bigint + at, $2::bigint + at, 'Customer', $3 || at, 1
         FROM generate_series($4::int, $5::int) AS at`,
      [place.account.accountId, from * 10, prefix, from, to].map(String),
    ),
  );
}

const expectAll = async (lines: readonly object[]) => {
  const {end} = await sendAll(place, lines);
  const changed = lines.length;
  expect(end).toEqual({totals: {changed, unchanged: 0, refused: 0, left: 0}, problem: null});
};

test('ten thousand lines that update rows of the service are captured', async () => {
  await load('EC-', {from: 1, to: 10_000});
  const lines = upserts(10_000).map((one) => ({...one, external_key: `E${one.external_key}`}));
  await measure('10,000 updates', () => expectAll(lines));
  const again = lines.map((one) => ({...one, fields: {...one.fields, phone_number: '9'}}));
  await measure('10,000 updates of what is not sent yet', () => expectAll(again));
}, 900_000);

test('ten thousand lines of which every second one creates a row are captured', async () => {
  await load('FC-', {from: 20_001, to: 25_000});
  const lines = upserts(10_000).map((one, at) => ({
    ...one,
    external_key: at % 2 === 0 ? `FC-${20_001 + at / 2}` : `GC-${at}`,
  }));
  await measure('5,000 creates and 5,000 updates', () => expectAll(lines));
}, 900_000);
