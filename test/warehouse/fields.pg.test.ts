import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/warehouse/accounts/accounts.ts';
import {rememberFields, type SeenField, settleFields} from '../../src/warehouse/fields/fields.ts';
import {inTransaction, openPool} from '../../src/warehouse/postgres/database.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let accountId: string;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(asRepair(database.url), {max: 4, applicationName: 'test'});
  ({accountId} = await upsertAccount(pool, {
    name: 'acme',
    apiUrl: 'https://example.com/acme',
    timeZone: 'UTC',
  }));
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

/** A field of jobs that no column takes. */
function seen(field: string, type: string | null = 'text', more: Partial<SeenField> = {}): SeenField {
  return {table: 'jobs', field, column: null, type, isTyped: true, ...more};
}

/** Begins a full sweep now; the ones before it have ended. */
async function beginSweep(stream = 'jobs', account = accountId): Promise<string> {
  await pool.query(
    `UPDATE sync.sweeps SET state = 'certified', ended_at = now(), lease_until = NULL WHERE state = 'running'`,
  );
  const {rows} = await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, lease_until)
     VALUES ($1, $2, 'full', 'command', 'running', now(), now() + interval '1 hour') RETURNING sweep_id AS id`,
    [account, stream],
  );
  return rows[0].id;
}

async function remember(sweepId: string, fields: readonly SeenField[], stream = 'jobs', account = accountId) {
  await inTransaction(pool, (client) =>
    rememberFields(client, {accountId: account, stream, sweepId, fields}),
  );
}

async function settle(
  sweepId: string,
  facts: {parsedAll?: boolean; wroteRows?: boolean; stream?: string} = {},
) {
  const {parsedAll = true, wroteRows = false, stream = 'jobs'} = facts;
  await inTransaction(pool, (client) =>
    settleFields(client, {accountId, stream, sweepId, parsedAll, wroteRows}),
  );
}

/** One sweep that sees some fields and comes to its end. */
async function sweep(
  fields: readonly SeenField[],
  facts: Parameters<typeof settle>[1] = {},
): Promise<string> {
  const sweepId = await beginSweep(facts.stream);
  await remember(sweepId, fields, facts.stream);
  await settle(sweepId, facts);
  return sweepId;
}

async function field(name: string, table = 'jobs') {
  const {rows} = await pool.query('SELECT * FROM sync.fields WHERE table_name = $1 AND field = $2', [
    table,
    name,
  ]);
  return rows[0];
}

async function events(): Promise<string[]> {
  const {rows} = await pool.query('SELECT * FROM sync.field_events ORDER BY event_id');
  return rows.map((row) => `${row.table_name}.${row.field} ${row.kind}: ${row.detail}`);
}

describe('a field that is seen', () => {
  test('is listed with its type, its column, and who saw it', async () => {
    const sweepId = await sweep([seen('custom_text1'), seen('id', 'integer', {column: 'id'})]);
    expect(await field('custom_text1')).toMatchObject({
      stream: 'jobs',
      types: ['text'],
      column_name: null,
      filled_share: null,
      last_sweep_id: sweepId,
      vanished_at: null,
    });
    expect(await field('id')).toMatchObject({types: ['integer'], column_name: 'id'});
  });

  test('for the first time ever makes no event, nor do the fields of a table that had no records yet', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a'), seen('b'), seen('id', 'integer', {table: 'contacts'})]);
    expect(await events()).toEqual([]);
  });

  test('in a later sweep of its stream is news, once', async () => {
    await sweep([seen('a')]);
    const fields = [
      seen('a'),
      seen('b', 'decimal'),
      seen('c', null),
      seen('d', 'integer', {column: 'd'}),
      seen('token', 'secret'),
    ];
    await sweep(fields);
    await sweep(fields);
    expect(await events()).toEqual([
      'jobs.b new: sent as decimal; kept in attributes',
      'jobs.c new: kept in attributes',
      'jobs.d new: sent as integer; kept in the column d',
      'jobs.token new: a secret: dropped, never stored',
    ]);
  });

  test('while its stream is swept for the first time is no news, however many batches there are', async () => {
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember(sweepId, [seen('b')]);
    expect(await events()).toEqual([]);
  });

  test('is of its account alone', async () => {
    await sweep([seen('a')]);
    const other = await upsertAccount(pool, {
      name: 'other',
      apiUrl: 'https://example.com/other',
      timeZone: 'UTC',
    });
    const sweepId = await beginSweep('jobs', other.accountId);
    await remember(sweepId, [seen('a', 'integer')], 'jobs', other.accountId);
    expect(await events()).toEqual([]);
    const {rows} = await pool.query(`SELECT types FROM sync.fields WHERE field = 'a' ORDER BY account_id`);
    expect(rows).toEqual([{types: ['text']}, {types: ['integer']}]);
  });

  test('as two types in one batch has both', async () => {
    await sweep([seen('a', 'float'), seen('a', 'integer')]);
    expect((await field('a')).types).toEqual(['float', 'integer']);
  });

  test('again is noted with the moment and the sweep', async () => {
    await sweep([seen('a')]);
    const before = await field('a');
    const sweepId = await sweep([seen('a')]);
    const after = await field('a');
    expect(after).toMatchObject({
      last_sweep_id: sweepId,
      first_seen_at: before.first_seen_at,
      types: ['text'],
    });
    expect(after.last_seen_at > before.last_seen_at).toBe(true);
  });

  test('by two at once is one field', async () => {
    const sweepId = await beginSweep();
    const fields = Array.from({length: 50}, (_, n) => seen(`f${n}`));
    await Promise.all([
      remember(sweepId, fields),
      remember(sweepId, fields.toReversed()),
      remember(sweepId, fields),
    ]);
    const {rows} = await pool.query('SELECT count(*) FROM sync.fields');
    expect(rows).toEqual([{count: '50'}]);
  });

  test('with a name full of quotes is a name', async () => {
    const name = `o'x"y\\z $1 %s`;
    await sweep([seen(name)], {wroteRows: true});
    expect(await field(name)).toMatchObject({field: name});
  });
});

