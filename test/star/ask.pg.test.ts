// The questions of an owner, asked by the command that a user types.

import {afterAll, beforeAll, describe, expect, inject, test} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {questions} from '../../src/star/star.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {openPlace, type Place} from '../support/place.ts';

let place: Place;

beforeAll(async () => {
  place = await openPlace({}, inject('warehouseTemplate'));
  expect(await runCommand(['sync'], place.env)).toMatchObject({code: 0});
});
afterAll(() => place?.close());

beforeAll(async () => {
  await atWarehouse(
    `INSERT INTO mart.settings (account_key, currency) SELECT account_key, 'USD'
      FROM mart.dim_account; SELECT sync.refresh_star()`,
  );
});

const ask = (...args: string[]) => runCommand(['ask', ...args], place.env);

async function atWarehouse(text: string): Promise<Record<string, unknown>[]> {
  const pool = openPool(place.databaseUrl, {max: 1, applicationName: 'test'});
  try {
    return (await pool.query(text)).rows;
  } finally {
    await pool.end();
  }
}

test('ask without a name lists every question', async () => {
  const {code, stdout} = await ask();
  expect(code).toBe(0);
  for (const {question} of questions) expect(stdout).toContain(question);
});

describe('an answer', () => {
  test('includes its definition, its freshness and whether it ties out', async () => {
    const {code, stdout} = await ask('debtors', '--limit', '3');
    expect(code).toBe(0);
    expect(stdout).toMatch(/^Who owes us, since when\?\n\n┌/);
    expect(stdout).toContain('the first 3: --limit shows more');
    expect(stdout).toMatch(
      inSequence(
        /What is unpaid of invoices .*\nThe ages count from the date.*\namounts in USD\n/,
        /proven complete \d+ s ago\nties out: T16\n$/,
      ),
    );
  });

  test('keeps every digit as JSON, and has one CSV line for each row of the view', async () => {
    const {stdout} = await ask('debtors', '--limit', '1000', '--json');
    const {rows, columns} = JSON.parse(stdout);
    const held = await atWarehouse(
      `SELECT name, owed::text, older::text FROM mart.ask_debtors AS held
        ORDER BY held.owed DESC, customer_key`,
    );
    expect(
      rows.map(({name, owed, older}: Record<string, unknown>) => ({name, owed, older})),
    ).toEqual(held);
    const csv = await ask('debtors', '--csv');
    expect(csv.stdout.split('\n')[0]).toBe(columns.join(','));
    expect(csv.stdout.trimEnd().split('\n')).toHaveLength(held.length + 1);
  });

  test('shows its period, total and previous period; --from and --to set the period', async () => {
    const days = ['--from', '2026-10-01', '--to', '2026-10-31'];
    const {code, stdout} = await ask('revenue-by-month', ...days);
    expect(code).toBe(0);
    expect(stdout).toMatch(/│ 2026-10-01 │[^\n]*\n│ before {5}│/);
    expect(stdout).toContain(
      '2026-10-01 to 2026-10-31, in place of the usual dates; before: 2026-09-01 to 2026-09-30\n',
    );
    const [october, all] = await Promise.all(
      [days, []].map(async (args) =>
        JSON.parse((await ask('revenue-by-month', ...args, '--json')).stdout),
      ),
    );
    expect(october).toMatchObject({
      period: {from: '2026-10-01', to: '2026-10-31'},
      rows: [{...october.rows[0], month: '2026-10-01'}],
      before: {from: '2026-09-01', to: '2026-09-30'},
    });
    const own = await atWarehouse((await ask('revenue-by-month', ...days, '--sql')).stdout);
    expect(own.map(({revenue}) => revenue)).toEqual([october.rows[0].revenue]);
    expect(all).toMatchObject({period: {from: null, to: null}, before: null});
    const sum = all.rows.reduce((total: number, row: {revenue: string}) => total + +row.revenue, 0);
    expect(+all.total.revenue).toBeCloseTo(sum, 4);
  });

  test('is grouped by another column with --by, also as CSV', async () => {
    const csv = await ask('work-mix', '--by', 'town', '--csv');
    expect(csv.stdout).toMatch(/^town,jobs,revenue,/);
    const told = JSON.parse((await ask('work-mix', '--by', 'town', '--json')).stdout);
    expect(told).toMatchObject({by: 'town', columns: expect.arrayContaining(['town'])});
    expect(csv.stdout.trimEnd().split('\n')).toHaveLength(told.rows.length + 1);
  });

  test('is printed by --sql as a statement that runs unchanged', async () => {
    const {stdout} = await ask('backlog', '--sql');
    expect((await atWarehouse(stdout)).length).toBeGreaterThan(30);
  });

  test('has the same rows with --as-of and the current time', async () => {
    const [{at} = {}] = await atWarehouse('SELECT now()::text AS at');
    const moment = String(at).replace(' ', 'T').replace(/\+00$/, 'Z');
    const now = JSON.parse((await ask('open-jobs', '--json')).stdout);
    const then = JSON.parse((await ask('open-jobs', '--as-of', moment, '--json')).stdout);
    expect(then.rows).toEqual(now.rows);
    expect(then.asOf).not.toBeNull();
  });
});

