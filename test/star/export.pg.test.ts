// Files for other tools: what DuckDB and a reader of CSV find in them is what the warehouse has.

import {chmod, lstat, mkdir, open, readdir, readFile, stat, symlink} from 'node:fs/promises';
import {join} from 'node:path';
import {DuckDBInstance} from '@duckdb/node-api';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {writeFile} from '../../src/cli/export.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {members} from '../../src/star/star.ts';
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

  test('has one file for each dimension and fact, and no other file is left', async () => {
    const names = [...members.map(({name}) => name), 'dim_date', 'dim_job_state'];
    expect((await readdir(join(folder, 'parquet'))).sort()).toEqual(
      names.map((name) => `${name}.parquet`).sort(),
    );
  });

  test.each(members.map(({name, key, columns}) => [name, key ?? [columns[0]?.[0] ?? '']] as const))(
    '%s equals the warehouse to the last digit',
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

test('a Parquet file of several row groups has each row once, with its values', async () => {
  const rows = `SELECT n, n::bigint * 1000000007 AS large,
    CASE WHEN n % 7 > 0 THEN n / 4.0 END AS amount, round(n / 3.0, 6) AS third,
                      CASE WHEN n % 5 > 0 THEN n + 12345678901234567890.1234567890 END AS wide,
                        CASE WHEN n % 3 > 0 THEN 'text ' || n % 1000 END AS words
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
  const digest = `count(*)::text AS rows, sum(n)::text AS n, sum(large)::text AS large,
                  (sum(amount) * 10000)::numeric(30, 0)::text AS amount,
                  sum(n) FILTER (WHERE amount IS NULL)::text AS nulls,
                  (sum(third) * 1000000)::numeric(30, 0)::text AS third,
                  max(wide)::numeric(38, 10)::text AS wide,
                  sum(length(words) * n)::text AS words`;
  expect(await queryDuck(`SELECT ${digest} FROM '${file}'`)).toEqual(
    await query(`SELECT ${digest} FROM (${rows}) AS written`),
  );
});

/**
 * Columns of a member as texts that both databases write alike: amounts in units of their fourth
 * place, moments in microseconds.
 */
async function textsOf(name: string, isDuck = false): Promise<string> {
  const columns = await query(
    `SELECT attname AS name, format_type(atttypid, NULL) AS type FROM pg_attribute
     WHERE attrelid = 'mart.${name}'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  return columns
    .map(({name: column, type}) => {
      if (type === 'numeric')
        return `CAST(CAST(${column} * 10000 AS bigint) AS varchar) AS ${column}`;
      if (type === 'timestamp with time zone') {
        const microseconds = isDuck
          ? `epoch_us(${column})`
          : `(extract(epoch FROM ${column}) * 1000000)::bigint`;
        return `CAST(${microseconds} AS varchar) AS ${column}`;
      }
      if (type === 'boolean')
        return `CASE WHEN ${column} THEN 'yes' WHEN NOT ${column} THEN 'no' END AS ${column}`;
      return `CAST(${column} AS varchar) AS ${column}`;
    })
    .join(', ');
}

test('ask --parquet writes an answer to a file, and fails if it cannot write there', async () => {
  const file = join(folder, 'debtors.parquet');
  expect(await runCommand(['ask', 'debtors', '--parquet', file], place.env)).toMatchObject({
    code: 0,
  });
  const [held] = await query(
    `SELECT count(*)::text AS rows, (sum(owed) * 10000)::bigint::text AS owed
      FROM mart.ask_debtors`,
  );
  const rows = await queryDuck(
    `SELECT CAST(count(*) AS varchar) AS rows, CAST(CAST(sum(owed) * 10000 AS bigint) AS varchar)
      AS owed FROM '${file}'`,
  );
  expect(rows).toEqual([held]);
  const refused = await runCommand(
    ['ask', 'debtors', '--parquet', join(folder, 'nowhere', 'x')],
    place.env,
  );
  expect(refused).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('expected a file that can be written'),
  });
});

/**
 * Jobs whose figures are not tidy: a crew of three, an appointment of 20 minutes, prices of five
 * and of twenty decimals.
 */