describe('a type', () => {
  test('that a field never had is added and told', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    await sweep([seen('a', 'decimal'), seen('b', 'boolean')]);
    await sweep([seen('a', 'integer'), seen('a', 'decimal'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['integer', 'decimal']);
    expect((await field('b')).types).toEqual(['text', 'boolean']);
    expect(await events()).toEqual([
      'jobs.a retyped: sent as decimal; before as integer',
      'jobs.b retyped: sent as boolean; before as text',
    ]);
  });

  test('that becomes text is told, where the record names types', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'integer')]);
    await sweep([seen('a', 'text'), seen('b', 'integer')]);
    expect(await events()).toEqual(['jobs.a retyped: sent as text; before as integer']);
  });

  test('is not lost to a dialect that names none, and coming back is no news', async () => {
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });

  test('is learnt without news when the dialect begins to name types', async () => {
    await sweep([seen('a', 'text', {isTyped: false}), seen('b', 'text', {isTyped: false})]);
    await sweep([seen('a', 'integer'), seen('b', 'text')]);
    expect((await field('a')).types).toEqual(['text', 'integer']);
    expect(await events()).toEqual([]);
  });

  test('of a field that was always nil is no news', async () => {
    await sweep([seen('a', null), seen('b', 'integer')]);
    expect((await field('a')).types).toEqual([]);
    await sweep([seen('a', 'text'), seen('b', null)]);
    expect((await field('a')).types).toEqual(['text']);
    expect((await field('b')).types).toEqual(['integer']);
    expect(await events()).toEqual([]);
  });
});

