import {afterEach, expect, test} from 'vitest';
import {openTelemetry, type TelemetryPlace} from './telemetry-place.ts';
import {addWorker} from './telemetry-rows.ts';

let place: TelemetryPlace;
afterEach(() => place?.close());

/** The answer, later than any before it is still believed. */
async function look() {
  place.pass();
  const {status, text} = await place.get('/readyz');
  const body: {readonly status: string; readonly checks: Readonly<Record<string, string>>[]} =
    JSON.parse(text);
  return {status, body, checks: Object.fromEntries(body.checks.map((each) => [each.check, each]))};
}

const verdicts = async () => {
  const {status, body} = await look();
  return [status, body.checks.map(({check, verdict}) => `${check} ${verdict}`).join(', ')];
};

test('/readyz answers 200 if the warehouse is migrated and a worker is alive', async () => {
  place = await openTelemetry();
  await addWorker(place);
  expect(await verdicts()).toEqual([200, 'warehouse ok, migrations ok, workers ok']);
  expect((await look()).body.status).toBe('ready');
});

test('/readyz answers 503 without a live worker, and 200 once there is one', async () => {
  place = await openTelemetry();
  await addWorker(place, 2);
  const {status, body, checks} = await look();
  expect([status, body.status]).toEqual([503, 'not-ready']);
  expect(checks.workers).toEqual({
    check: 'workers',
    verdict: 'failed',
    reason: 'no worker has checked for work within the last minute',
    next: 'fieldmirror start',
  });
  await addWorker(place);
  expect((await look()).status).toBe(200);
});

test('/readyz answers 503 while the warehouse is unreachable, and then 200 again', async () => {
  place = await openTelemetry();
  await addWorker(place);
  place.line.turnTo(1);
  expect(await verdicts()).toEqual([503, 'warehouse failed, migrations unknown, workers unknown']);
  const {body, checks} = await look();
  expect(checks.warehouse?.next).toContain('fieldmirror doctor');
  expect(JSON.stringify(body)).not.toContain('127.0.0.1');
  expect(place.logged.map((line) => JSON.parse(line).msg)).toEqual([
    'readyz: the warehouse does not answer',
  ]);
  place.line.turnTo(place.postgresPort);
  expect(await verdicts()).toEqual([200, 'warehouse ok, migrations ok, workers ok']);
});

test('/readyz answers 503 if a migration is missing, and names the command to run', async () => {
  place = await openTelemetry();
  await addWorker(place);
  const {rows} = await place.pool.query(
    'DELETE FROM sync.migrations WHERE id = (SELECT max(id) FROM sync.migrations) RETURNING *',
  );
  const {status, checks} = await look();
  expect([status, checks.migrations]).toMatchObject([
    503,
    {
      verdict: 'failed',
      reason: expect.stringContaining('1 migration missing'),
      next: expect.stringContaining('fieldmirror migrate'),
    },
  ]);
  const {id, hash, created_at} = rows[0];
  await place.pool.query('INSERT INTO sync.migrations (id, hash, created_at) VALUES ($1, $2, $3)', [
    ...[id, hash, created_at],
  ]);
  expect((await look()).status).toBe(200);
});

test('/readyz also checks the queue of a process that runs workers', async () => {
  let answer: string | Error = 'ok';
  place = await openTelemetry({
    queue: async () => {
      if (answer instanceof Error) throw answer;
      return answer;
    },
  });
  await addWorker(place);
  expect(await verdicts()).toEqual([200, 'warehouse ok, migrations ok, workers ok, queue ok']);
  answer = 'Redis is out of memory';
  expect(await verdicts()).toEqual([503, 'warehouse ok, migrations ok, workers ok, queue failed']);
  expect((await look()).checks.queue?.reason).toBe('Redis is out of memory');
  answer = new Error('connect ECONNREFUSED redis.example.com:6379');
  const {status, body} = await look();
  expect(status).toBe(503);
  expect(JSON.stringify(body)).not.toContain('redis.example.com');
  expect(place.logged.join()).toContain('redis.example.com');
  answer = 'ok';
  expect((await look()).status).toBe(200);
});

test('a hundred requests to /readyz at once check the warehouse only once', async () => {
  place = await openTelemetry();
  await look();
  const each = place.statements();
  place.pass();
  await Promise.all(Array.from({length: 100}, () => place.get('/readyz')));
  expect(place.statements()).toBe(2 * each);
});
