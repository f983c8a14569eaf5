// Whatever the dialect, the page size and the order of lists: the warehouse holds what the service
// holds.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {allStreams} from '../../src/streams/all.ts';
import {findDifferences} from '../support/compare.ts';
import {job, list, scriptService} from '../support/scripted-service.ts';
import {readTruth, type TrueRecord} from '../support/truth.ts';
import {openService, openWorld} from '../support/world.ts';

const truth = new Map<string, TrueRecord[]>();

beforeAll(async () => {
  const service = await openService({pageSize: 100});
  for (const stream of allStreams) truth.set(stream.name, await readTruth(service, stream));
  await service.close();
});

afterAll(() => truth.clear());

const dialects = ['observed', 'documented'] as const;
const pageSizes = [25, 30, 50];
const orders = ['number', 'reversed', 'changed'] as const;
const services = dialects.flatMap((dialect) =>
  pageSizes.flatMap((pageSize) => orders.map((order) => ({dialect, pageSize, order}))),
);

describe('every record and every field value arrives exactly', () => {
  test.each(services)('$dialect dialect, $pageSize a page, by $order', async (options) => {
    const service = await openService(options);
    const world = await openWorld(service);
    try {
      await world.sweepAll();
      for (const stream of allStreams) {
        expect(truth.get(stream.name)?.length, stream.name).toBeGreaterThan(0);
        expect(await findDifferences(world.pool, stream, truth.get(stream.name) ?? [])).toEqual([]);
      }
    } finally {
      await world.close();
      await service.close();
    }
  });
});

test.each([29, 30, 31, 50])(
  'with %i records a page, a sweep reads lists of 0, 1, and about one page completely',
  async (pageSize) => {
    let count = 0;
    const service = await scriptService(({url = '', page}, response) => {
      if (!url.startsWith('/jobs.xml')) return false;
      const numbers = Array.from({length: count}, (_, at) => at + 1);
      const shown = numbers.slice((page - 1) * pageSize, page * pageSize);
      response.end(
        list(
          'jobs',
          shown.map((number) => job(number)),
        ),
      );
      return true;
    });
    const world = await openWorld(service);
    try {
      for (count of [0, 1, pageSize - 1, pageSize, pageSize + 1, 2 * pageSize]) {
        expect(await world.sweep('jobs')).toMatchObject({state: 'certified'});
        const {rows} = await world.pool.query(
          'SELECT count(*)::int FROM warehouse.jobs WHERE _deleted_at IS NULL',
        );
        expect(rows).toEqual([{count}]);
      }
    } finally {
      await world.close();
      await service.close();
    }
  },
);

test('the sample business has values that are easily corrupted', () => {
  const texts = [...truth.values()].flat().flatMap((record) => [...record.fields.values()]);
  const has = (pattern: RegExp) => texts.some((text) => text !== null && pattern.test(text));
  expect(has(/^0\d/), 'leading zeros').toBe(true);
  expect(has(/^\d+\.\d0$/), 'trailing zeros').toBe(true);
  expect(has(/\n/), 'line breaks').toBe(true);
  expect(has(/&/), 'entities').toBe(true);
  expect(has(/\p{Script=Han}|é/u), 'letters beyond ASCII').toBe(true);
  expect(texts.includes('') && texts.includes(null), 'nil beside empty').toBe(true);
});