describe('a business with untidy figures', () => {
  const untidy = {fct_job: '1000.00001', fct_job_charge: '0.12345678901234567890'};
  let changed: {
    job: {row_id: string; subtotal: string; duration: string};
    charge: {row_id: string; total: string};
  };

  const asSweep = (text: string, values: unknown[]) =>
    inSweepTransaction(pool, (client) => client.query(text, values));

  const setTotal = async (total: string) => {
    await asSweep('UPDATE warehouse.job_charges SET total = $2 WHERE row_id = $1', [
      changed.charge.row_id,
      total,
    ]);
    await refreshStar(pool);
  };

  beforeAll(async () => {
    const [job] = await query(
      `SELECT row_id, job.subtotal, duration, job.job_number, account_id FROM warehouse.jobs AS job
       JOIN mart.fct_job ON job_key = row_id
        WHERE job_state = 'completed' AND scheduled_date IS NOT NULL ORDER BY job_key LIMIT 1`,
    );
    const [charge] = await query(
      'SELECT row_id, total FROM warehouse.job_charges WHERE id IS NOT NULL LIMIT 1',
    );
    changed = {job, charge};
    await asSweep('UPDATE warehouse.jobs SET subtotal = $2, duration = 20 WHERE row_id = $1', [
      job.row_id,
      untidy.fct_job,
    ]);
    await asSweep('UPDATE warehouse.job_charges SET total = $2 WHERE row_id = $1', [
      charge.row_id,
      untidy.fct_job_charge,
    ]);
    await asSweep('DELETE FROM warehouse.job_employees WHERE account_id = $1 AND job_number = $2', [
      job.account_id,
      job.job_number,
    ]);
    await asSweep(
      `INSERT INTO warehouse.job_employees (account_id, job_number, employee_id) SELECT $1, $2, id
        FROM warehouse.employees WHERE account_id = $1 ORDER BY id LIMIT 3`,
      [job.account_id, job.job_number],
    );
    await refreshStar(pool);
  });

  test('has all its numbers exported to the last digit', async () => {
    expect(await run('parquet', join(folder, 'untidy'))).toMatchObject({code: 0});
    for (const {name, columns} of members) {
      const numerics = await query(
        `SELECT attname AS name FROM pg_attribute WHERE attrelid = 'mart.${name}'::regclass
         AND attnum > 0 AND atttypid = 'numeric'::regtype ORDER BY attnum`,
      );
      if (numerics.length === 0) continue;
      const key = columns.map(([column]) => column).filter((column) => /_key$|^date$/.test(column));
      const order = key.map((column) => `${column}::text`).join(` || ' ' || `) || '1';
      const list = (cast: (column: string) => string) =>
        numerics.map(({name: column}) => `${cast(column)} AS ${column}`).join(', ');
      // DuckDB writes the zeros at the end of a decimal, Postgres only those that were given.
      const trimmed = (column: string) => {
        const text = `CAST(${column} AS varchar)`;
        const short = `regexp_replace(${text}, '(\\.[0-9]*[1-9])0+$', '\\1')`;
        return `regexp_replace(${short}, '\\.0+$', '')`;
      };
      const held = await query(
        `SELECT ${list((column) => `trim_scale(${column})::text`)} FROM mart.${name}
         ORDER BY coalesce(${order}, '') COLLATE "C", 1`,
      );
      const read = await queryDuck(
        `SELECT ${list(trimmed)} FROM '${join(folder, 'untidy', `${name}.parquet`)}'
         ORDER BY coalesce(${order.replaceAll('::text', '::varchar')}, ''), 1`,
      );
      expect(read, name).toEqual(held);
    }
  });

  test.each([
    ['fct_assignment', 'job_share'],
    ['fct_employee_day', 'planned_hours'],
    ['fct_job', 'subtotal'],
    ['fct_job_charge', 'amount'],
  ])('%s.%s has values with more than four decimals', async (table, column) => {
    const [row] = await queryDuck(
      `SELECT count(*)::varchar AS count FROM '${join(folder, 'untidy', `${table}.parquet`)}'
       WHERE ${column} <> round(${column}, 4)`,
    );
    expect(Number(row?.count)).toBeGreaterThan(0);
  });

  test('NaN is rejected with an error that names its column, and no file is written', async () => {
    const target = join(folder, 'refused');
    await mkdir(target);
    await asSweep(`UPDATE warehouse.job_charges SET total = 'NaN' WHERE row_id = $1`, [
      changed.charge.row_id,
    ]);
    await refreshStar(pool);
    const {code, stderr} = await run('parquet', target);
    expect(code).toBe(2);
    expect(stderr).toContain(
      'charged: expected a number of at most 38 digits, which Parquet can hold, got NaN',
    );
    expect(await readdir(target)).toEqual([]);
    const created = join(folder, 'never', 'there');
    expect(await run('parquet', created)).toMatchObject({code: 2});
    expect(await readdir(folder)).not.toContain('never');
  });

  test('a failed export leaves the files of an earlier export unchanged', async () => {
    await setTotal('1');
    const target = join(folder, 'kept');
    expect(await run('parquet', target, 'fct_job')).toMatchObject({code: 0});
    const before = await readFile(join(target, 'fct_job.parquet'));
    await asSweep('UPDATE warehouse.jobs SET subtotal = 7 WHERE row_id = $1', [changed.job.row_id]);
    await setTotal('NaN');
    expect(await run('parquet', target)).toMatchObject({code: 2});
    expect(await readFile(join(target, 'fct_job.parquet'))).toEqual(before);
    expect(await readdir(target)).toEqual(['fct_job.parquet']);
  });

  afterAll(async () => {
    const {job, charge} = changed;
    await asSweep('UPDATE warehouse.jobs SET subtotal = $2, duration = $3 WHERE row_id = $1', [
      job.row_id,
      job.subtotal,
      job.duration,
    ]);
    await setTotal(charge.total);
  });
});

