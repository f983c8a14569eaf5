// A service whose lists embed the children that `include` names and whose shows embed nothing: the
// specification promises no more. A child that a document leaves out is unknown, not empty, and not
// cleared.

import {afterAll, afterEach, beforeAll, describe, expect, test} from 'vitest';
import {allStreams, allTables} from '../../src/streams/all.ts';
import {openAlteringProxy} from '../support/altering-proxy.ts';
import type {LocalServer} from '../support/local-server.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

let service: TestService;
let world: TestWorld;
/** Alters the service's answers on their way. */
let alter: (path: string, body: string) => string = (_path, body) => body;
let proxy: LocalServer;

beforeAll(async () => {
  service = await openService({showsEmbed: false, compress: false});
  proxy = await openAlteringProxy(service.url, (path, body) => alter(path, body));
  world = await openWorld({...service, url: proxy.url});
  await world.sweepAll();
});

afterEach(() => {
  alter = (_path, body) => body;
});

afterAll(async () => {
  await world.close();
  await proxy.close();
  await service.close();
});

/** The rows of every table with their versions: a row that is written again has another one. */
async function readRows(
  from: TestWorld,
  columns = 'row_id, xmin, t.*',
): Promise<Record<string, unknown[]>> {
  const held: Record<string, unknown[]> = {};
  for (const {name} of allTables)
    held[name] = (
      await from.pool.query(`SELECT ${columns} FROM warehouse."${name}" AS t ORDER BY row_id`)
    ).rows;
  return held;
}

const numbersOf = async (stream: string, key: string): Promise<string[]> =>
  (
    await world.pool.query(`SELECT ${key} AS number FROM warehouse.${stream} ORDER BY 1 LIMIT 8`)
  ).rows.map(({number}) => String(number));

test.each(allStreams)(
  '$name requested one by one leave every row as the list had it',
  async (stream) => {
    const before = await readRows(world);
    for (const recordNumber of await numbersOf(stream.name, stream.key))
      expect(await world.sweep(stream.name, {recordNumber})).toMatchObject({state: 'certified'});
    expect(await readRows(world)).toEqual(before);
  },
);

test.each(allStreams)('$name keep the values that their single records omit', async (stream) => {
  const [recordNumber = ''] = await numbersOf(stream.name, stream.key);
  const before = await readRows(world);
  const isShow = new RegExp(`^/${stream.name}/\\d+\\.xml`);
  const kept = new RegExp(`^(?:<|  <(?:id|${stream.key.replaceAll('_', '-')})[ >])`);
  const thin = (body: string) =>
    body
      .split('\n')
      .filter((line) => kept.test(line))
      .join('\n');
  alter = (path, body) => (isShow.test(path) ? thin(body) : body);
  expect(await world.sweep(stream.name, {recordNumber})).toMatchObject({
    counts: {records: 1, updated: 0},
  });
  expect(await readRows(world)).toEqual(before);
});

test('a changed value is written once, and omitted values stay', async () => {
  const [number = ''] = await numbersOf('jobs', 'job_number');
  const row = `SELECT to_jsonb(t)
                 - '{name,updated_at,updated_by,_hash,_changed_at,_sweep_id,_page}'::text[] AS row
                 FROM warehouse.jobs AS t WHERE job_number = $1`;
  const before = (await world.pool.query(row, [number])).rows;
  await world.api.jobs.update(number, {name: 'Boiler, second visit'});
  expect(await world.sweep('jobs', {recordNumber: number})).toMatchObject({
    counts: {updated: 1, vanished: 0},
  });
  expect((await world.pool.query(row, [number])).rows).toEqual(before);
  const after = await readRows(world);
  await world.sweepAll();
  expect(await readRows(world)).toEqual(after);
});

test('a new record read by its number has all children that lists embed', async () => {
  const other = await openWorld(service);
  try {
    await other.sweep('customers');
    for (const recordNumber of await numbersOf('jobs', 'job_number'))
      await other.sweep('jobs', {recordNumber});
    const columns = `coalesce((SELECT customer_number FROM warehouse.jobs AS job
      WHERE job.job_number = t.job_number), 0) AS customer, encode(_hash, 'hex') AS hash`;
    for (const table of ['jobs', 'job_employees', 'job_charges', 'time_entries', 'job_notes']) {
      const text = `SELECT ${columns} FROM warehouse.${table} AS t WHERE job_number = ANY ($1)
        ORDER BY 1, 2`;
      const values = [await numbersOf('jobs', 'job_number')];
      const {rows} = await other.pool.query(text, values);
      expect(rows.length, table).toBeGreaterThan(0);
      expect(rows, table).toEqual((await world.pool.query(text, values)).rows);
    }
  } finally {
    await other.close();
  }
});

test('a full sweep that finds a record only by its number keeps omitted values', async () => {
  const [number = ''] = await numbersOf('jobs', 'job_number');
  const before = await readRows(world);
  const own = new RegExp(
    `  <job>\\n(?:(?!  </job>)[\\s\\S])*?<job-number type="integer">${number}<` +
      '(?:(?!\\n  </job>)[\\s\\S])*\\n  </job>\\n',
  );
  alter = (path, body) => (path.startsWith('/jobs.xml') ? body.replace(own, '') : body);
  const result = await world.sweep('jobs');
  expect(result).toMatchObject({state: 'certified', counts: {tombstoned: 0, vanished: 0}});
  const {rows} = await world.pool.query(
    'SELECT evidence FROM sync.sweeps ORDER BY sweep_id DESC LIMIT 1',
  );
  expect(rows[0].evidence.unseen).toEqual({asked: 1, found: 1, gone: 0});
  expect(await readRows(world)).toEqual(before);
});

describe('a service that shows the children nowhere', () => {
  test('held children stay, and the sweep names the ones that it does not know', async () => {
    const [number = ''] = await numbersOf('jobs', 'job_number');
    const before = await readRows(world);
    alter = (path, body) =>
      /^\/(?:customers\/\d+\/jobs|jobs\/\d+\/\w+)\.xml/.test(path)
        ? body.replace(/<(jobs|notes|time-entries) [\s\S]*/, '<$1 type="array"/>')
        : body;
    // An empty list below the record is an answer: only a child without a path of its own is
    // unknown.
    await world.api.jobs.update(number, {name: 'Boiler, third visit'});
    const result = await world.sweep('jobs', {recordNumber: number});
    expect(result).toMatchObject({
      state: 'uncertified',
      reasons: [
        `job ${number} came without its employees, job_charges, ` +
          'and no list showed them: what is held of those stays',
      ],
      counts: {updated: 1},
    });
    const after = await readRows(world);
    for (const table of ['job_employees', 'job_charges'])
      expect(after[table], table).toEqual(before[table]);
    const column = 'SELECT customer_number FROM warehouse.jobs WHERE job_number = $1';
    expect((await world.pool.query(column, [number])).rows).not.toEqual([{customer_number: null}]);
  });
});
