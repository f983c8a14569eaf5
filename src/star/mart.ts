// The star in a warehouse, in the schemas `mart` and `masked`. A migration brings its views, tables
// and functions in line with the definitions. A refresh writes the changes of the warehouse into
// the tables.

import pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {hasSharedSessions, inTransaction, type Queryable} from '../postgres/database.ts';
import {isDatabaseError} from '../postgres/database-errors.ts';
import type {Comment} from '../postgres/tables.ts';
import type {StarMember} from './member.ts';

/**
 * Brings the views of the star and their functions of a moment in line with the definitions. If the
 * columns of a view stay, the view keeps its rights and the objects that others built on it. If
 * they do not, the view and the parts of the star that read it are created again. The caller has
 * begun a transaction.
 * @throws {FatalError} a view must be created again, or a table gets another key, and objects of
 *   others depend on it
 */
export async function applyStar(client: pg.ClientBase, star: readonly StarMember[]): Promise<void> {
  for (const member of star) {
    await client.query('SAVEPOINT member');
    try {
      await createMember(client, member);
    } catch (error) {
      if (!isShapeChange(error)) throw error;
      await client.query('ROLLBACK TO SAVEPOINT member');
      const names = await listDependents(client, star, member);
      await dropMembers(
        client,
        star.filter(({name}) => names.includes(name)),
      );
      await createMember(client, member);
    }
    await client.query('RELEASE SAVEPOINT member');
  }
  // An empty warehouse has an empty star.
  await client.query(
    `INSERT INTO sync.stale_jobs (account_id) SELECT NULL
      WHERE EXISTS (SELECT FROM warehouse.jobs)`,
  );
}

/** The comments of the star: those of its views are written with all others. */
export function starComments(star: readonly StarMember[]): Comment[] {
  return star.flatMap(({name, comment, columns, past, kept}): Comment[] => [
    {kind: kept === null ? 'VIEW' : 'TABLE', name: ['mart', name], text: comment},
    ...(kept === null ? [] : listKeptComments(name, columns)),
    ...Object.entries(columns).map(
      ([column, description]): Comment => ({
        kind: 'COLUMN',
        name: ['mart', name, column],
        text: description,
      }),
    ),
    ...(past === null ? [] : [buildPastComment(name)]),
    {kind: 'VIEW', name: ['masked', name], text: comment},
    ...Object.entries(columns).map(
      ([column, text]): Comment => ({kind: 'COLUMN', name: ['masked', name, column], text}),
    ),
  ]);
}

function listKeptComments(name: string, columns: StarMember['columns']): Comment[] {
  return [
    {kind: 'VIEW', name: ['sync', `all_${name}`], text: `What mart.${name} is to hold.`},
    ...Object.entries(columns).map(
      ([column, text]): Comment => ({kind: 'COLUMN', name: ['sync', `all_${name}`, column], text}),
    ),
    {
      kind: 'FUNCTION',
      name: ['sync', `some_${name}`],
      argumentTypes: 'bigint[]',
      text: `What mart.${name} is to hold of some jobs, by their keys.`,
    },
  ];
}

function buildPastComment(name: string): Comment {
  const text = `mart.${name} as it was at a given time, by what the mirror knew then.`;
  return {
    kind: 'FUNCTION',
    name: ['mart', `${name}_as_of`],
    argumentTypes: 'timestamp with time zone',
    text,
  };
}

async function createMember(
  client: pg.ClientBase,
  {name, present, past, kept, masked}: StarMember,
): Promise<void> {
  if (kept === null) await client.query(`CREATE OR REPLACE VIEW mart.${name} AS ${present}`);
  else await createKeptTable(client, name, {present, ...kept});
  if (past !== null) await client.query(buildFunctionSql(name, past));
  await client.query(`CREATE OR REPLACE VIEW masked.${name} WITH (security_barrier) AS ${masked}`);
}

/**
 * Makes a table, the query that fills it, and the same query for some jobs. A table of other
 * columns is created again. A table that only lacks columns at its end, or has another key or other
 * indexes, keeps its rows.
 */
