// The star is broken on purpose, in seven ways, and each is found.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {inTransaction} from '../../src/postgres/database.ts';
import {definitions} from '../../src/schema/migrate.ts';
import {applyStar, refreshStar} from '../../src/star/mart.ts';
import {type Member, renderMember} from '../../src/star/member.ts';
import {members} from '../../src/star/star.ts';
import {type Businesses, openBusinesses} from './businesses.ts';

let world: Businesses;

beforeAll(async () => {
  world = await openBusinesses();
  await world.sweepAll();
  await world.edit('jobs', `fields ->> 'job_number' = '1'`, {
    status: 'complete',
    completed_on: '2026-11-01T03:59:59Z',
  });
  await world.first.api.jobs.remove('7');
  await world.sweepAll();
});
afterAll(() => world?.close());

/** Brings the star in line with definitions of which one is another. */
async function define(mutate: (member: Member) => Member): Promise<void> {
  const answers = definitions.star.slice(members.length);
  await inTransaction(world.first.pool, async (client) => {
    await applyStar(client, [...members.map(mutate).map(renderMember), ...answers]);
  });
  await refreshStar(world.first.pool);
}

/** A member with one text of its SQL in place of another, wherever its lines end. */
function replaceIn(name: Member['name'], text: string, by: string): (member: Member) => Member {
  return (member) => {
    if (member.name !== name) return member;
    const replace = (sql: string) => sql.replace(/\s+/g, ' ').replaceAll(text, by);
    const columns = member.columns.map(
      ([column, value, comment]) => [column, replace(value), comment] as const,
    );
    const from = replace(member.from);
    if (
      !JSON.stringify([member.columns, member.from])
        .replace(/(?:\\n| )+/g, ' ')
        .includes(text)
    )
      throw new Error(`${name}: expected to find "${text}"`);
    return {...member, columns, from};
  };
}

/** A member with another value of one column. */
function replaceColumn(
  name: Member['name'],
  column: string,
  value: string,
): (member: Member) => Member {
  return (member) => {
    if (member.name !== name) return member;
    return {
      ...member,
      columns: member.columns.map((held) => (held[0] === column ? [column, value, held[2]] : held)),
    };
  };
}

/** The tie-outs that do not hold, and the claims of the scenario that are looked at here. */
async function findBroken(): Promise<readonly string[]> {
  const [night] = await world.query(
    `SELECT completed_date::text AS date FROM mart.fct_job
      WHERE job_number = 1 AND account_key = $1`,
    [world.first.account.accountId],
  );
  const isLocal = night?.date === '2026-10-31';
  return [
    ...(isLocal ? [] : [`scenario: a job completed before midnight, on ${night?.date}`]),
    ...(await world.findBroken()),
  ].map((line) => line.split(':')[0] ?? '');
}

test('the unbroken star ties out', async () => {
  expect(await findBroken()).toEqual([]);
});

test.each([
  [
    'a share rounded down',
    replaceColumn(
      'fct_assignment',
      'amount_share',
      'trunc(shared.subtotal / shared.technicians, 2)',
    ),
    'T5',
  ],
  ['a date in UTC', replaceIn('fct_job', 'account.time_zone', `'UTC'`), 'scenario'],
  ['rows that are gone, counted', replaceIn('fct_job', 'held._deleted_at IS NULL AND ', ''), 'T1'],
  [
    'a join that doubles',
    replaceIn('fct_job_charge', 'job.account_id = charge.account_id AND ', ''),
    'T10',
  ],
  [
    'hours of another customer',
    replaceColumn('fct_time_entry', 'customer_key', '-1::bigint'),
    'T18',
  ],
  [
    'a sale that counts as a repeat visit',
    replaceIn('fct_repeat_visit', 'AND NOT job.was_estimate ', ''),
    'T19',
  ],
] as const)('the checks detect %s', async (_, mutate, by) => {
  await define(mutate);
  expect(await findBroken()).toContain(by);
  await define((member) => member);
  expect(await findBroken()).toEqual([]);
});

test('the checks detect a missing trigger', async () => {
  await world.query('ALTER TABLE warehouse.job_charges DISABLE TRIGGER star_update');
  await raiseOneCharge();
  expect(await findBroken()).toContain('T15');
  await world.query('ALTER TABLE warehouse.job_charges ENABLE TRIGGER star_update');
  await raiseOneCharge();
  expect(await findBroken()).toEqual([]);
});

async function raiseOneCharge(): Promise<void> {
  await world.atService(
    `UPDATE service.job_charges SET fields = fields
      || jsonb_build_object('quantity', ((fields ->> 'quantity')::numeric + 1)::text)
      WHERE id = (SELECT min(id) FROM service.job_charges)`,
  );
  await world.sweepAll();
}

test('the checks detect a refresh that misses the other jobs of a customer', async () => {
  const [{source} = {}] = await world.query(
    `SELECT pg_get_functiondef('sync.widen_stale'::regproc) AS source`,
  );
  const forgetful = String(source).replace(
    /FROM customers JOIN mart\.fct_job AS held USING \(customer_key\)\s+WHERE customer_key <> -1/,
    'FROM mart.fct_job AS held WHERE false',
  );
  expect(forgetful).not.toBe(source);
  await world.query(forgetful);
  // The first job that a customer had completed is the last one now.
  const [first] = await world.query(
    `SELECT job_number FROM mart.fct_job AS job
     WHERE account_key = $1 AND is_first_completed_of_customer
        AND EXISTS (SELECT FROM mart.fct_job AS other WHERE other.customer_key = job.customer_key
          AND other.job_state = 'completed' AND other.job_key <> job.job_key)
      ORDER BY job_number LIMIT 1`,
    [world.first.account.accountId],
  );
  await world.edit('jobs', `fields ->> 'job_number' = '${first?.job_number}'`, {
    completed_on: '2026-11-22T15:00:00Z',
  });
  await world.sweepAll();
  expect(await findBroken()).toContain('T15');
  await world.query(String(source));
  await world.query('INSERT INTO sync.stale_jobs DEFAULT VALUES');
  await refreshStar(world.first.pool);
  expect(await findBroken()).toEqual([]);
});