test.each(
  members
    .filter(({missing}) => missing !== undefined)
    .map(({name, columns}) => [name, columns[0]?.[0] ?? ''] as const),
)(
  'the export of one account has row -1 of %s, so that an inner join loses no fact',
  async (name, key) => {
    const target = join(folder, 'account');
    const [account] = await query('SELECT name FROM sync.accounts');
    expect(await run('csv', target, name, '--account', account.name)).toMatchObject({code: 0});
    expect(
      await queryDuck(
        `SELECT ${key}::varchar AS key FROM '${join(target, `${name}.csv`)}' WHERE ${key} = -1`,
      ),
    ).toEqual([{key: '-1'}]);
  },
);

describe('an export with --as-of', () => {
  const target = () => join(folder, 'past');

  test('has each table with its row count at that time, and no tables of events', async () => {
    const [{moment, subtotal}] = await query(
      'SELECT now() AS moment, sum(subtotal)::text AS subtotal FROM mart.fct_job',
    );
    await inSweepTransaction(pool, (client) =>
      client.query('UPDATE warehouse.jobs SET subtotal = subtotal + 1'),
    );
    await refreshStar(pool);
    expect(await run('csv', target(), '--as-of', moment)).toMatchObject({code: 0});
    expect(
      await queryDuck(
        `SELECT sum(subtotal::decimal(18, 4))::double AS subtotal
           FROM read_csv('${join(target(), 'fct_job.csv')}', all_varchar = true)`,
      ),
    ).toEqual([{subtotal: Number(subtotal)}]);
    const kept = members.filter(({isOfVersions}) => !isOfVersions).map(({name}) => name);
    expect((await readdir(target())).sort()).toEqual(
      [...kept, 'dim_date', 'dim_job_state'].map((name) => `${name}.csv`).sort(),
    );
    for (const name of kept) {
      const [held] = await query(
        `SELECT count(*)::text AS rows FROM mart.${name}_as_of('${moment}')`,
      );
      const rows = await queryDuck(
        `SELECT count(*)::varchar AS rows
           FROM read_csv('${join(target(), `${name}.csv`)}', all_varchar = true)`,
      );
      expect(rows, name).toEqual([held]);
    }
    await inSweepTransaction(pool, (client) =>
      client.query('UPDATE warehouse.jobs SET subtotal = subtotal - 1'),
    );
    await refreshStar(pool);
  });

  test.each([
    ['yesterday', 'expected a day such as 2026-10-31'],
    ['1999-12-31', 'the mirror knows the account since'],
  ])('rejects %s', async (moment, says) => {
    const {code, stderr} = await run('csv', target(), '--as-of', moment);
    expect({code, stderr}).toEqual({code: 2, stderr: expect.stringContaining(says)});
  });

  test('rejects a table of events by its name', async () => {
    const {code, stderr} = await run('csv', target(), 'fct_payment', '--as-of', '2026-10-31');
    expect(code).toBe(2);
    expect(stderr).toContain('fct_payment holds history itself');
  });
});

describe.each([
  ['export parquet', ['export', 'parquet', 's3://bucket/star']],
  ['export csv', ['export', 'csv', 'gs://bucket']],
  ['ask --parquet', ['ask', 'debtors', '--parquet', 's3://bucket/debtors.parquet']],
  ['report --to', ['report', '--to', 'https://example.com/week.html']],
])('%s', (_, args) => {
  test('rejects a remote URL and creates no folder for it', async () => {
    const before = await readdir('.');
    const {code, stderr, stdout} = await runCommand(args, place.env);
    expect({code, stdout}).toEqual({code: 2, stdout: ''});
    expect(stderr).toContain(`expected a path on this machine, got ${args.at(-1)}`);
    expect(await readdir('.')).toEqual(before);
  });
});

