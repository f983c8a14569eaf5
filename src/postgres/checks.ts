// Checks whether a database can be used: its clock, its direct address, its sequences.

import type pg from 'pg';
import {FatalError} from '../core/errors.ts';
import type {Queryable} from './database.ts';
import {describeDatabase, explainDatabaseError} from './database-errors.ts';

/**
 * More than a round trip to the database ever takes, less than would make a schedule or an age
 * wrong.
 */
const maxClockDifferenceMs = 60_000;

const readOnlySetting =
  'read-only: default_transaction_read_only is on for the login, the database or the server; ' +
  'switch it off there (ALTER ROLE or ALTER DATABASE … RESET default_transaction_read_only)';

/** The present moment by the clock of the database: ISO 8601 in UTC. */
export async function readNow(db: Queryable): Promise<string> {
  const {rows} = await db.query<{now: string}>('SELECT now() AS now');
  return rows[0]?.now ?? '';
}

/**
 * How many milliseconds the database's clock is ahead of this machine's, give or take half a round
 * trip.
 */
export async function readClockAheadMs(db: Queryable): Promise<number> {
  const before = Date.now();
  const {rows} = await db.query<{ms: number}>(
    'SELECT extract(epoch FROM clock_timestamp())::float8 * 1000 AS ms',
  );
  return Number(rows[0]?.ms) - (before + Date.now()) / 2;
}

/** `10.0 s ahead of this machine` */
export function describeAhead(aheadMs: number): string {
  return (
    `${(Math.abs(aheadMs) / 1000).toFixed(1)} s ${aheadMs > 0 ? 'ahead of' : 'behind'} this ` +
    'machine'
  );
}

/**
 * Leases use the database's clock; first schedules and the ages that we write use ours.
 * @throws {FatalError} the two clocks are too far apart
 */
export async function refuseWrongClock(db: Queryable): Promise<void> {
  const aheadMs = await readClockAheadMs(db);
  if (Math.abs(aheadMs) <= maxClockDifferenceMs) return;
  throw new FatalError(
    `Postgres' clock: expected at most ${maxClockDifferenceMs / 1000} s apart from ours, got ` +
      `${describeAhead(aheadMs)}; set both by NTP (timedatectl set-ntp true)`,
    {kind: 'clock'},
  );
}

/**
 * Checks that the direct address gives sessions that are not shared, of the same database.
 * Otherwise migrations and the queue would be in one database and the rows in another, without any
 * error.
 * @param pool - of DATABASE_URL
 * @param direct - of DATABASE_DIRECT_URL
 * @throws {RetryableError | FatalError} the address cannot be reached, shares sessions too, or
 *   leads to another database
 */
export async function checkDirect(pool: pg.Pool, direct: pg.Pool): Promise<void> {
  const [url = '', directUrl = ''] = [pool, direct].map(({options}) => options.connectionString);
  const directIdentity = await readIdentity(direct).catch((error: unknown) => {
    throw explainDatabaseError(error, directUrl, 'DATABASE_DIRECT_URL');
  });
  if ((await readIdentity(pool)) === directIdentity) return;
  throw new FatalError(
    `DATABASE_DIRECT_URL: expected the database of DATABASE_URL (${describeDatabase(url)}), ` +
      `got another one (${describeDatabase(directUrl)}); name the same database in both`,
    {kind: 'pooler'},
  );
}

/** The cluster, which a standby shares with its primary, and the database in it. */
async function readIdentity(pool: pg.Pool): Promise<string | undefined> {
  const {rows} = await pool.query<{identity: string}>(
    `SELECT system_identifier || '/' || oid AS identity
       FROM pg_control_system(), pg_database WHERE datname = current_database()`,
  );
  return rows[0]?.identity;
}

/** The version of a server, and the reason why it accepts no writes; null if it accepts them. */
interface Server {
  readonly version: string;
  readonly problem: string | null;
}

