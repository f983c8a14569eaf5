import {afterEach, beforeEach, expect, test} from 'vitest';
import {allTables} from '../../src/streams/all.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;

beforeEach(async () => {
  service = await openService();
  world = await openWorld(service);
});

afterEach(async () => {
  await world.close();
  await service.close();
});

async function count(sql: string, values: unknown[] = []): Promise<number> {
  const {rows} = await world.pool.query(sql, values);
  return Number(rows[0]?.count);
}

/** The newest transaction that wrote each table: any write of a row changes it. */
async function writtenRows(): Promise<Record<string, string>> {
  const written: Record<string, string> = {};
  for (const {name} of allTables) {
    const {rows} = await world.pool.query(
      `SELECT coalesce(max(xmin::text::bigint), 0) AS last FROM warehouse."${name}"`,
    );
    written[name] = String(rows[0]?.last);
  }
  return written;
}

test('a second sweep of an unchanged service writes no row of any table', async () => {
  await world.sweepAll();
  const before = await writtenRows();
  await world.sweepAll();
  expect(await writtenRows()).toEqual(before);
  expect(
    await count(`SELECT sum(inserted + updated) AS count FROM sync.sweeps WHERE sweep_id > 4`),
  ).toBe(0);
});

test('the same records in the other dialect have the same hashes', async () => {
  await world.sweepAll();
  const before = await writtenRows();
  const other = await openService({dialect: 'documented'});
  const second = await openWorld(other);
  try {
    await second.sweepAll();
    for (const {name} of allTables) {
      const hashes = async (from: TestWorld) =>
        (
          await from.pool.query(
            `SELECT encode(_hash, 'hex') AS hash FROM warehouse."${name}" ORDER BY 1`,
          )
        ).rows;
      expect(await hashes(second), name).toEqual(await hashes(world));
    }
  } finally {
    await second.close();
    await other.close();
  }
  expect(await writtenRows()).toEqual(before);
});

test('a row removed by hand is restored, though its bytes are known', async () => {
  await world.sweep('jobs');
  await world.pool.query(
    `BEGIN; SET LOCAL fieldmirror.writer = 'repair';
     DELETE FROM warehouse.jobs WHERE job_number = (SELECT min(job_number) FROM warehouse.jobs);
       COMMIT`,
  );
  const result = await world.sweep('jobs');
  expect(result).toMatchObject({outcome: 'ended', counts: {inserted: 1, updated: 0}});
});

test('a note that vanished from its job is marked deleted, and its job is not', async () => {
  await world.sweep('jobs');
  const {rows} = await world.pool.query(
    'SELECT job_number, id FROM warehouse.job_notes ORDER BY id LIMIT 1',
  );
  const {job_number: jobNumber, id} = rows[0];
  await world.api.jobNotes.remove({parentNumber: jobNumber, id});
  const result = await world.sweep('jobs');
  expect(result).toMatchObject({outcome: 'ended', counts: {vanished: 1}});
  expect(
    await count(
      'SELECT count(*) FROM warehouse.job_notes WHERE id = $1 AND _deleted_at IS NOT NULL',
      [id],
    ),
  ).toBe(1);
  expect(
    await count(
      'SELECT count(*) FROM warehouse.jobs WHERE job_number = $1 AND _deleted_at IS NULL',
      [jobNumber],
    ),
  ).toBe(1);
});

test('a change at the service changes its row, and no other', async () => {
  await world.sweep('customers');
  const {rows} = await world.pool.query(
    'SELECT customer_number FROM warehouse.customers ORDER BY 1 LIMIT 1',
  );
  const number = String(rows[0].customer_number);
  await world.api.customers.update(number, {phone_number: '555-0199'});
  expect(await world.sweep('customers')).toMatchObject({counts: {inserted: 0, updated: 1}});
  expect(
    await count(
      `SELECT count(*) FROM warehouse.customers WHERE customer_number = $1
       AND phone_number = '555-0199'`,
      [number],
    ),
  ).toBe(1);
});

test('a window is refreshed and infers nothing from absence', async () => {
  await world.sweep('jobs');
  const live = await count('SELECT count(*) FROM warehouse.jobs WHERE _deleted_at IS NULL');
  const result = await world.sweep('jobs', {windowName: 'in_progress'});
  expect(result).toMatchObject({outcome: 'ended', state: 'refreshed', counts: {inserted: 0}});
  expect(await count('SELECT count(*) FROM warehouse.jobs WHERE _deleted_at IS NULL')).toBe(live);
  expect(
    await count(`SELECT count(*) FROM sync.sweeps WHERE mode = 'window' AND reasons <> '{}'`),
  ).toBe(0);
});

test('a schedule may name filters; an unknown filter fails its sweep', async () => {
  expect(
    await world.sweep('jobs', {windowName: 'scheduled=this_month&state=completed'}),
  ).toMatchObject({
    outcome: 'ended',
    state: 'refreshed',
  });
  expect(await world.sweep('jobs', {windowName: 'shceduled=today'})).toMatchObject({
    outcome: 'failed',
    error: {
      message: expect.stringMatching(
        /\(did you mean scheduled\?\).*; fix window_name in sync.schedules/,
      ),
    },
  });
});

test('one record can be requested by its number', async () => {
  await world.sweep('jobs');
  const {rows} = await world.pool.query('SELECT job_number FROM warehouse.jobs ORDER BY 1 LIMIT 1');
  const number = String(rows[0].job_number);
  await world.api.jobs.update(number, {name: 'Boiler, second visit'});
  expect(await world.sweep('jobs', {recordNumber: number})).toMatchObject({
    outcome: 'ended',
    counts: {updated: 1, requests: 1},
  });
  expect(
    await count(`SELECT count(*) FROM warehouse.jobs WHERE name = 'Boiler, second visit'`),
  ).toBe(1);
});

test('a sweep of a missing record is certified, and keeps the message of the service', async () => {
  expect(await world.sweep('jobs', {recordNumber: '999999'})).toMatchObject({
    outcome: 'ended',
    state: 'certified',
    counts: {inserted: 0, tombstoned: 0},
  });
  const {rows} = await world.pool.query('SELECT evidence FROM sync.sweeps');
  expect(rows).toEqual([{evidence: {absent: {status: 400, message: 'Invalid job.'}}}]);
});

test('no secret of the service is in the rows of employees and customers', async () => {
  await world.sweepAll();
  const {rows} = await world.pool.query(
    'SELECT string_agg(t::text, $1) AS all FROM warehouse.employees AS t',
    ['\n'],
  );
  const {rows: customers} = await world.pool.query(
    'SELECT string_agg(t::text, $1) AS all FROM warehouse.customers AS t',
    ['\n'],
  );
  const held = `${rows[0].all}${customers[0].all}`;
  expect(held).not.toMatch(
    /password_salt|encrypted_password|remember_token|password_digest|"token"/,
  );
  expect(held).not.toContain(service.token);
});

test('a full sweep keeps the time at which it had read the whole list', async () => {
  await world.sweep('jobs');
  const {rows} = await world.pool.query(
    `SELECT state, (evidence->>'readAt')::timestamptz BETWEEN started_at
     AND ended_at AS "isBetween", evidence ? 'secondPass' AS "isWhole"
       FROM sync.sweeps`,
  );
  expect(rows).toEqual([{state: 'certified', isBetween: true, isWhole: true}]);
});
