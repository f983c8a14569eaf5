// The past, asked for by its moment, equals the service's records at that moment.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {allStreams, allTables} from '../../src/streams/all.ts';
import {findDifferences} from '../support/compare.ts';
import {readTruth, type TrueRecord} from '../support/truth.ts';
import {openService, openWorld, type TestService, type TestWorld} from '../support/world.ts';

/** The service's records when a round of sweeps had ended. */
interface Moment {
  readonly at: string;
  readonly truth: ReadonlyMap<string, readonly TrueRecord[]>;
}

let service: TestService;
let world: TestWorld;
const moments: Moment[] = [];

/** Changes at the service, each of its own kind. */
const changes: (() => Promise<unknown>)[] = [
  async () => {},
  () => world.api.customers.update('3', {phone_number: '555-0103'}),
  () => world.api.jobNotes.create('5', {note: 'Gate code at the desk'}),
  () =>
    world.api.jobCharges.create('5', {details: 'Filter', quantity: '2', price_per_unit: '19.50'}),
  () => world.api.customers.create({name: 'Willow Laundry'}),
  () => world.api.jobs.remove('7'),
  () => world.api.jobs.update('8', {name: 'Second visit'}),
  () => world.api.jobs.update('8', {name: 'Third visit'}),
  () => world.api.tasks.create({name: 'Order parts', scheduled_at: '11/3/2026 09:00am'}),
];

beforeAll(async () => {
  service = await openService();
  world = await openWorld(service);
  for (const change of changes) {
    await change();
    await world.sweepAll();
    const {rows} = await world.pool.query<{at: string}>(
      'SELECT max(ended_at) AS at FROM sync.sweeps',
    );
    const truth = new Map<string, readonly TrueRecord[]>();
    for (const stream of allStreams) truth.set(stream.name, await readTruth(service, stream));
    moments.push({at: rows[0]?.at ?? '', truth});
  }
});

afterAll(async () => {
  await world.close();
  await service.close();
});

test('as of the end of each earlier round, every field is what the service held then', async () => {
  for (const {at, truth} of moments) {
    for (const stream of allStreams) {
      const records = truth.get(stream.name) ?? [];
      expect(records.length, stream.name).toBeGreaterThan(0);
      expect(
        await findDifferences(world.pool, stream, records, {moment: at}),
        `${stream.name} at ${at}`,
      ).toEqual([]);
    }
  }
});

test('the compared records of each stream but employees changed from first to last', async () => {
  const {rows} = await world.pool.query(`SELECT count(*)::integer AS count FROM history.past_jobs`);
  expect(rows[0].count).toBeGreaterThan(2);
  const [first] = moments;
  const last = moments.at(-1);
  for (const stream of allStreams.filter(({name}) => name !== 'employees')) {
    const records = first?.truth.get(stream.name) ?? [];
    expect(
      await findDifferences(world.pool, stream, records, {moment: last?.at}),
      stream.name,
    ).not.toEqual([]);
  }
});

test('every sweep of an unchanged service is certified, and writes nothing', async () => {
  const written = async () => {
    const counts: string[] = [];
    for (const {name} of allTables) {
      const {rows} = await world.pool.query(
        `SELECT (SELECT max(xmin::text::bigint) FROM warehouse."${name}") AS row,
          (SELECT count(*) FROM history."past_${name}") AS versions`,
      );
      counts.push(JSON.stringify(rows[0]));
    }
    return counts;
  };
  const before = await written();
  for (const {name} of allStreams)
    expect(await world.sweep(name)).toMatchObject({state: 'certified'});
  expect(await written()).toEqual(before);
});
