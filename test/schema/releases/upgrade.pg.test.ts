// A warehouse of each release is brought up to date: nothing in it is lost, it works on, and it
// differs in nothing from one that was made anew. make-release.sh wrote the releases.

import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import {gunzipSync} from 'node:zlib';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {upsertAccount} from '../../../src/accounts/accounts.ts';
import {parseKeys, unseal} from '../../../src/core/secret.ts';
import {claimInstallation} from '../../../src/health/installation.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {pushAccount} from '../../../src/push/push.ts';
import {migrationsFolder} from '../../../src/schema/checks.ts';
import {definitions, migrateSchema} from '../../../src/schema/migrate.ts';
import type {RunningService} from '../../../src/service/server.ts';
import {refreshStar} from '../../../src/star/mart.ts';
import {tieOuts} from '../../../src/star/tie-outs.ts';
import {createDatabase, type TestDatabase} from '../../support/postgres.ts';
import {withClient} from '../../support/with-client.ts';
import {openWorld, type TestWorld} from '../../support/world.ts';
import {account, sealingKey, serveBusiness} from './business.ts';
import {compareCatalogues, readCatalogue} from './catalogue.ts';

const releases = readdirSync(import.meta.dirname).filter((name) => name.endsWith('.sql.gz'));

/** The days of the star: a dump of them would be larger than all the rest. */
const [calendar = ''] =
  /^INSERT INTO mart\.dim_date[^;]*;/m.exec(
    readFileSync(join(migrationsFolder, '0006_insight.sql'), 'utf8'),
  ) ?? [];

test('there is a release to upgrade from', () => {
  expect(releases).toContain('0.1.0.sql.gz');
});

/** Rows that the program writes for itself: definitions, keys of passwords of version 0.1. */
const ours = ['sync.change_transitions', 'sync.write_rules', 'sync.login_keys'];

