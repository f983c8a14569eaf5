import {mkdtemp, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {afterEach, expect, test} from 'vitest';
import {openEmbeddedPostgres} from '../../src/warehouse/embedded.ts';

const homes: string[] = [];

async function newHome(): Promise<string> {
  const home = await mkdtemp(join(tmpdir(), 'fieldmirror-embedded-'));
  homes.push(home);
  return home;
}

async function ask(url: string, sql: string): Promise<unknown> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  const {rows} = await client.query({text: sql, rowMode: 'array'});
  await client.end();
  return rows[0]?.[0];
}

afterEach(async () => {
  for (const home of homes.splice(0)) await rm(home, {recursive: true, force: true});
});

test('two processes that start on one empty folder share one server, and the last to leave stops it', async () => {
  const home = await newHome();
  const [first, second] = await Promise.all([openEmbeddedPostgres(home), openEmbeddedPostgres(home)]);
  const url = await first.url('warehouse');
  expect(await second.url('warehouse')).toBe(url);
  const user = new pg.Client({connectionString: url});
  await user.connect();
  await first.leave();
  expect(await ask(url, 'SELECT 1')).toBe(1);
  await user.end();
  await second.leave();
  await expect(ask(url, 'SELECT 1')).rejects.toThrow(/ECONNREFUSED/);
});

test('what was written is there after a stop and a start', async () => {
  const home = await newHome();
  const before = await openEmbeddedPostgres(home);
  await ask(await before.url('warehouse'), 'CREATE TABLE kept AS SELECT 42 AS n');
  await before.leave();
  const after = await openEmbeddedPostgres(home);
  expect(await ask(await after.url('warehouse'), 'SELECT n FROM kept')).toBe(42);
  await after.leave();
});
