import {type EventEmitter, once} from 'node:events';
import {createServer} from 'node:net';
import pg from 'pg';
import {afterAll, beforeAll, beforeEach, describe, expect, test} from 'vitest';
import {FatalError, RetryableError} from '../../src/core/errors.ts';
import {inTransaction, openPool} from '../../src/postgres/database.ts';
import {explainDatabaseError} from '../../src/postgres/database-errors.ts';
import {listen} from '../../src/postgres/listen.ts';
import {loadRows} from '../../src/rows/load.ts';
import {countRows} from '../../src/sweeps/story.ts';
import {machines, openWorld, rowOf, type World} from '../support/sample.ts';

let world: World;
beforeAll(async () => {
  world = await openWorld();
  await world.pool.query('CREATE TABLE public.notes (id integer PRIMARY KEY, text text)');
});
afterAll(() => world?.close());
beforeEach(() => world.pool.query('TRUNCATE public.notes, warehouse.machines'));

const insert = (db: pg.Pool | pg.ClientBase, id: number, text = '') =>
  db.query('INSERT INTO public.notes VALUES ($1, $2)', [id, text]);
const readIds = async () =>
  (await world.pool.query('SELECT id FROM public.notes ORDER BY id')).rows.map((row) => row.id);
const pidOf = async (client: pg.ClientBase): Promise<number> =>
  (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
const endSession = (pid: number) =>
  world.pool.query('SELECT pg_terminate_backend($1, 5000)', [pid]);

describe('a pool', () => {
  test('lets the server end a statement that takes too long, and works on', async () => {
    const options = {applicationName: 'test', max: 1, statementTimeoutMs: 600};
    const pool = openPool(world.url, options);
    try {
      await expect(pool.query('SELECT pg_sleep(60)')).rejects.toMatchObject({code: '57014'});
      expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{one: 1}]);
    } finally {
      await pool.end();
    }
  });

  test('returns times as ISO text in UTC to the microsecond, and numbers unrounded', async () => {
    const {rows} = await world.pool.query(
      `SELECT '2026-03-08 01:30:00.123456-05'::timestamptz AS at, '2026-03-08'::date AS day,
        '2026-03-08 02:30'::timestamp AS local,
              9007199254740993::bigint AS big, 275.10::numeric AS price, 7 AS small,
                ARRAY[1::bigint] AS bigs, '\\x00ff'::bytea AS bytes`,
    );
    expect(rows).toEqual([
      {
        at: '2026-03-08T06:30:00.123456Z',
        day: '2026-03-08',
        local: '2026-03-08 02:30:00',
        big: '9007199254740993',
        price: '275.10',
        small: 7,
        bigs: ['1'],
        bytes: Buffer.from([0, 255]),
      },
    ]);
  });

  test('does not change the type parsers of other clients', async () => {
    const client = new pg.Client(world.url);
    await client.connect();
    const {rows} = await client.query('SELECT now() AS at');
    await client.end();
    expect(rows[0].at).toBeInstanceOf(Date);
  });

  test('sets the search path, the time zone and the timeouts of the server', async () => {
    const names = [
      'search_path',
      'TimeZone',
      'statement_timeout',
      'lock_timeout',
      'idle_in_transaction_session_timeout',
    ];
    const {rows} = await world.pool.query(
      'SELECT name, current_setting(name) AS value FROM unnest($1::text[]) AS name',
      [names],
    );
    const settings = Object.fromEntries(rows.map((row) => [row.name, row.value]));
    expect(settings).toMatchObject({search_path: 'pg_catalog, pg_temp', TimeZone: 'UTC'});
    for (const name of names.slice(2)) expect(settings[name]).toMatch(/^[1-9]\d*(s|min)$/);
  });

  test('lifts limits that the database has for idle sessions and transactions', async () => {
    const {rows: limits} = await world.pool.query<{name: string}>(
      `SELECT name FROM pg_settings WHERE name IN ('idle_session_timeout', 'transaction_timeout')`,
    );
    const name = pg.escapeIdentifier(new URL(world.url).pathname.slice(1));
    const alter = async (change: (limit: string) => string) => {
      for (const limit of limits)
        await world.pool.query(`ALTER DATABASE ${name} ${change(limit.name)}`);
    };
    await alter((limit) => `SET ${limit} = '250ms'`);
    const pool = openPool(world.url, {max: 1, applicationName: 'test limits'});
    const noticed = Promise.withResolvers<string>();
    const stop = new AbortController();
    const listening = listen(world.url, 'limits', {
      onNotice: noticed.resolve,
      onListening: () => {
        pool
          .query('SELECT pg_sleep(0.5)')
          .then(() => pool.query(`NOTIFY limits, 'after the limit'`))
          .catch(noticed.reject);
      },
      onFailure: noticed.reject,
      signal: stop.signal,
    });
    try {
      expect(await noticed.promise).toBe('after the limit');
    } finally {
      await alter((limit) => `RESET ${limit}`);
      stop.abort();
      await listening;
      await pool.end();
    }
  });

  test('turns off JIT compilation in the server', async () => {
    const {rows} = await world.pool.query('SHOW jit');
    expect(rows).toEqual([{jit: 'off'}]);
  });

  test('makes the server end the session of an unreachable host within 15 seconds', async () => {
    const {rows} = await world.pool.query(
      `SELECT current_setting('tcp_keepalives_idle')::int
              + current_setting('tcp_keepalives_interval')::int *
                current_setting('tcp_keepalives_count')::int AS quiet,
              current_setting('tcp_user_timeout') AS unanswered`,
    );
    expect(rows).toEqual([{quiet: 15, unanswered: '15000'}]);
  });

  test('survives the end of an idle session, and continues with a new one', async () => {
    const pool = openPool(world.url, {max: 1, applicationName: 'test idle'});
    const client = await pool.connect();
    const pid = await pidOf(client);
    client.release();
    const removed = heard(pool, 'remove');
    await endSession(pid);
    await removed;
    const {rows} = await pool.query('SELECT pg_backend_pid() <> $1 AS other', [pid]);
    await pool.end();
    expect(rows).toEqual([{other: true}]);
  });
});

