// The states of a job, by the table of docs/insight.md and by the star: every status with every
// combination of times, written as rows and read back.

import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {SetUp} from '../support/set-up.ts';
import {openStarWarehouse} from './star-warehouse.ts';

const setUp = new SetUp();
let pool: pg.Pool;
let rules: readonly {readonly state: string; readonly condition: string}[] = [];

const statuses = ['new', 'unscheduled', 'scheduled', 'in_progress', 'complete', 'canceled'].concat([
  'cancelled',
  'lost',
  'won',
  'something else',
]);
const times = ['estimate_sent_on', 'scheduled_on', 'started_on', 'completed_on', 'canceled_on'];
const allTimes = [...times, 'won_date', 'lost_date'];
const combinations = 2 ** allTimes.length;

/** The rows of the table in the document, in order. */
async function readRules(): Promise<typeof rules> {
  const page = await readFile(join(import.meta.dirname, '../../docs/insight.md'), 'utf8');
  const section = page.split('## States of a job')[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| `(\w+)` +\| `(.+?)` +\|/gm)].map(
    ([, state = '', condition = '']) => ({state, condition}),
  );
}

beforeAll(async () => {
  rules = await readRules();
  ({pool} = await openStarWarehouse(setUp, 2));
  const {accountId} = await upsertAccount(pool, {
    name: 'states',
    apiUrl: 'http://127.0.0.1:1',
    timeZone: 'UTC',
  });
  await inSweepTransaction(pool, async (client) => {
    const instants = allTimes.map((_, at) => `CASE WHEN bits & ${2 ** at} > 0 THEN now() END`);
    await client.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, id, status, created_at, updated_at,
         ${allTimes.join(', ')})
       SELECT $1, row_number() OVER (), row_number() OVER (), status, now(), now(),
              ${instants.join(', ')}
         FROM unnest($2::text[]) AS status
        CROSS JOIN generate_series(0, ${combinations - 1}) AS bits`,
      [accountId, [...statuses, null]],
    );
  });
  await pool.query('SELECT sync.refresh_star()');
});
afterAll(() => setUp.end());

test('docs/insight.md has a rule for each job state, and for no other state', async () => {
  const {rows} = await pool.query('SELECT job_state FROM mart.dim_job_state ORDER BY job_state');
  expect(rules.map(({state}) => state).toSorted()).toEqual(rows.map(({job_state}) => job_state));
});

test('for every status and combination of times, the star has the documented state', async () => {
  const documented = rules
    .map(({state, condition}) => `WHEN ${condition} THEN '${state}'`)
    .join(' ');
  const {rows} = await pool.query(
    `SELECT held.status, told.job_state AS star, held.document, count(*)::integer AS jobs
       FROM (SELECT row_id, status, CASE ${documented} END AS document FROM warehouse.jobs) AS held
       JOIN mart.fct_job AS told ON told.job_key = held.row_id
      GROUP BY 1, 2, 3`,
  );
  const jobs = rows.reduce((sum, row) => sum + row.jobs, 0);
  expect(jobs).toBe((statuses.length + 1) * combinations);
  expect(rows.filter(({star, document}) => star !== document)).toEqual([]);
  expect(new Set(rows.map(({star}) => star)).size).toBe(rules.length);
});

test('a job is open in the states that dim_job_state marks as open', async () => {
  const {rows} = await pool.query(
    `SELECT DISTINCT job.job_state FROM mart.fct_job AS job
       JOIN mart.dim_job_state AS state USING (job_state) WHERE job.is_open <> state.is_open`,
  );
  expect(rows).toEqual([]);
});
