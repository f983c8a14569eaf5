// The installation that a warehouse belongs to, the name by which a process reaches it, the schemas
// that are entirely ours, and the background parts of its workers with the health of each. A copy
// must never write to a real business. docs/decisions/0032-copies-know-it.md lists what is
// recognised, and what is not. Apart from the facts that Postgres reports about itself, a physical
// copy differs only in its name from its original.

import {readFile, realpath} from 'node:fs/promises';
import {resolve} from 'node:path';
import type pg from 'pg';
import {FatalError} from '../core/errors.ts';
import type {PulseReading} from '../core/pauses.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {isOurs, type LockHolder, listHolders} from '../postgres/lock-waits.ts';
import {listOwnNames} from '../postgres/migrations.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {heartbeats} from './tables.ts';

/** The facts that Postgres reports about itself, and those of the row of sync.installation. */
export interface Installation {
  readonly database: string;
  /** Whether cluster and database are those of the row. */
  readonly isSameDatabase: boolean;
  /** Whether the server has not been restarted since workers last saw it. */
  readonly isSameServer: boolean;
  /** Whether it is a standby: it accepts no writes, and so sends nothing. */
  readonly isStandby: boolean;
  /** The names by which workers reach the database of the row; null if no worker has begun yet. */
  readonly names: readonly string[] | null;
  readonly claimedAt: string | null;
  readonly claimedBy: string | null;
}

/** The next step if a copy is suspected. */
export const fixForCopy =
  'if this is the one that works from now on, and nothing works on the other: ' +
  'fieldmirror installation claim';
const maxStoredNames = 16;
const systemIdentifier = '(SELECT system_identifier::text FROM pg_control_system())';
const databaseOid = '(SELECT oid::bigint FROM pg_database WHERE datname = current_database())';

/** Reads what is known of the installation. */
export async function readInstallationRow(db: Queryable): Promise<Installation> {
  const {rows} = await db.query<Installation>(
    `SELECT current_database() AS database, NOT sync.is_copy() AS "isSameDatabase",
            held.server_started_at IS NOT DISTINCT FROM pg_postmaster_start_time()
              AS "isSameServer",
            pg_is_in_recovery() AS "isStandby", held.names, held.claimed_by AS "claimedBy",
            to_char(held.claimed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "claimedAt"
       FROM (SELECT) AS here LEFT JOIN sync.installation AS held ON true`,
  );
  const [installation] = rows;
  if (installation === undefined)
    throw new TypeError('a query without a condition returns its row');
  return installation;
}

/**
 * Why the database may be a copy of the one that works for the accounts; null if nothing indicates
 * that.
 * @param name - the name by which this process reaches it
 */
export function describeCopy(installation: Installation, name: string): string | null {
  const {names, database, isSameDatabase, isSameServer, isStandby} = installation;
  if (names === null) return null;
  const reason = `database ${database} may be a copy`;
  const alias = names.at(-1);
  if (!isSameDatabase)
    return (
      `${reason}: workers began in another database or cluster of Postgres, reached as ${alias}; ` +
      'so it was restored, cloned or upgraded. No change is sent and no sweep is run'
    );
  if (isStandby || isSameServer || names.includes(name)) return null;
  return (
    `${reason}: its server was started after workers saw it last, and they reached it as ` +
    `${alias}, not as ${name}. No change is sent and no sweep is run from here`
  );
}

/**
 * Checks whether the database may be a copy. If it is not, a new name or a new start of the server
 * is stored. In that case a new name leads to the same server, or a known name leads to a restarted
 * server, as after a restart or a failover.
 * @returns the reason, or null
 */
export async function findCopy(db: Queryable, name: string): Promise<string | null> {
  const installation = await readInstallationRow(db);
  const reason = describeCopy(installation, name);
  const {names, isSameServer, isStandby} = installation;
  if (reason !== null || isStandby || (isSameServer && names?.includes(name) === true))
    return reason;
  await writeServer(db, name);
  return null;
}

/** @throws {FatalError} the database may be a copy */
export async function refuseCopy(db: Queryable, name: string): Promise<void> {
  const reason = await findCopy(db, name);
  if (reason !== null) throw new FatalError(`${reason}; ${fixForCopy}`, {kind: 'copy'});
}

