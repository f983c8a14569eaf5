// What a subscriber of the feed is sent: every entry at least once, in order, under an id that
// stays the same.

import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {Webhook} from 'standardwebhooks';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {findFailingHooks} from '../../src/alerts/installation-problems.ts';
import {type FeedEntry, readFeedBatch} from '../../src/feed/feed.ts';
import {
  type ClaimedHook,
  listDeadLetters,
  listHooks,
  retryHook,
  skipBatch,
} from '../../src/feed/hooks.ts';
import {type HookPlace, keyText, openHookPlace, readMessage} from './hooks-place.ts';

let place: HookPlace;
beforeEach(async () => {
  place = await openHookPlace();
});
afterEach(() => place.close());

let lastId = 100;
const make = (name: string) => place.sent('tasks', {id: ++lastId, name});
const messages = () => place.http.arrived.map(readMessage);
const nobody = {workers: [], keyIds: []};
const problems = async () =>
  findFailingHooks(await listHooks(place.pool), nobody, new Date().toISOString());

describe('a message', () => {
  test('has the external keys of the system of its subscriber', async () => {
    await place.addHook('erp');
    await place.addHook('tryton', {system: 'tryton'});
    const rowId = await make('Keyed');
    await place.author(
      `SELECT sync.set_link('tasks', $1, 'T-1', 'tryton'), sync.set_link('tasks', $1, 'D-1')`,
      [rowId],
    );
    await place.round();
    const keys = place.http.arrived.map(({body}) => {
      const {hook, entries} = JSON.parse(body).data;
      return [hook, entries.map((entry: {external_key: string | null}) => entry.external_key)];
    });
    expect(keys).toHaveLength(2);
    expect(Object.fromEntries(keys)).toEqual({erp: [null, 'D-1'], tryton: ['T-1', 'T-1']});
  });

  test('has the entries in order, except of a left-out writer, and a valid signature', async () => {
    const secret = await place.addHook('erp', {leaveOut: ['http: erp']});
    await make('Roof');
    await place.author(
      `SET application_name = 'http: erp'; INSERT INTO warehouse.tasks (name) VALUES ('Echo');
       SET application_name = 'erp'`,
    );
    await place.author(`UPDATE warehouse.tasks SET name = 'Wall' WHERE name = 'Roof'`);
    await place.round();
    const [{body, headers} = {body: '', headers: {}}] = place.http.arrived;
    const {type, timestamp, data} = JSON.parse(body);
    expect(type).toBe('feed.entries');
    expect(data).toMatchObject({
      hook: 'erp',
      cursor: await place.end(),
      entries: [
        {
          table: 'tasks',
          operation: 'created',
          before: null,
          after: {name: 'Roof'},
          account: 'acme',
        },
        {table: 'tasks', operation: 'changed', before: {name: 'Roof'}, after: {name: 'Wall'}},
      ],
    });
    expect(timestamp).toBe(data.entries[1].at);
    const head = Object.fromEntries(
      Object.entries(headers).map(([name, value]) => [name, String(value)]),
    );
    expect(() => new Webhook(secret).verify(body, head)).not.toThrow();
    await place.round();
    expect(place.http.arrived).toHaveLength(1);
  });

  test('has only entries of the requested tables and account', async () => {
    const {rows} = await place.pool.query<{account_id: string}>(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
        VALUES ('other', 'https://example.com/other', 'UTC') RETURNING account_id`,
    );
    await place.addHook('erp', {table: ['tasks'], accountId: place.accountId, mask: true});
    await place.sent('customers', {customer_number: 1, id: 101, name: 'Acme'});
    await place.sent('tasks', {id: 71, name: 'theirs', account_id: rows[0]?.account_id});
    await make('ours');
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([['•••']]);
    expect((await place.hook('erp')).cursor).toBe(await place.end());
  });

  describe('for a subscriber of some columns', () => {
    const set = (rowId: string, assignment: string) =>
      place.sweep(`UPDATE warehouse.tasks SET ${assignment} WHERE row_id = $1`, [rowId]);
    const told = () =>
      place.http.arrived.map(({body}) =>
        JSON.parse(body).data.entries.map((entry: FeedEntry) => [
          entry.operation,
          entry.after?.name,
        ]),
      );

    test('leaves out rows changed in other columns, and the cursor still advances', async () => {
      await place.addHook('erp', {column: ['name'], limit: 2});
      const rowId = await make('Roof');
      for (const minute of [1, 2, 3]) await set(rowId, `scheduled_at = '2027-03-01 09:0${minute}'`);
      await place.round();
      expect(told()).toEqual([[['created', 'Roof']]]);
      await set(rowId, 'completed_at = now()');
      await place.round();
      expect(place.http.arrived).toHaveLength(1);
      expect(await place.hook('erp')).toMatchObject({cursor: await place.end(), behind: 0});
      await set(rowId, `name = 'Wall', completed_at = NULL`);
      await set(rowId, '_deleted_at = now()');
      await place.round();
      expect(told().slice(1)).toEqual([
        [
          ['changed', 'Wall'],
          ['removed', undefined],
        ],
      ]);
    });

    test('is the same when it is retried after new entries', async () => {
      await place.addHook('erp', {column: ['name']});
      place.http.manners = (_arrived, at) => (at === 1 ? 500 : undefined);
      const rowId = await make('Roof');
      await set(rowId, 'completed_at = now()');
      await place.round();
      await set(rowId, `name = 'Wall'`);
      await place.pass();
      await place.round();
      const [first, again, next] = messages();
      expect(again).toEqual(first);
      expect(next?.names).toEqual(['Wall']);
    });

    test('is retried in full, even if its limit was lowered since', async () => {
      await place.addHook('erp', {column: ['name']});
      const {cursor} = await place.hook('erp');
      for (const name of ['a', 'b', 'c']) await set(await make(name), 'completed_at = now()');
      const hook = {...(await place.hook('erp')), most: 1} as unknown as ClaimedHook;
      const batchTo = await place.end();
      await make('later');
      await place.end();
      const {entries, to} = await readFeedBatch(place.pool, hook, {cursor, batchTo});
      expect([entries.map(({after}) => after?.name), to]).toEqual([['a', 'b', 'c'], batchTo]);
    });
  });

  test('has no more entries than the limit; the messages are sent in order', async () => {
    await place.addHook('erp', {limit: 2});
    for (const name of ['a', 'b', 'c', 'd', 'e']) await make(name);
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([['a', 'b'], ['c', 'd'], ['e']]);
    expect(new Set(messages().map(({id}) => id)).size).toBe(3);
  });

  test('is sent with no more rights than a worker has', async () => {
    await place.addHook('erp');
    await make('Roof');
    await place.roundAsWorker();
    expect(messages().map(({names}) => names)).toEqual([['Roof']]);
  });
});

describe('a subscriber', () => {
  test('that fails three times gets the same message again with the same id', async () => {
    await place.addHook('erp');
    place.http.manners = (_arrived, at) => (at <= 3 ? 500 : undefined);
    await make('first');
    for (let at = 0; at < 3; at++) {
      await place.round();
      await make(`later ${at}`);
      await place.round();
      expect(place.http.arrived).toHaveLength(at + 1);
      await place.pass();
    }
    expect(await problems()).toMatchObject([{kind: 'hook-failing', subject: 'erp'}]);
    await place.round();
    const [first, ...rest] = messages();
    expect(rest.slice(0, 3)).toEqual([first, first, first]);
    expect(rest.slice(3).map(({names}) => names)).toEqual([['later 0', 'later 1', 'later 2']]);
    expect(await problems()).toEqual([]);
  });

  test('gets a batch again with its id if the worker is killed before recording it', async () => {
    await place.addHook('erp');
    const killed = spawn(process.execPath, [join(import.meta.dirname, 'hook-worker.ts')], {
      env: {...process.env, DATABASE_URL: place.url, KEY: keyText},
      stdio: 'inherit',
    });
    const exited = once(killed, 'exit');
    place.http.manners = (_arrived, at) => {
      if (at === 1) killed.kill('SIGKILL');
      return undefined;
    };
    await make('first');
    await exited;
    await make('second');
    await place.round();
    expect(place.http.arrived).toHaveLength(1);
    await place.pass();
    await place.round();
    const [first, again, ...rest] = messages();
    expect(first?.names).toEqual(['first']);
    expect(again).toEqual(first);
    expect(rest.map(({names}) => names)).toEqual([['second']]);
  });

  test('gets a batch again if its delivery could not be recorded', async () => {
    await place.addHook('erp');
    await place.author(
      `CREATE FUNCTION public.refuse() RETURNS trigger
        LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'no'; END $$;
       CREATE TRIGGER refuse BEFORE UPDATE ON sync.feed_hooks FOR EACH ROW
         WHEN (OLD.batch_id IS NOT NULL AND NEW.batch_id IS NULL) EXECUTE FUNCTION public.refuse()`,
    );
    place.http.manners = async (_arrived, at) => {
      expect(await place.hook('erp')).toMatchObject({attempts: 0, lastError: null});
      if (at === 2) await place.author('DROP TRIGGER refuse ON sync.feed_hooks');
      return undefined;
    };
    await make('first');
    await place.round();
    const [first, ...again] = messages();
    expect(again).toEqual([first]);
    expect(await place.hook('erp')).toMatchObject({
      cursor: first?.cursor,
      attempts: 0,
      lastError: null,
    });
  });

  test('gets each entry once and in order from several workers', async () => {
    await place.addHook('erp', {limit: 3});
    for (let at = 0; at < 3; at++) place.makeKeeper().begin();
    const names = Array.from({length: 30}, (_, at) => `task ${at}`);
    for (const name of names) await make(name);
    while ((await place.hook('erp')).cursor !== (await place.end())) await place.round();
    expect(messages().flatMap((message) => message.names)).toEqual(names);
  });

  test('gets nothing from a possible copy, detected by the worker or the warehouse', async () => {
    await place.addHook('erp');
    await make('original');
    place.isHeld = true;
    await place.round();
    place.isHeld = false;
    await place.author(
      `INSERT INTO sync.installation (system_identifier, database_oid, server_started_at, names)
        VALUES ('1', 1, now(), '{db:5432/warehouse}')`,
    );
    await place.round();
    expect(place.http.arrived).toEqual([]);
    await place.author('DELETE FROM sync.installation');
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([['original']]);
  });

  test('that no worker has served for an hour is reported as a problem', async () => {
    await place.addHook('erp');
    await make('old');
    await place.end();
    expect(await problems()).toEqual([]);
    await place.author(`UPDATE sync.feed_entries SET at = at - interval '1 hour'`);
    await place.pass();
    expect(await problems()).toMatchObject([
      {text: expect.stringContaining('no worker sends to it')},
    ]);
  });
});

describe('a batch that fails for a day', () => {
  const giveUp = async () => {
    await place.addHook('erp');
    place.http.manners = () => 422;
    await make('poison');
    await place.round();
    await place.author('UPDATE sync.feed_hooks SET attempts = 33');
    await place.pass();
    await place.round();
    await make('behind it');
    await place.pass();
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([['poison'], ['poison']]);
    expect((await place.hook('erp')).stoppedAt).not.toBeNull();
    expect(await problems()).toMatchObject([
      {
        text: expect.stringMatching(/is stopped.*expected an answer of 2xx, got 422/),
        next: /hooks skip erp/,
      },
    ]);
    place.http.manners = () => undefined;
  };

  test('stops its subscriber, and is sent again when a person retries it', async () => {
    await giveUp();
    await retryHook(place.pool, 'erp', null);
    await place.round();
    expect(messages().map(({names}) => names)).toEqual([
      ['poison'],
      ['poison'],
      ['poison'],
      ['behind it'],
    ]);
    expect(
      new Set(
        messages()
          .slice(0, 3)
          .map(({id}) => id),
      ).size,
    ).toBe(1);
    expect(await problems()).toEqual([]);
  });

  test('becomes a dead letter if a person skips it, and the subscriber continues', async () => {
    await giveUp();
    expect(await skipBatch(place.pool, 'erp')).toBe('1');
    await place.round();
    expect(messages().at(-1)?.names).toEqual(['behind it']);
    expect(await listDeadLetters(place.pool)).toMatchObject([
      {hook: 'erp', attempts: 34, reason: expect.stringContaining('422')},
    ]);
    expect(await skipBatch(place.pool, 'erp')).toBeNull();
  });
});

test('an invalid cursor stops the subscriber until a person sets another one', async () => {
  await place.addHook('erp');
  await place.author('SELECT sync.renew_feed()');
  await make('of another feed');
  await place.round();
  expect(await problems()).toMatchObject([
    {text: expect.stringContaining('hooks retry erp --after end')},
  ]);
  await retryHook(place.pool, 'erp', await place.end());
  await make('from now on');
  await place.round();
  expect(messages().map(({names}) => names)).toEqual([['from now on']]);
});
