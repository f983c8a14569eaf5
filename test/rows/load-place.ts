// Two tables of a warehouse, empty at the start of each test of a file that uses it, and
// batches loaded into them.

import {afterAll, beforeAll, beforeEach} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {type LoadCounts, loadRows} from '../../src/rows/load.ts';
import type {EncodedRow, MirrorTable} from '../../src/streams/table.ts';
import {machines, openWorld, rowOf, type World} from '../support/sample.ts';

export let world: World;
/** Makes the place for each test of the file that calls this. */
export function useLoadPlace(): void {
  beforeAll(async () => {
    world = await openWorld();
  });
  afterAll(() => world?.close());
  beforeEach(() => world.pool.query('TRUNCATE warehouse.machines, warehouse.machine_parts'));
}

export const machine = (
  number: string,
  fields: Record<string, string | null> = {},
  attributes?: string,
) => rowOf(machines, {machine_number: number, ...fields}, attributes);

export async function load(
  rows: readonly EncodedRow[],
  sweepId = '1',
  table: MirrorTable = machines,
): Promise<LoadCounts> {
  const {accountId} = world.account;
  return await inTransaction(world.pool, (client) =>
    loadRows(client, table, rows, {accountId, sweepId}),
  );
}

/** Every column as the text that Postgres shows. */
export async function readAll(): Promise<Record<string, string | null>[]> {
  const columns = machines.columns.map(({name}) => `"${name}"::text`).join(', ');
  const {rows} = await world.pool.query(
    `SELECT ${columns}, extra::text, _sweep_id::text AS sweep, _deleted_at IS NOT NULL AS deleted
       FROM warehouse.machines ORDER BY machine_number`,
  );
  return rows;
}
