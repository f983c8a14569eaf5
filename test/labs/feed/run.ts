// The model of the feed: sessions that commit at once, in transactions that last, one of them as
// long as all the others together, and readers that are killed; subscribers are sent the feed by
// workers that are killed, too.

import pg from 'pg';
import {Random} from '../../../src/service/vocabulary.ts';
import {openPlainPool} from '../../support/with-client.ts';
import {checkNoted} from './check.ts';
import {Hooks} from './hooks.ts';
import {Reader} from './reader.ts';
import {runWriter} from './writer.ts';
import type {Write} from './written.ts';

const writers = 16;
const readers = 3;
const rows = 40;
/** Milliseconds between two kills. */
const killEveryMs = 40;
/** Of workers: a session that listens comes back after seconds. */
const killWorkerEveryMs = 500;

interface ModelPlan {
  /** A warehouse with an account and an empty feed of tasks. */
  readonly url: string;
  readonly accountId: string;
  readonly transactions: number;
  readonly seed: string;
}

export interface ModelResult {
  readonly writes: number;
  readonly kills: number;
  /** Messages that a subscriber got again, and sessions of workers that were killed. */
  readonly repeats: number;
  readonly workerKills: number;
  /** Milliseconds from each commit to the steady subscriber. */
  readonly delays: readonly number[];
  readonly violations: readonly string[];
}

export async function runModel({
  url,
  accountId,
  transactions,
  seed,
}: ModelPlan): Promise<ModelResult> {
  const admin = openPlainPool(url, {max: 4});
  try {
    const rowIds = await makeRows(admin, accountId);
    await admin.query('SELECT sync.sequence_feed()');
    const {rows: ends} = await admin.query<{cursor: string}>('SELECT sync.feed_end() AS cursor');
    const following = Array.from(
      {length: readers},
      (_, at) => new Reader(url, ends[0]?.cursor ?? '', new Random(seed, 'reader', at)),
    );
    const hooks = await Hooks.open(admin, url, new Random(seed, 'hooks', 0));
    const long = await beginLong(url, rowIds.shift() ?? '');
    const committed = await writeAll({url, transactions, rowIds, seed}, {following, admin, hooks});
    // All but the long transaction is read while that one is open.
    await drain(following);
    await hooks.drain(admin);
    const all = [...following.map(({noted}) => noted), hooks.noted.steady, hooks.noted.failing];
    const early = all.flatMap((noted) => checkNoted(noted, committed));
    await long.client.query('COMMIT');
    await long.client.end();
    await drain(following);
    await hooks.drain(admin);
    const late = all.flatMap((noted) => checkNoted(noted, [...committed, long.write]));
    await hooks.close();
    await Promise.all(following.map((reader) => reader.close()));
    const kills = following.reduce((sum, reader) => sum + reader.kills, 0);
    const {repeats, kills: workerKills} = hooks;
    return {
      writes: committed.length + 1,
      kills,
      repeats,
      workerKills,
      violations: [...early, ...late, ...hooks.violations],
      delays: committed.flatMap(({token, committedAt = 0}) => {
        const heardAt = hooks.heardAt.get(token);
        return heardAt === undefined ? [] : [heardAt - committedAt];
      }),
    };
  } finally {
    await admin.end();
  }
}

async function makeRows(admin: pg.Pool, accountId: string): Promise<string[]> {
  const client = await admin.connect();
  try {
    await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
    const made = await client.query<{row_id: string}>(
      `INSERT INTO warehouse.tasks (account_id, id, name, _sweep_id) SELECT $1, n, NULL, 1
        FROM generate_series(1, ${rows}) AS n RETURNING row_id`,
      [accountId],
    );
    await client.query('COMMIT');
    return made.rows.map(({row_id}) => row_id);
  } finally {
    client.release();
  }
}

/** Begins a transaction that has its entry before any other, and stays open. */
async function beginLong(url: string, rowId: string): Promise<{client: pg.Client; write: Write}> {
  const client = new pg.Client({connectionString: url});
  await client.connect();
  await client.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'`);
  await client.query(`UPDATE warehouse.tasks SET name = 'long' WHERE row_id = $1`, [rowId]);
  return {client, write: {token: 'long', rowId, cause: null}};
}

async function writeAll(
  {
    url,
    transactions,
    rowIds,
    seed,
  }: Pick<ModelPlan, 'url' | 'transactions' | 'seed'> & {readonly rowIds: readonly string[]},
  {
    following,
    admin,
    hooks,
  }: {readonly following: readonly Reader[]; readonly admin: pg.Pool; readonly hooks: Hooks},
): Promise<Write[]> {
  let isOver = false;
  const reading = following.map(async (reader) => {
    while (!isOver) await reader.readOn();
  });
  const killer = new Random(seed, 'killer', 0);
  const killing = setInterval(
    () => void following[killer.integer(0, readers - 1)]?.kill(admin).catch(() => {}),
    killEveryMs,
  );
  const killingWorkers = setInterval(
    () => void hooks.kill(admin).catch(() => {}),
    killWorkerEveryMs,
  );
  const writing = Array.from({length: writers}, (_, at) =>
    runWriter({
      url,
      rowIds,
      name: `w${at}`,
      transactions: Math.ceil(transactions / writers),
      random: new Random(seed, 'writer', at),
    }),
  );
  try {
    return (await Promise.all(writing)).flat();
  } finally {
    clearInterval(killing);
    clearInterval(killingWorkers);
    isOver = true;
    await Promise.all(reading);
  }
}

async function drain(following: readonly Reader[]): Promise<void> {
  for (const reader of following) while (await reader.readOn());
}
