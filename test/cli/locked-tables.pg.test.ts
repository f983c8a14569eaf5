// Another session has locked tables: whoever asks how things stand is answered at once, with who
// that is; whoever waits says for whom.

import {randomBytes} from 'node:crypto';
import pg from 'pg';
import {afterAll, afterEach, beforeAll, describe, expect, inject, test} from 'vitest';
import {readStatusStory} from '../../src/cli/status.ts';
import {loadConfig} from '../../src/core/config.ts';
import {inTransaction, openPool} from '../../src/postgres/database.ts';
import {listBlockingSessions} from '../../src/postgres/lock-waits.ts';
import {runCommand, startCommand} from '../support/command.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';
import {dropRoles, makeRole} from '../support/roles.ts';

const worker = `works_${randomBytes(4).toString('hex')}`;
const author = `writes_${randomBytes(4).toString('hex')}`;
let database: TestDatabase;
let holder: pg.Client;
let pid: number;
/** The owner of the schemas, and a login that is a member of fieldmirror_worker alone. */
const urls = {owner: '', worker: ''};
const whos = ['owner', 'worker'] as const;

beforeAll(async () => {
  database = await createDatabase(inject('warehouseTemplate'));
  await makeRole(worker, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_worker`);
  await makeRole(author, `LOGIN PASSWORD 'made-up' IN ROLE fieldmirror_author`);
  urls.owner = database.url;
  urls.worker = withLogin(worker);
});

afterEach(async () => {
  await holder?.end();
});

afterAll(async () => {
  await database?.drop();
  await dropRoles(worker, author);
});

const withLogin = (username: string) =>
  Object.assign(new URL(database.url), {username, password: 'made-up'}).href;

/** A session of DBeaver that keeps its transaction open. */
async function hold(url: string, ...statements: readonly string[]): Promise<void> {
  await holdAs('DBeaver', url, ...statements);
}

async function holdAs(name: string, url: string, ...statements: readonly string[]): Promise<void> {
  holder = new pg.Client({connectionString: url, application_name: name});
  holder.on('error', () => {});
  await holder.connect();
  const {rows} = await holder.query<{pid: number}>('SELECT pg_backend_pid() AS pid');
  pid = rows[0]?.pid ?? 0;
  for (const statement of ['BEGIN', ...statements]) await holder.query(statement);
}

async function ask<T extends pg.QueryResultRow>(text: string): Promise<T[]> {
  const pool = openPool(database.url, {max: 1, applicationName: 'test'});
  const {rows} = await pool.query<T>(text).finally(() => pool.end());
  return rows;
}

/** Every table of the catalogue: one that is added later is locked, too. */
async function listTables(): Promise<string[]> {
  const rows = await ask<{name: string}>(
    `SELECT schemaname || '.' || tablename AS name FROM pg_catalog.pg_tables
      WHERE schemaname IN ('warehouse', 'history', 'mart', 'sync') ORDER BY 1`,
  );
  return rows.map(({name}) => name);
}

const lock = (table: string) => `LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`;

beforeAll(async () => {
  await ask(
    `INSERT INTO sync.accounts (name, api_url, time_zone)
      VALUES ('acme', 'https://example.com/acme', 'UTC')`,
  );
  await ask(`INSERT INTO warehouse.tasks (name) VALUES ('Roof')`);
});

describe.each(whos)('run as %s', (who) => {
  test('status reports what it cannot read for any locked table, and who locks it', async () => {
    const pool = openPool(urls[who], {max: 2, applicationName: 'fieldmirror', lockTimeoutMs: 250});
    const place = {pool, direct: pool, databaseUrl: urls[who], directUrl: urls[who], place: 'here'};
    const warehouse = {...place, tellWaitsTo: () => {}};
    const config = loadConfig({DATABASE_URL: urls[who]});
    const missed = new Map<string, readonly string[]>();
    try {
      for (const table of await listTables()) {
        await hold(urls.owner, lock(table));
        const begunAt = performance.now();
        const {unread} = await readStatusStory(warehouse, config);
        expect(performance.now() - begunAt, table).toBeLessThan(20_000);
        await holder.end();
        if (unread.length === 0) continue;
        missed.set(
          table,
          unread.map(({what}) => what),
        );
        for (const {reason} of unread) {
          expect(reason).toContain(`(DBeaver, pid ${pid})`);
          expect(reason).toContain(table);
          expect(reason).toContain(`pg_terminate_backend(${pid})`);
        }
      }
    } finally {
      await pool.end();
    }
    const tables = [...missed.keys()];
    expect(tables.filter((table) => /^(warehouse|history)\./.test(table))).toEqual([]);
    expect(tables).toEqual(
      expect.arrayContaining(['sync.accounts', 'sync.migrations', 'sync.sweeps', 'sync.workers']),
    );
  });

  test.each(['status', 'doctor'])(
    '%s answers within seconds even if every table is locked',
    async (verb) => {
      await hold(urls.owner, ...(await listTables()).map(lock));
      const begunAt = performance.now();
      const {code, stdout} = await runCommand([verb], {DATABASE_URL: urls[who]});
      expect(performance.now() - begunAt).toBeLessThan(30_000);
      expect(code).toBe(verb === 'status' ? 1 : 3);
      const said = stdout.replaceAll(/\s+/g, ' ');
      expect(said).toContain(`(DBeaver, pid ${pid})`);
      // The owner sees that the transaction has just begun.
      if (who === 'worker') expect(said).toMatch(/Fieldmirror will wait for .*DBeaver/);
    },
  );

  test('a blocking session is found by row locks, table locks and waiting sessions', async () => {
    const pool = openPool(urls[who], {
      max: 3,
      applicationName: 'fieldmirror',
      lockTimeoutMs: 20_000,
    });
    const never = {waitMs: 1e9, tableMs: 1e9, rowsMs: 1e9};
    const list = async (after: object) =>
      (await listBlockingSessions(pool, {...never, ...after})).map((holder) => [
        holder.pid,
        holder.waitedSince !== null,
      ]);
    try {
      await hold(withLogin(author), `UPDATE warehouse.tasks SET name = 'Wall'`);
      // A worker may not see since when the author's transaction is open.
      expect(await list({rowsMs: 0})).toEqual(who === 'owner' ? [[pid, false]] : []);
      expect(await list({tableMs: 0, waitMs: 0})).toEqual([]);
      const waiting = pool.query(`UPDATE warehouse.tasks SET name = name WHERE name = 'Roof'`);
      await expect.poll(() => list({waitMs: 0}), {timeout: 10_000}).toEqual([[pid, true]]);
      await holder.end();
      await waiting;
      expect(await list({waitMs: 0, tableMs: 0, rowsMs: 0})).toEqual([]);
      await hold(urls.owner, 'LOCK TABLE warehouse.tasks IN SHARE MODE');
      expect(await list({tableMs: 0})).toEqual([[pid, false]]);
      expect(await list({})).toEqual(who === 'owner' ? [] : [[pid, false]]);
    } finally {
      await pool.end();
    }
  });

  test("an author's session named fieldmirror is found; a worker's is not", async () => {
    const pool = openPool(urls[who], {max: 1, applicationName: 'fieldmirror'});
    const never = {waitMs: 1e9, tableMs: 1e9, rowsMs: 1e9};
    try {
      await holdAs('fieldmirror', withLogin(author), 'LOCK TABLE warehouse.tasks IN SHARE MODE');
      const found = await listBlockingSessions(pool, {...never, tableMs: 0});
      expect(found).toMatchObject([{pid, login: author, application: 'fieldmirror'}]);
      await holder.end();
      await holdAs('fieldmirror', urls.worker, 'LOCK TABLE warehouse.tasks IN SHARE MODE');
      expect(await listBlockingSessions(pool, {...never, tableMs: 0})).toEqual([]);
    } finally {
      await pool.end();
    }
  });

  test('a wait for a locked row logs the blocking session and names it in the error', async () => {
    await hold(withLogin(author), `UPDATE warehouse.tasks SET name = 'Wall'`);
    const told: string[] = [];
    const pool = openPool(urls[who], {
      max: 1,
      applicationName: 'fieldmirror',
      lockTimeoutMs: 1_000,
      onWait: (line) => told.push(line),
    });
    const update = (client: pg.Pool | pg.PoolClient) =>
      client.query(`UPDATE warehouse.tasks SET name = name WHERE name = 'Roof'`);
    try {
      const failed = await inTransaction(pool, update).then(String, String);
      const begun = {
        owner: /in a transaction since \d{4}-\d\d-\d\dT[\d:]+Z/,
        worker: /since when only a member of pg_read_all_stats sees/,
      };
      const seen = new RegExp(
        `${author} \\(DBeaver, pid ${pid}\\), ${begun[who].source}, ` +
          'which has locked warehouse\\.tasks, ',
      );
      expect(failed).toMatch(seen);
      expect(failed).toContain(
        `pg_terminate_backend(${pid}), as ${author} or a member of pg_signal_backend`,
      );
      expect(told).toEqual([expect.stringMatching(seen)]);
      await expect(update(pool)).rejects.toThrow('lock timeout');
    } finally {
      await pool.end();
    }
  });
});

test('the HTTP server answers within seconds even if every table is locked', async () => {
  const running = startCommand(['http', '--port', '0'], {DATABASE_URL: urls.worker});
  const url = await running.prints(/http:\/\/127\.0\.0\.1:\d+/);
  await hold(urls.owner, ...(await listTables()).map(lock));
  const read = async (path: string) => {
    const begunAt = performance.now();
    const {status} = await fetch(`${url}${path}`, {
      headers: {authorization: `Bearer fm_${'a'.repeat(40)}`, accept: 'text/html'},
      redirect: 'manual',
    });
    return {path, status, isSoon: performance.now() - begunAt < 8_000};
  };
  const paths = ['/livez', '/readyz', '/metrics', '/', '/sign-in', '/v1/customers', '/v1/changes'];
  const answers = await Promise.all(paths.map(read));
  running.process.kill('SIGTERM');
  const {stderr} = await running.ended;
  expect(answers.filter(({isSoon, status}) => !isSoon || status === 500)).toEqual([]);
  expect(answers[1]).toMatchObject({status: 503});
  expect(stderr).toContain(`(DBeaver, pid ${pid})`);
});
