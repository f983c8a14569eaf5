// Sweeps that succeeded and changed nothing become a row of their day; what a verdict or a version
// rests on stays.

import {expect, test} from 'vitest';
import {readHealth} from '../../src/health/account-status.ts';
import {listNights} from '../../src/health/figures.ts';
import {addSweep, ids, pool, pruneNow, useRetentionPlace} from './place.ts';

useRetentionPlace();

const sweeps = () => ids('SELECT sweep_id AS id FROM sync.sweeps ORDER BY sweep_id');
const days = async () =>
  (
    await pool.query(
      `SELECT stream, mode, window_name, now()::date - day AS ago, sweeps, requests, records
       FROM sync.sweep_days ORDER BY stream, mode, window_name, day`,
    )
  ).rows;

test('quiet sweeps become one row of their day after eight days, but not after six', async () => {
  for (const _ of [1, 2, 3]) await addSweep(8);
  const young = await addSweep(6);
  expect(await pruneNow()).toEqual({quiet_sweeps: 3});
  expect(await sweeps()).toEqual([young]);
  expect(await days()).toEqual([
    {
      stream: 'jobs',
      mode: 'full',
      window_name: null,
      ago: 8,
      sweeps: 3,
      requests: '9',
      records: '30',
    },
  ]);
});

test('a day that is folded in several batches still becomes one row', async () => {
  for (const _ of [1, 2, 3, 4, 5]) await addSweep(9);
  await addSweep(1);
  expect(await pruneNow(2)).toEqual({quiet_sweeps: 5});
  expect(await days()).toMatchObject([{sweeps: 5, requests: '15', records: '50'}]);
});

test('each stream and window keeps its newest sweep, however old', async () => {
  const windows = {mode: 'window', state: 'refreshed', window_name: 'today'};
  await addSweep(40);
  const newest = await addSweep(30);
  await addSweep(40, windows);
  const window = await addSweep(20, windows);
  const other = await addSweep(50, {...windows, window_name: 'tomorrow'});
  const customers = await addSweep(60, {stream: 'customers'});
  expect(await pruneNow()).toEqual({quiet_sweeps: 2});
  expect(await sweeps()).toEqual([newest, window, other, customers]);
});

test('a certified sweep is not folded if the only newer one was not certified', async () => {
  const proven = await addSweep(40);
  const doubted = await addSweep(30, {state: 'uncertified', reasons: ['the list moved']});
  expect(await pruneNow()).toEqual({});
  expect(await sweeps()).toEqual([proven, doubted]);
});

test('a sweep of one record is pruned after a newer full sweep was certified', async () => {
  const record = {mode: 'record', record_number: 12};
  await addSweep(40, record);
  await addSweep(30);
  const later = await addSweep(20, record);
  await pruneNow();
  expect(await sweeps()).toEqual(['2', later]);
});

test('sweeps that changed something, or that another row references, are kept', async () => {
  const kept = [];
  for (const count of ['inserted', 'updated', 'revived', 'tombstoned', 'vanished', 'quarantined'])
    kept.push(await addSweep(40, {[count]: 1}));
  const [asked, named, met, marked] = [
    await addSweep(40, {asked: 1}),
    await addSweep(40),
    await addSweep(40),
    await addSweep(40),
  ];
  await pool.query(
    `INSERT INTO sync.absent_numbers (number, account_id, stream, sweep_id, status, message)
     SELECT 7, account_id, 'jobs', $1, 404, 'gone' FROM sync.accounts`,
    [asked],
  );
  await pool.query(
    `INSERT INTO sync.field_events (account_id, table_name, field, kind, detail, sweep_id)
      SELECT account_id, 'jobs', 'custom_1', 'new', 'kept in attributes', $1 FROM sync.accounts`,
    [named],
  );
  await pool.query(
    `INSERT INTO sync.quarantine (account_id, stream, sweep_id, reason, xml, xml_hash)
      SELECT account_id, 'jobs', $1, 'a flaw', '<job/>', '\\x00' FROM sync.accounts`,
    [met],
  );
  await pool.query(
    `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream) SELECT $1, 9, account_id,
      'jobs' FROM sync.accounts`,
    [marked],
  );
  const newest = await addSweep(30);
  expect(await pruneNow()).toEqual({});
  expect(await sweeps()).toEqual([...kept, asked, named, met, marked, newest]);
});

test('pruning leaves the nightly results and the age of the proof unchanged', async () => {
  const states = ['certified', 'failed', 'certified', 'certified'];
  for (const [at, state] of states.entries())
    await addSweep(20 - at, {state, ...(state === 'failed' ? {error: 'no answer'} : {})});
  const {rows} = await pool.query('SELECT account_id AS id FROM sync.accounts');
  const nights = async () =>
    (await listNights(pool, [rows[0].id])).map(({day, state}) => ({day, state}));
  const proofs = async () => (await readHealth(pool, [rows[0].id])).proofs;
  const before = {nights: await nights(), proofs: await proofs()};
  expect(await pruneNow()).toEqual({quiet_sweeps: 2});
  expect({nights: await nights(), proofs: await proofs()}).toEqual(before);
  expect(before.nights).toHaveLength(4);
});

test('pruning does not change known_since and past freshness of an account in mart', async () => {
  for (const stream of ['jobs', 'customers', 'employees']) {
    await addSweep(30, {stream});
    await addSweep(20, {stream});
    await addSweep(1, {stream});
  }
  const told = async () =>
    (
      await pool.query(
        `SELECT known_since, jobs_fresh_as_of,
          (SELECT jobs_fresh_as_of FROM mart.dim_account_as_of(now() - interval '15 days')) AS past
         FROM mart.dim_account`,
      )
    ).rows;
  const before = await told();
  expect(await pruneNow()).toEqual({quiet_sweeps: 6});
  expect(await told()).toEqual(before);
  expect(before[0]?.past).not.toBeNull();
});
