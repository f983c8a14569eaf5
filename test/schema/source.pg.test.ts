// Functions and triggers are brought in line with the files under migrations/functions, whatever
// was there before.

import {cp, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {afterEach, beforeEach, expect, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {applyDefinitions} from '../../src/schema/apply-migrations.ts';
import {isOutdated, migrationsFolder, readSource} from '../../src/schema/checks.ts';
import {definitions, migrateSchema} from '../../src/schema/migrate.ts';
import {allTables} from '../../src/streams/all.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {compareCatalogues, readCatalogue} from './releases/catalogue.ts';

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createDatabase('warehouse_template');
  pool = openPool(database.url, {max: 2, applicationName: 'test'});
});
afterEach(async () => {
  await pool?.end();
  await database?.drop();
});

const sorted = (rights: string) =>
  `(SELECT array_agg(entry::text ORDER BY entry::text) FROM unnest(${rights}) AS entry)`;
/** Definitions, grants and comments of all functions, triggers and views. */
const everything = `
  SELECT p.oid::regprocedure::text AS name, pg_get_functiondef(p.oid) AS text,
    ${sorted('p.proacl')} AS rights, obj_description(p.oid, 'pg_proc') AS comment
    FROM pg_proc AS p WHERE pronamespace IN ('sync'::regnamespace, 'history'::regnamespace)
     AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass AND objid = p.oid
       AND deptype = 'e')
   UNION ALL
  SELECT tgname || ' on ' || tgrelid::regclass, pg_get_triggerdef(t.oid), NULL::text[],
    obj_description(t.oid, 'pg_trigger')
    FROM pg_trigger AS t WHERE NOT tgisinternal
   UNION ALL
  SELECT c.oid::regclass::text, pg_get_viewdef(c.oid), ${sorted('c.relacl')},
    obj_description(c.oid, 'pg_class')
    FROM pg_class AS c WHERE relnamespace IN ('mart'::regnamespace, 'history'::regnamespace)
    AND relkind = 'v'
   ORDER BY 1, 2`;

async function applyFolder(folder?: string): Promise<void> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    await applyDefinitions(client, definitions, readSource(definitions, folder));
    await client.query('COMMIT');
  } finally {
    client.release(true);
  }
}

test('migrate makes the functions of a changed database equal to a fresh one', async () => {
  const {rows: fresh} = await pool.query(everything);
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-functions-'));
  await cp(join(migrationsFolder, 'functions'), folder, {recursive: true});
  await writeFile(
    join(folder, 'capture', 'values.sql'),
    `CREATE OR REPLACE FUNCTION sync.gone() RETURNS trigger
      LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
     CREATE OR REPLACE TRIGGER gone AFTER INSERT ON warehouse.jobs FOR EACH ROW
       EXECUTE FUNCTION sync.gone();
     CREATE OR REPLACE FUNCTION sync.as_texts(row_json jsonb, names text[]) RETURNS jsonb
       LANGUAGE sql IMMUTABLE AS $$ SELECT '{}'::jsonb $$;
     COMMENT ON FUNCTION sync.as_texts IS 'something else';`,
  );
  await applyFolder(folder);
  const {rows: other} = await pool.query(everything);
  expect(other).not.toEqual(fresh);
  expect(other.map(({name}) => name)).toContain('gone on warehouse.jobs');
  expect(other.map(({name}) => name)).not.toContain('sync.check_value(text,text,text,text,text)');
  expect(await migrateSchema(pool, definitions)).toEqual({applied: 0});
  expect((await pool.query(everything)).rows).toEqual(fresh);
  await rm(folder, {recursive: true});
});

test('migrate does not touch functions that are up to date', async () => {
  const read = () =>
    pool.query(
      `SELECT oid, xmin::text FROM pg_proc WHERE pronamespace = 'sync'::regnamespace ORDER BY oid`,
    );
  const before = (await read()).rows;
  await migrateSchema(pool, definitions);
  expect((await read()).rows).toEqual(before);
});

test('a trigger that a user made is kept', async () => {
  await pool.query(`CREATE FUNCTION public.theirs() RETURNS trigger
    LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
                    CREATE TRIGGER theirs AFTER INSERT ON warehouse.jobs FOR EACH ROW
                      EXECUTE FUNCTION public.theirs()`);
  await applyFolder();
  const {rows} = await pool.query(`SELECT FROM pg_trigger WHERE tgname = 'theirs'`);
  expect(rows).toHaveLength(1);
});

/**
 * As an earlier version may have left them: two signatures, a member of the star that is a view,
 * and one that is a table.
 */
