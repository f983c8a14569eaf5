// Thirty days of ten accounts at full size, played within minutes: every sweep that the usual
// schedules make, changes on both sides, what a worker removes, and the weekly reports.

import {mkdtemp, readdir, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {listNights} from '../../../src/health/figures.ts';
import {changesADay, type DayEnd, playDay, removeOld} from './days.ts';
import {dayMs, type Month, openMonth, sweep} from './month.ts';

const days = 30;
/** Of an account by its schedules. */
const sweepsADay = 1_083;
const megabyte = 1e6;

let month: Month;
let folder: string;
/** The first day first. */
const ends: DayEnd[] = [];

const endOf = (day: number) => new Date(month.begin.getTime() + day * dayMs);
const query = async (text: string, values: unknown[] = [], moment = endOf(days)) =>
  await month.at(moment, async ({pool}) => (await pool.query(text, values)).rows);
const count = async (what: string, ...values: unknown[]) =>
  Number((await query(`SELECT count(*) FROM ${what}`, values))[0]?.count);
const readSizes = async (): Promise<Map<string, number>> =>
  new Map(
    (
      await query(
        `SELECT oid::regclass::text AS place, pg_total_relation_size(oid)::float8 AS bytes
         FROM pg_class WHERE relkind = 'r' AND relpersistence = 'p'`,
      )
    ).map(({place, bytes}) => [place, bytes]),
  );
let sizesOf10 = new Map<string, number>();

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fieldmirror-month-'));
  month = await openMonth(days);
  for (let day = 0; day < days; day++) {
    ends.push(await playDay(month, day, folder));
    if (day === 9) sizesOf10 = await readSizes();
  }
}, 3_600_000);
afterAll(async () => {
  await month?.close();
  await rm(folder, {recursive: true, force: true});
});

test('the database grows by less than 1 MB a day, changes on both sides included', async () => {
  const [after10 = 0, after30 = 0] = [ends[9]?.bytes, ends[29]?.bytes];
  const growth = (after30 - after10) / 20;
  const sizes = await readSizes();
  const most = [...sizes]
    .map(([place, bytes]) => [place, bytes - (sizesOf10.get(place) ?? 0)] as const)
    .sort(([, one], [, other]) => other - one)
    .slice(0, 8)
    .map(([place, bytes]) => `${place} ${Math.round(bytes / 20_000)}`);
  const sweeps = ends.reduce((sum, end) => sum + end.sweeps, 0);
  process.stdout.write(
    `${days} days, ${sweeps} sweeps, ${2 * days * changesADay} changes: ` +
      `${Math.round(growth / 1_000)} kB a day after the tenth (${most.join(', ')})\n`,
  );
  expect(growth).toBeLessThan(megabyte);
});

test('every schedule has made its sweeps', () => {
  const perDay = ends.slice(1).map(({sweeps}) => sweeps);
  expect(perDay).toEqual(perDay.map(() => sweepsADay * 10));
});

test('the last seven days are kept sweep by sweep, and earlier ones day by day', async () => {
  const week = endOf(days - 7).toISOString();
  expect(await count(`sync.sweeps WHERE ended_at >= $1 AND requested_by = 'schedule'`, week)).toBe(
    7 * 10 * sweepsADay,
  );
  expect(
    await count(
      `sync.sweeps WHERE ended_at < $1
         AND inserted + updated + revived + tombstoned + vanished + quarantined = 0`,
      week,
    ),
  ).toBe(0);
  const folded = await query(
    `SELECT day, count(*)::integer AS rows, sum(sweeps)::integer AS sweeps FROM sync.sweep_days
     GROUP BY day ORDER BY day`,
  );
  expect(folded).toHaveLength(days - 7);
  for (const day of folded.slice(1)) expect(day.rows).toBe(10 * 11);
  const [{sum}] = await query('SELECT sum(sweeps)::integer FROM sync.sweep_days');
  const made = ends.reduce((total, {sweeps}) => total + sweeps, 0);
  expect(sum + (await count(`sync.sweeps WHERE requested_by = 'schedule'`))).toBeGreaterThanOrEqual(
    made,
  );
});

test('the strip of thirty nightly runs is complete and certified', async () => {
  const nights = await month.at(endOf(days), ({pool}) =>
    listNights(
      pool,
      month.accounts.map(({accountId}) => accountId),
    ),
  );
  expect(nights.every(({state}) => state === 'certified')).toBe(true);
  expect(nights.length).toBeGreaterThanOrEqual((days - 1) * 10 * 4);
});

test('each account has a report of each week, in a file', async () => {
  // The first one comes on the first day, and one on each Monday.
  const [{weeks}] = await query(
    `SELECT count(DISTINCT date_trunc('week', day))::integer AS weeks
     FROM generate_series($1::timestamptz, $2, interval '1 day') AS day`,
    [month.begin.toISOString(), endOf(days - 1).toISOString()],
  );
  const made = await query(
    `SELECT account_id, count(*)::integer AS weeks, array_agg(file) AS files
       FROM sync.weekly_reports GROUP BY 1 ORDER BY 1`,
  );
  expect(made.map(({weeks: each}) => each)).toEqual(Array.from({length: 10}, () => weeks));
  expect((await readdir(folder)).map((file) => join(folder, file)).sort()).toEqual(
    made.flatMap(({files}) => files).sort(),
  );
});

test('the warehouse equals the service, and every change is done', async () => {
  await month.at(endOf(days), async (played) => {
    for (const stream of ['employees', 'customers', 'jobs', 'tasks'])
      expect(await sweep(played, month.working.accountId, {stream, mode: 'full'})).toMatchObject({
        state: 'certified',
        counts: {inserted: 0, updated: 0, revived: 0, tombstoned: 0},
      });
  });
  const last = String(days - 1).padStart(2, '0');
  expect(await count('warehouse.customers WHERE fax = $1', `555-01${last}`)).toBe(changesADay);
  expect(await count('warehouse.customers WHERE phone_number = $1', `555-02${last}`)).toBe(
    changesADay,
  );
  expect(await count(`sync.changes WHERE state = 'done'`)).toBe(days * changesADay);
  expect(await count('sync.changes')).toBe(days * changesADay);
});

test('changes are deleted 90 days after they ended, and their two versions are merged', {
  timeout: 900_000,
}, async () => {
  const versions = await count('history.past_customers');
  await month.at(endOf(days + 89), removeOld);
  // The changes of the last day were settled on it, and those of the day before are 90 days old.
  expect(await count('sync.changes')).toBe(changesADay);
  await month.at(endOf(days + 90), removeOld);
  expect(await count('sync.changes')).toBe(0);
  expect(await count('sync.attempts')).toBe(0);
  // The edit and the reading back of each became one; the last reading back is the current row.
  expect(await count('history.past_customers')).toBe(versions - (days - 1) * changesADay);
});