test.each([
  [
    'a question that there is not',
    ['debtor'],
    2,
    /no question "debtor" \(did you mean debtors\?\); fieldmirror ask lists them/,
  ],
  [
    'a moment before the mirror',
    ['debtors', '--as-of', '2024-05-01'],
    2,
    /the mirror knows the account since 20\d\d-.* UTC; ask for that time or a later one/,
  ],
  ['a moment to come', ['debtors', '--as-of', '2049-01-01'], 2, /expected a time that has passed/],
  [
    'no moment',
    ['debtors', '--as-of', 'yesterday'],
    2,
    /expected a day such as 2026-10-31, or an instant with its offset/,
  ],
  [
    'a figure that needs a setting',
    ['utilisation'],
    2,
    /INSERT INTO mart\.settings \(account_key, working_hours\)/,
  ],
  [
    'a period of a question that has none',
    ['debtors', '--from', '2026-10-01'],
    2,
    /debtors has no period: its answer is about one point in time; leave out --from and --to/,
  ],
  [
    'a day that is none',
    ['items', '--to', '2026-02-30'],
    2,
    /--to: expected a day of 2000 to 2049/,
  ],
  [
    'a grouping that there is not',
    ['work-mix', '--by', 'colour'],
    2,
    /work-mix: --by colour: expected lead-source or town/,
  ],
  ['an account that there is not', ['debtors', '--account', 'tset'], 2, /no account "tset"/],
] as const)(
  '%s is rejected with exit code 2 and an error that explains it',
  async (_, args, code, words) => {
    const ended = await ask(...args);
    expect(ended.code).toBe(code);
    expect(ended.stderr).toMatch(words);
  },
);

test('with working hours set, utilisation has an answer', async () => {
  await atWarehouse(`UPDATE mart.settings SET working_hours = '{8,8,8,8,8,0,0}'`);
  const {code, stdout} = await ask('utilisation', '--json');
  expect(code).toBe(0);
  // Somebody who left had no capacity after their last day.
  const hours = JSON.parse(stdout).rows.map(({capacity_hours}: {capacity_hours: string}) =>
    Number(capacity_hours),
  );
  expect(Math.max(...hours)).toBe(40);
});

test('check reports that every tie-out holds, and lists findings without failing', async () => {
  const {code, stdout} = await runCommand(['check', '--json'], place.env);
  expect(code).toBe(0);
  const {tieOuts, findings} = JSON.parse(stdout);
  expect(tieOuts.map(({broken}: {broken: number}) => broken)).toEqual(Array(19).fill(0));
  expect(findings.map(({name}: {name: string}) => name)).toEqual([
    'D1',
    'D2',
    'D3',
    'D4',
    'D5',
    'D6',
  ]);
});

test('check refreshes the star first, so that rows just written break no tie-out', async () => {
  await atWarehouse(
    `SET fieldmirror.writer = 'repair';
     UPDATE warehouse.jobs SET subtotal = subtotal + 1 WHERE job_number = 2`,
  );
  expect((await atWarehouse('SELECT waiting > 0 AS behind FROM mart.freshness'))[0]).toEqual({
    behind: true,
  });
  const {code, stdout} = await ask('revenue-by-week');
  expect({code, stdout}).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('without what changed since'),
  });
  expect(await runCommand(['check'], place.env)).toMatchObject({code: 0});
  expect((await atWarehouse('SELECT waiting > 0 AS behind FROM mart.freshness'))[0]).toEqual({
    behind: false,
  });
});

test('check fails if a figure does not tie out', async () => {
  await atWarehouse('UPDATE mart.fct_job SET subtotal = subtotal + 1 WHERE job_number = 1');
  const {code, stdout, stderr} = await runCommand(['check'], place.env);
  expect({code, stderr}).toEqual({code: 1, stderr: 'checking 19 tie-outs and 6 findings …\n'});
  expect(stdout).toMatch(/^Tie-outs: 1[0-8] of 19 hold\n {2}T1 +broken by 1 row +The jobs/);
  for (const line of stdout.split('\n')) expect(line.length).toBeLessThanOrEqual(110);
});
