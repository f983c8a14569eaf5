// What a customer leaves in the warehouse, counted and removed: migrations/functions/forget does
// both.

import pg from 'pg';
import {FatalError, RetryableError} from '../core/errors.ts';
import type {Queryable} from '../postgres/database.ts';

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
const insufficientPrivilege = '42501';
const lockNotAvailable = '55P03';

/** @returns null where no row and no version is of that customer */
export async function findCustomer(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<HeldCustomer | null> {
  const {rows} = await db.query<HeldCustomer>(
    `SELECT name, _deleted_at IS NULL AND is_here AS "isLive"
       FROM (SELECT name, _deleted_at, true AS is_here, _changed_at FROM warehouse.customers WHERE account_id = $1 AND customer_number = $2
              UNION ALL
             SELECT name, _deleted_at, false, _changed_at FROM history.past_customers WHERE account_id = $1 AND customer_number = $2) AS held
      ORDER BY is_here DESC, _changed_at DESC LIMIT 1`,
    [accountId, number],
  );
  return rows[0] ?? null;
}

/**
 * The texts by which a customer and its contacts are found in messages and files.
 * @throws {FatalError} the login is not the owner's
 */
export async function listNames(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<readonly string[]> {
  try {
    const {rows} = await db.query<{names: string[]}>(
      'SELECT sync.names_of_customer($1, $2) AS names',
      [accountId, number],
    );
    return rows[0]?.names ?? [];
  } catch (error) {
    throw explain(error, number);
  }
}

/** Counts what forgetting a customer would remove: it is done, and taken back. */
export async function countForgotten(
  pool: pg.Pool,
  customer: CustomerKey,
): Promise<readonly Removed[]> {
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
 * Removes the personal data of a customer, in a transaction of the caller. Once it is committed the
 * tables are to be vacuumed.
 * @throws {FatalError} changes of the customer are not over, or the login is not the owner's
 * @throws {RetryableError} somebody else held a table for too long
 */
export async function forgetCustomer(
  client: pg.ClientBase,
  customer: CustomerKey,
): Promise<Receipt> {
  await run(client, customer);
  const [receipt] = await listReceipts(client, customer);
  if (receipt === undefined) throw new TypeError('what was forgotten has a receipt');
  return receipt;
}

/** The receipts of a customer, the newest first: none where it was never forgotten. */
export async function listReceipts(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<readonly Receipt[]> {
  const {rows} = await db.query<Receipt>(
    `SELECT to_char(forgotten_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "forgottenAt", forgotten_by AS "forgottenBy",
            coalesce((SELECT jsonb_agg(jsonb_build_object('table', key, 'rows', value) ORDER BY key) FROM jsonb_each(removed)), '[]') AS removed
       FROM sync.forgotten WHERE account_id = $1 AND customer_number = $2 ORDER BY forgotten_id DESC`,
    [accountId, number],
  );
  return rows;
}

/**
 * All versions and all messages are looked through: that takes longer than a statement may
 * elsewhere.
 */
async function run(
  client: pg.ClientBase,
  {accountId, number}: CustomerKey,
): Promise<readonly Removed[]> {
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    const {rows} = await client.query<Removed>(
      `SELECT key AS table, value::integer AS rows FROM sync.forget_customer($1, $2) AS removed, jsonb_each_text(removed) ORDER BY key`,
      [accountId, number],
    );
    return rows;
  } catch (error) {
    throw explain(error, number);
  }
}

function explain(error: unknown, number: string): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code === objectInUse)
    return new FatalError(`customer ${number}: ${error.message}. ${error.hint ?? ''}`, {
      cause: error,
    });
  if (error.code === insufficientPrivilege)
    return new FatalError(
      `customer ${number}: expected the login of the warehouse's owner, got one that may not change history; call fieldmirror forget customers ${number} as the owner`,
      {cause: error},
    );
  if (error.code === lockNotAvailable)
    return new RetryableError(
      `customer ${number}: somebody else was writing for too long, such as a sweep or an import; try again in a moment`,
      {cause: error},
    );
  return error;
}

/**
 * Vacuums and analyses every table of ours, for dead rows and statistics hold values, too, and the
 * star may hold names.
 * @param pool - without a pooler in between, and without a limit for a statement
 */
export async function vacuumAll(pool: pg.Pool): Promise<void> {
  const {rows} = await pool.query<{table: string}>(
    `SELECT format('%I.%I', nspname, relname) AS table
       FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE relkind = 'r' AND nspname IN ('warehouse', 'history', 'mart', 'sync') ORDER BY 1`,
  );
  for (const {table} of rows) await pool.query(`VACUUM (ANALYZE) ${table}`);
}

/** Files of weekly reports that were written for an account. */
export async function listReportFiles(
  db: Queryable,
  accountId: string,
): Promise<readonly string[]> {
  const {rows} = await db.query<{file: string}>(
    'SELECT file FROM sync.weekly_reports WHERE account_id = $1 ORDER BY week',
    [accountId],
  );
  return rows.map(({file}) => file);
}
