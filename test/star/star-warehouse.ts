import type pg from 'pg';
import {inject} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {createDatabase} from '../support/postgres.ts';
import type {SetUp} from '../support/set-up.ts';

/** A migrated warehouse without rows, for as long as a set-up lasts. */
export async function openStarWarehouse(
  setUp: SetUp,
  max: number,
): Promise<{readonly pool: pg.Pool; readonly url: string}> {
  const {url} = await setUp.step(
    'making a warehouse',
    () => createDatabase(inject('warehouseTemplate')),
    (database) => database.drop(),
  );
  const pool = await setUp.step(
    'opening the warehouse',
    async () => openPool(url, {max, applicationName: 'test'}),
    (opened) => opened.end(),
  );
  return {pool, url};
}
