// Parquet of any rows: DuckDB reads each value as Postgres has it, whatever its type.

import {mkdtemp, open, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {DuckDBInstance} from '@duckdb/node-api';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {writeParquet} from '../../src/star/parquet.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let folder = '';

beforeAll(async () => {
  database = await createDatabase();
  pool = openPool(database.url, {max: 1, applicationName: 'test'});
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-parquet-'));
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
  await rm(folder, {recursive: true, force: true});
});

const query = async (text: string) => (await pool.query(text)).rows;

/** The same, in DuckDB. */
async function queryDuck(text: string) {
  const duck = await (await DuckDBInstance.create(':memory:')).connect();
  return (await duck.runAndReadAll(text)).getRowObjects();
}

describe('values at the limits of their types', () => {
  /** By column: its values; the columns have the same number of them. */
  const extremes = {
    small: ["'-32768'::smallint", '32767', 'NULL', '0', '1'],
    whole: ["'-2147483648'::integer", '2147483647', '0', 'NULL', '-1'],
    large: [
      "'-9223372036854775808'::bigint",
      '9223372036854775807',
      '4294967296',
      '-4294967297',
      'NULL',
    ],
    amount: ['-99999999999999.9999', '90071992547409.93', '0.0001', '-0.5', '0'],
    exact: ['12345678901234', '-12345678.9012', '100000000', '99990000.0001', 'NULL'],
    wide: ['-12345678901234567890.123456789', '1e20', '0', 'NULL', '1e-15'],
    wideness: ['-1e-15', '1e22', '-1e22', '-1', '1'],
    real: ["'NaN'::double precision", "'-0'", "'-Infinity'", '1e-300', 'NULL'],
    day: ["'1899-12-31'::date", "'9999-12-31'", "'1970-01-01'", 'NULL', "'2000-01-01'"],
    moment: [
      "'1900-01-01T00:00:00.000001Z'::timestamptz",
      "'1999-12-31T23:59:59.999999Z'",
      "'2262-04-12T00:00:00Z'",
      "'2000-01-01T00:00:00Z'",
      'NULL',
    ],
    truth: ['true', 'false', 'NULL', 'true', 'false'],
    words: ["''", "'żółw 🐢'", 'NULL', "repeat('long ', 100)", "E'a\\tb\\n'"],
    list: ["ARRAY['a','b']", "'{}'", 'NULL', 'NULL', "ARRAY['c']"],
    nothing: ['NULL::text', 'NULL', 'NULL', 'NULL', 'NULL'],
  };
  const list = Object.entries(extremes).map(
    ([name, values]) => `unnest(ARRAY[${values.join(', ')}]) AS ${name}`,
  );
  const unnested = list.filter((each) => !each.endsWith(' AS list')).join(', ');
  const lists = extremes.list.map((value, at) => `WHEN ${at} THEN ${value}`).join(' ');

  test.each([
    ['one row', 1],
    ['five rows', 5],
    ['rows that fill several groups', 120_005],
  ])('%s: DuckDB reads them unchanged, and the bounds of row groups hold', async (_, count) => {
    const rows = `SELECT n, CASE n % 5 ${lists} END AS list, unnested.*
        FROM generate_series(0, ${count - 1}) AS n
        JOIN (SELECT row_number() OVER () - 1 AS at, held.* FROM (SELECT ${unnested}) AS held)
          AS unnested ON at = n % 5 ORDER BY n`;
    const file = join(folder, `extremes-${count}.parquet`);
    await writeRows(rows, file);
    const names = Object.keys(extremes);
    const texts = (isDuck: boolean) =>
      names.map((name) => `${textOf(name, isDuck)} AS ${name}`).join(', ');
    const few = `WHERE n < 5 OR n >= ${count - 5}`;
    expect(
      await queryDuck(`SELECT n::varchar AS row, ${texts(true)} FROM '${file}' ${few} ORDER BY n`),
    ).toEqual(await query(`SELECT n::text AS row, ${texts(false)} FROM (${rows}) AS held ${few}`));
    // A reader skips a group by its bounds: each value is found again.
    for (const [name, values] of Object.entries(extremes).slice(0, -2)) {
      const [found] = await queryDuck(`SELECT count(*)::varchar AS rows FROM '${file}'
        WHERE ${name} IN (SELECT ${name} FROM '${file}' WHERE n < 5)`);
      const given = values.slice(0, count).flatMap((value, at) => (value === 'NULL' ? [] : [at]));
      const [held] = await query(
        `SELECT count(*)::text AS rows FROM generate_series(0, ${count - 1}) AS n
          WHERE n % 5 = ANY ('{${given}}')`,
      );
      expect({[name]: found}).toEqual({[name]: held});
    }
  });

  test('a query without rows gives a file with only the columns', async () => {
    const file = join(folder, 'none.parquet');
    await writeRows('SELECT 1 AS one, NULL::numeric AS two WHERE false', file);
    expect(await queryDuck(`SELECT one, two FROM '${file}'`)).toEqual([]);
  });

  test('texts that all differ are read unchanged', async () => {
    const file = join(folder, 'different.parquet');
    const rows = `SELECT n, md5(n::text) || repeat(md5((n * 7)::text), n % 40)
                      || CASE WHEN n = 7 THEN repeat('long ', 40000) ELSE '' END AS words
                    FROM generate_series(1, 20000) AS n ORDER BY n`;
    await writeRows(rows, file);
    expect(
      await queryDuck(`SELECT md5(string_agg(words, ',' ORDER BY n)) AS digest FROM '${file}'`),
    ).toEqual(
      await query(`SELECT md5(string_agg(words, ',' ORDER BY n)) AS digest
                              FROM (${rows}) AS written`),
    );
  });

  /** A text that both databases write alike. */
  function textOf(name: string, isDuck: boolean): string {
    if (name === 'moment')
      return isDuck
        ? 'epoch_us(moment)::varchar'
        : '(extract(epoch FROM moment) * 1000000)::bigint::text';
    if (name === 'real')
      return `CASE WHEN real = 'NaN' THEN 'no number' WHEN real = 0 THEN 'zero'
                   WHEN real < 0 THEN 'less' WHEN real > 0 THEN 'more' END`;
    if (/^(amount|exact)$/.test(name)) return `CAST(CAST(${name} AS numeric(38, 4)) AS varchar)`;
    if (/^wide/.test(name)) return `CAST(CAST(${name} AS numeric(38, 15)) AS varchar)`;
    if (name === 'truth') return `CASE WHEN truth THEN 'yes' WHEN NOT truth THEN 'no' END`;
    return `CAST(${name} AS varchar)`;
  }
});

test('if a file cannot be written, the database session stays usable', async () => {
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    const full = new Error('the disk is full');
    const refused = writeParquet(client, 'SELECT n FROM generate_series(1, 900000) AS n', () =>
      Promise.reject(full),
    );
    await expect(refused).rejects.toBe(full);
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{one: 1}]);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});

test('writing a file leaves no timer of the database driver behind', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    const before = timers();
    for (let file = 0; file < 5; file++) await writeParquet(client, 'SELECT 1', async () => {});
    expect(timers()).toBeLessThan(before + 5);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
});

async function writeRows(rows: string, file: string): Promise<void> {
  const client = await pool.connect();
  const out = await open(file, 'w');
  try {
    await client.query('BEGIN READ ONLY');
    await writeParquet(client, rows, (bytes) => out.writeFile(bytes));
  } finally {
    await out.close();
    await client.query('ROLLBACK');
    client.release();
  }
}
