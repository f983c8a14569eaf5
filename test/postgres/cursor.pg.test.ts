import {afterAll, beforeAll, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {readByCursor} from '../../src/postgres/sql.ts';
import {openWorld, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
});
afterAll(() => world?.close());

test.each([0, 1, 9_999, 10_000, 10_001, 25_000])(
  'a cursor returns all %i rows of a query, at most 10,000 at a time',
  async (count) => {
    const query = 'SELECT number::bigint FROM generate_series(1, $1::integer) AS number';
    const lots = await inTransaction(world.pool, async (client) => {
      const read: (readonly {number: string}[])[] = [];
      for await (const rows of readByCursor<{number: string}>(client, query, [count]))
        read.push(rows);
      return read;
    });
    expect(lots.flat().map(({number}) => Number(number))).toEqual(
      Array.from({length: count}, (_, at) => at + 1),
    );
    expect(Math.max(...lots.map((rows) => rows.length))).toBeLessThanOrEqual(10_000);
  },
);