/** The outcome of a claim. */
interface ClaimResult {
  /** Numbers of the creates that are held now. */
  readonly held: readonly string[];
}

/**
 * Makes this database the one that works for the accounts. The other database may have sent pending
 * creates since: they are held for a person. All other changes are compared with the service's
 * present values before anything is sent. Readers of the feed begin again, because the other
 * database may have sent them entries that this one does not hold.
 * @param holdsCreates - false if the other database did nothing since the copy was made: then no
 *   create is held, and the feed continues
 */
export async function claimInstallation(
  pool: pg.Pool,
  {name, holdsCreates}: {readonly name: string; readonly holdsCreates: boolean},
): Promise<ClaimResult> {
  return await inTransaction(pool, async (client) => {
    const {rows} = await client.query<{held: string}>(
      `SELECT change_id AS held FROM sync.changes WHERE $1 AND operation = 'create'
         AND state = 'pending' ORDER BY change_id`,
      [holdsCreates],
    );
    for (const {held: changeId} of rows)
      await client.query('SELECT sync.hold_change($1)', [changeId]);
    if (holdsCreates) await client.query('SELECT sync.renew_feed()');
    await client.query(
      `INSERT INTO sync.installation (system_identifier, database_oid, server_started_at, names)
       VALUES (${systemIdentifier}, ${databaseOid}, pg_postmaster_start_time(), ARRAY[$1])
           ON CONFLICT (is_only) DO UPDATE
          SET system_identifier = EXCLUDED.system_identifier, database_oid = EXCLUDED.database_oid,
              server_started_at = EXCLUDED.server_started_at, names = EXCLUDED.names,
              claimed_at = DEFAULT, claimed_by = DEFAULT`,
      [name],
    );
    return {held: rows.map(({held: changeId}) => changeId)};
  });
}

/** Two workers may note the server at once: the later one updates the row of the earlier one. */
async function writeServer(db: Queryable, name: string): Promise<void> {
  await db.query(
    `INSERT INTO sync.installation AS held (system_identifier, database_oid, server_started_at,
       names)
     VALUES (${systemIdentifier}, ${databaseOid}, pg_postmaster_start_time(), ARRAY[$1])
         ON CONFLICT (is_only) DO UPDATE
        SET server_started_at = EXCLUDED.server_started_at,
            names = (array_remove(held.names, $1) || $1)[greatest(1,
              cardinality(array_remove(held.names, $1)) + 2 - ${maxStoredNames}):]
      WHERE held.system_identifier = EXCLUDED.system_identifier
        AND held.database_oid = EXCLUDED.database_oid`,
    [name],
  );
}

/** The settings that determine where the warehouse is. */
export interface WarehouseAddress {
  readonly databaseUrl: string | null;
  readonly directUrl: string | null;
  /** Folder of the embedded Postgres. */
  readonly home: string;
}

const machineFile = '/etc/machine-id';
const localAddress = /^(localhost|127\..*|\[::1\]|)$/;

/**
 * Host, port and database, without user and password. Every machine has a separate `localhost` and
 * separate folders, so such a name is followed by the machine's id, if there is one.
 */
export async function namePlace({databaseUrl, directUrl, home}: WarehouseAddress): Promise<string> {
  const address = directUrl ?? databaseUrl;
  if (address === null)
    return `${await realpath(home).catch(() => resolve(home))}${await nameMachine()}`;
  const {hostname, port, pathname, searchParams} = new URL(address);
  const socket = searchParams.get('host') ?? '';
  const location = `${hostname === '' ? socket : hostname}:${port === '' ? 5432 : port}${pathname}`;
  return localAddress.test(hostname) ? `${location}${await nameMachine()}` : location;
}

/**
 * Containers have no id, and their host names are generated for each of them. There the address
 * alone is the name.
 */
async function nameMachine(): Promise<string> {
  const id = await readFile(machineFile, 'utf8').catch(() => '');
  return id.trim() === '' ? '' : ` on machine ${id.trim().slice(0, 8)}`;
}