describe.each(releases)('the upgrade from %s', (release) => {
  let database: TestDatabase;
  let business: TestDatabase;
  let service: RunningService;
  let world: TestWorld;
  let counted: Record<string, number>;
  beforeAll(async () => {
    [database, business] = await Promise.all([createDatabase(), createDatabase()]);
    service = await serveBusiness(business.url);
    // A function of the first release is declared with a setting of ours, which an owner may not
    // do.
    const asSuperuser = (text: string) =>
      withClient(inject('superuserUrl'), (client) => client.query(text));
    await asSuperuser('GRANT SET ON PARAMETER "fieldmirror.writer" TO fieldmirror');
    await withClient(database.url, async (client) => {
      await client.query(gunzipSync(readFileSync(join(import.meta.dirname, release))).toString());
      await client.query(calendar);
      // A release of this very state would be left as it is.
      await client.query(`UPDATE sync.source SET hash = 'that of the release'`);
      await client.query(
        `UPDATE sync.sweeps SET evidence = '{"absent": {"status": 404, "words": "Invalid job."}}'
          WHERE sweep_id = (SELECT min(sweep_id) FROM sync.sweeps)`,
      );
    });
    await asSuperuser('REVOKE SET ON PARAMETER "fieldmirror.writer" FROM fieldmirror');
    await withPool(database.url, async (pool) => {
      counted = await countRows(pool);
      await migrateSchema(pool, definitions);
      await upsertAccount(pool, {...account, apiUrl: service.url}, {mayMove: true});
    });
    world = await openWorld(service, database, account);
  });
  afterAll(async () => {
    await world?.close();
    await service?.close();
    await business?.drop();
  });
  // biome-ignore lint/suspicious/noExplicitAny: rows of many shapes are compared as they are
  const query = async (text: string): Promise<any[]> => (await world.pool.query(text)).rows;

  test('loses no row of a user', async () => {
    expect(counted).toMatchObject({
      'warehouse.customers': 13,
      'warehouse.jobs': 30,
      'sync.forgotten': 1,
    });
    const now = await countRows(world.pool);
    const fewer = Object.entries(counted).filter(([name, count]) => (now[name] ?? 0) < count);
    expect(fewer.filter(([name]) => !ours.includes(name))).toEqual([]);
    expect(
      await query(`SELECT external_key FROM warehouse.customers WHERE customer_number IS NULL`),
    ).toEqual([{external_key: 'erp-4711'}]);
  });

  test('keeps the answer of the service on a record that does not exist', async () => {
    expect(await query(`SELECT evidence FROM sync.sweeps WHERE evidence ? 'absent'`)).toEqual([
      {evidence: {absent: {status: 404, message: 'Invalid job.'}}},
    ]);
  });

  test('leads to the tables, functions, rights and comments of a new warehouse', async () => {
    const fresh = await createDatabase(inject('warehouseTemplate'));
    try {
      await withPool(fresh.url, async (pool) => {
        await bringAlike(pool);
        expect(
          compareCatalogues(await readCatalogue(world.pool), await readCatalogue(pool)),
        ).toEqual([]);
      });
    } finally {
      await fresh.drop();
    }
  });

  test('keeps a view that a user made, and a sealed token that can be unsealed', async () => {
    expect(await query('SELECT count(*)::int AS jobs FROM reports.open_jobs')).not.toEqual([
      {jobs: 0},
    ]);
    const [held] = await query(
      'SELECT account_id::text AS id, key_id AS "keyId", sealed_token AS bytes FROM sync.accounts',
    );
    expect(unseal(held, parseKeys(sealingKey), held.id).reveal()).toBe(service.token);
  });

  test('leaves nothing to do for a second migrate', async () => {
    const before = await query('SELECT applied_at::text FROM sync.source');
    expect(await migrateSchema(world.pool, definitions)).toEqual({applied: 0});
    expect(await query('SELECT applied_at::text FROM sync.source')).toEqual(before);
  });

  test('waiting changes are sent, full sweeps certify, forgotten data stays deleted', async () => {
    const waiting = await query(
      `SELECT change_id, state FROM sync.changes WHERE state IN ('pending', 'held') ORDER BY 1`,
    );
    expect(waiting.map(({state}) => state)).toEqual(['held', 'pending', 'pending']);
    const {name: place} = account;
    expect(await claimInstallation(world.pool, {name: place, holdsCreates: false})).toEqual({
      held: [],
    });
    await pushAccount(world, world.account.accountId, new AbortController().signal);
    expect(await query(`SELECT state FROM sync.changes ORDER BY change_id`)).toEqual(
      ['done', 'held', 'done', 'done'].map((state) => ({state})),
    );
    await world.sweepAll();
    const ended = await query(`SELECT state, count(*)::int FROM sync.sweeps GROUP BY 1`);
    expect(ended).toEqual([{state: 'certified', count: 8}]);
    expect(await query(`SELECT name FROM warehouse.customers WHERE customer_number = 5`)).toEqual([
      {name: null},
    ]);
    await refreshStar(world.pool);
    const broken = [];
    for (const {name, sql} of tieOuts) if ((await query(sql)).length > 0) broken.push(name);
    expect(broken).toEqual([]);
  });

  /** Acts of a user that make objects: a promoted field, and a customer that was forgotten. */
  async function bringAlike(fresh: pg.Pool): Promise<void> {
    for (const table of ['sync.accounts', 'sync.fields', 'sync.forgotten']) {
      const rows = await query(`SELECT to_jsonb(held) AS row FROM ${table} AS held`);
      await fresh.query(
        `INSERT INTO ${table} OVERRIDING SYSTEM VALUE SELECT made.*
          FROM jsonb_populate_recordset(NULL::${table}, $1) AS made`,
        [JSON.stringify(rows.map(({row}) => row))],
      );
    }
    await fresh.query('SELECT sync.guard_forgotten()');
    const promoted = await query(
      'SELECT DISTINCT table_name AS name FROM sync.fields WHERE promoted_as IS NOT NULL',
    );
    for (const {name} of promoted) await orderAlike(fresh, `mart.${name}`);
  }

  /** A promoted column keeps its place; in a new view columns of later versions come first. */
  async function orderAlike(fresh: pg.Pool, view: string): Promise<void> {
    const [{columns}] = await query(
      `SELECT string_agg(format('NULL::%s AS %I', format_type(atttypid, atttypmod), attname), ', '
         ORDER BY attnum) AS columns FROM pg_attribute WHERE attrelid = '${view}'::regclass
         AND attnum > 0`,
    );
    await fresh.query(
      `DROP VIEW ${view}; CREATE VIEW ${view} AS SELECT ${columns};
       SELECT sync.build_mart(); SELECT sync.grant_roles()`,
    );
  }
});

/** How many rows there are of each table that a user would miss. */
async function countRows(pool: pg.Pool): Promise<Record<string, number>> {
  const {rows: tables} = await pool.query<{name: string}>(
    `SELECT oid::regclass::text AS name FROM pg_class
     WHERE relkind = 'r' AND relnamespace IN ('warehouse'::regnamespace, 'history'::regnamespace,
      'sync'::regnamespace)`,
  );
  const counts: Record<string, number> = {};
  for (const {name} of tables) {
    const {rows} = await pool.query<{count: string}>(`SELECT count(*) FROM ${name}`);
    counts[name] = Number(rows[0]?.count);
  }
  return counts;
}

async function withPool(url: string, work: (pool: pg.Pool) => Promise<void>): Promise<void> {
  const pool = openPool(url, {max: 2, applicationName: 'test'});
  try {
    await work(pool);
  } finally {
    await pool.end();
  }
}