async function createKeptTable(
  client: pg.ClientBase,
  name: string,
  table: NonNullable<StarMember['kept']> & {readonly present: string},
): Promise<void> {
  const allView = `sync.all_${name}`;
  await client.query(`CREATE OR REPLACE VIEW ${allView} AS ${table.present}`);
  const selectColumns = (relation: string) =>
    `(SELECT array_agg(format('%I %s', attname, format_type(atttypid, atttypmod)) ORDER BY attnum)
        FROM pg_attribute
       WHERE attnum > 0 AND NOT attisdropped AND attrelid = to_regclass(${relation}))`;
  const {rows} = await client.query<{wanted: string[]; held: string[] | null}>(
    `SELECT ${selectColumns('$1')} AS wanted, ${selectColumns('$2')} AS held`,
    [allView, `mart.${name}`],
  );
  const {wanted: wantedColumns = [], held: storedColumns} = rows[0] ?? {};
  if (storedColumns == null)
    await client.query(`CREATE TABLE mart.${name} AS SELECT * FROM ${allView} WITH NO DATA`);
  else await addColumns(client, name, {wanted: wantedColumns, held: storedColumns});
  await setKey(client, name, table.key);
  for (const columns of table.indexes)
    await client.query(
      `CREATE INDEX IF NOT EXISTS ${indexName(name, columns)}
         ON mart.${name} (${columns.join(', ')})`,
    );
  for (const columns of table.formerIndexes)
    await client.query(`DROP INDEX IF EXISTS mart.${indexName(name, columns)}`);
  await client.query(
    `CREATE OR REPLACE FUNCTION sync.some_${name}(keys bigint[]) RETURNS SETOF mart.${name} LANGUAGE
       sql STABLE SET search_path = pg_catalog, pg_temp AS ${pg.escapeLiteral(table.someJobs)}`,
  );
}

/**
 * Adds the columns that are new at the end; the next refresh fills them, because it writes all
 * jobs.
 * @throws {OtherShapeError} the columns differ in another way
 */
async function addColumns(
  client: pg.ClientBase,
  name: string,
  {
    wanted: wantedColumns,
    held: storedColumns,
  }: {readonly wanted: readonly string[]; readonly held: readonly string[]},
): Promise<void> {
  if (storedColumns.some((column, index) => column !== wantedColumns[index]))
    throw new OtherShapeError(name);
  const added = wantedColumns.slice(storedColumns.length).map((column) => `ADD ${column}`);
  if (added.length > 0) await client.query(`ALTER TABLE mart.${name} ${added.join(', ')}`);
}

async function setKey(
  client: pg.ClientBase,
  name: string,
  columns: readonly string[],
): Promise<void> {
  const wantedKey = `PRIMARY KEY (${columns.join(', ')})`;
  const {rows} = await client.query<{name: string; text: string}>(
    `SELECT quote_ident(conname) AS name, pg_get_constraintdef(oid) AS text FROM pg_constraint
      WHERE conrelid = to_regclass($1) AND contype = 'p'`,
    [`mart.${name}`],
  );
  const [currentKey] = rows;
  if (currentKey?.text === wantedKey) return;
  const dropClause = currentKey === undefined ? '' : `DROP CONSTRAINT ${currentKey.name}, `;
  await nameDependents(`mart.${name}: this version gives the star another key`, () =>
    client.query(`ALTER TABLE mart.${name} ${dropClause}ADD ${wantedKey}`),
  );
}

function indexName(name: string, columns: readonly string[]): string {
  return `${name}_${columns.join('_')}_idx`;
}

/** A kept table has other columns than its definition. */
class OtherShapeError extends Error {}

// Readers have no right to sync.accounts, so a function that reads it runs as its owner. The others
// run as their caller, so that the planner can inline them. It cannot inline a function that runs
// as its owner, and would expect a thousand accounts from it. The bodies are parsed here: no
// search_path of a caller changes their meaning.
function buildFunctionSql(name: string, past: string): string {
  const asOwner = past.includes('sync.')
    ? 'ROWS 10 SECURITY DEFINER SET search_path = pg_catalog, pg_temp'
    : '';
  return `CREATE OR REPLACE FUNCTION mart.${name}_as_of(moment timestamptz) RETURNS SETOF
      mart.${name} LANGUAGE sql STABLE ${asOwner} BEGIN ATOMIC ${past}; END`;
}

/** The names of a member and of all members that read it, directly or through others. */
async function listDependents(
  client: pg.ClientBase,
  star: readonly StarMember[],
  {name}: StarMember,
): Promise<string[]> {
  const {rows} = await client.query<{member: string}>(dependentMembers, [
    star.map((member) => member.name),
    name,
  ]);
  return rows.map(({member}) => member);
}

const dependentMembers = `
  WITH RECURSIVE relation AS (
    SELECT member, held.oid, held.reltype
      FROM unnest($1::text[]) AS member
      JOIN pg_class AS held ON held.oid IN (to_regclass('mart.' || member),
        to_regclass('masked.' || member), to_regclass('sync.all_' || member))
  ), part (class, oid, member) AS (
    SELECT 'pg_class'::regclass, oid, member FROM relation
     UNION ALL
    SELECT 'pg_type'::regclass, reltype, member FROM relation
     UNION ALL
    SELECT 'pg_rewrite'::regclass, pg_rewrite.oid, member
      FROM relation JOIN pg_rewrite ON ev_class = relation.oid
     UNION ALL
    SELECT 'pg_proc'::regclass, pg_proc.oid, member
      FROM unnest($1::text[]) AS member
      JOIN pg_proc ON (pronamespace, proname) IN (
        ('mart'::regnamespace, member || '_as_of'), ('sync'::regnamespace, 'some_' || member))
  ), reading AS (
    SELECT reader.member AS reader, source.member AS source
      FROM pg_depend
      JOIN part AS reader ON (classid, objid) = (reader.class, reader.oid)
      JOIN part AS source ON (refclassid, refobjid) = (source.class, source.oid)
  ), dependent (member) AS (
    SELECT $2
     UNION
    SELECT reader FROM dependent JOIN reading ON reading.source = dependent.member
  )
  SELECT member FROM dependent`;

