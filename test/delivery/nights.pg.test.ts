// A night is delivered once, when every sweep of it was certified; one that was not shows.

import {rm} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {findDeliveryProblems} from '../../src/alerts/problems.ts';
import {createLogger} from '../../src/core/log.ts';
import {Pulse} from '../../src/core/pauses.ts';
import {makeDeliveryRounds} from '../../src/delivery/deliver-star.ts';
import {listDueTargets, listTargets, type TargetHealth} from '../../src/delivery/targets.ts';
import {runCommand} from '../support/command.ts';
import {type DeliveryPlace, openDeliveryPlace, readSnapshot} from './delivery-place.ts';

let place: DeliveryPlace;
let logged: Record<string, unknown>[];
let account: string;
const hour = 3_600_000;
const storage = {storageKeys: null, allowsHttp: false, allowsLinkLocal: false};
/** Milliseconds by the clock of rounds. */
const now = 0;

beforeAll(async () => {
  place = await openDeliveryPlace();
  [{name: account} = {name: ''}] = await place.query<{name: string}>(
    'SELECT name FROM sync.accounts',
  );
});
afterAll(() => place?.close());
beforeEach(async () => {
  logged = [];
  await place.query('DELETE FROM sync.delivery_targets');
  await place.query('DELETE FROM sync.schedules');
  await rm(place.lake, {recursive: true, force: true});
  await place.apply({delivery: {lake: {to: place.lake}}});
  for (const stream of ['jobs', 'customers']) await schedule(stream, 24, 20);
});

const schedule = (stream: string, everyHours: number, nextInHours: number) =>
  place.query(
    `INSERT INTO sync.schedules (account_id, name, stream, mode, every_ms, next_due_at)
     SELECT account_id, $1 || ' nightly', $1, 'full', $2, now() + $3 * interval '1 hour'
       FROM sync.accounts`,
    [stream, everyHours * hour, nextInHours],
  );

/** The nightly schedules are due within minutes. */
const nightBegins = () =>
  place.query(
    `UPDATE sync.schedules SET next_due_at = now() + interval '5 minutes' WHERE every_ms = $1`,
    [24 * hour],
  );

