// The changes that wait too long to be left alone. Time passes by moving the instants in the rows.

import type pg from 'pg';
import {afterEach, beforeEach, describe, expect, inject, test} from 'vitest';
import {countChanges, listLateChanges, listLateChangesSingly} from '../../src/changes/states.ts';
import {openPool} from '../../src/postgres/database.ts';
import {runCommand} from '../support/command.ts';
import {inSequence} from '../support/patterns.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
let pool: pg.Pool;
let accountId: string;

beforeEach(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 2, applicationName: 'erp'});
  const {rows} = await pool.query(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC') RETURNING account_id AS id`,
  );
  accountId = rows[0].id;
});

afterEach(async () => {
  await pool.end();
  await database.drop();
});

/**
 * Makes a customer here, whose create takes these steps one by one. @returns the number of the
 * change
 */
async function add(steps: string | readonly string[], name = 'New'): Promise<string> {
  await pool.query('INSERT INTO warehouse.customers (name) VALUES ($1)', [name]);
  const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
  for (const values of [steps].flat())
    await pool.query(`UPDATE sync.changes SET ${values} WHERE change_id = $1`, [rows[0].id]);
  return rows[0].id;
}

const ago = (time: string) => `now() - interval '${time}'`;
const doubtful = (time: string) => [
  `state = 'sending', sends = 1, sent_at = ${ago(time)}, lease_until = now()`,
  `state = 'in_doubt', reason = 'no answer', lease_until = NULL`,
];
const refused = (time: string) => `state = 'rejected', reason = 'no', settled_at = ${ago(time)}`;

async function late(): Promise<string[]> {
  return (await listLateChanges(pool, [accountId])).map(
    ({lateness, count}) => `${lateness} ${count}`,
  );
}

describe('the list of late changes', () => {
  test.each([
    [
      'that is due and that no worker takes up',
      `due_at = ${ago('14 min')}`,
      `due_at = ${ago('16 min')}`,
      'untaken 1',
    ],
    [
      'that is released late',
      `requested_at = ${ago('9 days')}, due_at = ${ago('14 min')}`,
      `due_at = ${ago('16 min')}`,
      'untaken 1',
    ],
    [
      'that fails again and again, however soon its next try is',
      `failures = 4, due_at = now() + interval '1 min', requested_at = ${ago('14 min')}`,
      `requested_at = ${ago('16 min')}`,
      'failing 1',
    ],
    [
      'whose worker was lost and that no other worker took up',
      `state = 'sending', sends = 1, sent_at = now(), lease_until = ${ago('14 min')}`,
      `lease_until = ${ago('16 min')}`,
      'untaken 1',
    ],
    ['that is in doubt', doubtful('59 min'), `sent_at = ${ago('61 min')}`, 'in-doubt 1'],
    [
      'that is held',
      `state = 'held', requested_at = ${ago('6 days')}`,
      `requested_at = ${ago('8 days')}`,
      'held 1',
    ],
  ])('contains a change %s, only after a time limit', async (_, soon, later, expected) => {
    const id = await add(soon);
    expect(await late()).toEqual([]);
    await pool.query(`UPDATE sync.changes SET ${later} WHERE change_id = $1`, [id]);
    expect(await late()).toEqual([expected]);
  });

  test('contains a change in conflict at once', async () => {
    await add(`state = 'conflict', reason = 'several match'`);
    expect(await late()).toEqual(['conflict 1']);
  });

  test('contains a refused change for a week, and longer while another waits for it', async () => {
    const id = await add(refused('6 days'));
    expect(await late()).toEqual(['rejected 1']);
    await pool.query(`UPDATE sync.changes SET ${refused('8 days')} WHERE change_id = $1`, [id]);
    expect(await late()).toEqual([]);
    await add(`waits_for = ${id}, due_at = ${ago('8 days')}`, 'Child');
    expect(await late()).toEqual(['rejected 1']);
    await pool.query(`UPDATE warehouse.customers SET name = 'Mended' WHERE name = 'New'`);
    expect(await late()).toEqual([]);
  });

  test('omits a change that waits for another one, until that one has ended', async () => {
    const held = await add(`state = 'held'`);
    const waiting = await add(`waits_for = ${held}, due_at = ${ago('2 days')}`, 'Child');
    expect(await late()).toEqual([]);
    // The change that it waits for is over: the waiting one was forgotten.
    await pool.query(
      `UPDATE sync.changes SET state = 'cancelled', reason = 'x', settled_at = now()
        WHERE change_id = $1`,
      [held],
    );
    expect(await listLateChanges(pool, [accountId])).toMatchObject([
      {lateness: 'untaken', changeId: waiting},
    ]);
  });

  test('contains only conflicts if the account is paused', async () => {
    await add(`due_at = ${ago('2 days')}`);
    await add(doubtful('2 days'), 'Doubtful');
    await add(`state = 'conflict', reason = 'x'`, 'Fought');
    expect(await late()).toEqual(['conflict 1', 'in-doubt 1', 'untaken 1']);
    await pool.query(`UPDATE sync.accounts SET state = 'paused'`);
    expect(await late()).toEqual(['conflict 1']);
    expect(await listLateChanges(pool, ['999'])).toEqual([]);
  });
});

