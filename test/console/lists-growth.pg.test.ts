// A search reads no more where more rows match, and a list of changes no more where more changes
// are settled.

import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {type Account, listAccounts} from '../../src/accounts/accounts.ts';
import {matchEveryChange} from '../../src/changes/change.ts';
import {readChangeList} from '../../src/changes/change-list.ts';
import {searchRecords} from '../../src/explain/search-records.ts';
import {openPool} from '../../src/postgres/database.ts';
import {
  countPagesOf,
  openEmptyWarehouse,
  sumPages,
  writePastTriggers,
} from '../support/many-rows.ts';

const few = 10_000;
const many = 60_000;
const open = 20;
/** The last customers of each filling are called otherwise: a search looks at the latest first. */
const latest = 1_000;
let own: Awaited<ReturnType<typeof openEmptyWarehouse>>;
/** As the console reads. */
let pool: pg.Pool;
let accounts: Account[];

beforeAll(async () => {
  own = await openEmptyWarehouse();
  pool = openPool(own.url, {max: 1, applicationName: 'test'});
  accounts = await listAccounts(pool);
});

afterAll(async () => {
  await pool?.end();
  await own?.close();
});

/** A customer for each number, and a change of it that is done. */
async function fill(from: number, to: number): Promise<void> {
  const numbers = `generate_series(${from + 1}, ${to}) AS number`;
  await writePastTriggers(
    pool,
    ['warehouse.customers', 'sync.changes'],
    [
      `INSERT INTO warehouse.customers (account_id, customer_number, name, _sweep_id)
       SELECT 1, number, CASE WHEN number <= ${to - latest} THEN 'Ann ' ELSE 'Bo ' END || number, 1
         FROM ${numbers}`,
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
         state, settled_at)
       SELECT 1, 'customers', number, 'update', number, '{"name": "Ann"}', '{}', 'done',
              now() - interval '1 hour'
         FROM ${numbers}`,
    ],
  );
}

/** Changes that wait, the latest of all. */
async function wait(): Promise<void> {
  await writePastTriggers(
    pool,
    ['sync.changes'],
    [
      `DELETE FROM sync.changes WHERE is_open`,
      `INSERT INTO sync.changes (account_id, table_name, row_id, operation, number, fields, base,
         state, due_at)
       SELECT 1, 'customers', number, 'update', number, '{"name": "Ann"}', '{}', 'pending',
              now() + interval '1 day'
         FROM generate_series(1, ${open}) AS number`,
    ],
  );
}

const readings = {
  'every change': (db: pg.Pool) => list(db, null),
  'changes that are done': (db: pg.Pool) => list(db, 'done'),
  'changes that wait': (db: pg.Pool) => list(db, 'pending'),
  'a search for what stands in most rows': (db: pg.Pool) => searchRecords(db, accounts, 'ann'),
};

async function list(db: pg.Pool, state: 'done' | 'pending' | null): Promise<void> {
  const wanted = {...matchEveryChange(['1']), state};
  const {changes} = await readChangeList(db, {accounts, wanted, after: null});
  expect(changes).toHaveLength(state === 'pending' ? open : 50);
}

test('with six times the rows, lists and searches read at most 1.5 times the pages', async () => {
  const all = async () => {
    const pages: Record<string, number> = {};
    for (const [name, read] of Object.entries(readings))
      pages[name] = sumPages(await countPagesOf(pool, read));
    return pages;
  };
  await fill(0, few);
  await wait();
  const before = await all();
  await fill(few, many);
  await wait();
  const after = await all();
  for (const [name, pages] of Object.entries(after))
    expect(pages, name).toBeLessThanOrEqual(1.5 * (before[name] ?? 0));
}, 180_000);
