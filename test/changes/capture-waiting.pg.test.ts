// How people learn the outcome of a change.

import type pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {type CaptureWorld, openCaptureWorld, send} from './capture-world.ts';

let world: CaptureWorld;
let session: pg.PoolClient;
beforeAll(async () => {
  world = await openCaptureWorld();
});
afterAll(() => world?.close());
beforeEach(async () => {
  await world.empty();
  session = await world.pool.connect();
  return () => session.release(true);
});

const insert = `INSERT INTO warehouse.customers (name, external_key) VALUES ('x', 'K1')`;
const one = async (text: string, values: unknown[] = []) =>
  Object.values((await session.query(text, values)).rows[0])[0];
const settle = (state: string) =>
  world.author(
    `UPDATE sync.changes SET state = $1, reason = 'why', settled_at = now(), lease_until = NULL,
      number = 7`,
    [state],
  );

test('last_change returns the last change of the session, and null before the first', async () => {
  expect(await one('SELECT sync.last_change()')).toBeNull();
  await session.query(insert);
  const id = await one('SELECT max(change_id) FROM sync.changes');
  expect(await one('SELECT sync.last_change()')).toBe(id);
  await session.query(`UPDATE warehouse.customers SET name = 'y'`);
  expect(await one('SELECT sync.last_change()')).toBe(id);
  await session.query(`BEGIN; INSERT INTO warehouse.tasks (name) VALUES ('t'); ROLLBACK`);
  expect(await one('SELECT sync.last_change()')).toBe(id);
});

describe('sync.wait', () => {
  test.each(['done', 'rejected', 'cancelled'])(
    'returns when another session sets the change to %s',
    async (state) => {
      await session.query(insert);
      const waiting = one(`SELECT sync.wait(sync.last_change(), '50 seconds')`);
      await settle(state);
      expect(await waiting).toBe(state);
    },
  );

  test('returns if the change is in conflict and needs a person', async () => {
    await session.query(insert);
    await world.author(`UPDATE sync.changes SET state = 'conflict', reason = 'two'`);
    expect(await one('SELECT sync.wait(sync.last_change())')).toBe('conflict');
  });

  test('returns the current state when the timeout ends', async () => {
    await session.query(insert);
    await world.author(send, [await one('SELECT sync.last_change()')]);
    expect(await one(`SELECT sync.wait(sync.last_change(), '10 ms')`)).toBe('sending');
    expect(await one(`SELECT sync.wait(sync.last_change(), '-1 s')`)).toBe('sending');
  });

  test.each([
    ['itself', `BEGIN; ${insert}`],
    ['under a savepoint', `BEGIN; SAVEPOINT a; ${insert}; RELEASE a; SAVEPOINT b`],
    ['where it was changed again', `${insert}; BEGIN; UPDATE warehouse.customers SET name = 'y'`],
  ])('fails in the transaction that made the change: %s', async (_, text) => {
    await session.query(text);
    await expect(session.query('SELECT sync.wait(sync.last_change())')).rejects.toThrow(
      'it was made in this transaction, and no one sees it before you commit',
    );
  });

  test('waits in a transaction that has written something else', async () => {
    await session.query(insert);
    await session.query(`BEGIN; INSERT INTO warehouse.tasks (name) VALUES ('t')`);
    const id = await one('SELECT min(change_id) FROM sync.changes');
    expect(await one(`SELECT sync.wait($1, '10 ms')`, [id])).toBe('pending');
  });
});

describe('a notification', () => {
  /** Listens during some work, up to a notice of the listener's own. */
  async function noticesOf(work: () => Promise<unknown>): Promise<[string, unknown][]> {
    const notices: [string, unknown][] = [];
    const listener = await world.pool.connect();
    try {
      await listener.query('LISTEN fieldmirror_due; LISTEN fieldmirror_changes; LISTEN the_end');
      const ended = new Promise<void>((resolve) =>
        listener.on('notification', ({channel, payload = ''}) => {
          if (channel === 'the_end') resolve();
          else notices.push([channel, JSON.parse(payload)]);
        }),
      );
      await work();
      await world.author('NOTIFY the_end');
      await ended;
    } finally {
      listener.release(true);
    }
    return notices;
  }
  const due = () => ['fieldmirror_due', Number(world.accountId)];

  test('is sent at commit for a due change, not for a waiting or held one', async () => {
    const family = `WITH customer AS (${insert} RETURNING row_id) INSERT INTO warehouse.jobs
      (parent_row_id) SELECT row_id FROM customer`;
    expect(await noticesOf(() => session.query(family))).toEqual([due()]);
    const created = `UPDATE sync.changes SET state = 'done', number = 7, settled_at = now()
      WHERE waits_for IS NULL;
                     UPDATE sync.changes SET waits_for = NULL`;
    expect(await noticesOf(() => world.author(created))).toMatchObject([
      ['fieldmirror_changes', {state: 'done'}],
      due(),
    ]);
    const held = `BEGIN; SET LOCAL fieldmirror.mode = 'hold'; INSERT INTO warehouse.tasks (name)
      VALUES ('t'); COMMIT`;
    expect(await noticesOf(() => session.query(held))).toEqual([]);
    const id = await one('SELECT sync.last_change()');
    expect(await noticesOf(() => session.query('SELECT sync.release_change($1)', [id]))).toEqual([
      due(),
    ]);
    const later = `UPDATE sync.changes SET due_at = now() + interval '1 hour' WHERE change_id = $1`;
    expect(await noticesOf(() => world.author(later, [id]))).toEqual([]);
    expect(await noticesOf(() => session.query('SELECT sync.retry_change($1)', [id]))).toEqual([
      due(),
    ]);
  });

  test.each(['done', 'rejected', 'cancelled', 'conflict'])(
    'of a change that is %s names the change and its record by numbers alone',
    async (state) => {
      await session.query(insert);
      const [row] = await world.author('SELECT change_id, row_id FROM sync.changes');
      const set = `UPDATE sync.changes SET state = $1, reason = 'why', number = 7,
        settled_at = CASE $1 WHEN 'conflict' THEN NULL ELSE now() END`;
      const notices = await noticesOf(() => world.author(set, [state]));
      expect(notices).toEqual([
        [
          'fieldmirror_changes',
          {
            change_id: Number(row?.change_id),
            state,
            account_id: Number(world.accountId),
            table: 'customers',
            row_id: Number(row?.row_id),
            number: 7,
          },
        ],
      ]);
    },
  );
});
