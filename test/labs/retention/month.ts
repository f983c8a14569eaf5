// Ten accounts with the schedules that every account begins with, and the clock of their warehouse.
// One of them works: its business is the reference service. The engine makes the first sweep of
// each schedule; later ones are rows that go through the same states.

import type pg from 'pg';
import {inject} from 'vitest';
import {type Account, upsertAccount} from '../../../src/accounts/accounts.ts';
import {createTransport} from '../../../src/api/transport.ts';
import {createLogger} from '../../../src/core/log.ts';
import {Secret} from '../../../src/core/secret.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {allStreams} from '../../../src/streams/all.ts';
import {PageReader} from '../../../src/sweeps/page-reader.ts';
import {runSweep, type SweepResult} from '../../../src/sweeps/run-sweep.ts';
import {insertSchedules, listSchedules, planSchedules} from '../../../src/sweeps/schedules.ts';
import type {SweepDeps} from '../../../src/sweeps/sweep-run.ts';
import {requestSweep} from '../../../src/sweeps/sweeps.ts';
import {serveAccounts} from '../../jobs/account-server.ts';
import {allowLargeEdits} from '../../support/large-edits.ts';
import {installClock, urlAt} from '../../support/played-clock.ts';
import {asSuperuser, createDatabase} from '../../support/postgres.ts';
import {openService} from '../../support/world.ts';
import {createWritingClient, type WritingClient} from '../../support/writing-client.ts';

export const hourMs = 3_600_000;
export const dayMs = 24 * hourMs;
export const signal = new AbortController().signal;
/** Keeps the moments of sweeps and schedules easy to count. */
const timeZone = 'UTC';

/** The warehouse at one moment of a played day: what is written then bears that moment. */
export interface Played extends SweepDeps {
  readonly pool: pg.Pool;
}

