// The statements of docs/delivery.md that load a snapshot, run in the engine that they are for.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {writeFile} from '../../src/cli/export.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {findBlocks} from '../readme/blocks.ts';
import {type DeliveryPlace, openDeliveryPlace, queryDuck, readSnapshot} from './delivery-place.ts';

let place: DeliveryPlace;
beforeAll(async () => {
  place = await openDeliveryPlace();
  await place.apply({delivery: {lake: {to: place.lake}}});
  expect(await place.deliver()).toMatchObject({code: 0});
});
afterAll(() => place?.close());

/** The blocks of the page for DuckDB. */
async function readBlocks(): Promise<string[]> {
  const page = join(import.meta.dirname, '..', '..', 'docs', 'delivery.md');
  return findBlocks('delivery.md', await readFile(page, 'utf8'))
    .filter(({language}) => language === 'duckdb')
    .map(({text}) => text.replaceAll('/srv/lake', place.lake));
}

test('DuckDB loads a table and confirms by the manifest that it is complete', async () => {
  const blocks = await readBlocks();
  expect(blocks).toHaveLength(3);
  const statements = blocks.slice(0, 2);
  expect(await queryDuck(...statements)).toEqual([{is_complete: true}]);
  const [held] = await place.query('SELECT count(*)::integer AS rows FROM mart.fct_job');
  const rows = await queryDuck(
    ...statements.slice(0, 1),
    'SELECT CAST(count(*) AS integer) AS rows FROM fct_job',
  );
  expect(rows).toEqual([held]);
});

test('the manifest has the type that DuckDB reads of each column', async () => {
  const manifest = await readSnapshot(place.lake);
  const types = manifest?.tables.flatMap(({table, columns}) =>
    columns.map(({name, type}) => `${table}.${name} ${type.replace(', ', ',')}`),
  );
  const read: string[] = [];
  for (const {table, file} of manifest?.tables ?? []) {
    const path = join(place.lake, manifest?.snapshot ?? '', file);
    for (const {column_name: name, column_type: type} of await queryDuck(`DESCRIBE FROM '${path}'`))
      read.push(`${table}.${String(name)} ${String(type)}`);
  }
  expect(types).toEqual(read);
  expect(types).toContain('fct_job.completed_at TIMESTAMP WITH TIME ZONE');
});

test('DuckDB reads a span of time, whatever the style of the session that wrote it', async () => {
  const url = new URL(place.env.DATABASE_URL ?? '');
  url.searchParams.set('options', '-c intervalstyle=sql_standard');
  const file = join(place.lake, '..', 'span.parquet');
  const spans = `SELECT i, i * interval '1 day 02:03:04.5' AS span
                   FROM generate_series(-1, 1) AS i`;
  const pool = openPool(url.href, {max: 1, applicationName: 'test'});
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    await writeFile(client, spans, {file, format: 'parquet'});
    await client.query('ROLLBACK');
  } finally {
    client.release();
    await pool.end();
  }
  const read = `SELECT span, epoch(span::INTERVAL) AS seconds FROM '${file}' ORDER BY i`;
  expect(await queryDuck(read)).toEqual([
    {span: '-1 days -02:03:04.5', seconds: -93_784.5},
    {span: '00:00:00', seconds: 0},
    {span: '1 day 02:03:04.5', seconds: 93_784.5},
  ]);
});

test('DuckDB finds rows that changed between two snapshots, and deleted keys', async () => {
  const before = await readSnapshot(place.lake);
  const [load = '', , compare = ''] = await readBlocks();
  const [changed, deleted] = await place.query<{key: string}>(
    'SELECT job_key::text AS key FROM mart.fct_job ORDER BY job_key LIMIT 2',
  );
  await inSweepTransaction(place.pool, async (client) => {
    const edit = (set: string, key = '') =>
      client.query(`UPDATE warehouse.jobs SET ${set} WHERE row_id = $1`, [key]);
    await edit(`name = 'Made-up'`, changed?.key);
    await edit('_deleted_at = now()', deleted?.key);
  });
  expect(await place.deliver()).toMatchObject({code: 0});
  const statements = [load, compare.replace('2026-10-31T031245.123Z', before?.snapshot ?? '')];
  const read = (table: string) =>
    queryDuck(...statements, `SELECT CAST(job_key AS varchar) AS key FROM ${table}`);
  // The first completed job of its customer may be another one now.
  expect(await read('changed')).toContainEqual(changed);
  expect((await read('changed')).length).toBeLessThanOrEqual(3);
  expect(await read('deleted')).toEqual([deleted]);
});
