import {expect, inject, test} from 'vitest';
import {migrateQueue} from '../../jobs/queue.ts';
import {createDatabase} from '../support/postgres.ts';

test.each([1, 2, 3])(
  'processes that start at once on a new warehouse set up its queue without an error (%d)',
  async () => {
    const database = await createDatabase(inject('warehouseTemplate'));
    const starts = await Promise.allSettled(
      Array.from({length: 6}, () => migrateQueue(database.url)),
    );
    expect(starts.filter(({status}) => status === 'rejected')).toEqual([]);
    await database.drop();
  },
);
