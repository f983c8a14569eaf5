// The statements that mark rows as deleted, each of their conditions alone. That a sweep uses them
// rightly is in false-deletes.pg.test.ts.

import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, inject, test} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inSweepTransaction, openPool} from '../../src/postgres/database.ts';
import {jobs} from '../../src/streams/jobs.ts';
import {listOwnedTables} from '../../src/streams/stream.ts';
import {
  dropSuspects,
  forgetAbsent,
  listTombstones,
  readAbsent,
  readClock,
  rememberAbsent,
  saveAnswers,
  saveSuspects,
  undoTombstones,
  writeTombstones,
} from '../../src/sweeps/tombstones.ts';
import {createDatabase} from '../support/postgres.ts';

let database: Awaited<ReturnType<typeof createDatabase>>;
let pool: pg.Pool;
let accountId: string;
let strangerId: string;
/** A sweep of the test, begun anew for each. */
let sweepId: string;
/** When the rows of a test were written. */
let writtenAt: string;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  pool = openPool(database.url, {max: 4, applicationName: 'test'});
  const add = async (name: string) =>
    (
      await upsertAccount(pool, {
        name,
        apiUrl: `https://example.com/${name}`,
        timeZone: 'America/New_York',
      })
    ).accountId;
  accountId = await add('acme');
  strangerId = await add('other');
});
afterAll(async () => {
  await pool?.end();
  await database?.drop();
});

/** Jobs 1 to 3 of both accounts with two notes each, written at one time. */
beforeEach(async () => {
  await inSweepTransaction(pool, async (client) => {
    await client.query('DELETE FROM warehouse.job_notes');
    await client.query('DELETE FROM warehouse.jobs');
    await client.query(
      `INSERT INTO warehouse.jobs (account_id, job_number, id, name, _sweep_id)
       SELECT account_id, number, number, 'Roof', 1
         FROM sync.accounts, generate_series(1, 3) AS number`,
    );
    await client.query(
      `INSERT INTO warehouse.job_notes (account_id, id, job_number, note, _sweep_id)
       SELECT account_id, 10 * number + note, number, 'Dog', 1
         FROM sync.accounts, generate_series(1, 3) AS number, generate_series(1, 2) AS note`,
    );
    const {rows} = await client.query('SELECT max(_changed_at)::text AS at FROM warehouse.jobs');
    writtenAt = rows[0].at;
  });
  sweepId = await addSweep();
});

