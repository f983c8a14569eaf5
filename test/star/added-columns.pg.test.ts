// A version that adds columns at the end of a kept table of the star alters it in place: what
// others built on it stays. Any other change of its columns names them.

import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction, inTransaction} from '../../src/postgres/database.ts';
import {definitions} from '../../src/schema/migrate.ts';
import {applyStar, refreshStar} from '../../src/star/mart.ts';
import {type Member, renderMember} from '../../src/star/member.ts';
import {members} from '../../src/star/star.ts';
import {SetUp} from '../support/set-up.ts';
import {openStarWarehouse} from './star-warehouse.ts';
import {fillUntidyBusiness} from './untidy-business.ts';

const setUp = new SetUp();
let pool: pg.Pool;

const parts = ['fct_job_charge', 'fct_time_entry', 'fct_assignment'];
const added = 3;

/** Answers that read the added columns: an earlier version did not have them. */
const newer = ['ask_items', 'ask_technicians', 'ask_discounts'];

/** Brings the star in line with definitions of which some are others. */
async function apply(change: (member: Member) => Member): Promise<void> {
  const answers = definitions.star
    .slice(members.length)
    .filter(({name}) => change !== without || !newer.includes(name));
  await inTransaction(pool, async (client) => {
    await applyStar(client, [...members.map(change).map(renderMember), ...answers]);
  });
}

/** A part as an earlier version had it. */
const without = (member: Member): Member =>
  parts.includes(member.name) ? {...member, columns: member.columns.slice(0, -added)} : member;

beforeAll(async () => {
  ({pool} = await openStarWarehouse(setUp, 4));
  const {accountId} = await upsertAccount(pool, {
    name: 'here',
    apiUrl: 'http://127.0.0.1:1',
    timeZone: 'UTC',
  });
  await pool.query(`DROP VIEW ${newer.map((name) => `mart.${name}`).join(', ')} CASCADE`);
  await apply(without);
  await inSweepTransaction(pool, (client) => fillUntidyBusiness(client, {accountId, seed: 7}));
  await refreshStar(pool);
  await pool.query(
    `CREATE SCHEMA own;
     CREATE VIEW own.lines AS SELECT job_key, amount FROM mart.fct_job_charge`,
  );
});
afterAll(() => setUp.end());

const readLines = async () =>
  (await pool.query('SELECT count(*)::integer AS lines, sum(amount) AS amount FROM own.lines'))
    .rows[0];

const identify = async () =>
  (await pool.query(`SELECT 'mart.fct_job_charge'::regclass::oid AS table`)).rows[0].table;

test('new columns at the end are added in place, and the next refresh fills them', async () => {
  const before = {table: await identify(), lines: await readLines()};
  expect(before.lines.lines).toBeGreaterThan(100);
  await apply((member) => member);
  expect({table: await identify(), lines: await readLines()}).toEqual(before);
  await refreshStar(pool);
  expect(await readLines()).toEqual(before.lines);
  for (const part of parts) {
    const {rows} = await pool.query(
      `SELECT count(*) > 0 AS has, count(*) = count(part.customer_key) AS filled
         FROM mart.${part} AS part`,
    );
    expect(rows, part).toEqual([{has: true, filled: true}]);
  }
});

test('columns in another order are rejected while a user view depends on the table', async () => {
  const swapped = (member: Member): Member =>
    member.name === 'fct_job_charge' ? {...member, columns: member.columns.toReversed()} : member;
  await expect(apply(swapped)).rejects.toThrow(
    /mart\.fct_job_charge: this version gives the star other columns.*own\.lines/,
  );
  expect((await readLines()).lines).toBeGreaterThan(100);
});
