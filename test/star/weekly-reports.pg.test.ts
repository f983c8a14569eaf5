// The weekly reports that `start` makes by itself.

import {mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type pg from 'pg';
import {afterAll, afterEach, beforeAll, expect, inject, test} from 'vitest';
import {writeDueReports} from '../../src/cli/ask.ts';
import {createLogger} from '../../src/core/log.ts';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;
let pool: pg.Pool;
let folder = '';
const log = createLogger({level: 'silent', secrets: [], isPretty: false});

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-reports-'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  pool = openPool(place.databaseUrl, {max: 4, applicationName: 'test'});
  // A zone in which this week's Monday 06:00 has passed, whatever the day: there it is Tuesday or
  // later, or late on Monday.
  await pool.query(
    `UPDATE sync.accounts SET name = 'acme & sons', time_zone = (SELECT name FROM pg_timezone_names
       WHERE name LIKE 'Etc/%' AND (now() AT TIME ZONE name) >= date_trunc('week',
         now() AT TIME ZONE name) + interval '6 hours' ORDER BY name LIMIT 1)`,
  );
});
afterEach(() => pool.query('TRUNCATE sync.weekly_reports'));
afterAll(async () => {
  await pool?.end();
  await place?.close();
  await rm(folder, {recursive: true, force: true});
});

const write = (to = folder) => writeDueReports(pool, {folder: to, accountIds: ['1'], log});
const madeCount = async () =>
  (await pool.query('SELECT count(*)::integer AS count FROM sync.weekly_reports')).rows[0].count;

test('one is made for each account and week, also by several workers at once', async () => {
  await Promise.all([write(), write(), write()]);
  await write();
  expect(await madeCount()).toBe(1);
  const files = await readdir(folder);
  expect(files).toEqual([expect.stringMatching(/^acme_sons-\d{4}-\d\d-\d\d\.html$/)]);
  expect(await readFile(join(folder, files[0] ?? ''), 'utf8')).toContain(
    'acme &amp; sons, week of',
  );
  const {rows} = await pool.query(
    'SELECT count(DISTINCT known_as_of)::integer AS count FROM mart.reported',
  );
  expect(rows).toEqual([{count: 1}]);
});

test('where its file cannot be written it is due as before', async () => {
  const closed = join(folder, 'closed');
  await expect(write(join(closed, '\0'))).rejects.toThrow();
  expect(await madeCount()).toBe(0);
  await write();
  expect(await madeCount()).toBe(1);
});

test('while the jobs are not proven complete within a day, it waits', async () => {
  await pool.query(
    `UPDATE sync.sweeps SET started_at = started_at - interval '2 days',
      ended_at = ended_at - interval '2 days'`,
  );
  await write();
  expect(await madeCount()).toBe(0);
  await pool.query(
    `UPDATE sync.sweeps SET started_at = started_at + interval '2 days',
      ended_at = ended_at + interval '2 days'`,
  );
});

test('an account that is not served here is left alone', async () => {
  await writeDueReports(pool, {folder, accountIds: ['2'], log});
  expect(await madeCount()).toBe(0);
});
