// The weekly report, asked for by the command that an owner types.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {XMLParser} from 'fast-xml-parser';
import type pg from 'pg';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {refreshStar} from '../../src/star/mart.ts';
import {runCommand} from '../support/command.ts';
import {type FilesPlace, openFilesPlace} from '../support/files-place.ts';

let place: FilesPlace;
let pool: pg.Pool;
let folder = '';

beforeAll(async () => {
  place = await openFilesPlace({isOfToday: true});
  ({pool, folder} = place);
});
afterAll(async () => await place?.close());

const report = (...args: string[]) => runCommand(['report', ...args], place.env);
const query = async (text: string, values: unknown[] = []) => (await pool.query(text, values)).rows;

test('the report has the figures of the last whole week as the star has them', async () => {
  const {code, stdout} = await report('--json');
  expect(code).toBe(0);
  const {figures, from, to} = JSON.parse(stdout);
  const [held] = await query(
    `SELECT trim_scale(coalesce(sum(completed_amount), 0))::text AS revenue,
      count(*)::text AS completed FROM mart.fct_job WHERE completed_date BETWEEN $1 AND $2`,
    [from, to],
  );
  expect(figures.find(({metric}: {metric: string}) => metric === 'revenue').now).toBe(held.revenue);
  expect(figures.find(({metric}: {metric: string}) => metric === 'completed').now).toBe(
    held.completed,
  );
  expect(new Date(from).getUTCDay()).toBe(1);
});

test('the text report shows its freshness, and names figures that are not available', async () => {
  const {code, stdout} = await report('--week');
  expect(code).toBe(0);
  expect(stdout).toContain('Proven complete as of');
  expect(stdout).toContain('Owed for more than 60 days');
  expect(stdout).toContain('How busy each technician was: the service does not know');
});