async function dropMembers(client: pg.ClientBase, star: readonly StarMember[]): Promise<void> {
  for (const {name, kept} of star.toReversed()) {
    await nameDependents(`mart.${name}: this version gives the star other columns`, async () => {
      await client.query(`DROP VIEW IF EXISTS masked.${name}`);
      await client.query(`DROP FUNCTION IF EXISTS mart.${name}_as_of(timestamptz)`);
      if (kept === null) await client.query(`DROP VIEW IF EXISTS mart.${name}`);
      else
        await client.query(
          `DROP FUNCTION IF EXISTS sync.some_${name}(bigint[]); DROP TABLE IF EXISTS mart.${name};
             DROP VIEW IF EXISTS sync.all_${name}`,
        );
    });
  }
}

/** A column would be dropped, or would change its place, its name or its type. */
function isShapeChange(error: unknown): boolean {
  return error instanceof OtherShapeError || isDatabaseError(error, '42P16', '42P13');
}

/**
 * Removes from `mart` the parts of the star that an earlier version made and this one does not:
 * members, and functions whose signature has changed. `masked` contains members alone, so the names
 * of its views are those of the members. Everything else in `mart` may belong to others, and stays.
 * The caller has applied the source and the star in this transaction.
 * @throws {FatalError} objects of others depend on a part that would be dropped
 */
export async function dropStarLeftovers(
  client: pg.ClientBase,
  star: readonly StarMember[],
): Promise<void> {
  await dropLeftovers(client, oldFunctions);
  await dropLeftovers(client, oldMembers, [star.map(({name}) => name)]);
}

// A function that was applied now is as old as this transaction. An older function of the same name
// has another signature.
const oldFunctions = `
  SELECT 'FUNCTION ' || oid::regprocedure AS leftover FROM pg_proc
   WHERE pronamespace = 'mart'::regnamespace AND age(xmin) > 0
     AND (proname LIKE '%\\_as\\_of'
       AND to_regclass(format('masked.%I', left(proname, -6))) IS NOT NULL
          OR proname IN (SELECT made.proname FROM pg_proc AS made
                          WHERE made.pronamespace = 'mart'::regnamespace AND age(made.xmin) <= 0))`;

const oldMembers = `
  SELECT CASE held.relkind WHEN 'v' THEN 'VIEW ' ELSE 'TABLE ' END || held.oid::regclass AS leftover
    FROM pg_class AS masked
    JOIN LATERAL (VALUES ('masked', '', 1), ('mart', '', 2), ('sync', 'all_', 3)) AS part (place,
      prefix, turn) ON true
    JOIN pg_class AS held
      ON held.oid = to_regclass(format('%I.%I', place, prefix || masked.relname))
   WHERE masked.relnamespace = 'masked'::regnamespace AND masked.relkind = 'v'
     AND masked.relname <> ALL ($1)
   ORDER BY turn, masked.oid DESC`;

async function dropLeftovers(
  client: pg.ClientBase,
  query: string,
  values: unknown[] = [],
): Promise<void> {
  const {rows} = await client.query<{leftover: string}>(query, values);
  for (const {leftover} of rows) {
    await nameDependents(`${leftover}: this version has it no more`, () =>
      client.query(`DROP ${leftover}`),
    );
  }
}

/**
 * Runs a statement that drops something. If objects of others depend on it, the error names them.
 * @param change - the thing, and its change, as in `mart.dim_item: this version has it no more`
 * @throws {FatalError} objects of others depend on the thing
 */
async function nameDependents(change: string, runStatement: () => Promise<unknown>): Promise<void> {
  try {
    await runStatement();
  } catch (error) {
    if (!isDatabaseError(error, '2BP01')) throw error;
    const dependents = error.detail?.replaceAll('\n', '; ') ?? error.message;
    throw new FatalError(
      `${change}, but others depend on it: ${dependents}; drop them first, ` +
        'and make them again afterwards',
      {cause: error, kind: 'dependents'},
    );
  }
}

/**
 * An edit is written into the star this long after it was made: edits are written together, not one
 * by one.
 */
const settleSeconds = 5;
/**
 * The tables of the parts of jobs: each row has the keys of its job. Filling them takes about as
 * long as filling the table of the jobs.
 */
