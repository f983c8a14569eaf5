// A place with records that have a past: customer 21 is found by many ways, job 31 has a past, job
// 32 is gone, and a customer was made here.

import type pg from 'pg';
import {inSweepTransaction} from '../../src/postgres/database.ts';
import {openPlace, type Place} from './place.ts';

export interface RecordsPlace extends Place {
  /** The moments after each step of the past. */
  readonly after: {readonly made: string; readonly priced: string};
}

export async function openRecords(): Promise<RecordsPlace> {
  const place = await openPlace();
  const {accountId} = place.account;
  const step = (...statements: readonly string[]) => writeAsSweep(place, ...statements);
  const made = await step(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at, ended_at)
     SELECT $1, 'jobs', 'full', 'schedule', 'certified', now(), now() FROM generate_series(1, 3)`,
    `INSERT INTO warehouse.customers (account_id, customer_number, id, name, company_name,
      phone_number, email_address, external_key, extra, _sweep_id)
     VALUES ($1, 21, 2100, 'Wren O''Brien', '<img src=x onerror=alert(1)>', '(413) 555-0178',
       'wren.obrien@example.org', 'ERP-21', '{"custom_text1": "Back door", "custom_text2": "Gate"}',
       1)`,
    `INSERT INTO warehouse.jobs (account_id, job_number, id, customer_number, customer_id, name,
      status, total, description, _sweep_id, _page)
     VALUES ($1, 31, 3100, 21, 2100, 'Boiler', 'scheduled', 10.00, 'Key under the mat', 1, 4),
       ($1, 32, 3200, 21, 2100, 'Pump', 'scheduled', 5, NULL, 1, 4)`,
    `INSERT INTO warehouse.job_charges (account_id, id, job_number, description, total, _sweep_id)
      VALUES ($1, 301, 31, 'Valve', 4, 1)`,
    `INSERT INTO sync.fields (account_id, table_name, field, stream, types, last_sweep_id)
     VALUES ($1, 'customers', 'custom_text1', 'customers', '{text}', 1),
       ($1, 'customers', 'custom_text2', 'customers', '{text}', 1)`,
  );
  await place.pool.query(
    `UPDATE sync.fields SET promoted_as = 'entrance'
      WHERE account_id = $1 AND field = 'custom_text1'`,
    [accountId],
  );
  const priced = await step(
    `UPDATE warehouse.jobs SET total = 24.90, _sweep_id = 2, _page = 5
      WHERE account_id = $1 AND job_number = 31`,
    `UPDATE warehouse.job_charges SET total = 18.90, _sweep_id = 2
      WHERE account_id = $1 AND id = 301`,
    `INSERT INTO warehouse.job_charges (account_id, id, job_number, description, total, _sweep_id)
      VALUES ($1, 302, 31, 'Labour', 6, 2)`,
  );
  await step(
    `UPDATE warehouse.jobs SET _deleted_at = now(), _sweep_id = 3, _page = NULL
      WHERE account_id = $1 AND job_number = 32`,
    `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream, status, message,
       requested_at,
      written_at)
     VALUES (3, 32, $1, 'jobs', 404, 'Invalid job.', now(), now())`,
    `INSERT INTO sync.absent_numbers
       (account_id, stream, sweep_id, requested_at, number, status, message)
     VALUES ($1, 'jobs', 3, now(), 33, 404, 'Never heard of it.')`,
  );
  await place.pool.query(
    `UPDATE warehouse.jobs SET name = 'Boiler and pump' WHERE account_id = $1 AND job_number = 31`,
    [accountId],
  );
  await place.pool.query(
    `INSERT INTO warehouse.customers (account_id, name) VALUES ($1, 'Quill Hall')`,
    [accountId],
  );
  return {...place, after: {made, priced}};
}

/**
 * Writes as a sweep does; the statements may use the account's number. @returns the moment after it
 */
export async function writeAsSweep(
  {pool, account}: Pick<Place, 'account'> & {readonly pool: pg.Pool},
  ...statements: readonly string[]
): Promise<string> {
  await inSweepTransaction(pool, async (client) => {
    for (const statement of statements) await client.query(statement, [account.accountId]);
  });
  const {rows} = await pool.query('SELECT clock_timestamp() AS at');
  return rows[0].at;
}

/**
 * A text without the digits that are in it by chance: fractions of seconds, the token of a form,
 * the time in milliseconds.
 */
export function withoutChance(text: string): string {
  return text
    .replaceAll(/((?::|%3A)\d\d)\.\d{1,6}(?=Z|[+-]\d\d)/g, '$1')
    .replaceAll(/(name="form" value=)"[\w-]+"/g, '$1""')
    .replaceAll(/(&(?:amp;)?since=)\d+/g, '$1');
}