const leftovers = `
  CREATE FUNCTION sync.wait(wanted text) RETURNS text LANGUAGE sql AS $$ SELECT wanted $$;
  CREATE FUNCTION mart.job_state(status text) RETURNS text LANGUAGE sql AS $$ SELECT status $$;
  CREATE VIEW mart.fct_view AS SELECT 1 AS one;
  CREATE FUNCTION mart.fct_view_as_of(moment timestamptz) RETURNS SETOF mart.fct_view
    LANGUAGE sql AS $$ SELECT 1 $$;
  CREATE VIEW masked.fct_view AS SELECT one FROM mart.fct_view;
  CREATE TABLE mart.fct_table (one integer);
  CREATE VIEW sync.all_fct_table AS SELECT 1 AS one;
  CREATE FUNCTION sync.some_fct_table(keys bigint[]) RETURNS SETOF mart.fct_table
    LANGUAGE sql AS $$ SELECT 1 $$;
  CREATE VIEW masked.fct_table AS SELECT one FROM mart.fct_table;
  UPDATE sync.source SET hash = 'that of another state'`;

test('migrate drops leftovers of an earlier version by signature, and nothing else', async () => {
  const before = await readCatalogue(pool);
  await pool.query(leftovers);
  expect(compareCatalogues(await readCatalogue(pool), before)).not.toEqual([]);
  await pool.query(`CREATE FUNCTION mart.theirs() RETURNS integer
    LANGUAGE sql AS $$ SELECT 1 $$; COMMENT ON FUNCTION mart.theirs IS 'theirs';
                    CREATE VIEW mart.their_jobs AS SELECT job_number FROM mart.jobs`);
  await migrateSchema(pool, definitions);
  const left = compareCatalogues(await readCatalogue(pool), before).map(({thing}) => thing);
  expect(left).toEqual([
    'column mart.their_jobs.job_number',
    'function mart.theirs()',
    'relation mart.their_jobs',
    'view mart.their_jobs',
  ]);
});

test('a leftover that other objects depend on stops the migration, which names both', async () => {
  await pool.query(`${leftovers}; CREATE VIEW public.mine AS SELECT one FROM mart.fct_view`);
  await expect(migrateSchema(pool, definitions)).rejects.toThrow(
    'VIEW mart.fct_view: this version has it no more, but others depend on it: ' +
      'view public.mine depends on view mart.fct_view; ' +
      'drop them first, and make them again afterwards',
  );
  await pool.query('DROP VIEW public.mine');
  await migrateSchema(pool, definitions);
});

/** A key and indexes of the star as an earlier version made them. */
const earlierKey = `
  ALTER TABLE mart.fct_job_charge DROP CONSTRAINT fct_job_charge_pkey,
    ADD PRIMARY KEY (job_charge_key);
  ALTER TABLE mart.fct_job_charge ALTER job_key DROP NOT NULL;
  CREATE INDEX fct_job_charge_job_key_idx ON mart.fct_job_charge (job_key);
  DROP INDEX mart.fct_job_customer_key_idx;
  UPDATE sync.source SET hash = 'that of another state'`;

test('a star table with an earlier key gets the current key and keeps its rows', async () => {
  const before = await readCatalogue(pool);
  await pool.query(earlierKey);
  expect(compareCatalogues(await readCatalogue(pool), before)).not.toEqual([]);
  await pool.query(`INSERT INTO mart.fct_job_charge (job_charge_key, job_key) VALUES (1, 1);
                    CREATE INDEX theirs ON mart.fct_job_charge (item_key)`);
  await migrateSchema(pool, definitions);
  const left = compareCatalogues(await readCatalogue(pool), before).map(({thing}) => thing);
  expect(left).toEqual(['index mart.theirs']);
  expect((await pool.query('SELECT FROM mart.fct_job_charge')).rows).toHaveLength(1);
});

test('a star key that other objects depend on stops the migration, which names both', async () => {
  await pool.query(
    `${earlierKey}; CREATE TABLE public.mine (line bigint
       CONSTRAINT mine_line REFERENCES mart.fct_job_charge (job_charge_key))`,
  );
  await expect(migrateSchema(pool, definitions)).rejects.toThrow(
    'mart.fct_job_charge: this version gives the star another key, but others depend on it: ' +
      'constraint mine_line on table public.mine depends on index ' +
      'mart.fct_job_charge_pkey; drop them first, and make them again afterwards',
  );
});

/** Views of a person on two members of the star, and a third that an earlier version made. */
const earlierColumn = `
  ALTER VIEW mart.fct_reschedule RENAME COLUMN notice_hours TO notice;
  CREATE VIEW public.open_jobs AS SELECT job_key FROM mart.fct_job_as_of(now()) WHERE is_open;
  CREATE VIEW public.owing AS SELECT * FROM mart.ask_debtors;
  UPDATE sync.source SET hash = 'that of another state'`;

