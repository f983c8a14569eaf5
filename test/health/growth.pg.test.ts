// What status costs does not grow with the rows of the warehouse, nor with past sweeps and changes.

import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {readStatusStory} from '../../src/cli/status.ts';
import {loadConfig} from '../../src/core/config.ts';
import {
  countPagesOf,
  openEmptyWarehouse,
  sumPages,
  writePastTriggers,
} from '../support/many-rows.ts';

const few = 1_000;
const many = 20_000;
let own: Awaited<ReturnType<typeof openEmptyWarehouse>>;
let pool: pg.Pool;

beforeAll(async () => {
  own = await openEmptyWarehouse();
  ({pool} = own);
});

afterAll(() => own?.close());

/** A job, a done change and a sweep for each number; every hundredth sweep is a full one. */
async function fill(from: number, to: number): Promise<void> {
  const numbers = `generate_series(${from + 1}, ${to}) AS number`;
  await writePastTriggers(
    pool,
    ['warehouse.jobs', 'sync.changes', 'sync.sweeps'],
    [
      `INSERT INTO warehouse.jobs (account_id, job_number, name, _sweep_id)
       SELECT 1, number, repeat('Roof ', 40), 1 FROM ${numbers}`,
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
         state, settled_at)
       SELECT 1, 'jobs', number, 'update', number, '{"name": "Roof"}', '{}', 'done', now()
         FROM ${numbers}`,
      `INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by, state,
         started_at, ended_at, records)
       SELECT 1, (ARRAY['jobs', 'tasks'])[1 + number / 100 % 2], kind.mode,
              CASE kind.mode WHEN 'window' THEN 'scheduled=' || number % 3 END, 'schedule',
              CASE kind.mode WHEN 'window' THEN 'refreshed' ELSE 'certified' END, now(), now(),
              number
         FROM ${numbers}
        CROSS JOIN LATERAL (
          SELECT CASE number % 100 WHEN 0 THEN 'full' ELSE 'window' END AS mode) AS kind`,
    ],
  );
}

/** The pages that each statement of status reads, the most first. */
async function readPages(): Promise<{text: string; pages: number}[]> {
  const read = await countPagesOf(pool, async (counting) => {
    const place = {
      pool: counting,
      direct: pool,
      databaseUrl: own.url,
      directUrl: own.url,
    };
    const warehouse = {...place, place: 'here', tellWaitsTo: () => {}};
    const {accounts} = await readStatusStory(warehouse, loadConfig({DATABASE_URL: own.url}));
    expect(accounts).toHaveLength(1);
  });
  return read.toSorted((one, other) => other.pages - one.pages);
}

test('with 20 times the rows, sweeps and changes, status reads about as many pages', async () => {
  await fill(0, few);
  const before = await readPages();
  await fill(few, many);
  const after = await readPages();
  expect(after).toHaveLength(before.length);
  expect(sumPages(after), JSON.stringify(after.slice(0, 3))).toBeLessThanOrEqual(
    1.5 * sumPages(before),
  );
  const [{size}] = (
    await pool.query(`SELECT relpages AS size FROM pg_class WHERE oid =
    'warehouse.jobs'::regclass`)
  ).rows;
  expect(sumPages(after)).toBeLessThan(size);
}, 180_000);