/** One of our schemas that exists in the database. */
export interface OwnSchema {
  readonly schema: string;
  readonly tables: number;
  /** On disk, with its indexes. */
  readonly bytes: number;
}

export async function listOwnSchemas(db: Queryable): Promise<OwnSchema[]> {
  const {rows} = await db.query<OwnSchema>(
    `SELECT nspname AS schema, count(class.oid)::int AS tables,
            coalesce(sum(pg_total_relation_size(class.oid)), 0)::double precision AS bytes
       FROM pg_namespace AS place
       LEFT JOIN pg_class AS class ON relnamespace = place.oid AND relkind IN ('r', 'm')
      WHERE nspname = ANY($1)
      GROUP BY nspname ORDER BY array_position($1, nspname::text)`,
    [await listOwnNames(db)],
  );
  return rows;
}

/**
 * The names of views and tables outside our schemas that would be dropped, or would lose a
 * constraint, together with these schemas.
 */
export async function listDependents(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{name: string}>(
    `WITH ours AS (SELECT oid FROM pg_namespace WHERE nspname = ANY($1)),
          things AS (SELECT 'pg_class'::regclass AS catalog, oid FROM pg_class
            WHERE relnamespace IN (SELECT oid FROM ours)
                     UNION ALL
                     SELECT 'pg_proc'::regclass, oid FROM pg_proc
                       WHERE pronamespace IN (SELECT oid FROM ours)
                     UNION ALL
                     SELECT 'pg_type'::regclass, oid FROM pg_type
                       WHERE typnamespace IN (SELECT oid FROM ours)),
          standing AS (SELECT classid, objid FROM pg_depend JOIN things ON refclassid = catalog
            AND refobjid = things.oid
                        WHERE deptype IN ('n', 'a')),
          relations AS (SELECT objid AS oid FROM standing WHERE classid = 'pg_class'::regclass
                        UNION SELECT ev_class FROM pg_rewrite
                          JOIN standing ON classid = 'pg_rewrite'::regclass
                            AND objid = pg_rewrite.oid
                        UNION SELECT conrelid FROM pg_constraint
                          JOIN standing ON classid = 'pg_constraint'::regclass
                            AND objid = pg_constraint.oid
                        UNION SELECT tgrelid FROM pg_trigger
                          JOIN standing ON classid = 'pg_trigger'::regclass
                            AND objid = pg_trigger.oid
                        UNION SELECT adrelid FROM pg_attrdef
                          JOIN standing ON classid = 'pg_attrdef'::regclass
                            AND objid = pg_attrdef.oid),
          functions AS (SELECT pg_proc.oid, pronamespace, proname FROM pg_proc
            JOIN standing ON classid = 'pg_proc'::regclass AND objid = pg_proc.oid)
     SELECT format('%I.%I', nspname, relname) AS name
       FROM pg_class JOIN relations USING (oid)
         JOIN pg_namespace AS place ON place.oid = relnamespace
      WHERE relnamespace NOT IN (SELECT oid FROM ours) AND nspname !~ '^pg_'
      UNION
     SELECT format('%I.%I()', nspname, proname)
       FROM functions JOIN pg_namespace AS place ON place.oid = pronamespace
      WHERE pronamespace NOT IN (SELECT oid FROM ours)
      ORDER BY name`,
    [await listOwnNames(db)],
  );
  return rows.map(({name}) => name);
}

/** Removes our schemas with all that they hold, in a transaction of the caller. */
export async function dropOwnSchemas(db: Queryable, schemas: readonly OwnSchema[]): Promise<void> {
  const names = schemas.map(({schema}) => `"${schema}"`).join(', ');
  if (names !== '') await db.query(`DROP SCHEMA ${names} CASCADE`);
}

/** Bounds of one part. */
interface PartBounds {
  /** The work of the part, as a subject of a sentence. */
  readonly what: string;
  /** The part needs a person when its last good round is older. */
  readonly lateMs: number;
  /** The longest time of a single round that has not failed; left out: `lateMs`. */
  readonly longestMs?: number;
}

const minuteMs = 60_000;