describe('a transaction', () => {
  test('is committed as a whole, or not at all', async () => {
    const done = await inTransaction(world.pool, async (client) => {
      await insert(client, 1);
      return 'done';
    });
    expect(done).toBe('done');
    const failed = inTransaction(world.pool, async (client) => {
      await insert(client, 2);
      await insert(client, 1);
    });
    await expect(failed).rejects.toThrow(/duplicate key/);
    expect(await readIds()).toEqual([1]);
  });

  test('fails if one of its statements failed unnoticed', async () => {
    const failed = inTransaction(world.pool, async (client) => {
      await insert(client, 1);
      await client.query('SELECT 1 / 0').catch(() => {});
    });
    await expect(failed).rejects.toThrow(RetryableError);
    expect(await readIds()).toEqual([]);
  });

  test('whose session is ended is rolled back, and its connection is not used again', async () => {
    const pool = openPool(world.url, {max: 1, applicationName: 'test ended'});
    const {accountId} = world.account;
    const rows = [rowOf(machines, {machine_number: '1'})];
    const failed = inTransaction(pool, async (client) => {
      await loadRows(client, machines, rows, {accountId, sweepId: '1'});
      await endSession(await pidOf(client));
      await loadRows(client, machines, rows, {accountId, sweepId: '2'});
    });
    await expect(failed).rejects.toThrow(RetryableError);
    expect(await countRows(pool, machines, accountId)).toBe(0);
    await inTransaction(pool, (client) =>
      loadRows(client, machines, rows, {accountId, sweepId: '3'}),
    );
    expect(await countRows(pool, machines, accountId)).toBe(1);
    await pool.end();
  });

  test('whose session is ended while it is idle does not crash the process', async () => {
    const failed = inTransaction(world.pool, async (client) => {
      await insert(client, 1);
      const broken = heard(client, 'end');
      await endSession(await pidOf(client));
      await broken;
    });
    await expect(failed).rejects.toThrow();
    expect(await readIds()).toEqual([]);
  });

  test('that loses a deadlock is retried as a whole, and both succeed', async () => {
    await insert(world.pool, 1, '');
    await insert(world.pool, 2, '');
    const bothHold = barrier(2);
    let runs = 0;
    const swap = (...order: [number, number]) =>
      inTransaction(world.pool, async (client) => {
        runs++;
        // Run again, the loser first waits for the winner: else luck would decide on a second
        // deadlock.
        const [first, second] = runs <= 2 ? order : [order[1], order[0]];
        const append = (id: number) =>
          client.query(`UPDATE public.notes SET text = text || 'x' WHERE id = $1`, [id]);
        await append(first);
        await bothHold();
        await append(second);
      });
    await Promise.all([swap(1, 2), swap(2, 1)]);
    expect(runs).toBe(3);
    const {rows} = await world.pool.query('SELECT length(text) AS appended FROM public.notes');
    expect(rows).toEqual([{appended: 2}, {appended: 2}]);
  });

  test('that fails because its session is read-only is the last one in that session', async () => {
    const pool = openPool(world.url, {max: 1, applicationName: 'test'});
    try {
      await pool.query('SET default_transaction_read_only = on');
      await expect(inTransaction(pool, (client) => insert(client, 1))).rejects.toThrow(
        /it is read-only/,
      );
      await inTransaction(pool, (client) => insert(client, 2));
    } finally {
      await pool.end();
    }
    expect(await readIds()).toEqual([2]);
  });

  test('that can never succeed is given up after three attempts', async () => {
    let runs = 0;
    const failed = inTransaction(world.pool, async (client) => {
      runs++;
      await client.query(`DO $$ BEGIN RAISE EXCEPTION 'no' USING ERRCODE = '40001'; END $$`);
    });
    await expect(failed).rejects.toThrow(/another transaction came in between.*40001/);
    expect(runs).toBe(3);
  });
});