/** A sweep that the schedule of its stream has just asked for. */
async function sweep(stream: string, state: 'certified' | 'uncertified' | 'due') {
  await place.query(
    `UPDATE sync.schedules SET last_requested_at = clock_timestamp(),
       next_due_at = now() + every_ms * interval '1 millisecond' WHERE stream = $1`,
    [stream],
  );
  await place.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at,
       reasons)
     SELECT account_id, $1, 'full', 'schedule', $2,
            CASE WHEN $2 <> 'due' THEN clock_timestamp() END,
            CASE WHEN $2 <> 'due' THEN clock_timestamp() END,
            CASE WHEN $2 = 'uncertified' THEN ARRAY['a reason'] ELSE '{}' END
       FROM sync.accounts`,
    [stream, state],
  );
}

const endSweeps = () =>
  place.query(
    `UPDATE sync.sweeps SET state = 'certified', started_at = clock_timestamp(),
       ended_at = clock_timestamp() WHERE state = 'due'`,
  );

/** One look of a worker. @returns the targets that it delivered to */
async function round(): Promise<string[]> {
  const log = createLogger({
    level: 'info',
    secrets: [],
    destination: {write: (line: string) => void logged.push(JSON.parse(line))},
  });
  const rounds = makeDeliveryRounds({pool: place.pool, storage, log}, new Pulse(() => now));
  const before = logged.length;
  rounds.begin();
  await rounds.settled();
  return logged
    .slice(before)
    .filter(({event}) => event === 'delivery.delivered')
    .map(({target}) => String(target));
}

describe('a nightly delivery', () => {
  test('runs once, after the last of its sweeps is certified', async () => {
    // The first load is the first night.
    expect(await round()).toEqual(['lake']);
    expect(await round()).toEqual([]);
    const before = await readSnapshot(place.lake);

    await nightBegins();
    await sweep('jobs', 'certified');
    expect(await round()).toEqual([]);
    await sweep('customers', 'due');
    expect(await round()).toEqual([]);
    await endSweeps();
    expect(await round()).toEqual(['lake']);
    expect(await round()).toEqual([]);
    expect((await readSnapshot(place.lake))?.snapshot).not.toBe(before?.snapshot);
    expect(await place.query('SELECT count(*)::integer AS count FROM sync.snapshots')).toEqual([
      {count: 2},
    ]);
  });

  test('waits if a sweep is uncertified, until one is certified', async () => {
    await round();
    await nightBegins();
    await sweep('jobs', 'certified');
    await sweep('customers', 'uncertified');
    expect(await round()).toEqual([]);
    expect(await listTargets(place.pool)).toMatchObject([{waitsFor: [`customers of ${account}`]}]);
    await sweep('customers', 'certified');
    expect(await round()).toEqual(['lake']);
  });

  test('waits for a sweep that runs every few days only when that sweep is due', async () => {
    await schedule('tasks', 7 * 24, 70);
    await round();
    for (const stream of ['jobs', 'customers']) await sweep(stream, 'certified');
    expect(await round()).toEqual(['lake']);
    // In the night of that sweep it waits for it.
    await place.query(
      `UPDATE sync.schedules SET next_due_at = now() + interval '5 minutes' WHERE stream = 'tasks'`,
    );
    for (const stream of ['jobs', 'customers']) await sweep(stream, 'certified');
    expect(await round()).toEqual([]);
    await sweep('tasks', 'certified');
    expect(await round()).toEqual(['lake']);
  });

  test('is made by only one of two workers', async () => {
    const delivered = await Promise.all([round(), round()]);
    expect(delivered.flat()).toHaveLength(1);
    expect(await readSnapshot(place.lake)).not.toBeNull();
  });

  test('refreshes the star if it is behind', async () => {
    await place.query(
      `INSERT INTO sync.stale_jobs (account_id, job_numbers)
       SELECT account_id, '{1}' FROM sync.accounts`,
    );
    expect(await round()).toEqual(['lake']);
    expect(await place.query('SELECT waiting::integer FROM mart.freshness')).toEqual([
      {waiting: 0},
    ]);
  });
});

describe('a missing nightly delivery', () => {
  const away = () => place.apply({delivery: {lake: {to: join(place.folder, 'not', 'mounted')}}});

  test('is retried later, and each failure is reported', async () => {
    await away();
    for (let tries = 1; tries <= 3; tries++) {
      expect(await round()).toEqual([]);
      // Not before its time.
      expect(await listDueTargets(place.pool)).toEqual([]);
      expect(await listTargets(place.pool)).toMatchObject([{attempts: tries}]);
      await place.query('UPDATE sync.delivery_targets SET due_at = now()');
    }
    expect(logged.map(({event, docs}) => [event, docs])).toEqual(
      Array.from({length: 3}, () => ['delivery.failed', 'A25']),
    );
    const {code, stdout} = await runCommand(['status'], place.env);
    expect(code).toBe(1);
    expect(stdout).toMatch(/^delivery {2}lake: no snapshot yet; the last try failed/m);
    expect(stdout.replaceAll(/\s+/g, ' ')).toMatch(
      /deliveries to lake fail, for \d+ s: .*got ENOENT.* \(see: fieldmirror explain A25\)/,
    );
    const doctor = await runCommand(['doctor'], place.env);
    expect(doctor.stdout).toMatch(/^warning +delivery: deliveries to lake fail/m);

    await place.apply({delivery: {lake: {to: place.lake}}});
    expect(await round()).toEqual(['lake']);
    expect(await listTargets(place.pool)).toMatchObject([
      {attempts: 0, failingSince: null, lastError: null},
    ]);
    const healthy = await runCommand(['doctor'], place.env);
    expect(healthy.stdout).toMatch(
      /^good +delivery: lake: snapshot \S+, 0\.\d MB, .* ago, 1 held/m,
    );
  });

  test('is reported even if nothing failed, with the sweep that it waits for', async () => {
    await round();
    const [target] = await listTargets(place.pool);
    await nightBegins();
    await sweep('jobs', 'certified');
    const [later] = await listTargets(place.pool);
    const at = (hours: number) =>
      new Date(Date.parse(String(target?.latest?.deliveredAt)) + hours * hour).toISOString();
    const find = (held: TargetHealth | undefined, hours: number) =>
      findDeliveryProblems(held === undefined ? [] : [held], at(hours));
    expect(find(later, 29)).toEqual([]);
    expect(find(later, 31)).toMatchObject([
      {
        kind: 'not-delivered',
        subject: 'lake',
        since: target?.latest?.deliveredAt,
        text: expect.stringContaining(`it waits for a certified sweep of customers of ${account}`),
      },
    ]);
    // Nobody expects a night while every account is paused.
    expect(find(later && {...later, everyMs: null}, 31)).toEqual([]);
    expect(find(later && {...later, isUnderWay: true}, 31)).toEqual([]);
  });
});
