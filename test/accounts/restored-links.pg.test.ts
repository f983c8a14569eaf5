// A warehouse that is restored from a copy, and claimed: each outside system finds its rows there
// by the keys that it gave them, and goes on.

import type pg from 'pg';
import {afterAll, beforeAll, expect, test} from 'vitest';
import {claimInstallation} from '../../src/health/installation.ts';
import {openPool} from '../../src/postgres/database.ts';
import {type Login, openLogin} from '../feed/logins.ts';
import {type FeedPlace, openFeedPlace, readEntries} from '../feed/place.ts';
import {asSuperuser, createDatabase, type TestDatabase} from '../support/postgres.ts';
import {withClient} from '../support/with-client.ts';

/** The outside systems, each with a letter that its keys begin with. */
const letters = {default: 'C', tryton: 'P'} as const;
type System = keyof typeof letters;
const systems = Object.keys(letters) as System[];

let place: FeedPlace;
const logins = new Map<System, Login>();
let copy: TestDatabase;
/** Of the copy. */
let owner: pg.Pool;
const authors = new Map<System, pg.Pool>();
/** Rows of customers, by number. */
const rows = new Map<number, string>();
/** Of before the copy was made. */
let cursor: string;

beforeAll(async () => {
  place = await openFeedPlace();
  for (const system of systems) {
    const login = await openLogin(place.url, 'fieldmirror_author');
    logins.set(system, login);
    await place.author('SELECT sync.grant_account($1, $2, system => $3)', [
      login.name,
      'acme',
      system,
    ]);
  }
  for (const number of [1, 2, 3]) {
    const sent = {customer_number: number, id: 100 + number, name: `Customer ${number}`};
    const row = await place.sent('customers', sent);
    rows.set(number, row);
    for (const [system, {pool}] of logins)
      await pool.query(`SELECT sync.set_link('customers', $1, $2)`, [
        row,
        `${letters[system]}-${number}`,
      ]);
  }
  const mark = (number: number, gone: string) =>
    place.sweep(`UPDATE warehouse.customers SET _deleted_at = ${gone} WHERE row_id = $1`, [
      rows.get(number),
    ]);
  await mark(2, 'now()');
  await mark(2, 'NULL');
  await mark(3, 'now()');
  cursor = await place.end();
  await restore();
});
afterAll(async () => {
  for (const pool of authors.values()) await pool.end();
  await owner?.end();
  for (const login of logins.values()) await login.close();
  await copy?.drop();
  await place?.close();
});

/** Copies the warehouse as it is, and makes the copy the one that works. */
async function restore(): Promise<void> {
  // Postgres copies a database only while nobody is in it.
  await withClient(asSuperuser(place.url).replace(/[^/]*$/, 'postgres'), (client) =>
    client.query(
      `SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = $1`,
      [new URL(place.url).pathname.slice(1)],
    ),
  );
  copy = await createDatabase(new URL(place.url).pathname.slice(1));
  owner = openPool(copy.url, {max: 2, applicationName: 'owner'});
  await claimInstallation(owner, {name: 'the restored one', holdsCreates: true});
  for (const [system, {name}] of logins) {
    const address = Object.assign(new URL(copy.url), {username: name, password: 'made-up'}).href;
    authors.set(system, openPool(address, {max: 1, applicationName: 'erp'}));
  }
}

test.each(systems)('system %s finds each restored row by its key', async (system) => {
  const found = new Map<number, unknown>();
  for (const number of rows.keys()) {
    const {rows: links} = await author(system).query<{row: string}>(
      `SELECT sync.find_link('customers', $1) AS row`,
      [`${letters[system]}-${number}`],
    );
    found.set(number, links[0]?.row);
  }
  expect(found).toEqual(rows);
});

test('an old cursor is rejected; from a new cursor, each system reads its own keys', async () => {
  for (const system of systems)
    await expect(readEntries(author(system), cursor)).rejects.toMatchObject({code: 'FM410'});
  const {rows: ends} = await owner.query<{cursor: string}>('SELECT sync.feed_end() AS cursor');
  const start = ends[0]?.cursor ?? '';
  // Found by its key, the row is changed, and none is created beside it.
  await author('tryton').query(
    `UPDATE warehouse.customers SET name = 'Renamed'
      WHERE row_id = sync.find_link('customers', 'P-1')`,
  );
  await author('default').query(
    `INSERT INTO warehouse.customers (account_id, external_key, name)
      VALUES ($1, 'C-2', 'Renamed, too') ON CONFLICT (account_id, external_key) DO UPDATE
         SET name = EXCLUDED.name`,
    [place.accountId],
  );
  const {rows: changes} = await owner.query('SELECT operation, number FROM sync.changes');
  expect(changes).toEqual([
    {operation: 'update', number: '1'},
    {operation: 'update', number: '2'},
  ]);
  await owner.query('SELECT sync.sequence_feed()');
  for (const system of systems) {
    const entries = await readEntries(author(system), start);
    expect(entries.map((entry) => [entry.operation, entry.external_key])).toEqual([
      ['changed', `${letters[system]}-1`],
      ['changed', `${letters[system]}-2`],
    ]);
  }
});

function author(system: System): pg.Pool {
  const pool = authors.get(system);
  if (pool === undefined) throw new Error(`${system}: no author`);
  return pool;
}
