// A warehouse with an account and a few customers, made for each test of a file that uses
// it. Sweeps and changes are rows with moments set back, as an installation of some age has them.

import type pg from 'pg';
import {afterEach, beforeEach, inject} from 'vitest';
import {openPool} from '../../src/postgres/database.ts';
import {pruneHistory, type Removed} from '../../src/retention/retention.ts';
import {createDatabase, type TestDatabase} from '../support/postgres.ts';

export let database: TestDatabase;
export let pool: pg.Pool;

/** Makes the place for each test of the file that calls this. */
export function useRetentionPlace(): void {
  beforeEach(async () => {
    database = await createDatabase(inject('warehouseTemplate'));
    pool = openPool(database.url, {max: 4, applicationName: 'erp-bridge'});
    await pool.query(
      `INSERT INTO sync.accounts (name, api_url, time_zone)
       VALUES ('acme', 'https://example.com/acme', 'UTC')`,
    );
    await asSweep(
      `INSERT INTO warehouse.customers (customer_number, name, phone_number, _sweep_id, _page,
        _hash)
       SELECT n, 'Customer ' || n, '555-' || n, 1, 1, '\\x00' FROM generate_series(1, 4) AS n`,
    );
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });
}

/** Writes as a worker does. */
export async function asSweep(statement: string): Promise<void> {
  await pool.query(`BEGIN; SET LOCAL fieldmirror.writer = 'sweep'; ${statement}; COMMIT`);
}

/** Adds a sweep that ended so many days ago. @param values - of columns beside the usual ones */
export async function addSweep(
  days: number,
  values: Readonly<Record<string, unknown>> = {},
): Promise<string> {
  const row: Readonly<Record<string, unknown>> = {
    stream: 'jobs',
    mode: 'full',
    state: 'certified',
    requested_by: 'schedule',
    requests: 3,
    pages: 2,
    records: 10,
    ...values,
  };
  const names = Object.keys(row);
  const {rows} = await pool.query(
    `INSERT INTO sync.sweeps (account_id, started_at, ended_at, ${names.join(', ')})
     SELECT account_id, date_trunc('day', now()) - $1 * interval '1 day' + interval '3 hours',
            date_trunc('day', now()) - $1 * interval '1 day' + interval '3 hours 1 minute',
              ${names.map((_, at) => `$${at + 2}`).join(', ')}
       FROM sync.accounts RETURNING sweep_id`,
    [days, ...Object.values(row)],
  );
  return rows[0].sweep_id;
}

/** Edits a customer as an ERP does. @returns the number of the change */
export async function edit(number: number, phone = '555-0199'): Promise<string> {
  await pool.query('UPDATE warehouse.customers SET phone_number = $2 WHERE customer_number = $1', [
    number,
    phone,
  ]);
  return await lastChange();
}

export async function lastChange(): Promise<string> {
  const {rows} = await pool.query('SELECT max(change_id) AS id FROM sync.changes');
  return rows[0].id;
}

/** Ends a change as done, so many days ago, with the answer of one attempt. */
export async function settle(changeId: string, days: number): Promise<void> {
  await pool.query(
    `INSERT INTO sync.attempts (change_id, fence, method, path, ended_at, outcome, status)
      VALUES ($1, 1, 'PUT', '/customers/1.xml', now(), 'done', 200)`,
    [changeId],
  );
  await pool.query(
    `UPDATE sync.changes SET state = 'sending', sends = 1, sent_at = now(), lease_until = now()
      WHERE change_id = $1`,
    [changeId],
  );
  await pool.query(
    `UPDATE sync.changes SET state = 'done', lease_until = NULL,
      settled_at = now() - $2 * interval '1 day' WHERE change_id = $1`,
    [changeId, days],
  );
}

/** Prunes at once. @returns what was removed, by kind */
export async function pruneNow(batch = 500): Promise<Readonly<Record<string, number>>> {
  const removed = await pruneHistory({
    pool,
    signal: new AbortController().signal,
    restMs: 0,
    batch,
  });
  return Object.fromEntries((removed ?? []).map(({kind, count}: Removed) => [kind, count]));
}

export async function ids(sql: string): Promise<string[]> {
  const {rows} = await pool.query<{id: string}>(sql);
  return rows.map(({id}) => id);
}