describe('the report as an HTML page', () => {
  let page = '';
  beforeAll(async () => {
    const file = join(folder, 'of', 'weeks', 'week.html');
    await query(
      `INSERT INTO mart.settings (account_key, currency, working_hours) SELECT account_key, 'USD',
        '{8,8,8,8,8,0,0}' FROM mart.dim_account`,
    );
    expect(await report('--html', '--to', file)).toMatchObject({code: 0, stdout: `${file}\n`});
    page = await readFile(file, 'utf8');
  });
  afterAll(() => query('DELETE FROM mart.settings'));

  test('has charts that parse as XML, each with a title, a description and a table', () => {
    const charts = page.match(/<svg[\s\S]*?<\/svg>/g) ?? [];
    // Each is drawn for a phone and for a wider place.
    expect(charts).toHaveLength(2 * 4);
    const parser = new XMLParser({ignoreAttributes: false});
    for (const chart of charts) {
      const {svg} = parser.parse(chart);
      expect(svg.title.length).toBeGreaterThan(5);
      expect(svg.desc.length).toBeGreaterThan(20);
    }
    expect(page.match(/<details>/g)).toHaveLength(4);
    expect(page).toContain('Revenue (USD)');
  });

  test('has the currency with each amount, and a total below the debtors', async () => {
    for (const head of ['Revenue (USD)', 'owed (USD)', 'amount (USD)', 'Revenue by week (USD)'])
      expect(page).toContain(`>${head}<`);
    const [all] = await query(
      `SELECT count(*)::text AS debtors, to_char(sum(owed), 'FM999,999,990.0099') AS owed
         FROM mart.ask_debtors`,
    );
    expect(Number(all.debtors)).toBeGreaterThan(10);
    expect(page).toContain(
      `>all ${all.debtors}</td><td class="number" data-name="owed (USD)">${all.owed}</td>`,
    );
  });

  test('loads no external resource and runs no script', () => {
    // Names of XML, and what a chart refers to in itself.
    const without = page.replaceAll('http://www.w3.org/', '').replaceAll('url(#', '');
    expect(without).not.toMatch(/<script|https?:|\bsrc=|@import|url\(/);
  });

  test('escapes HTML in the name of the account', async () => {
    await query(`UPDATE sync.accounts SET name = '<script>alert(1)</script>'`);
    try {
      const {stdout} = await report('--html');
      expect(stdout).not.toContain('<script');
      expect(stdout).toContain('&lt;script&gt;');
    } finally {
      await query(`UPDATE sync.accounts SET name = 'own'`);
    }
  });
});

test('the report lists restated figures of a delivered one until the next delivery', async () => {
  const deliver = () => report('--to', join(folder, 'delivered.html'));
  // The report lists them by week.
  const look = async () =>
    JSON.parse((await report('--json')).stdout).restated.toSorted(
      (one: {metric: string}, other: {metric: string}) => (one.metric < other.metric ? -1 : 1),
    );
  expect(await deliver()).toMatchObject({code: 0});
  const [job] = await query(
    `SELECT job_key, job_number, completed_date::text,
      date_trunc('week', completed_date)::date::text AS week,
      completed_amount::text AS amount, (completed_amount + 100)::text AS restated
       FROM mart.fct_job JOIN mart.dim_account USING (account_key)
      WHERE completed_date < date_trunc('week', today) AND completed_date > today - 100
      AND completed_amount > 0 ORDER BY completed_date DESC LIMIT 1`,
  );
  await inSweepTransaction(pool, (client) =>
    client.query('UPDATE warehouse.jobs SET subtotal = subtotal + 100 WHERE row_id = $1', [
      job.job_key,
    ]),
  );
  await refreshStar(pool);
  const restated = await look();
  expect(restated).toEqual([
    expect.objectContaining({
      metric: 'booked',
      jobs: [expect.objectContaining({jobNumber: String(job.job_number)})],
    }),
    {
      metric: 'revenue',
      week: job.week,
      knownAsOf: expect.any(String),
      reported: expect.any(String),
      now: expect.any(String),
      jobs: [
        {
          jobNumber: String(job.job_number),
          reported: job.amount,
          now: job.restated,
        },
      ],
    },
  ]);
  expect(Number(restated[1].now) - Number(restated[1].reported)).toBeCloseTo(100, 6);
  for (const form of [[], ['--text'], ['--html'], ['--json']]) await report(...form);
  expect(await look()).toEqual(restated);
  expect(await deliver()).toMatchObject({code: 0});
  expect(await readFile(join(folder, 'delivered.html'), 'utf8')).toContain('reported as');
  expect(await look()).toEqual([]);
});

test('the figures of a delivered report equal the star as of the time of the report', async () => {
  const told = await query(
    `SELECT DISTINCT ON (known_as_of) known_as_of FROM mart.reported ORDER BY known_as_of`,
  );
  expect(told.length).toBeGreaterThan(2);
  for (const {known_as_of: moment} of told)
    expect(
      await query(
        `SELECT held.metric, held.week FROM mart.reported AS held
           JOIN mart.ask_weeks_as_of($1) AS weeks ON weeks.account_key = held.account_key
           AND weeks.week = held.week
          WHERE held.known_as_of = $1 AND held.value <> (to_jsonb(weeks) ->> held.metric)::numeric`,
        [moment],
      ),
    ).toEqual([]);
});

test('the report fails if the data is too old, unless --force is given', async () => {
  await query(
    `UPDATE sync.sweeps SET started_at = started_at - interval '2 days',
      ended_at = ended_at - interval '2 days'`,
  );
  const {code, stderr} = await report();
  expect(code).toBe(2);
  expect(stderr).toMatch(
    /the jobs were proven complete .* ago; run fieldmirror sync jobs, or .* --force/,
  );
  expect((await report('--force')).stdout).toContain('Beware: the jobs were proven complete');
});

test('if the file cannot be written, no figure is stored as reported', async () => {
  const [before] = await query('SELECT count(*) FROM mart.reported');
  const {code, stderr} = await report('--force', '--to', join(process.execPath, 'week.html'));
  expect(code).toBe(2);
  expect(stderr).toMatch(/report: --to .*week\.html: (?:ENOTDIR|EEXIST)/);
  expect(await query('SELECT count(*) FROM mart.reported')).toEqual([before]);
});