export interface Month {
  /** The midnight at which the first day begins. */
  readonly begin: Date;
  readonly accounts: readonly Account[];
  /** The account that works, and another client of its service. */
  readonly working: Account;
  readonly api: WritingClient;
  /** The first sweep of each schedule, as JSON: later ones are like it. */
  readonly firstSweeps: string;
  /** Does something as at a moment. */
  at<Result>(moment: Date, act: (played: Played) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/**
 * Opens the month; each account has its schedules, and the first sweeps are made.
 * @param days - the last of them ends at the midnight before the present moment
 */
export async function openMonth(days: number): Promise<Month> {
  const service = await openService();
  const server = await serveAccounts();
  const database = await createDatabase(inject('warehouseTemplate'));
  await installClock(asSuperuser(database.url));
  const pageReader = new PageReader();
  const log = createLogger({level: 'silent', secrets: []});
  const begin = new Date(Math.floor(Date.now() / dayMs) * dayMs - days * dayMs);
  const transports = new Map<string, ReturnType<typeof createTransport>>();
  const apis = new Map<string, WritingClient>();
  const openAccount: SweepDeps['openAccount'] = async (accountId) => {
    const api = apis.get(accountId);
    if (api === undefined) throw new Error(`expected one of the ten accounts, got ${accountId}`);
    return {api, timeZone};
  };
  const at: Month['at'] = async (moment, act) => {
    const databaseUrl = urlAt(database.url, moment);
    const pool = openPool(databaseUrl, {max: 4, applicationName: 'test'});
    try {
      return await act({pool, databaseUrl, openAccount, pageReader, log});
    } finally {
      await pool.end();
    }
  };
  const accounts: Account[] = [];
  await at(begin, async ({pool}) => {
    for (let number = 1; number <= 10; number++) {
      const name = `acme-${number}`;
      const [baseUrl, token] =
        number === 1 ? [service.url, service.token] : [server.urlOf(name), server.tokenOf(name)];
      const account = await upsertAccount(pool, {name, apiUrl: baseUrl, timeZone});
      const transport = createTransport({baseUrl, token: new Secret(token), retry: {attempts: 1}});
      transports.set(account.accountId, transport);
      apis.set(account.accountId, createWritingClient(transport));
      accounts.push(account);
    }
    await allowLargeEdits(pool);
  });
  const [working] = accounts;
  const api = apis.get(working?.accountId ?? '');
  if (working === undefined || api === undefined)
    throw new Error('expected ten accounts, got none');
  const close = async () => {
    for (const transport of transports.values()) await transport.close();
    await database.drop();
    await server.close();
    await service.close();
    pageReader.close();
  };
  const month = {begin, accounts, working, api, at, close};
  return {...month, firstSweeps: await beginAccounts(month)};
}

/**
 * Gives each account its schedules, and sweeps each stream and window once. @returns these sweeps,
 * as JSON
 */
async function beginAccounts({at, begin, accounts}: Omit<Month, 'firstSweeps'>): Promise<string> {
  return await at(begin, async (played) => {
    for (const {accountId} of accounts) {
      await insertSchedules(played.pool, accountId, planSchedules(begin, timeZone, accountId));
      for (const {name: stream} of allStreams)
        await sweep(played, accountId, {stream, mode: 'full'});
      for (const {stream, mode, windowName} of await listSchedules(played.pool, {accountId}))
        if (mode === 'window') await sweep(played, accountId, {stream, mode, windowName});
    }
    const {rows} = await played.pool.query<{sweeps: string}>(
      'SELECT jsonb_agg(sweep)::text AS sweeps FROM sync.sweeps AS sweep',
    );
    return rows[0]?.sweeps ?? '[]';
  });
}

/** Makes one sweep by the engine. @throws where it does not end */
export async function sweep(
  played: Played,
  accountId: string,
  kind: {
    readonly stream: string;
    readonly mode: 'full' | 'window';
    readonly windowName?: string | null;
  },
): Promise<Extract<SweepResult, {outcome: 'ended'}>> {
  const {sweepId} = await requestSweep(played.pool, {...kind, accountId, requestedBy: 'command'});
  const result = await runSweep(played, sweepId, signal);
  if (result.outcome !== 'ended')
    throw new Error(`sweep ${sweepId}: expected it to end, but it was ${result.outcome}`);
  return result;
}

/** Every five minutes, as often as the most frequent schedule comes round. */
const tick = "interval '5 minutes'";

/**
 * The states that a sweep without a change goes through, as a claim, a checkpoint and an end write
 * them.
 */
const steps = [
  `state = 'running', fence = 1, started_at = held.due_at, lease_until = held.due_at`,
  `stage = like_it.stage, requests = like_it.requests, pages = like_it.pages,
   bytes = like_it.bytes, records = like_it.records,
   known = like_it.known, evidence = like_it.evidence`,
  `state = like_it.state, lease_until = NULL,
   ended_at = held.started_at + interval '1 second', unchanged = held.records`,
];

/**
 * Makes the sweeps of all schedules that come due from one moment to another, with the evidence of
 * the first sweep of their kind, which the engine made.
 * @returns how many
 */
export async function playSchedules(month: Month, from: Date, until: Date): Promise<number> {
  return await month.at(until, async ({pool}) => {
    const client = await pool.connect();
    try {
      await client.query('CREATE TEMPORARY TABLE like_it (LIKE sync.sweeps)');
      await client.query(
        'INSERT INTO like_it SELECT * FROM jsonb_populate_recordset(NULL::sync.sweeps, $1)',
        [month.firstSweeps],
      );
      const {rows} = await client.query<{moment: string}>(
        `SELECT moment::text
           FROM generate_series($1::timestamptz + ${tick}, $2, ${tick}) AS moment`,
        [from.toISOString(), until.toISOString()],
      );
      let made = 0;
      for (const {moment} of rows) made += await makeDue(client, moment);
      return made;
    } finally {
      client.release();
    }
  });
}

async function makeDue(client: pg.ClientBase, moment: string): Promise<number> {
  const {rows} = await client.query<{ids: string[]}>(
    `WITH taken AS (
       UPDATE sync.schedules AS held SET last_requested_at = held.next_due_at,
         next_due_at = held.next_due_at + held.every_ms * interval '1 millisecond'
         FROM sync.schedules AS due WHERE due.schedule_id = held.schedule_id
         AND due.next_due_at < $1::timestamptz
       RETURNING held.*, due.next_due_at AS due_at
     ), made AS (
       INSERT INTO sync.sweeps (account_id, stream, mode, window_name, requested_by, due_at)
       SELECT account_id, stream, mode, window_name, 'schedule', due_at FROM taken
       RETURNING sweep_id
     )
     SELECT coalesce(array_agg(sweep_id), '{}') AS ids FROM made`,
    [moment],
  );
  const ids = rows[0]?.ids ?? [];
  for (const step of steps)
    await client.query(
      `UPDATE sync.sweeps AS held SET ${step} FROM like_it
        WHERE held.sweep_id = ANY ($1) AND like_it.account_id = held.account_id
        AND like_it.stream = held.stream
          AND like_it.window_name IS NOT DISTINCT FROM held.window_name`,
      [ids],
    );
  return ids.length;
}