describe('CSV', () => {
  const hostile = [`=HYPERLINK("http://example.com")`, '+1', '-1', '@x', '\tx', 'a,"b"\nc'];

  beforeAll(async () => {
    for (const [at, name] of hostile.entries())
      await pool.query(
        `UPDATE warehouse.customers SET name = $1
          WHERE customer_number = (SELECT customer_number FROM warehouse.customers
          WHERE customer_number IS NOT NULL ORDER BY 1 OFFSET $2 LIMIT 1)`,
        [name, at],
      );
  });

  test('keeps a value that begins like a formula, and begins with a header', async () => {
    expect(await run('csv', folder, 'dim_customer')).toMatchObject({code: 0});
    const csv = await readFile(join(folder, 'dim_customer.csv'), 'utf8');
    expect(csv).toContain(`"=HYPERLINK(""http://example.com"")"`);
    expect(csv.startsWith('customer_key,account_key,')).toBe(true);
  });

  test('with --excel contains no formula and begins with a UTF-8 byte order mark', async () => {
    expect(await run('csv', folder, 'dim_customer', '--excel')).toMatchObject({code: 0});
    const csv = await readFile(join(folder, 'dim_customer.csv'));
    expect([...csv.subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf]);
    const text = csv.toString();
    for (const cell of [`"'=HYPERLINK(""http://example.com"")"`, `'+1,`, `'-1,`, `'@x,`, `'\tx`])
      expect(text).toContain(cell);
    expect(text).not.toMatch(/(^|,)"?[=+@]/m);
  });
});

describe('a place where a file cannot be replaced', () => {
  test.each(['csv', 'parquet'] as const)(
    'a full disk ends a file of %s with its reason, and the session can be used',
    async (format) => {
      const client = await pool.connect();
      try {
        await client.query('BEGIN READ ONLY');
        const rows = `SELECT n, 'text ' || n AS words FROM generate_series(1, 500000) AS n`;
        await expect(writeFile(client, rows, {file: '/dev/full', format})).rejects.toThrow(
          '/dev/full: expected a file that can be written, got ENOSPC',
        );
        expect((await client.query('SELECT 1 AS one')).rows).toEqual([{one: 1}]);
      } finally {
        await client.query('ROLLBACK');
        client.release();
      }
    },
  );

  test('a link in the folder stays, and its target is written', async () => {
    const [target, elsewhere] = [join(folder, 'links'), join(folder, 'elsewhere')];
    for (const each of [target, elsewhere]) await mkdir(each);
    await symlink('../elsewhere/jobs.csv', join(target, 'fct_job.csv'));
    expect(await run('csv', target, 'dim_account', 'fct_job')).toMatchObject({code: 0});
    expect((await lstat(join(target, 'fct_job.csv'))).isSymbolicLink()).toBe(true);
    expect(await readFile(join(elsewhere, 'jobs.csv'), 'utf8')).toMatch(/^job_key,/);
    expect((await readdir(target)).toSorted()).toEqual(['dim_account.csv', 'fct_job.csv']);
    expect(await readdir(elsewhere)).toEqual(['jobs.csv']);
  });

  test('a file that is written again keeps its permissions', async () => {
    const target = join(folder, 'private');
    await mkdir(target);
    await (await open(join(target, 'fct_job.csv'), 'w')).close();
    await chmod(join(target, 'fct_job.csv'), 0o600);
    expect(await run('csv', target, 'fct_job')).toMatchObject({code: 0});
    const {mode, size} = await stat(join(target, 'fct_job.csv'));
    expect(mode & 0o777).toBe(0o600);
    expect(size).toBeGreaterThan(0);
  });

  test('a folder with the name of a file is refused before any file is replaced', async () => {
    const target = join(folder, 'occupied');
    await mkdir(join(target, 'fct_job.csv'), {recursive: true});
    const {code, stderr} = await run('csv', target, 'dim_account', 'fct_job');
    expect({code, stderr}).toEqual({
      code: 2,
      stderr: expect.stringContaining(
        'fct_job.csv: expected a file or nothing there, got a folder',
      ),
    });
    expect(await readdir(target)).toEqual(['fct_job.csv']);
    const asked = await runCommand(['ask', 'debtors', '--parquet', target], place.env);
    expect(asked).toMatchObject({code: 2, stderr: expect.stringContaining('got a folder')});
  });
});

test('a span of time below zero is no formula for a spreadsheet', async () => {
  const file = join(folder, 'span.csv');
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    const spans = `SELECT i * interval '1 day 02:00:00' AS span FROM generate_series(-1, 1) AS i`;
    expect(await writeFile(client, spans, {file, format: 'csv', excel: true})).toBe(3);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
  expect(await readFile(file, 'utf8')).toBe(
    `\uFEFFspan\n'-1 days -02:00:00\n00:00:00\n1 day 02:00:00\n`,
  );
});

test('an unknown table is rejected with the nearest name', async () => {
  const {code, stderr} = await run('csv', folder, 'fct_jobs');
  expect([code, stderr]).toEqual([
    2,
    expect.stringContaining('no table "fct_jobs" (did you mean fct_job?)'),
  ]);
});