/**
 * Unlike `once` of node:events, it does not fail on an 'error' before the event: one is expected
 * here.
 */
function heard(emitter: EventEmitter, event: string): Promise<void> {
  return new Promise((resolve) => emitter.once(event, () => resolve()));
}

/** Lets all callers through once so many have come; later ones at once. */
function barrier(parties: number): () => Promise<void> {
  let come = 0;
  const {promise, resolve} = Promise.withResolvers<void>();
  return () => {
    come++;
    if (come === parties) resolve();
    return promise;
  };
}

describe('a failed query', () => {
  const fail = async (change: (url: URL) => void): Promise<Error> => {
    const url = new URL(world.url);
    change(url);
    const pool = openPool(url.href, {max: 1, applicationName: 'test'});
    const reason = await pool.query('SELECT 1').catch((error) => error);
    await pool.end();
    const error = explainDatabaseError(reason, url.href);
    expect(`${error.stack} ${JSON.stringify(error)}`).not.toContain(
      decodeURIComponent(url.password) || 'no password',
    );
    return error;
  };

  test('is retryable if nothing listens, and its error names host and port', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? String(address?.port) : '';
    server.close();
    await once(server, 'close');
    const error = await fail((url) => {
      url.host = `127.0.0.1:${port}`;
    });
    expect(error).toBeInstanceOf(RetryableError);
    expect(error.message).toContain(`127.0.0.1:${port}`);
  });

  test('is fatal if the database does not exist, and its error names the database', async () => {
    const error = await fail((url) => {
      url.pathname = '/no_such_thing';
    });
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toMatch(/database no_such_thing.*create it/);
  });

  test('is fatal if the password is wrong, and its error does not show the password', async () => {
    const error = await fail((url) => {
      url.password = 'wrong-and-s3cret';
    });
    expect(error).toBeInstanceOf(FatalError);
    expect(error.message).toMatch(/user name or password/);
  });

  test('names the command to run if the schema does not exist', async () => {
    const error = explainDatabaseError(
      await world.pool.query('SELECT 1 FROM warehouse.unicorns').catch((reason) => reason),
      world.url,
    );
    expect(error.message).toContain('fieldmirror migrate');
  });
});
