// Every line that a real sweep and a real push write, at the lowest level.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {runPushJob, runSweepJob} from '../../jobs/queue-jobs.ts';
import {createLogger} from '../../src/core/log.ts';
import {allStreams} from '../../src/streams/all.ts';
import {countNames, requestSweep} from '../../src/sweeps/sweeps.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

interface Line {
  readonly event: string;
  readonly msg: string;
  readonly [fact: string]: unknown;
}

let service: TestService;
let world: TestWorld;
const lines: Line[] = [];

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  const destination = {write: (line: string) => void lines.push(JSON.parse(line))};
  const log = createLogger({level: 'debug', secrets: [], destination});
  const {accountId} = world.account;
  const {signal} = new AbortController();
  for (const {name: stream} of allStreams) {
    const asked = {accountId, stream, mode: 'full', requestedBy: 'command'} as const;
    const {sweepId} = await requestSweep(world.pool, asked);
    await runSweepJob({...world, log}, sweepId, {signal});
  }
  await world.pool.query(
    `UPDATE warehouse.customers SET service_address = 'Kanarienweg ' || customer_number
      WHERE customer_number <= 5`,
  );
  await world.pool.query(`INSERT INTO warehouse.customers (name) VALUES ('Kanaria Kanari')`);
  await runPushJob({...world, log}, accountId, signal);
});

afterAll(async () => {
  await world.close();
  await service.close();
});

const linesOf = (event: string) => lines.filter((line) => line.event === event);

test('each ended sweep and each ended change is one log line', async () => {
  expect(linesOf('sweep.ended').map(({stream}) => stream)).toEqual(
    allStreams.map(({name}) => name),
  );
  for (const {msg} of linesOf('sweep.ended'))
    expect(msg).toMatch(
      /^sweep \d+ of \w+ \(test\) certified: [\d,]+ records, [\d,]+ new, in [\d.]+ s$/,
    );
  const {rows} = await world.pool.query(
    'SELECT change_id AS id FROM sync.changes ORDER BY change_id',
  );
  const ended = linesOf('change.ended');
  expect(ended.map(({change}) => String(change)).toSorted()).toEqual(
    rows.map(({id}) => id).toSorted(),
  );
  expect(ended.length).toBe(6);
  for (const line of ended) {
    expect(line).toMatchObject({
      account: 'test',
      stream: 'customers',
      state: 'done',
      durationMs: expect.any(Number),
    });
    expect(line.msg).toMatch(
      /^change \d+, (update customers \d|create customers, row \d+) \(test\), done in [\d.]+ s$/,
    );
  }
});

test('the counts of a sweep in its log line are numbers', () => {
  const counted = linesOf('sweep.ended').map((line) =>
    Object.keys(line).filter((name) => typeof line[name] === 'number'),
  );
  for (const names of counted)
    expect(names.toSorted()).toEqual(['level', 'time', 'durationMs', ...countNames].toSorted());
  const known = ['account', 'docs', 'event', 'mode', 'msg', 'reasons', 'state', 'stream', 'sweep'];
  for (const [at, line] of linesOf('sweep.ended').entries())
    expect(
      Object.keys(line)
        .filter((name) => !counted[at]?.includes(name))
        .toSorted(),
    ).toEqual(known.filter((name) => name in line));
});

test('every log line has an event', () => {
  expect(lines.length).toBeGreaterThan(9);
  expect(lines.filter(({event}) => !/^[a-z]+\.[a-z_]+$/.test(event ?? ''))).toEqual([]);
});

test('no log line contains a value of a record that was read or written', async () => {
  const {rows} = await world.pool.query<{value: string}>(
    `SELECT DISTINCT value FROM warehouse.customers AS c, jsonb_each_text(to_jsonb(c))
      WHERE key IN ('name', 'phone_number', 'email', 'service_address', 'service_city',
        'billing_address') AND length(value) > 4`,
  );
  expect(rows.length).toBeGreaterThan(50);
  const written = JSON.stringify(lines);
  expect(rows.filter(({value}) => written.includes(value))).toEqual([]);
});