async function addSweep(): Promise<string> {
  const {rows} = await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     VALUES ($1, 'jobs', 'full', 'command', 'certified', now(), now()) RETURNING sweep_id`,
    [accountId],
  );
  return rows[0].sweep_id;
}

/** Keeps the answer "gone" for these jobs, asked for at that time. */
async function keep(
  numbers: readonly number[],
  requestedAt = writtenAt,
  {of = sweepId, stream = 'jobs'} = {},
) {
  const gone = numbers.map((number) => ({number: String(number), status: 404, message: 'none'}));
  await inSweepTransaction(pool, (client) =>
    saveAnswers(client, {accountId, stream, sweepId: of, requestedAt, gone}),
  );
}

const family = {table: jobs.table, owned: listOwnedTables(jobs)};
const mark = async () =>
  await inSweepTransaction(pool, (client) => writeTombstones(client, family, {sweepId, accountId}));
const undo = async (numbers: readonly string[]) =>
  await inSweepTransaction(pool, (client) =>
    undoTombstones(client, {accountId, stream: 'jobs', numbers}),
  );

/** Of the account: what is marked deleted, and by which sweep. */
async function marked(table: 'jobs' | 'job_notes', of = accountId) {
  const key = table === 'jobs' ? 'job_number' : 'id';
  const {rows} = await pool.query(
    `SELECT ${key}::integer AS it, _sweep_id AS by FROM warehouse.${table}
      WHERE account_id = $1 AND _deleted_at IS NOT NULL ORDER BY 1`,
    [of],
  );
  return Object.fromEntries(rows.map(({it, by}) => [it, by]));
}

const written = async (of = sweepId) =>
  (await listTombstones(pool, of)).flatMap(({number, writtenAt: at}) =>
    at === null ? [] : [number],
  );

describe('a row is marked deleted', () => {
  test('with the rows that it owns, in its account only, and both are counted', async () => {
    await keep([2]);
    expect(await mark()).toEqual({tombstoned: 1, vanished: 2});
    expect(await marked('jobs')).toEqual({2: sweepId});
    expect(await marked('job_notes')).toEqual({21: sweepId, 22: sweepId});
    for (const table of ['jobs', 'job_notes'] as const)
      expect(await marked(table, strangerId)).toEqual({});
  });

  test('if it was written by the time its record was requested, and not if later', async () => {
    await keep([1], writtenAt);
    await keep([2], `${writtenAt.slice(0, 10)} 00:00:00Z`);
    expect(await mark()).toEqual({tombstoned: 1, vanished: 2});
    expect(await marked('jobs')).toEqual({1: sweepId});
    // The evidence of the other one was not used.
    expect(await written()).toEqual(['1']);
  });

  test('if it owns no rows, and then no owned row is counted', async () => {
    await inSweepTransaction(pool, (client) => client.query('DELETE FROM warehouse.job_notes'));
    await keep([1, 2]);
    expect(await mark()).toEqual({tombstoned: 2, vanished: 0});
  });

  test('once: a row marked before keeps its sweep, and so do the rows it owns', async () => {
    await inSweepTransaction(pool, async (client) => {
      await client.query(
        `UPDATE warehouse.jobs SET _deleted_at = now(), _sweep_id = 1
          WHERE account_id = $1 AND job_number = 1`,
        [accountId],
      );
      await client.query(
        `UPDATE warehouse.job_notes SET _deleted_at = now(), _sweep_id = 1
          WHERE account_id = $1 AND id IN (11, 21)`,
        [accountId],
      );
    });
    await keep([1, 2], await readClock(pool));
    expect(await mark()).toEqual({tombstoned: 1, vanished: 1});
    expect(await marked('jobs')).toEqual({1: '1', 2: sweepId});
    expect(await marked('job_notes')).toEqual({11: '1', 21: '1', 22: sweepId});
    expect(await written()).toEqual(['2']);
  });

  test('only by evidence that was not used yet', async () => {
    await keep([1]);
    await pool.query('UPDATE sync.tombstones SET written_at = now() WHERE sweep_id = $1', [
      sweepId,
    ]);
    expect(await mark()).toEqual({tombstoned: 0, vanished: 0});
    expect(await marked('jobs')).toEqual({});
  });

  test('only by a kept answer of the same sweep', async () => {
    const other = await addSweep();
    await keep([1], writtenAt, {of: other});
    await inSweepTransaction(pool, (client) =>
      saveSuspects(client, {accountId, stream: 'jobs', sweepId, numbers: ['2']}),
    );
    await keep([3]);
    expect(await mark()).toEqual({tombstoned: 1, vanished: 2});
    expect(await marked('jobs')).toEqual({3: sweepId});
    expect((await listTombstones(pool, sweepId)).map(({number}) => number)).toEqual(['2', '3']);
    expect(await written(other)).toEqual([]);
  });
});

test('a number that is no longer suspect is dropped, and used evidence is kept', async () => {
  await keep([1]);
  await mark();
  await keep([2, 3]);
  await dropSuspects(pool, sweepId, ['1', '2']);
  expect((await listTombstones(pool, sweepId)).map(({number}) => number)).toEqual(['1', '3']);
});

describe('a tombstone of a record that came back', () => {
  const undone = async (of = sweepId) =>
    (await listTombstones(pool, of)).map(({number, undoneAt}) => [number, undoneAt !== null]);

  test('is undone, and those of other records and streams are not', async () => {
    const other = await addSweep();
    await keep([1, 2]);
    await keep([1], writtenAt, {of: other, stream: 'tasks'});
    await pool.query(
      'UPDATE sync.tombstones SET written_at = now() WHERE requested_at IS NOT NULL',
    );
    await undo(['1']);
    expect(await undone()).toEqual([
      ['1', true],
      ['2', false],
    ]);
    expect(await undone(other)).toEqual([['1', false]]);
  });

  test('is undone only if it was used: evidence that marked nothing stays', async () => {
    await keep([1]);
    await undo(['1']);
    expect(await undone()).toEqual([['1', false]]);
  });

  test('keeps the time at which the record first came back', async () => {
    await keep([1]);
    await mark();
    await undo(['1']);
    const [first] = await listTombstones(pool, sweepId);
    await undo(['1']);
    expect(await listTombstones(pool, sweepId)).toEqual([first]);
  });
});

describe('a number that the service does not have', () => {
  const scope = () => ({accountId, stream: 'jobs'});
  const absent = async (stream = 'jobs') => {
    const held = await readAbsent(pool, {accountId, stream});
    return [...held];
  };
  const remember = async (numbers: readonly number[]) => {
    const gone = numbers.map((number) => ({number: String(number), status: 404, message: 'none'}));
    await inSweepTransaction(pool, (client) =>
      rememberAbsent(client, {...scope(), sweepId, requestedAt: writtenAt, gone}),
    );
  };

  test('is remembered, for its stream only, until its record appears', async () => {
    await remember([2]);
    await remember([]);
    await remember([1, 4]);
    expect(await absent()).toEqual(['1', '2', '4']);
    expect(await absent('tasks')).toEqual([]);
    await inSweepTransaction(pool, (client) => forgetAbsent(client, {...scope(), numbers: ['4']}));
    expect(await absent()).toEqual(['1', '2']);
  });
});