export async function readServer(db: Queryable): Promise<Server> {
  const {rows} = await db.query<{version: string; isStandby: boolean; isReadOnly: boolean}>(
    `SELECT current_setting('server_version') AS version, pg_is_in_recovery() AS "isStandby",
            current_setting('default_transaction_read_only')::boolean AS "isReadOnly"`,
  );
  const {version = '', isStandby = false, isReadOnly = false} = rows[0] ?? {};
  if (isStandby) return {version, problem: 'a standby that was not promoted: it takes no writes'};
  return {version, problem: isReadOnly ? readOnlySetting : null};
}

/** A sequence whose next number is taken already. */
interface SpentSequence {
  /** With its schema, as in `warehouse.customers_row_id_seq`. */
  readonly sequence: string;
  readonly table: string;
  readonly column: string;
  /** The last number that it gave; 0 before the first. */
  readonly last: string;
  /** The highest number in the table, or in its history. */
  readonly highest: string;
}

// The catalogue has every column with a sequence, including those added later. The number of a
// deleted row counts as well: if it were given again, two rows would share one history.
const sequencesQuery = `
  SELECT counter.oid::regclass::text AS sequence, owner.oid::regclass::text AS "table",
         attname AS "column",
         to_regclass(format('history.%I', 'past_' || owner.relname))::text AS past
    FROM pg_class AS counter
    JOIN pg_depend ON classid = 'pg_class'::regclass AND objid = counter.oid
                  AND refclassid = 'pg_class'::regclass AND deptype IN ('i', 'a')
    JOIN pg_class AS owner ON owner.oid = refobjid
    JOIN pg_attribute ON attrelid = owner.oid AND attnum = refobjsubid
   WHERE counter.relkind = 'S'
     AND owner.relnamespace IN ('warehouse'::regnamespace, 'sync'::regnamespace)
   ORDER BY 1`;

/**
 * Finds the sequences that are behind the numbers in use, as after a restore without them, or after
 * rows were inserted with explicit numbers. It takes one index lookup per table.
 */
export async function findSpentSequences(pool: pg.Pool): Promise<SpentSequence[]> {
  const {rows: sequences} = await pool.query<
    Record<'sequence' | 'table' | 'column', string> & {past: string | null}
  >(sequencesQuery);
  // The names are quoted by Postgres itself.
  const queries = sequences.map(({sequence, table, column, past}, at) => {
    const highest = [table, ...(past === null ? [] : [past])].map(
      (tableName) => `(SELECT max(${column}) FROM ${tableName})`,
    );
    return `SELECT ${at} AS at,
                   coalesce(pg_sequence_last_value('${sequence}'::regclass), 0)::text AS last,
                   greatest(${highest.join(', ')})::text AS highest`;
  });
  const {rows} = await pool.query<{at: number; last: string; highest: string | null}>(
    queries.join(' UNION ALL '),
  );
  return rows.flatMap(({at, last, highest}) => {
    const spentSequence = sequences[at];
    const isSpent =
      spentSequence !== undefined && highest !== null && BigInt(highest) > BigInt(last);
    return isSpent
      ? [
          {
            sequence: spentSequence.sequence,
            table: spentSequence.table,
            column: spentSequence.column,
            last,
            highest,
          },
        ]
      : [];
  });
}

/** The fault of a sequence, and the next step. */
export function describeSpent({sequence, table, column, last, highest}: SpentSequence): string {
  return (
    `${sequence}: expected at least ${highest}, the highest ${column} that ${table} has or ` +
    `had, got ${last}: new rows would get numbers that are taken, as after a restore without ` +
    `sequences; let the owner run SELECT setval('${sequence}', ${highest})`
  );
}

/** @throws {FatalError} a sequence is behind its table */
export async function checkSequences(pool: pg.Pool): Promise<void> {
  const spentSequences = await findSpentSequences(pool);
  if (spentSequences.length > 0)
    throw new FatalError(spentSequences.map(describeSpent).join('\n'), {kind: 'sequences'});
}
