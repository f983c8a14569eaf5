// A warehouse of one account, made for each test of a file that uses it, and sweeps that see
// fields.

import type pg from 'pg';
import {afterEach, beforeEach, inject} from 'vitest';
import {upsertAccount} from '../../src/accounts/accounts.ts';
import {inTransaction, openPool} from '../../src/postgres/database.ts';
import {rememberFields, type SeenField, settleFields} from '../../src/sweeps/fields.ts';
import {asRepair, createDatabase, type TestDatabase} from '../support/postgres.ts';

let database: TestDatabase;
export let pool: pg.Pool;
export let accountId: string;

/** Makes the place for each test of the file that calls this. */
export function useFieldsPlace(): void {
  beforeEach(async () => {
    database = await createDatabase(inject('warehouseTemplate'));
    pool = openPool(asRepair(database.url), {max: 4, applicationName: 'test'});
    ({accountId} = await upsertAccount(pool, {
      name: 'acme',
      apiUrl: 'https://example.com/acme',
      timeZone: 'UTC',
    }));
  });
  afterEach(async () => {
    await pool.end();
    await database.drop();
  });
}

/** A field of jobs without a column. */
export function seen(
  field: string,
  type: string | null = 'text',
  more: Partial<SeenField> = {},
): SeenField {
  return {table: 'jobs', field, column: null, type, isTyped: true, ...more};
}

/** Begins a full sweep now; the ones before it have ended. */
export async function beginSweep(stream = 'jobs', account = accountId): Promise<string> {
  await pool.query(
    `UPDATE sync.sweeps SET state = 'certified', ended_at = now(), lease_until = NULL
      WHERE state = 'running'`,
  );
  const {rows} = await pool.query(
    `INSERT INTO sync.sweeps (account_id, stream, mode, requested_by, state, started_at,
      lease_until)
     VALUES ($1, $2, 'full', 'command', 'running', now(), now() + interval '1 hour')
       RETURNING sweep_id AS id`,
    [account, stream],
  );
  return rows[0].id;
}

export async function remember(
  sweepId: string,
  fields: readonly SeenField[],
  stream = 'jobs',
  account = accountId,
) {
  await inTransaction(pool, (client) =>
    rememberFields(client, {accountId: account, stream, sweepId, fields}),
  );
}

export async function settle(
  sweepId: string,
  facts: {parsedAll?: boolean; wroteRows?: boolean; stream?: string} = {},
) {
  const {parsedAll = true, wroteRows = false, stream = 'jobs'} = facts;
  await inTransaction(pool, (client) =>
    settleFields(client, {accountId, stream, sweepId, parsedAll, wroteRows}),
  );
}

/** One sweep that sees some fields and comes to its end. */
export async function sweep(
  fields: readonly SeenField[],
  facts: Parameters<typeof settle>[1] = {},
): Promise<string> {
  const sweepId = await beginSweep(facts.stream);
  await remember(sweepId, fields, facts.stream);
  await settle(sweepId, facts);
  return sweepId;
}

export async function field(name: string, table = 'jobs') {
  const {rows} = await pool.query(
    'SELECT * FROM sync.fields WHERE table_name = $1 AND field = $2',
    [table, name],
  );
  return rows[0];
}

export async function events(): Promise<string[]> {
  const {rows} = await pool.query('SELECT * FROM sync.field_events ORDER BY event_id');
  return rows.map((row) => `${row.table_name}.${row.field} ${row.kind}: ${row.detail}`);
}
