// A record gets into quarantine once, and leaves it again.

import {afterEach, expect, test} from 'vitest';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {openWorld, type TestWorld} from '../support/world.ts';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const spoil = '<subtotal type="decimal">a lot</subtotal>';
const badJob = (number: number) => job(number, spoil);
const badTask = (id: number) =>
  `<task><id type="integer">${id}</id><name type="integer">Call</name></task>`;
const task = (id: number) => `<task><id type="integer">${id}</id><name>Call</name></task>`;

/** A service whose records the test adds and removes. */
async function open(
  stream: 'jobs' | 'tasks',
  records: Map<number, string>,
): Promise<{world: TestWorld; asked: string[]}> {
  const asked: string[] = [];
  const service = await scriptService((request, response) => {
    const [, number] = new RegExp(`^/${stream}/(\\d+)\\.xml`).exec(request.url ?? '') ?? [];
    if (number !== undefined) asked.push(number);
    const record = records.get(Number(number));
    if (record !== undefined) response.end(`<?xml version="1.0" encoding="UTF-8"?>\n${record}`);
    else if (request.url?.startsWith(`/${stream}.xml`) === true && request.page === 1)
      response.end(list(stream, [...records.values()]));
    else return false;
    return true;
  });
  closers.push(service.close);
  const world = await openWorld(service);
  closers.push(world.close);
  return {world, asked};
}

async function readOpen(world: TestWorld): Promise<(string | null)[]> {
  const {rows} = await world.pool.query<{number: string | null}>(
    'SELECT number FROM sync.quarantine WHERE resolved_at IS NULL ORDER BY number',
  );
  return rows.map(({number}) => number);
}

test('a bad record is one entry, though the list and its own page both show it', async () => {
  const {world, asked} = await open(
    'jobs',
    new Map([
      [1, job(1)],
      [2, badJob(2)],
      [3, job(3)],
    ]),
  );
  for (let sweep = 0; sweep < 2; sweep++) {
    asked.length = 0;
    expect(await world.sweep('jobs')).toMatchObject({
      state: 'uncertified',
      counts: {records: 2, quarantined: 1},
    });
    expect(asked.filter((number) => number === '2')).toEqual(['2']);
    const {rows} = await world.pool.query('SELECT number, page FROM sync.quarantine');
    expect(rows).toEqual([{number: '2', page: 1}]);
  }
});

test.each(['jobs', 'tasks'] as const)(
  '%s: a deleted record that was never read leaves quarantine, after one request for it',
  async (stream) => {
    const records = new Map([
      [1, stream === 'jobs' ? job(1) : task(1)],
      [9, stream === 'jobs' ? badJob(9) : badTask(9)],
    ]);
    const {world, asked} = await open(stream, records);
    await world.sweep(stream);
    expect(await readOpen(world)).toEqual(['9']);
    records.delete(9);
    asked.length = 0;
    expect(await world.sweep(stream)).toMatchObject({state: 'certified', counts: {quarantined: 0}});
    expect(await readOpen(world)).toEqual([]);
    expect(asked.filter((number) => number === '9')).toEqual(['9']);
    asked.length = 0;
    await world.sweep(stream);
    expect(asked).not.toContain('9');
  },
);

test('an entry stays open if its record is in no list, but exists and is still bad', async () => {
  const records = new Map([
    [1, task(1)],
    [9, badTask(9)],
  ]);
  const {world} = await open('tasks', records);
  await world.sweep('tasks');
  const hidden = records.get(9) ?? '';
  records.delete(9);
  // The list comes from the map; the record's own page does not.
  Object.assign(records, {
    get: (number: number) => (number === 9 ? hidden : Map.prototype.get.call(records, number)),
  });
  expect(await world.sweep('tasks')).toMatchObject({
    state: 'uncertified',
    counts: {quarantined: 1},
  });
  expect(await readOpen(world)).toEqual(['9']);
});

test('an entry is resolved if its record is requested and no longer exists', async () => {
  const records = new Map([
    [1, job(1)],
    [9, badJob(9)],
  ]);
  const {world} = await open('jobs', records);
  await world.sweep('jobs');
  records.delete(9);
  await world.sweep('jobs', {recordNumber: '9'});
  expect(await readOpen(world)).toEqual([]);
});

test('an entry without a number is resolved when every listed record was read', async () => {
  const records = new Map([
    [1, job(1)],
    [9, job(9).replace('>9<', '>nine<')],
  ]);
  const {world} = await open('jobs', records);
  await world.sweep('jobs');
  await world.sweep('jobs');
  expect(await readOpen(world)).toEqual([null]);
  records.delete(9);
  expect(await world.sweep('jobs')).toMatchObject({state: 'certified'});
  expect(await readOpen(world)).toEqual([]);
});

test('an entry without a number stays open if another record could not be read', async () => {
  const records = new Map([
    [1, job(1)],
    [9, job(9).replace('>9<', '>nine<')],
  ]);
  const {world} = await open('jobs', records);
  await world.sweep('jobs');
  records.delete(9);
  records.set(5, badJob(5));
  expect(await world.sweep('jobs')).toMatchObject({state: 'uncertified'});
  expect(await readOpen(world)).toEqual(['5', null]);
});
