// Files for other tools: what DuckDB and a reader of CSV find in them is what the warehouse has.

import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {DuckDBInstance} from '@duckdb/node-api';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {writeFile} from '../../src/commands/insight/files.ts';
import {members} from '../../src/insight/star/star.ts';
import {inSweepTransaction} from '../../src/warehouse/postgres/database.ts';
import {refreshStar} from '../../src/warehouse/star/refresh-star.ts';
import {runCommand} from '../support/command.ts';
import {type FilesPlace, openFilesPlace} from '../support/files-place.ts';

let place: FilesPlace;
let pool: pg.Pool;
let folder = '';

beforeAll(async () => {
  place = await openFilesPlace();
  ({pool, folder} = place);
});
afterAll(async () => await place?.close());

const query = async (text: string) => (await pool.query(text)).rows;
const run = (...args: string[]) => runCommand(['export', ...args], place.env);

/** The same, in DuckDB. */
async function queryDuck(text: string) {
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  return (await duck.runAndReadAll(text)).getRowObjects();
}

describe('Parquet', () => {
  const file = (table: string) => join(folder, 'parquet', `${table}.parquet`);

  beforeAll(async () => {
    expect(await run('parquet', join(folder, 'parquet'))).toMatchObject({code: 0});
  });

  test('is written for every dimension and fact, and nothing is left half written', async () => {
    const names = [...members.map(({name}) => name), 'dim_date', 'dim_job_state'];
    expect((await readdir(join(folder, 'parquet'))).sort()).toEqual(
      names.map((name) => `${name}.parquet`).sort(),
    );
  });

  test.each(members.map(({name, key, columns}) => [name, key ?? [columns[0]?.[0] ?? '']] as const))(
    '%s is what the warehouse has, to the last digit',
    async (name, key) => {
      const order = key.join(', ');
      const held = await query(`SELECT ${await textsOf(name)} FROM mart.${name} ORDER BY ${order}`);
      const read = await queryDuck(
        `SELECT ${await textsOf(name, true)} FROM '${file(name)}' ORDER BY ${order}`,
      );
      expect(read).toEqual(held);
    },
  );
});

test('Parquet of several row groups has each row once, in its place', async () => {
  const rows = `SELECT n, n::bigint * 1000000007 AS large, CASE WHEN n % 7 > 0 THEN n / 4.0 END AS amount, CASE WHEN n % 3 > 0 THEN 'text ' || n % 1000 END AS words
                  FROM generate_series(1, 300000) AS n`;
  const file = join(folder, 'groups.parquet');
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    expect(await writeFile(client, rows, {file, format: 'parquet'})).toBe(300_000);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  const digest = `count(*)::text AS rows, sum(n)::text AS n, sum(large)::text AS large, (sum(amount) * 10000)::numeric(30, 0)::text AS amount, sum(n) FILTER (WHERE amount IS NULL)::text AS nulls,
                  sum(length(words) * n)::text AS words`;
  expect(await queryDuck(`SELECT ${digest} FROM '${file}'`)).toEqual(
    await query(`SELECT ${digest} FROM (${rows}) AS written`),
  );
});

/** Columns of a member as texts that both databases write alike: amounts in units of their fourth place, moments in microseconds. */
async function textsOf(name: string, isDuck = false): Promise<string> {
  const columns = await query(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute WHERE attrelid = 'mart.${name}'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  return columns
    .map(({name: column, type}) => {
      if (type === 'numeric') return `CAST(CAST(${column} * 10000 AS bigint) AS varchar) AS ${column}`;
      if (type === 'timestamp with time zone')
        return `CAST(${isDuck ? `epoch_us(${column})` : `(extract(epoch FROM ${column}) * 1000000)::bigint`} AS varchar) AS ${column}`;
      if (type === 'boolean')
        return `CASE WHEN ${column} THEN 'yes' WHEN NOT ${column} THEN 'no' END AS ${column}`;
      return `CAST(${column} AS varchar) AS ${column}`;
    })
    .join(', ');
}

async function setSubtotal(rowId: string, subtotal: string): Promise<void> {
  await inSweepTransaction(pool, (client) =>
    client.query('UPDATE warehouse.jobs SET subtotal = $2 WHERE row_id = $1', [rowId, subtotal]),
  );
  await refreshStar(pool);
}

test('an answer goes into a file of Parquet, or it is said why not', async () => {
  const file = join(folder, 'debtors.parquet');
  expect(await runCommand(['ask', 'debtors', '--parquet', file], place.env)).toMatchObject({code: 0});
  const [held] = await query(
    `SELECT count(*)::text AS rows, (sum(owed) * 10000)::bigint::text AS owed FROM mart.ask_debtors`,
  );
  const rows = await queryDuck(
    `SELECT CAST(count(*) AS varchar) AS rows, CAST(CAST(sum(owed) * 10000 AS bigint) AS varchar) AS owed FROM '${file}'`,
  );
  expect(rows).toEqual([held]);
  const refused = await runCommand(['ask', 'debtors', '--parquet', join(folder, 'nowhere', 'x')], place.env);
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected a file that can be written'),
  });
});

test('an amount that the file cannot hold exactly is refused, and no file is left in its place', async () => {
  const [job] = await query('SELECT row_id, subtotal FROM warehouse.jobs WHERE subtotal > 0 LIMIT 1');
  await setSubtotal(job.row_id, '1000.00001');
  const {code, stderr} = await run('parquet', join(folder, 'refused'), 'fct_job');
  expect(code).toBe(2);
  expect(stderr).toContain('got 1000.00001; take it as CSV');
  expect(await readdir(join(folder, 'refused'))).not.toContain('fct_job.parquet');
  await setSubtotal(job.row_id, job.subtotal);
});

describe('CSV', () => {
  const hostile = [`=HYPERLINK("http://example.com")`, '+1', '-1', '@x', '\tx', 'a,"b"\nc'];

  beforeAll(async () => {
    for (const [at, name] of hostile.entries())
      await pool.query(
        `UPDATE warehouse.customers SET name = $1 WHERE customer_number = (SELECT customer_number FROM warehouse.customers WHERE customer_number IS NOT NULL ORDER BY 1 OFFSET $2 LIMIT 1)`,
        [name, at],
      );
  });

  test('is what Postgres writes, byte by byte', async () => {
    expect(await run('csv', folder, 'dim_customer')).toMatchObject({code: 0});
    const csv = await readFile(join(folder, 'dim_customer.csv'), 'utf8');
    expect(csv).toContain(`"=HYPERLINK(""http://example.com"")"`);
    expect(csv.startsWith('customer_key,account_key,')).toBe(true);
  });

  test('for a spreadsheet holds no formula, and says that it is UTF-8', async () => {
    expect(await run('csv', folder, 'dim_customer', '--excel')).toMatchObject({code: 0});
    const csv = await readFile(join(folder, 'dim_customer.csv'));
    expect([...csv.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    const text = csv.toString();
    for (const cell of [`"'=HYPERLINK(""http://example.com"")"`, `'+1,`, `'-1,`, `'@x,`, `'\tx`])
      expect(text).toContain(cell);
    expect(text).not.toMatch(/(^|,)"?[=+@]/m);
  });
});

test('a table that there is not is refused with the nearest', async () => {
  const {code, stderr} = await run('csv', folder, 'fct_jobs');
  expect([code, stderr]).toEqual([2, expect.stringContaining('no table "fct_jobs" (did you mean fct_job?)')]);
});