export const partTables = ['fct_job_charge', 'fct_time_entry', 'fct_assignment'];
/**
 * All reads use one snapshot. A commit does not wait for the disk: a crash that undoes it restores
 * the notes, too.
 */
const beginSql =
  'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; ' +
  'SET LOCAL statement_timeout = 0; SET LOCAL synchronous_commit = off';

/**
 * Writes the changes into the kept tables of the star, if there are any.
 * @returns how many jobs were written
 */
export async function refreshStar(pool: pg.Pool): Promise<number> {
  // After a first load, Postgres has no statistics of the tables. The queries of the refresh would
  // then take several times as long as the load.
  await pool.query('SELECT sync.gather_statistics() WHERE EXISTS (SELECT FROM sync.stale_jobs)');
  return await inTransaction(pool, async (client) => {
    // The snapshot is taken after the lock, so it includes everything that the previous refresh
    // wrote. The notes that are taken are those of the rows that are read.
    await client.query(`${beginSql}; LOCK TABLE sync.stale_jobs IN SHARE UPDATE EXCLUSIVE MODE`);
    const snapshot = hasFreeConnection(pool) ? await exportSnapshotIfEmpty(client) : null;
    const filling = snapshot === null ? null : fillParts(pool, snapshot);
    const refreshing = client.query<{written: string}>('SELECT sync.refresh_star($1) AS written', [
      snapshot === null ? [] : partTables,
    ]);
    // This session waits for the other one even if this one fails, so that the next refresh does
    // not meet it. The other session commits its parts before the notes are removed. So everything
    // is filled again if only one of the two failed.
    const both = [refreshing, filling] as const;
    await Promise.allSettled(both);
    const [{rows}] = await Promise.all(both);
    return Number(rows[0]?.written ?? 0);
  });
}

/**
 * A refresh that waited for a second connection might wait for another refresh, which waits for its
 * lock. A pooler in between does not report whether it has a session left.
 */
function hasFreeConnection(pool: pg.Pool): boolean {
  if (hasSharedSessions(pool)) return false;
  return pool.waitingCount === 0 && (pool.idleCount > 0 || pool.totalCount < pool.options.max);
}

/**
 * The snapshot of a transaction that finds noted jobs and an empty star, for a parallel session;
 * null if it does not.
 */
async function exportSnapshotIfEmpty(client: pg.PoolClient): Promise<string | null> {
  const {rows} = await client.query<{snapshot: string}>(
    `SELECT pg_export_snapshot() AS snapshot
      WHERE EXISTS (SELECT FROM sync.stale_jobs) AND NOT EXISTS (SELECT FROM mart.fct_job)`,
  );
  return rows[0]?.snapshot ?? null;
}

async function fillParts(pool: pg.Pool, snapshot: string): Promise<void> {
  await inTransaction(pool, async (client) => {
    await client.query(`${beginSql}; SET TRANSACTION SNAPSHOT '${snapshot}'`);
    await client.query('SELECT sync.fill_star($1)', [partTables]);
  });
}

/** The time of the oldest change that the star does not hold; null if it holds all. */
export async function readWaitingSince(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<{since: string | null}>('SELECT since FROM mart.freshness');
  return rows[0]?.since ?? null;
}

/** Whether changes wait for a refresh that no running sweep will make at its end. */
export async function isStarStale(pool: pg.Pool): Promise<boolean> {
  const {rows} = await pool.query<{isStale: boolean}>(
    `SELECT EXISTS (SELECT FROM sync.stale_jobs WHERE noted_at < now() - $1 * interval '1 second')
        AND NOT EXISTS (SELECT FROM sync.sweeps WHERE state = 'running') AS "isStale"`,
    [settleSeconds],
  );
  return rows[0]?.isStale === true;
}

/**
 * The state of the warehouse's data, as a text that stays equal as long as no answer can have
 * changed. It contains the number of rows ever written, as Postgres counts them for autovacuum, up
 * to ten seconds late. It also contains the row of each account, with its date and the proof of its
 * jobs. If Postgres counts nothing, the text is never equal.
 */
export async function readDataState(db: Queryable): Promise<string> {
  const {rows} = await db.query<{state: string}>(
    `SELECT CASE WHEN pg_is_in_recovery() OR current_setting('track_counts') = 'off'
              THEN clock_timestamp()::text
              ELSE concat_ws(' ',
                (SELECT sum(n_tup_ins + n_tup_upd + n_tup_del) FROM pg_stat_user_tables
                  WHERE schemaname IN ('warehouse', 'history', 'mart')),
                (SELECT string_agg(account::text, ' ' ORDER BY account_key)
                   FROM mart.dim_account AS account))
            END AS state`,
  );
  return rows[0]?.state ?? '';
}
