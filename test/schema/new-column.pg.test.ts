// A new column that can be written takes one line in its stream, its name in the reference service,
// and the migration that drizzle-kit makes of that. Shown on a copy of the program: it takes over a
// warehouse that holds rows, which this version has made.

import {execFile} from 'node:child_process';
import {cp, mkdtemp, readdir, readFile, rm, symlink, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {promisify} from 'node:util';
import type pg from 'pg';
import {afterAll, beforeAll, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {type Running, runCommand, startProgram} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';
import {timeZone} from '../support/world.ts';
import {compareCatalogues, readCatalogue} from './releases/catalogue.ts';

const root = join(import.meta.dirname, '..', '..');
const copied = [
  ...['src', 'jobs', 'migrations', 'bin', 'docs', 'package.json', 'tsconfig.json'],
  ...['drizzle.config.ts', 'drizzle.schema.cts'],
];

/**
 * All that a person types: a file, the text that is there, and the text that is added behind it.
 */
const typed: readonly (readonly [file: string, before: string, after: string])[] = [
  [
    'src/streams/customers.ts',
    `    {name: 'fax', type: 'text', writable: true, comment: 'Fax number.'},\n`,
    `    {name: 'loyalty', type: 'text', writable: true, comment: 'Grade of the regulars.'},\n`,
  ],
  ['src/service/resource.ts', 'last_job_completed_name', ' loyalty'],
  ['src/service/resource.ts', 'notify_via_sms is_active', ' loyalty'],
];

let folder: string;
let business: TestDatabase;
let warehouse: TestDatabase;
let fresh: TestDatabase;
let service: Running;
let pool: pg.Pool;
let env: Record<string, string>;
const author = `author_${process.pid}`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-column-'));
  for (const name of copied) await cp(join(root, name), join(folder, name), {recursive: true});
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'));
  for (const [file, before, after] of typed) await insertBehind(join(folder, file), before, after);
  [business, warehouse, fresh] = await Promise.all([
    createDatabase(inject('businessTemplate')),
    createDatabase(inject('warehouseTemplate')),
    createDatabase(),
  ]);
  await makeRole(author, 'IN ROLE fieldmirror_author');
  pool = openPool(warehouse.url, {max: 2, applicationName: 'erp'});
  service = runCopy(['service', '--port', '0', '--database', business.url, '--json'], {
    FIELDMIRROR_TIME_ZONE: timeZone,
  });
  const {url, token} = JSON.parse(await service.prints(/\{.*\}/s));
  env = {
    FIELDMIRROR_API_URL: url,
    FIELDMIRROR_API_TOKEN: token,
    FIELDMIRROR_TIME_ZONE: timeZone,
    DATABASE_URL: warehouse.url,
  };
}, 300_000);
afterAll(async () => {
  service?.process.kill('SIGTERM');
  await service?.ended;
  await pool?.end();
  for (const database of [business, warehouse, fresh]) await database?.drop();
  await dropRoles(author);
  await rm(folder, {recursive: true, force: true});
});

async function insertBehind(file: string, before: string, after: string): Promise<void> {
  const [head, tail, ...others] = (await readFile(file, 'utf8')).split(before);
  if (tail === undefined || others.length > 0)
    throw new Error(`${file}: expected ${JSON.stringify(before)} once`);
  await writeFile(file, `${head}${before}${after}${tail}`);
}

function runCopy(args: readonly string[], more: Readonly<Record<string, string>>): Running {
  return startProgram([process.execPath, join(folder, 'src', 'main.ts'), ...args], more);
}

const query = async (text: string) => (await pool.query(text)).rows;

const places = [
  'warehouse.customers',
  'history.customers_as_of(now())',
  '(SELECT * FROM history.customers WHERE valid_to IS NULL)',
  'mart.customers',
];
const valuesOf = async (column: string) =>
  await Promise.all(
    places.map(async (place) => {
      const rows = await query(
        `SELECT ${column} AS value FROM ${place} AS held WHERE customer_number = 3`,
      );
      return rows.map(({value}) => value);
    }),
  );

test('CONTRIBUTING.md names each file that a new column changes', async () => {
  const document = await readFile(join(root, 'CONTRIBUTING.md'), 'utf8');
  const row = /^\| a column that can be written.*/m.exec(document)?.[0] ?? '';
  const named = [...row.matchAll(/`(src\/[\w/-]+\.ts)`/g)].map(([, file]) => file);
  expect(named).toEqual([...new Set(typed.map(([file]) => file))]);
});