test('many late changes of one batch are listed as one entry that names the batch', async () => {
  const fight = async (count: number, batch: string | null) => {
    for (let made = 0; made < count; made++) {
      const id = await add(`state = 'conflict', reason = 'several match'`, `${batch} ${made}`);
      await pool.query('UPDATE sync.changes SET batch = $2 WHERE change_id = $1', [id, batch]);
    }
  };
  await fight(1, null);
  await fight(6, `import o'Hara`);
  await fight(4, 'small');
  const {rows} = await pool.query(
    'SELECT min(change_id) AS id FROM sync.changes WHERE batch IS NOT NULL',
  );
  expect(await listLateChanges(pool, [accountId])).toMatchObject([
    {lateness: 'conflict', count: 6, batch: `import o'Hara`, changeId: rows[0].id},
    {lateness: 'conflict', count: 5, batch: null},
  ]);
  const {stdout} = await runCommand(['status'], {DATABASE_URL: database.url});
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `6 changes of the batch import o'Hara need a decision, change ${rows[0].id} the first of them`,
  );
  expect(stdout.replaceAll(/\s+/g, ' ')).toContain(
    `fieldmirror changes list --state conflict --batch 'import o'\\''Hara', ` +
      `then fieldmirror changes show ${rows[0].id}`,
  );
  const singly = async () =>
    (await listLateChangesSingly(pool, [accountId])).filter(({batch}) => batch !== null);
  expect(await singly()).toMatchObject([{subject: `batch import o'Hara`, count: 6}]);

  // Four of them are decided: without an alert about the batch the others are told one by one, else
  // they stay together.
  await pool.query(
    `UPDATE sync.changes SET state = 'cancelled', settled_at = now()
      WHERE change_id IN (SELECT change_id FROM sync.changes WHERE batch LIKE 'import%' LIMIT 4)`,
  );
  expect(await singly()).toEqual([]);
  await pool.query(
    `INSERT INTO sync.alerts (cause, account_id, subject, since, text)
      VALUES ('change-conflict', $1, 'batch import o''Hara', now(), 'x')`,
    [accountId],
  );
  expect(await singly()).toMatchObject([{subject: `batch import o'Hara`, count: 2}]);
});

test('open changes are counted by state, with the age of the oldest', async () => {
  await add(`requested_at = '2026-01-02'`);
  await add(`requested_at = '2026-01-01'`, 'Older');
  await add(`state = 'conflict', reason = 'x', requested_at = '2026-01-03'`, 'Fought');
  await add(`state = 'cancelled', reason = 'x', settled_at = now()`, 'Gone');
  expect(await countChanges(pool, [accountId])).toEqual([
    {accountId, state: 'conflict', count: 1, oldestAt: '2026-01-03T00:00:00Z'},
    {accountId, state: 'pending', count: 2, oldestAt: '2026-01-01T00:00:00Z'},
  ]);
});

test('status prints the counts and exits with 1 if a change is late or was refused', async () => {
  const status = (...args: string[]) =>
    runCommand(['status', ...args], {DATABASE_URL: database.url});
  const id = await add(`due_at = ${ago('3 h')}, requested_at = ${ago('3 h')}`);
  const plain = await status();
  expect(plain).toMatchObject({
    code: 1,
    stdout: expect.stringContaining('\nchanges in progress: 1 pending (3 h)\n'),
  });
  expect(plain.stdout).toMatch(
    inSequence(
      /acme: change 1 is due and no worker takes it up, for 3 h /,
      /\(see: fieldmirror explain A16\)\n +is a worker running\?/,
    ),
  );
  await pool.query(`UPDATE sync.changes SET ${refused('1 h')} WHERE change_id = $1`, [id]);
  const {code, stdout} = await status('--json');
  expect(code).toBe(1);
  expect(JSON.parse(stdout)).toMatchObject({
    accounts: [{changes: [], late: [{lateness: 'rejected', changeId: id}]}],
    problems: [
      {
        account: 'acme',
        stream: null,
        kind: 'change-rejected',
        next: `fieldmirror changes show ${id}`,
      },
    ],
  });
});
