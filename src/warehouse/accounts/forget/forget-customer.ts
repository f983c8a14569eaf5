// What a customer leaves in the warehouse, counted and removed: migrations/functions/forget does both.

import pg from 'pg';
import {FatalError} from '../../../base/errors.ts';
import {inTransaction, type Queryable} from '../../postgres/database.ts';

/** A customer of an account, by number. */
export interface CustomerKey {
  readonly accountId: string;
  readonly number: string;
}

/** What the warehouse holds of a customer. */
export interface HeldCustomer {
  /** Null where the name is gone already. */
  readonly name: string | null;
  /** Whether the service had it when it was last read. */
  readonly isLive: boolean;
  /** The texts by which the customer and its contacts are found in messages. */
  readonly names: readonly string[];
}

/** Rows of a table that were emptied, or that went. */
export interface Removed {
  readonly table: string;
  readonly rows: number;
}

/** The receipt of a customer that was forgotten. */
export interface Receipt {
  readonly forgottenAt: string;
  readonly forgottenBy: string;
  readonly removed: readonly Removed[];
}

const objectInUse = '55006';

/** @returns null where no row and no version is of that customer */
export async function findCustomer(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<HeldCustomer | null> {
  const {rows} = await db.query<HeldCustomer>(
    `SELECT name, _deleted_at IS NULL AND is_here AS "isLive", sync.names_of_customer($1, $2) AS names
       FROM (SELECT name, _deleted_at, true AS is_here, _changed_at FROM warehouse.customers WHERE account_id = $1 AND customer_number = $2
              UNION ALL
             SELECT name, _deleted_at, false, _changed_at FROM history.past_customers WHERE account_id = $1 AND customer_number = $2) AS held
      ORDER BY is_here DESC, _changed_at DESC LIMIT 1`,
    [accountId, number],
  );
  return rows[0] ?? null;
}

/** Counts what forgetting a customer would remove: it is done, and taken back. */
export async function countForgotten(pool: pg.Pool, customer: CustomerKey): Promise<readonly Removed[]> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN');
    return await run(client, customer);
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/**
 * Removes the personal data of a customer in one transaction. Then the tables are vacuumed and analysed: dead rows and
 * statistics hold values, too.
 * @throws {FatalError} changes of the customer are not over
 */
export async function forgetCustomer(pool: pg.Pool, customer: CustomerKey): Promise<Receipt> {
  const removed = await inTransaction(pool, (client) => run(client, customer));
  const {rows} = await pool.query<{forgottenAt: string; forgottenBy: string}>(
    `SELECT to_char(forgotten_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "forgottenAt", forgotten_by AS "forgottenBy"
       FROM sync.forgotten WHERE account_id = $1 AND customer_number = $2 ORDER BY forgotten_id DESC LIMIT 1`,
    [customer.accountId, customer.number],
  );
  const [receipt] = rows;
  if (receipt === undefined) throw new TypeError('what was forgotten has a receipt');
  await sweepUp(pool);
  return {...receipt, removed};
}

async function run(client: pg.ClientBase, {accountId, number}: CustomerKey): Promise<readonly Removed[]> {
  try {
    const {rows} = await client.query<Removed>(
      `SELECT key AS table, value::integer AS rows FROM sync.forget_customer($1, $2) AS removed, jsonb_each_text(removed) ORDER BY key`,
      [accountId, number],
    );
    return rows;
  } catch (error) {
    if (!(error instanceof pg.DatabaseError) || error.code !== objectInUse) throw error;
    throw new FatalError(`customer ${number}: ${error.message}. ${error.hint ?? ''}`, {cause: error});
  }
}

/** Every table of ours, for the star may hold names as well. */
async function sweepUp(pool: pg.Pool): Promise<void> {
  const {rows} = await pool.query<{table: string}>(
    `SELECT format('%I.%I', nspname, relname) AS table
       FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE relkind = 'r' AND nspname IN ('warehouse', 'history', 'mart', 'sync') ORDER BY 1`,
  );
  for (const {table} of rows) await pool.query(`VACUUM (ANALYZE) ${table}`);
}

/** Files of weekly reports that were written for an account. */
export async function listReportFiles(db: Queryable, accountId: string): Promise<readonly string[]> {
  const {rows} = await db.query<{file: string}>(
    'SELECT file FROM sync.weekly_reports WHERE account_id = $1 ORDER BY week',
    [accountId],
  );
  return rows.map(({file}) => file);
}