test('a star view with other columns is made again; views on other members stay', async () => {
  const before = await readCatalogue(pool);
  await pool.query(earlierColumn);
  await migrateSchema(pool, definitions);
  const left = compareCatalogues(await readCatalogue(pool), before).map(({thing}) => thing);
  expect(left.filter((thing) => !/ public\.(open_jobs|owing)/.test(thing))).toEqual([]);
  expect((await pool.query('SELECT FROM public.open_jobs, public.owing')).rows).toEqual([]);
});

test('a view on a member that reads a changed one stops the migration, by name', async () => {
  await pool.query(
    `${earlierColumn}; CREATE VIEW public.mine AS SELECT moved FROM mart.ask_reschedules`,
  );
  await expect(migrateSchema(pool, definitions)).rejects.toThrow(
    'mart.ask_reschedules: this version gives the star other columns, but others depend on it: ' +
      'view public.mine depends on view mart.ask_reschedules; drop them first, ' +
      'and make them again afterwards',
  );
});

test('a field that becomes writable can be written after the next migrate', async () => {
  await pool.query(`DELETE FROM sync.write_rules WHERE table_name = 'customers' AND field = 'fax';
                    UPDATE sync.source SET hash = 'that of another state'`);
  await migrateSchema(pool, definitions);
  const {rows} = await pool.query(
    `SELECT on_update FROM sync.write_rules WHERE table_name = 'customers' AND field = 'fax'`,
  );
  expect(rows).toEqual([{on_update: true}]);
});

test('migrate sets the captured tables to those that the streams define', async () => {
  const defined = allTables.map(({name, capture}) => ({
    name,
    key: capture.key,
    operations: capture.operations,
    hint: capture.hint,
    parent: capture.parent?.table ?? null,
    number: capture.parent?.numberColumn ?? null,
  }));
  await pool.query(`UPDATE sync.captured_tables SET operations = '{}', hint = 'old'
    WHERE table_name = 'customers';
                    DELETE FROM sync.captured_tables WHERE table_name = 'jobs';
                    INSERT INTO sync.captured_tables VALUES ('gone', 'gone_number', '{create}',
                      NULL, NULL, '');
                    UPDATE sync.source SET hash = 'that of another state'`);
  await migrateSchema(pool, definitions);
  const {rows} = await pool.query(
    `SELECT table_name AS name, key_column AS key, operations, hint, parent_table AS parent,
      parent_number_column AS number
       FROM sync.captured_tables`,
  );
  const byName = (one: {name: string}, other: {name: string}) => (one.name < other.name ? -1 : 1);
  expect(rows.toSorted(byName)).toEqual(defined.toSorted(byName));
});

test.each([
  [`operations = '{truncate}'`, 'captured_tables_operations_check'],
  [`operations = '{NULL}'`, 'captured_tables_operations_check'],
  [`parent_table = 'jobs', parent_number_column = NULL`, 'captured_tables_parent_check'],
])('a check constraint rejects a captured table with %s', async (set, constraint) => {
  await expect(pool.query(`UPDATE sync.captured_tables SET ${set}`)).rejects.toMatchObject({
    constraint,
  });
});

test('a file that Postgres refuses is named with its line and fully rolled back', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-functions-'));
  await writeFile(
    join(folder, 'bad.sql'),
    'CREATE OR REPLACE FUNCTION sync.half() RETURNS integer LANGUAGE sql ' +
      'AS $$ SELECT 1 $$;\nCREATE FUNKTION',
  );
  await expect(applyFolder(folder)).rejects.toThrow(
    'migrations/functions/bad.sql, line 2: syntax error at or near "FUNKTION"',
  );
  expect((await pool.query(`SELECT FROM pg_proc WHERE proname = 'half'`)).rows).toEqual([]);
  await rm(folder, {recursive: true});
});

test('isOutdated is true for an older version or another hash, not for a newer version', () => {
  const ours = {version: '0.10.0', hash: 'ours', files: []};
  expect(isOutdated(null, ours)).toBe(true);
  expect(isOutdated({version: '0.10.0', hash: 'ours'}, ours)).toBe(false);
  expect(isOutdated({version: '0.10.0', hash: 'other'}, ours)).toBe(true);
  expect(isOutdated({version: '0.9.9', hash: 'other'}, ours)).toBe(true);
  expect(isOutdated({version: '0.11.0', hash: 'other'}, ours)).toBe(false);
});
