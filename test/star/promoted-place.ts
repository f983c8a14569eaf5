// A warehouse of one account, made for each test of a file that uses it, and fields promoted
// in it.

import type pg from 'pg';
import {afterEach, beforeEach, inject} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {openPool} from '../../src/postgres/database.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

export let database: TestDatabase;
export let pool: pg.Pool;
export let accountId: string;

/** Makes the place for each test of the file that calls this. */
export function usePromotedPlace(): void {
  beforeEach(async () => {
    database = await createDatabase(inject('warehouseTemplate'));
    pool = openPool(asRepair(database.url), {max: 4, applicationName: 'test'});
    accountId = await addAccount('acme');
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });
}

export async function addAccount(name: string): Promise<string> {
  const account = {name, apiUrl: `https://example.com/${name}`, timeZone: 'UTC'};
  return (await upsertAccount(pool, account)).accountId;
}

export async function addField(
  field: string,
  types: readonly string[] = ['text'],
  more: {account?: string; column?: string} = {},
) {
  await pool.query(
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, column_name,
      last_sweep_id)
     VALUES ($1, 'jobs', $2, 'jobs', $3, $4, 1)`,
    [more.account ?? accountId, field, types, more.column ?? null],
  );
}

export async function addJob(number: number, attributes: object, account = accountId) {
  await pool.query(
    'INSERT INTO warehouse.jobs (account_id, job_number, extra) VALUES ($1, $2, $3)',
    [account, number, attributes],
  );
}

/** Promotes a field, as a person does. */
export async function promote(field: string, name: string | null, account?: string) {
  await pool.query(
    `UPDATE sync.fields SET promoted_as = $2
      WHERE table_name = 'jobs' AND field = $1 AND ($3::bigint IS NULL OR account_id = $3)`,
    [field, name, account ?? null],
  );
}

export async function columns(): Promise<Record<string, string>> {
  const {rows} = await pool.query(
    `SELECT attname AS name, format_type(atttypid, atttypmod) AS type FROM pg_attribute
      WHERE attrelid = 'mart.jobs'::regclass AND attnum > 0 ORDER BY attnum`,
  );
  return Object.fromEntries(rows.map(({name, type}) => [name, type]));
}

export async function values(column: string): Promise<unknown[]> {
  const {rows} = await pool.query(
    `SELECT ${column} AS value FROM mart.jobs ORDER BY account_id, job_number`,
  );
  return rows.map(({value}) => value);
}

export async function failure(action: Promise<unknown>): Promise<string> {
  return await action.then(
    () => 'nothing failed',
    (error: Error & {hint?: string}) =>
      `${error.message}${error.hint === undefined ? '' : ` ${error.hint}`}`,
  );
}

/** Resolves when a session of this database waits for another's lock. */
export async function waitForBlocked(): Promise<void> {
  for (;;) {
    const {rows} = await pool.query(
      `SELECT FROM pg_stat_activity
        WHERE datname = current_database() AND wait_event_type = 'Lock'`,
    );
    if (rows.length > 0) return;
  }
}
