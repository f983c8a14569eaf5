// Forgets a customer. Functions of the database, in migrations/functions/forget, count and remove
// its data. No transaction can include report files and dead rows, so they are removed afterwards.

import {readFile, rm} from 'node:fs/promises';
import pg from 'pg';
import {FatalError, RetryableError} from '../core/errors.ts';
import {formatNumber} from '../core/format.ts';
import {escapeXml} from '../core/text.ts';
import type {Queryable} from '../postgres/database.ts';

/** A customer of an account, by number. */
export interface CustomerKey {
  readonly accountId: string;
  readonly number: string;
}

/** A customer as the warehouse has it. */
interface StoredCustomer {
  /** Null if the name was removed already. */
  readonly name: string | null;
  /** Whether the service had the customer when it was last read. */
  readonly isLive: boolean;
}

/** How many rows of a table were emptied or removed. */
export interface ForgottenRows {
  readonly table: string;
  readonly rows: number;
}

/** The receipt of a customer that was forgotten. */
export interface Receipt {
  readonly forgottenAt: string;
  readonly forgottenBy: string;
  readonly removed: readonly ForgottenRows[];
}

const objectInUse = '55006';
const insufficientPrivilege = '42501';
const lockNotAvailable = '55P03';

/** @returns null if no row and no version is of that customer */
export async function findCustomer(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<StoredCustomer | null> {
  const {rows} = await db.query<StoredCustomer>(
    `SELECT CASE WHEN name ~ '\\S' THEN name END AS name,
            _deleted_at IS NULL AND is_here AS "isLive"
       FROM (SELECT name, _deleted_at, true AS is_here, _changed_at FROM warehouse.customers
         WHERE account_id = $1 AND customer_number = $2
              UNION ALL
             SELECT name, _deleted_at, false, _changed_at FROM history.past_customers
               WHERE account_id = $1 AND customer_number = $2) AS held
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
    throw explainError(error, number);
  }
}

/**
 * Counts the rows that forgetting a customer would remove. It only reads, so no other session waits
 * for it.
 */
export async function countForgotten(
  pool: pg.Pool,
  customer: CustomerKey,
): Promise<readonly ForgottenRows[]> {
  const client = await pool.connect();
  try {
    await client.query('BEGIN READ ONLY');
    return await callFunction(client, customer, 'count_forgotten');
  } finally {
    await client.query('ROLLBACK');
    client.release();
  }
}

/**
 * Removes the personal data of a customer, in a transaction of the caller. After its commit, the
 * tables must be vacuumed.
 * @throws {FatalError} changes of the customer are still open, or the login is not the owner's
 * @throws {RetryableError} another session held a table for too long
 */
export async function forgetCustomer(
  client: pg.ClientBase,
  customer: CustomerKey,
): Promise<Receipt> {
  await callFunction(client, customer, 'forget_customer');
  const [receipt] = await listReceipts(client, customer);
  if (receipt === undefined) throw new TypeError('what was forgotten has a receipt');
  return receipt;
}

/** The receipts of a customer, the newest first; none if it was never forgotten. */
export async function listReceipts(
  db: Queryable,
  {accountId, number}: CustomerKey,
): Promise<readonly Receipt[]> {
  const {rows} = await db.query<Receipt>(
    `SELECT to_char(forgotten_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "forgottenAt",
            forgotten_by AS "forgottenBy",
            coalesce((SELECT jsonb_agg(jsonb_build_object('table', key, 'rows', value) ORDER BY key)
              FROM jsonb_each(removed)), '[]') AS removed
       FROM sync.forgotten WHERE account_id = $1 AND customer_number = $2
         ORDER BY forgotten_id DESC`,
    [accountId, number],
  );
  return rows;
}

/**
 * Runs one of the two functions without a statement timeout: it searches all versions and all
 * messages, which takes longer than a statement may take elsewhere.
 */
async function callFunction(
  client: pg.ClientBase,
  {accountId, number}: CustomerKey,
  name: 'forget_customer' | 'count_forgotten',
): Promise<readonly ForgottenRows[]> {
  try {
    await client.query('SET LOCAL statement_timeout = 0');
    const {rows} = await client.query<ForgottenRows>(
      `SELECT key AS table, value::integer AS rows
         FROM sync.${name}($1, $2) AS removed, jsonb_each_text(removed) ORDER BY key`,
      [accountId, number],
    );
    return rows;
  } catch (error) {
    throw explainError(error, number);
  }
}

function explainError(error: unknown, number: string): unknown {
  if (!(error instanceof pg.DatabaseError)) return error;
  if (error.code === objectInUse)
    return new FatalError(`customer ${number}: ${error.message}. ${error.hint ?? ''}`, {
      cause: error,
    });
  if (error.code === insufficientPrivilege)
    return new FatalError(
      `customer ${number}: expected the login of the warehouse's owner, ` +
        `got one that may not change history; call fieldmirror forget customers ${number} as the ` +
        'owner',
      {cause: error},
    );
  if (error.code === lockNotAvailable)
    return new RetryableError(
      `customer ${number}: somebody else was writing for too long, such as a sweep or an ` +
        'import; try again shortly',
      {cause: error},
    );
  return error;
}

/**
 * Vacuums and analyses every table of ours, because dead rows and statistics also contain values,
 * and the star may contain names.
 * @param pool - without a pooler in between, and without a limit for a statement
 */
async function vacuumAll(pool: pg.Pool): Promise<void> {
  const {rows} = await pool.query<{table: string}>(
    `SELECT format('%I.%I', nspname, relname) AS table
       FROM pg_class AS class JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE relkind = 'r' AND nspname IN ('warehouse', 'history', 'mart', 'sync') ORDER BY 1`,
  );
  for (const {table} of rows) await pool.query(`VACUUM (ANALYZE) ${table}`);
}

/** Files of weekly reports that were written for an account. */
async function listReportFiles(db: Queryable, accountId: string): Promise<readonly string[]> {
  const {rows} = await db.query<{file: string}>(
    'SELECT file FROM sync.weekly_reports WHERE account_id = $1 ORDER BY week',
    [accountId],
  );
  return rows.map(({file}) => file);
}

/** A customer that is to be forgotten, or was. */
export interface ForgettingStory extends Pick<StoredCustomer, 'name' | 'isLive'> {
  readonly number: string;
  readonly account: string;
  /** The rows that would be removed; none if the customer was forgotten already, or cannot be. */
  readonly removed: readonly ForgottenRows[];
  /** Why the customer cannot be forgotten now; null if it can. */
  readonly refusal: string | null;
  /** The newest first; none if the customer was never forgotten. */
  readonly receipts: readonly Receipt[];
}

/**
 * Reads the effect that forgetting a customer would have.
 * @returns null if the warehouse has nothing of such a customer
 */
export async function readForgetting(
  pool: pg.Pool,
  {accountId, name: account}: {readonly accountId: string; readonly name: string},
  number: string,
): Promise<ForgettingStory | null> {
  const customer = {accountId, number};
  const storedCustomer = await findCustomer(pool, customer);
  if (storedCustomer === null) return null;
  const {name, isLive} = storedCustomer;
  const receipts = await listReceipts(pool, customer);
  const effect =
    receipts.length === 0 ? await readEffect(pool, customer) : {removed: [], refusal: null};
  return {number, account, name, isLive, receipts, ...effect};
}

async function readEffect(
  pool: pg.Pool,
  customer: CustomerKey,
): Promise<Pick<ForgettingStory, 'removed' | 'refusal'>> {
  try {
    return {removed: await countForgotten(pool, customer), refusal: null};
  } catch (error) {
    if (error instanceof FatalError || error instanceof RetryableError)
      return {removed: [], refusal: error.message};
    throw error;
  }
}

/**
 * Describes, in a sentence or two each, the data that are removed, those that stay, and those that
 * are not reached.
 */
export function describeEnd(
  label: string,
  {name, isLive}: Pick<StoredCustomer, 'name' | 'isLive'>,
): string[] {
  const customer = `${label}${name === null ? '' : `, ${name},`}`;
  return [
    `The personal data of ${customer} go for good, from every version. ` +
      'Numbers, amounts and times stay.',
    isLive
      ? 'The service still has this customer. What it sends of them is kept out here; ' +
        'to be forgotten there, the record must be deleted there, too.'
      : 'The service has this customer no longer.',
    'Backups, exported files, delivered snapshots and readers of the feed hold what they took.',
  ];
}

/** The sum of the removed rows: `12 rows in 3 tables`. */
export function sumRemoved(removed: readonly ForgottenRows[]): string {
  const rows = removed.reduce((total, table) => total + table.rows, 0);
  return `${formatNumber(rows)} rows in ${formatNumber(removed.length)} tables`;
}

/**
 * Describes the weekly reports that were removed, and those that could not be read; empty if there
 * are none of either.
 */
export function describeFiles({removed, unseen}: ClearedFiles): string[] {
  return [
    ...(removed.length === 0 ? [] : [`removed weekly reports ${removed.join(', ')}`]),
    ...(unseen.length === 0
      ? []
      : [`weekly reports that cannot be read from here: ${unseen.join(', ')}`]),
  ];
}

/** Files of weekly reports, by what became of them. */
interface ClearedFiles {
  readonly removed: readonly string[];
  /** Files that cannot be read from here. */
  readonly unseen: readonly string[];
}

/**
 * Removes the report files that name a forgotten customer, and vacuums the tables.
 * @param pool - as `vacuumAll` needs it
 * @param forgotten.names - texts by which the customer was found, read before it was forgotten
 */
export async function cleanUpForgotten(
  pool: pg.Pool,
  {accountId, names}: {readonly accountId: string; readonly names: readonly string[]},
): Promise<ClearedFiles> {
  const files = await removeReports(await listReportFiles(pool, accountId), names);
  await vacuumAll(pool);
  return files;
}

/** A page contains names as HTML. A file that contains one of the names is removed as a whole. */
async function removeReports(
  files: readonly string[],
  names: readonly string[],
): Promise<ClearedFiles> {
  const removed: string[] = [];
  const unseen: string[] = [];
  const searchTexts = names.flatMap((name) => [name, escapeXml(name)]);
  for (const file of files) {
    const page = await readFile(file, 'utf8').catch(() => null);
    if (page === null) unseen.push(file);
    else if (searchTexts.some((name) => page.includes(name))) {
      await rm(file);
      removed.push(file);
    }
  }
  return {removed, unseen};
}