test('drizzle-kit generates one statement for a new column', {timeout: 120_000}, async () => {
  const kit = join(root, 'node_modules', 'drizzle-kit', 'bin.cjs');
  await promisify(execFile)(process.execPath, [kit, 'generate', '--name', 'loyalty'], {
    cwd: folder,
  });
  const made = (await readdir(join(folder, 'migrations'))).find((name) => /_loyalty/.test(name));
  expect(await readFile(join(folder, 'migrations', made ?? ''), 'utf8')).toBe(
    'ALTER TABLE "warehouse"."customers" ADD COLUMN "loyalty" text;',
  );
});

test('the program with a new column has no type errors', {timeout: 300_000}, async () => {
  await writeFile(
    join(folder, 'tsconfig.src.json'),
    '{"extends": "./tsconfig.json", "include": ["src"]}',
  );
  const compiler = join(root, 'node_modules', '.bin', 'tsc');
  const {stdout} = await promisify(execFile)(compiler, ['-p', 'tsconfig.src.json'], {
    cwd: folder,
  });
  expect(stdout).toBe('');
});

test('a field without a column is kept in extra; after an upgrade a sweep fills the column', {
  timeout: 300_000,
}, async () => {
  const services = openPool(business.url, {max: 1, applicationName: 'test'});
  await services.query(
    `UPDATE service.customers SET fields = fields || '{"loyalty": "gold"}'
      WHERE customer_number = 3`,
  );
  await services.end();
  expect(await runCommand(['start', '--once'], env)).toMatchObject({code: 0});
  expect(
    await query(`SELECT extra ->> 'loyalty' AS held FROM warehouse.customers
    WHERE customer_number = 3`),
  ).toEqual([{held: 'gold'}]);
  const upgraded = await runCopy(['start', '--once'], env).ended;
  expect(upgraded, upgraded.stderr).toMatchObject({code: 0});
  expect(await valuesOf('loyalty')).toEqual(places.map(() => ['gold']));
  expect(await valuesOf(`to_jsonb(held) -> 'extra' ? 'loyalty'`)).toEqual([
    ...[[false], [false], [false]],
    [null],
  ]);
});

test('an author writes a new column by UPDATE and by INSERT, and the service has it', {
  timeout: 120_000,
}, async () => {
  const client = await pool.connect();
  await client.query(`SELECT sync.grant_account('${author}', name) FROM sync.accounts`);
  await client.query(`SET ROLE ${author}`);
  await client.query(`UPDATE warehouse.customers SET loyalty = 'silver' WHERE customer_number = 3`);
  await client.query(`INSERT INTO warehouse.customers (name, loyalty) VALUES ('New', 'bronze')`);
  await client.query('RESET ROLE');
  client.release();
  const pushed = await runCopy(['push'], env).ended;
  expect(pushed, pushed.stderr).toMatchObject({code: 0});
  expect(await query('SELECT DISTINCT state FROM sync.changes')).toEqual([{state: 'done'}]);
  const services = openPool(business.url, {max: 1, applicationName: 'test'});
  const {rows} = await services.query(
    `SELECT fields ->> 'loyalty' AS held FROM service.customers
      WHERE fields ->> 'loyalty' IS NOT NULL ORDER BY customer_number`,
  );
  await services.end();
  expect(rows).toEqual([{held: 'silver'}, {held: 'bronze'}]);
  expect(await valuesOf('loyalty')).toEqual(places.map(() => ['silver']));
});

test('reader, author and worker may read a new column if they may read the name', async () => {
  const {rows} = await pool.query(
    `SELECT grantee, relation, of.attname FROM unnest('{fieldmirror_reader,fieldmirror_author,
       fieldmirror_worker}'::text[]) AS grantee,
       unnest('{warehouse.customers,history.customers,mart.customers}'::regclass[]) AS relation,
       pg_attribute AS of
      WHERE attrelid = relation AND attname = 'loyalty'
        AND has_column_privilege(grantee, relation, 'name', 'SELECT')
          <> has_column_privilege(grantee, relation, attname, 'SELECT')`,
  );
  expect(rows).toEqual([]);
  const told = await runCopy(['explain', 'customers', '3', 'loyalty'], env).ended;
  expect(told).toMatchObject({
    code: 0,
    stdout: expect.stringMatching(/"silver"[\s\S]*"gold", by sweep/),
  });
});

test('an upgraded warehouse has the same catalogue as a new one', {
  timeout: 120_000,
}, async () => {
  const made = await runCopy(['migrate'], {DATABASE_URL: fresh.url}).ended;
  expect(made, made.stderr).toMatchObject({code: 0});
  const other = openPool(fresh.url, {max: 1, applicationName: 'test'});
  const catalogues = [await readCatalogue(pool), await readCatalogue(other)] as const;
  await other.end();
  expect(compareCatalogues(...catalogues)).toEqual([]);
});
