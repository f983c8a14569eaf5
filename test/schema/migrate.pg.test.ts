import {cp, mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {getTableConfig} from 'drizzle-orm/pg-core';
import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {FatalError} from '../../src/core/errors.ts';
import {openPool} from '../../src/postgres/database.ts';
import {listHolders, readProcessId} from '../../src/postgres/lock-waits.ts';
import {findTurn, prepareTurn} from '../../src/postgres/migrations.ts';
import {checkMigrations, migrationsFolder} from '../../src/schema/checks.ts';
import {definitions, findServerProblem, migrateSchema} from '../../src/schema/migrate.ts';
import {syncTables, toDrizzle} from '../../src/schema/tables.ts';
import {allTables} from '../../src/streams/all.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
beforeEach(async () => {
  database = await createDatabase();
  pool = openPool(database.url, {max: 4, applicationName: 'test'});
});
afterEach(async () => {
  await pool?.end();
  await database?.drop();
});

const ours = `('warehouse', 'sync')`;
const commented = `('warehouse', 'history', 'mart', 'sync')`;

describe('migrate', () => {
  test('makes every table as the code declares it, column by column', async () => {
    const {applied} = await migrateSchema(pool, definitions);
    expect(applied).toBeGreaterThan(0);
    const declared = [...allTables.map(toDrizzle), ...syncTables.map((table) => table.drizzle)].map(
      getTableConfig,
    );
    const {rows} = await pool.query(
      `SELECT format('%s.%s.%s %s%s', n.nspname, c.relname, a.attname,
        format_type(a.atttypid, a.atttypmod),
                     CASE WHEN a.attnotnull THEN ' NOT NULL' ELSE '' END) AS made
         FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid
         JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname IN ${ours} AND c.relkind = 'r' AND c.relname <> 'migrations'
        AND a.attnum > 0 AND NOT attisdropped`,
    );
    const expected = declared.flatMap(({schema, name, columns}) =>
      columns.map((column) => {
        // Postgres shows a time of day by its long name.
        const type = column.getSQLType().replace(/^time$/, 'time without time zone');
        const shown = `${schema}.${name}.${column.name} ${type}`;
        return `${shown}${column.notNull ? ' NOT NULL' : ''}`;
      }),
    );
    expect(rows.map((row) => row.made).sort()).toEqual(expected.sort());
  });

  test('gives every schema, table, view, function and column its comment', async () => {
    await migrateSchema(pool, definitions);
    const {rows} = await pool.query(
      `SELECT n.nspname AS bare FROM pg_namespace AS n
        WHERE n.nspname IN ${commented} AND coalesce(obj_description(n.oid, 'pg_namespace'),
          '') = ''
        UNION ALL
       SELECT format('%s.%s.%s', n.nspname, c.relname, a.attname)
         FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
         JOIN (SELECT attrelid, attnum, attname FROM pg_attribute
           WHERE attnum > 0 AND NOT attisdropped
               UNION ALL SELECT oid, 0, '' FROM pg_class) AS a ON a.attrelid = c.oid
        WHERE n.nspname IN ${commented} AND c.relkind IN ('r', 'v')
        AND coalesce(CASE a.attnum WHEN 0 THEN obj_description(c.oid, 'pg_class')
          ELSE col_description(c.oid, a.attnum) END, '') = ''
        UNION ALL
       SELECT p.oid::regprocedure::text FROM pg_proc AS p
       JOIN pg_namespace AS n ON n.oid = p.pronamespace
        WHERE n.nspname IN ${commented} AND coalesce(obj_description(p.oid, 'pg_proc'), '') = ''
          AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
            AND objid = p.oid AND deptype = 'e')`,
    );
    expect(rows).toEqual([]);
    const {rows: some} = await pool.query(
      `SELECT col_description('warehouse.jobs'::regclass, attnum) AS comment FROM pg_attribute
        WHERE attrelid = 'warehouse.jobs'::regclass AND attname = 'job_number'`,
    );
    const jobs = allTables.find((table) => table.name === 'jobs');
    expect(some[0].comment).toBe(
      jobs?.columns.find((column) => column.name === 'job_number')?.comment,
    );
  });

  test('writes a comment only if it differs, and restores one that was changed', async () => {
    await migrateSchema(pool, definitions);
    const read = async () =>
      (
        await pool.query(
          'SELECT xmin::text, objoid, objsubid, description FROM pg_description ORDER BY 2, 3',
        )
      ).rows;
    const before = await read();
    await migrateSchema(pool, definitions, true);
    expect(await read()).toEqual(before);
    await pool.query(`COMMENT ON TABLE warehouse.jobs IS 'something else'`);
    await pool.query(`COMMENT ON VIEW history.jobs IS NULL`);
    await pool.query(`COMMENT ON COLUMN history.jobs.name IS 'something else'`);
    await pool.query(`COMMENT ON FUNCTION history.jobs_as_of IS 'something else'`);
    await migrateSchema(pool, definitions, true);
    const texts = (rows: {description: string}[]) => rows.map((row) => row.description);
    expect(texts(await read())).toEqual(texts(before));
  });

  test('does nothing when it runs again', async () => {
    await migrateSchema(pool, definitions);
    expect(await migrateSchema(pool, definitions)).toEqual({applied: 0});
  });

  test('applies everything once when it runs four times at the same time', async () => {
    const runs = await Promise.all(Array.from({length: 4}, () => migrateSchema(pool, definitions)));
    expect(runs.map((run) => run.applied).filter((applied) => applied > 0)).toHaveLength(1);
    expect(await checkMigrations(pool)).toMatchObject({missing: [], unknown: [], problem: null});
  });

  test('waits for a migrate that began first, and works if that one is rolled back', async () => {
    const first = await pool.connect();
    const second = await pool.connect();
    const pid = await readProcessId(second);
    await pool.query('CREATE SCHEMA sync');
    await first.query('BEGIN; CREATE TABLE sync.migrations (id serial PRIMARY KEY)');
    const preparing = prepareTurn(second);
    await expect.poll(() => listHolders(pool, [pid])).toHaveLength(1);
    await first.query('ROLLBACK');
    await preparing;
    first.release();
    second.release();
    expect((await migrateSchema(pool, definitions)).applied).toBeGreaterThan(0);
  });

  test('releases its turn and its session when it is done', async () => {
    await migrateSchema(pool, definitions);
    // Postgres ends a session a moment after its client has left.
    await expect.poll(() => findTurn(pool)).toBeNull();
    expect(pool.totalCount).toBe(1);
  });

  test('refuses a database that a newer version migrated, and suggests an update', async () => {
    await migrateSchema(pool, definitions);
    await pool.query(
      `INSERT INTO sync.migrations (hash, created_at) VALUES ('from the future', 9999999999999)`,
    );
    await expect(migrateSchema(pool, definitions)).rejects.toThrow(FatalError);
    await expect(migrateSchema(pool, definitions)).rejects.toThrow(
      /1 migration that this version does not know.*update fieldmirror/,
    );
  });

  test('names what a person made under the name of a new column, and changes nothing', async () => {
    await migrateSchema(pool, definitions);
    const {rows: last} = await pool.query(
      'DELETE FROM sync.migrations WHERE id = (SELECT max(id) FROM sync.migrations) RETURNING id',
    );
    expect(last).toHaveLength(1);
    await expect(migrateSchema(pool, definitions)).rejects.toThrow(FatalError);
    await expect(migrateSchema(pool, definitions)).rejects.toThrow(
      /already exists, and no migration .* rename it or drop it.*nothing was changed/,
    );
    expect((await checkMigrations(pool)).missing).toHaveLength(1);
  });

  test('refuses a database that is not in UTF-8, and names its encoding', async () => {
    const admin = openPool(inject('postgresUrl'), {max: 1, applicationName: 'test'});
    const name = `${new URL(database.url).pathname.slice(1)}_ascii`;
    await admin.query(`CREATE DATABASE ${name} ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0`);
    const url = new URL(database.url);
    url.pathname = `/${name}`;
    const ascii = openPool(url.href, {max: 1, applicationName: 'test'});
    try {
      await expect(migrateSchema(ascii, definitions)).rejects.toThrow(
        /expected a database in UTF8, got SQL_ASCII/,
      );
    } finally {
      await ascii.end();
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`);
      await admin.end();
    }
  });

  test.each(['14.11', '9.6.24', '14.11 (Debian 14.11-1)', 'unknown'])(
    'refuses Postgres version %s and names it in the error',
    (version) => {
      expect(findServerProblem({version, encoding: 'UTF8'})).toContain(
        `got ${version}; upgrade it`,
      );
    },
  );

  test.each(['15.0', '18.1', '19beta1'])('accepts Postgres version %s', (version) => {
    expect(findServerProblem({version, encoding: 'UTF8'})).toBeNull();
  });
});

describe('checkMigrations', () => {
  test('reports a database that was never migrated, and which command to run', async () => {
    const {missing, unknown, problem} = await checkMigrations(pool);
    expect(missing[0]).toBe(1);
    expect(unknown).toEqual([]);
    expect(problem).toMatch(
      /^it holds nothing of Fieldmirror yet: `fieldmirror start` .*`fieldmirror migrate`/,
    );
  });

  test('reports a migration that was skipped', async () => {
    await migrateSchema(pool, definitions);
    await pool.query('DELETE FROM sync.migrations WHERE id = 1');
    expect(await checkMigrations(pool)).toMatchObject({
      missing: [1],
      unknown: [],
      problem: '1 migration missing: run `fieldmirror migrate`',
    });
  });

  test('reports a migration that was edited after it was applied', async () => {
    await migrateSchema(pool, definitions);
    const folder = await copyMigrations();
    const [tag] = await readTags(folder);
    await writeFile(join(folder, `${tag}.sql`), 'SELECT 1;');
    const {missing, unknown} = await checkMigrations(pool, folder);
    expect(missing).toEqual([1]);
    expect(unknown).toHaveLength(1);
    await rm(folder, {recursive: true});
  });

  test('rejects a journal whose times do not increase: drizzle would skip one', async () => {
    const folder = await copyMigrations();
    const journalFile = join(folder, 'meta', '_journal.json');
    const journal = JSON.parse(await readFile(journalFile, 'utf8'));
    journal.entries.push({...journal.entries[0], idx: 99});
    await writeFile(journalFile, JSON.stringify(journal));
    await expect(checkMigrations(pool, folder)).rejects.toThrow(/expected it to be younger/);
    await rm(folder, {recursive: true});
  });
});

async function copyMigrations(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'fieldmirror-migrations-'));
  await cp(migrationsFolder, folder, {recursive: true});
  return folder;
}

async function readTags(folder: string): Promise<string[]> {
  const journal = JSON.parse(await readFile(join(folder, 'meta', '_journal.json'), 'utf8'));
  return journal.entries.map((entry: {tag: string}) => entry.tag);
}
