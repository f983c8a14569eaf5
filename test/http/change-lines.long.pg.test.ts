// Ten thousand changes of one request, line by line. What they cost is printed, not judged.

import {readFile} from 'node:fs/promises';
import {afterAll, beforeAll, expect, test} from 'vitest';
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

test('of a client that leaves amid ten thousand, sent again, nothing is made twice', async () => {
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
