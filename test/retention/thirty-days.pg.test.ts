// Thirty days of ten accounts in which nothing happens, played within a minute. One sweep of each
// stream on every fifth day is made by the engine, against a service; the others are rows that go
// through the same states. What a day has noted is dated back to it, and pruned as a worker of that
// day would have.

import {afterAll, beforeAll, expect, test} from 'vitest';
import type {Account} from '../../src/accounts/accounts.ts';
import {listNights, readDatabaseBytes} from '../../src/health/figures.ts';
import {pruneHistory} from '../../src/retention/retention.ts';
import {runSweep} from '../../src/sweeps/run-sweep.ts';
import {type ManyAccounts, openManyAccounts, streams} from '../jobs/many-accounts.ts';

const days = 30;
/** The usual schedules make so many sweeps a day and stream; played is one an hour. */
const usual = 270;
const perStream = 24;
/** The engine sweeps each stream on every such day. */
const sweptEvery = 5;
const megabyte = 1e6;
const signal = new AbortController().signal;

let many: ManyAccounts;
/** The midnight at which the last day ends, as SQL has it. */
let midnight: string;
const accounts: Account[] = [];
/** The size of the database after the tenth and the thirtieth day, without room for other rows. */
const sizes: number[] = [];

beforeAll(async () => {
  many = await openManyAccounts();
  const {rows} = await many.pool.query<{at: string}>(`SELECT date_trunc('day', now())::text AS at`);
  midnight = rows[0]?.at ?? '';
  for (let at = 1; at <= 10; at++) accounts.push(await many.add(`acme-${at}`));
  for (let ago = days; ago > 0; ago--) {
    await playDay(ago);
    if (ago === days - 9 || ago === 1) sizes.push(await readPackedBytes());
  }
}, 1_800_000);
afterAll(() => many?.close());

async function playDay(ago: number): Promise<void> {
  const {pool} = many;
  const isSwept = ago % sweptEvery === 0;
  if (isSwept)
    for (const account of accounts)
      for (const sweepId of await many.request(account)) await runSweep(many.deps, sweepId, signal);
  await pool.query(`UPDATE sync.sweeps SET due_at = ${momentOf(ago, 0)},
    started_at = ${momentOf(ago, 0)}, ended_at = ${momentOf(ago, 0)} + interval '1 second'
     WHERE ended_at > now() - interval '1 hour'`);
  // As a schedule, a claim, a checkpoint and an end write them.
  for (let at = isSwept ? 1 : 0; at < perStream; at++) {
    const {rows} = await pool.query<{ids: string[]}>(
      `WITH made AS (
         INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, due_at)
         SELECT account_id, stream, 'full', 'schedule', ${momentOf(ago, at)}
         FROM sync.accounts, unnest($1::text[]) AS stream RETURNING sweep_id)
       SELECT array_agg(sweep_id) AS ids FROM made`,
      [streams],
    );
    const ids = [rows[0]?.ids];
    await pool.query(
      `UPDATE sync.sweeps SET state = 'running', fence = 1, started_at = due_at,
        lease_until = due_at WHERE sweep_id = ANY ($1)`,
      ids,
    );
    await pool.query(
      `UPDATE sync.sweeps AS held SET stage = 'verify', requests = like_it.requests,
        pages = like_it.pages, records = like_it.records, known = like_it.records,
        evidence = like_it.evidence
         FROM sync.sweeps AS like_it
        WHERE held.sweep_id = ANY ($1) AND like_it.account_id = held.account_id
        AND like_it.stream = held.stream AND like_it.started_at =
          ${momentOf(Math.ceil(ago / sweptEvery) * sweptEvery, 0)}`,
      ids,
    );
    await pool.query(
      `UPDATE sync.sweeps SET state = 'certified', lease_until = NULL,
        ended_at = started_at + interval '1 second', unchanged = records WHERE sweep_id = ANY ($1)`,
      ids,
    );
  }
  const {rows} = await pool.query<{at: string}>(
    `SELECT (${momentOf(ago, 0)} + interval '1 day')::text AS at`,
  );
  await pruneHistory({pool, signal, restMs: 0, at: rows[0]?.at ?? '', batch: 5_000});
  // Autovacuum comes round each minute; a played day takes a second.
  await pool.query(
    'VACUUM sync.sweeps, sync.sweep_days, sync.sightings, sync.prunings, sync.retention',
  );
}

/**
 * The size of the database with its tables packed. How much room stays between rows depends on when
 * Postgres last cleaned a table, and on whether an ANALYZE held it up.
 */
async function readPackedBytes(): Promise<number> {
  for (const table of ['sweeps', 'sweep_days', 'sightings', 'prunings'])
    await many.pool.query(`VACUUM FULL sync.${table}`);
  return await readDatabaseBytes(many.pool);
}

/** As SQL, one of the moments of a played day. */
function momentOf(ago: number, at: number): string {
  const ofDay = `${at} * interval '1 day' / ${perStream}`;
  return `(timestamptz '${midnight}' - ${ago} * interval '1 day' + ${ofDay})`;
}

const count = async (sql: string) =>
  Number((await many.pool.query(`SELECT count(*) FROM ${sql}`)).rows[0]?.count);

test('the database grows by less than 1 MB a day once the first days are folded', () => {
  const [after10 = 0, after30 = 0] = sizes;
  // As many times less as there are fewer sweeps.
  expect(after30 - after10).toBeLessThan((20 * megabyte * perStream) / usual);
});

test('the last seven days are kept per sweep, earlier days per day and stream', async () => {
  const ofDay = accounts.length * streams.length;
  expect(await count(`sync.sweeps WHERE ended_at >= ${momentOf(7, 0)}`)).toBe(
    7 * perStream * ofDay,
  );
  // The first sweeps have changed something.
  expect(await count(`sync.sweeps WHERE ended_at < ${momentOf(7, 0)}`)).toBe(ofDay);
  const folded = await many.pool.query(
    `SELECT day, sum(sweeps)::integer AS sweeps, count(*)::integer AS rows
       FROM sync.sweep_days GROUP BY day ORDER BY day`,
  );
  expect(folded.rows).toHaveLength(days - 7);
  const [first, ...later] = folded.rows;
  expect(first).toMatchObject({sweeps: (perStream - 1) * ofDay, rows: ofDay});
  for (const day of later) expect(day).toMatchObject({sweeps: perStream * ofDay, rows: ofDay});
});

test('the nightly results of thirty days are complete', async () => {
  const nights = await listNights(
    many.pool,
    accounts.map(({accountId}) => accountId),
  );
  expect(nights.every(({state}) => state === 'certified')).toBe(true);
  // The first day may lie further back than thirty times 24 hours.
  expect(nights.length).toBeGreaterThanOrEqual((days - 1) * accounts.length * streams.length);
});