describe('a field that is not seen', () => {
  test('by a sweep that parsed every record has vanished, once; seen again it has returned', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a')]);
    expect((await field('b')).vanished_at).not.toBeNull();
    expect((await field('a')).vanished_at).toBeNull();
    await sweep([seen('a')]);
    await sweep([seen('a'), seen('b')]);
    expect((await field('b')).vanished_at).toBeNull();
    expect(await events()).toEqual([
      expect.stringMatching(/^jobs\.b vanished: no record bears it any more; last seen \d{4}-\d\d-\d\d$/),
      expect.stringMatching(/^jobs\.b returned: seen again; missed since \d{4}-\d\d-\d\d$/),
    ]);
  });

  test('by a sweep that skipped known bytes is where it was', async () => {
    await sweep([seen('a'), seen('b')]);
    await sweep([seen('a')], {parsedAll: false});
    expect((await field('b')).vanished_at).toBeNull();
    expect(await events()).toEqual([]);
  });

  test('is where it was when no record of its table was parsed', async () => {
    await sweep([seen('a'), seen('id', 'integer', {table: 'job_charges'})]);
    await sweep([seen('a')]);
    expect((await field('id', 'job_charges')).vanished_at).toBeNull();
  });

  test('by the sweep itself, but by a window meanwhile, is where it was', async () => {
    await sweep([seen('a'), seen('b')]);
    const sweepId = await beginSweep();
    await remember(sweepId, [seen('a')]);
    await remember('999', [seen('b')]);
    await settle(sweepId);
    expect(await events()).toEqual([]);
  });

  test('by one stream, but by another that embeds the same records, is where it was', async () => {
    const rate = seen('rate', 'decimal', {table: 'tax_entities'});
    const id = seen('id', 'integer', {table: 'tax_entities'});
    for (let round = 0; round < 2; round++) {
      await sweep([id, rate], {stream: 'customers'});
      await sweep([seen('a'), id]);
    }
    expect((await field('rate', 'tax_entities')).vanished_at).toBeNull();
    expect(await events()).toEqual([]);
    await sweep([id], {stream: 'customers'});
    expect((await field('rate', 'tax_entities')).vanished_at).not.toBeNull();
  });
});

describe('the filled share', () => {
  async function insertJob(
    number: number,
    values: {name?: string | null; total?: number; attributes?: object},
  ) {
    await pool.query(
      'INSERT INTO warehouse.jobs (account_id, job_number, name, total, attributes) VALUES ($1, $2, $3, $4, $5)',
      [accountId, number, values.name ?? null, values.total ?? null, values.attributes ?? {}],
    );
  }

  const fields = [
    seen('name', 'text', {column: 'name'}),
    seen('total', 'decimal', {column: 'total'}),
    seen('custom_text1'),
    seen(`it's`, 'nested'),
    seen('api_token', 'secret'),
    seen('number', 'integer', {column: 'job_number'}),
    seen('gone', 'text', {column: 'no_such_column'}),
  ];

  test('counts live rows in which there is more than null and an empty text', async () => {
    await insertJob(1, {name: 'Boiler', total: 0, attributes: {custom_text1: 'x', "it's": {a: '1'}}});
    await insertJob(2, {name: '', attributes: {custom_text1: ''}});
    await insertJob(3, {name: null, attributes: {custom_text1: null, "it's": ['1']}});
    await insertJob(4, {name: 'Pump'});
    await insertJob(5, {name: 'Gone'});
    await pool.query('UPDATE warehouse.jobs SET _deleted_at = now() WHERE job_number = 5');
    await pool.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, name) VALUES ($1 + 1, 1, 'Other')`,
      [Number(accountId)],
    );
    await sweep(fields, {wroteRows: true});
    const {rows} = await pool.query('SELECT field, filled_share AS share FROM sync.fields ORDER BY field');
    expect(rows).toEqual([
      {field: 'api_token', share: null},
      {field: 'custom_text1', share: 0.25},
      {field: 'gone', share: null},
      {field: "it's", share: 0.5},
      {field: 'name', share: 0.5},
      {field: 'number', share: 1},
      {field: 'total', share: 0.25},
    ]);
  });

  test('stays as it was when no row was written, and is nothing without rows', async () => {
    await insertJob(1, {name: 'Boiler'});
    await sweep(fields, {wroteRows: true});
    await pool.query('UPDATE warehouse.jobs SET name = NULL');
    await sweep(fields, {wroteRows: false});
    expect((await field('name')).filled_share).toBe(1);
    await pool.query('DELETE FROM warehouse.jobs');
    await sweep(fields, {wroteRows: true});
    expect((await field('name')).filled_share).toBeNull();
  });
});