/** Every background part of a worker. */
export const parts = {
  rounds: {what: 'the check for due sweeps and changes', lateMs: minuteMs},
  star: {what: 'the refresh of the figures in mart', lateMs: minuteMs, longestMs: 10 * minuteMs},
  feed: {what: 'the feed', lateMs: minuteMs},
  hooks: {what: 'the sending of the feed to its subscribers', lateMs: minuteMs},
  alerts: {what: 'the check for what is wrong', lateMs: minuteMs},
  messages: {what: 'the sending of alerts', lateMs: minuteMs},
  // After each table and each file, the delivery notes that it continues.
  delivery: {
    what: 'the delivery of the star',
    lateMs: 3 * minuteMs,
    longestMs: 10 * minuteMs,
  },
  // These two check once a minute.
  retention: {what: 'the removal of what is no longer kept', lateMs: 3 * minuteMs},
  reports: {what: 'the making and sending of weekly reports', lateMs: 3 * minuteMs},
} as const satisfies Readonly<Record<string, PartBounds>>;

export type PartName = keyof typeof parts;
export const partNames = Object.keys(parts) as readonly PartName[];

/** The bounds of a part. */
export function boundsOf(part: PartName): PartBounds {
  return parts[part];
}

const columns = ['worker_id', 'part', 'good_at', 'begun_at', 'last_error'] as const;

/** The health of a part of a live worker: a row of sync.heartbeats. */
export interface PartHealth
  extends ReadRow<typeof heartbeats.$inferSelect, (typeof columns)[number]> {
  /** The worker's machine and process; null if it has not yet looked for work. */
  readonly host: string | null;
  readonly pid: number | null;
}

/**
 * Stores the health of the parts of a worker, and removes other workers' parts noted over a day
 * ago.
 */
export async function noteParts(
  db: Queryable,
  workerId: string,
  readings: readonly (PulseReading & {readonly part: PartName})[],
): Promise<void> {
  await db.query(
    `WITH pruned AS (DELETE FROM sync.heartbeats WHERE noted_at < now() - interval '1 day'
       AND worker_id <> $1)
     INSERT INTO sync.heartbeats (worker_id, part, good_at, begun_at, last_error, noted_at)
     SELECT $1, part, now() - "goodAgoMs" * interval '1 millisecond',
            now() - "begunAgoMs" * interval '1 millisecond', error, now()
       FROM jsonb_to_recordset($2::jsonb) AS said (part text, "goodAgoMs" float8,
         "begunAgoMs" float8, error text)
         ON CONFLICT (worker_id, part) DO UPDATE
        SET good_at = EXCLUDED.good_at, begun_at = EXCLUDED.begun_at,
            last_error = EXCLUDED.last_error, noted_at = EXCLUDED.noted_at`,
    [workerId, JSON.stringify(readings)],
  );
}

/** A worker that stops properly leaves no row. */
export async function removeParts(db: Queryable, workerId: string): Promise<void> {
  await db.query('DELETE FROM sync.heartbeats WHERE worker_id = $1', [workerId]);
}

/**
 * The parts of every worker that has noted them lately; a worker does so every ten seconds. A part
 * of a killed worker is not late: the problem `no-worker` reports it if no other worker is alive.
 */
export async function listParts(db: Queryable): Promise<PartHealth[]> {
  const {rows} = await db.query<PartHealth>(
    `SELECT ${selectColumns(columns, 'beat')}, worker.host, worker.pid
       FROM sync.heartbeats AS beat LEFT JOIN sync.workers AS worker USING (worker_id)
      WHERE beat.noted_at > now() - interval '30 seconds'
      ORDER BY beat.part, beat.good_at, beat.worker_id`,
  );
  return rows;
}

/** The sessions that sessions of Fieldmirror in this database wait for. */
export async function listOwnWaits(db: Queryable): Promise<LockHolder[]> {
  const {rows} = await db.query<{pid: number}>(
    `SELECT pid FROM pg_stat_activity AS session
      WHERE datname = current_database() AND ${isOurs}
        AND cardinality(pg_blocking_pids(pid)) > 0`,
  );
  if (rows.length === 0) return [];
  return await listHolders(
    db,
    rows.map(({pid}) => pid),
  );
}
