// The weekly reports that `start` makes by itself.

import {mkdir, mkdtemp, readdir, readFile, rm} from 'node:fs/promises';
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
/** With no more rights than the role of workers. */
let pool: pg.Pool;
let owner: pg.Pool;
let folder = '';
const log = createLogger({level: 'silent', secrets: [], isPretty: false});

beforeAll(async () => {
  place = await openPlace({isOfToday: true}, inject('warehouseTemplate'));
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-reports-'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
  owner = openPool(place.databaseUrl, {max: 1, applicationName: 'test'});
  const url = new URL(place.databaseUrl);
  url.searchParams.set('options', '-c role=fieldmirror_worker');
  pool = openPool(url.href, {max: 4, applicationName: 'test'});
  // A zone in which this week's Monday 06:00 has passed, whatever the day: there it is Tuesday or
  // later, or late on Monday.
  await owner.query(
    `UPDATE sync.accounts SET name = 'acme & sons', time_zone = (SELECT name FROM pg_timezone_names
       WHERE name LIKE 'Etc/%' AND (now() AT TIME ZONE name) >= date_trunc('week',
         now() AT TIME ZONE name) + interval '6 hours' ORDER BY name LIMIT 1)`,
  );
});
afterEach(() => owner.query('TRUNCATE sync.weekly_reports'));
afterAll(async () => {
  await pool?.end();
  await owner?.end();
  await place?.close();
  await rm(folder, {recursive: true, force: true});
});

const write = (to = folder) => writeDueReports({pool, folder: to, accountIds: ['1'], log});
const weeksMade = async () =>
  (
    await pool.query<{week: string}>(
      'SELECT week::text AS week FROM sync.weekly_reports ORDER BY 1',
    )
  ).rows.map(({week}) => week);
const madeCount = async () => (await weeksMade()).length;

test('one report is written per account and week, even by several workers at once', async () => {
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

test('a report whose file cannot be written stays due', async () => {
  const closed = join(folder, 'closed');
  await expect(write(join(closed, '\0'))).rejects.toThrow();
  expect(await madeCount()).toBe(0);
  await write();
  expect(await madeCount()).toBe(1);
});

test('missed weeks get one report each afterwards, even with several workers', async () => {
  await write();
  const [last = ''] = await weeksMade();
  const before = (weeks: number) =>
    new Date(Date.parse(last) - weeks * 7 * 86_400_000).toISOString().slice(0, 10);
  // The process was down for three weeks.
  await owner.query('UPDATE sync.weekly_reports SET week = week - 21');
  const lake = join(folder, 'missed');
  await Promise.all([write(lake), write(lake)]);
  await write(lake);
  expect(await weeksMade()).toEqual([before(3), before(2), before(1), last]);
  const weeks = [before(2), before(1), last];
  expect((await readdir(lake)).sort()).toEqual(weeks.map((week) => `acme_sons-${week}.html`));
  // Each has the figures of its own week, and of the week before it.
  const {rows} = await owner.query<{week: string; completed: string}>(
    'SELECT week::text AS week, completed::text AS completed FROM mart.ask_weeks ORDER BY week',
  );
  const completed = new Map(rows.map((row) => [row.week, row.completed]));
  expect(Number(completed.get(before(3)))).toBeGreaterThan(0);
  for (const [at, week] of weeks.entries()) {
    const page = await readFile(join(lake, `acme_sons-${week}.html`), 'utf8');
    expect(page).toContain(`week of ${week}`);
    const [, cells = ''] = /Jobs completed<\/td>(.*?)<\/tr>/.exec(page) ?? [];
    const [now, , then] = [...cells.matchAll(/>([^<]*)<\/td>/g)].map(([, cell]) => cell);
    expect([now, then]).toEqual([completed.get(week), completed.get(before(3 - at))]);
  }
  // Who was away for longer gets the last four weeks.
  await owner.query('DELETE FROM sync.weekly_reports WHERE week > $1', [before(3)]);
  await owner.query('UPDATE sync.weekly_reports SET week = week - 70');
  await write(lake);
  expect((await weeksMade()).slice(1)).toEqual([before(3), ...weeks]);
});

test('a report that cannot be written delays the reports of later weeks', async () => {
  await write();
  const [last = ''] = await weeksMade();
  await owner.query('UPDATE sync.weekly_reports SET week = week - 14');
  const [begin = ''] = await weeksMade();
  const missed = new Date(Date.parse(last) - 7 * 86_400_000).toISOString().slice(0, 10);
  const held = join(folder, 'held');
  const inTheWay = join(held, `acme_sons-${missed}.html`);
  await mkdir(join(inTheWay, 'full'), {recursive: true});
  await expect(write(held)).rejects.toThrow();
  expect(await weeksMade()).toEqual([begin]);
  await rm(inTheWay, {recursive: true});
  await write(held);
  expect(await weeksMade()).toEqual([begin, missed, last]);
});

test('no report is written unless the jobs were proven complete within a day', async () => {
  await owner.query(
    `UPDATE sync.sweeps SET started_at = started_at - interval '2 days',
      ended_at = ended_at - interval '2 days'`,
  );
  await write();
  expect(await madeCount()).toBe(0);
  await owner.query(
    `UPDATE sync.sweeps SET started_at = started_at + interval '2 days',
      ended_at = ended_at + interval '2 days'`,
  );
});

test('no report is written for an account that this process does not serve', async () => {
  await writeDueReports({pool, folder, accountIds: ['2'], log});
  expect(await madeCount()).toBe(0);
});
