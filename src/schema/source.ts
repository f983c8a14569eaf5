// Functions, triggers and grants are source files. If one of them changes, all are applied, so that
// no migration contains a copy of one.

import {createHash} from 'node:crypto';
import {readdirSync, readFileSync} from 'node:fs';
import {join} from 'node:path';
import pg from 'pg';
import {transitions} from '../changes/states.ts';
import {FatalError} from '../core/errors.ts';
import {packageRoot, readVersion} from '../core/package.ts';
import type {Queryable} from '../postgres/database.ts';
import type {StarMember} from '../star/member.ts';
import type {WarehouseTable} from '../streams/table.ts';

const functionsFolder = join(packageRoot, 'migrations', 'functions');

/** Everything that this version defines in the database apart from its tables. */
export interface Source {
  /** Our version, as in `0.1.0`. */
  readonly version: string;
  /** SHA-256 over the files, the definitions and the transitions between states. */
  readonly hash: string;
  /** SQL, in the order to run it. */
  readonly files: readonly {readonly name: string; readonly text: string}[];
}

/** Reads `migrations/functions`, and the definitions. */
export function readSource(definitions: Definitions, folder = functionsFolder): Source {
  const files = readdirSync(folder, {recursive: true, encoding: 'utf8'})
    .filter((name) => name.endsWith('.sql'))
    .sort()
    .map((name) => ({name, text: readFileSync(join(folder, name), 'utf8')}));
  const hash = createHash('sha256')
    .update(JSON.stringify([files, definitions, transitions]))
    .digest('hex');
  return {version: readVersion(), hash, files};
}

/** The source that a database has. */
interface AppliedSource {
  readonly version: string;
  readonly hash: string;
}

/** @returns null when none was applied yet */
export async function readAppliedSource(db: Queryable): Promise<AppliedSource | null> {
  try {
    const {rows} = await db.query<AppliedSource>('SELECT version, hash FROM sync.source');
    return rows[0] ?? null;
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '42P01') return null;
    throw error;
  }
}

/**
 * Whether a database has another source than this version contains. The source of a newer version
 * stays: two versions may run at the same time while one replaces the other.
 */
export function isOutdated(applied: AppliedSource | null, source: Source): boolean {
  if (applied === null) return true;
  const order = compareVersions(applied.version, source.version);
  return order < 0 || (order === 0 && applied.hash !== source.hash);
}

// Versions are mostly equal, and the rules of collation cost 8 ms of CPU to load.
function compareVersions(first: string, second: string): number {
  return first === second ? 0 : first.localeCompare(second, 'en', {numeric: true});
}

/**
 * Brings every function and trigger in line with the source, and removes those that it no longer
 * has. The caller has begun a transaction.
 * @throws {FatalError} Postgres refuses a file; the message names the file
 */
export async function applySource(
  client: pg.ClientBase,
  tables: readonly WarehouseTable[],
  source: Source,
): Promise<void> {
  // Functions refer to each other, so a body is not checked until it first runs.
  await client.query('SET LOCAL check_function_bodies = off');
  for (const {name, text} of source.files)
    await runFile(client, name, text.replace(comments, emptyLines));
  for (const table of tables) await applyTable(client, table);
  await client.query(dropLeftovers);
  await client.query(
    `INSERT INTO sync.source (version, hash) VALUES ($1, $2)
         ON CONFLICT (only_row) DO UPDATE
           SET version = EXCLUDED.version, hash = EXCLUDED.hash, applied_at = now()`,
    [source.version, source.hash],
  );
}

/**
 * Sets the comments of the functions, which name them without their arguments. So an earlier
 * signature of the same name must already be dropped.
 */
export async function commentSource(client: pg.ClientBase, source: Source): Promise<void> {
  for (const {name, text} of source.files)
    await runFile(client, name, text.match(comments)?.join('\n') ?? '');
}

const comments = /^COMMENT ON FUNCTION [\w.]+\s+IS\s+'(?:[^']|''|'\n\s+')*';/gm;
/** Keeps the line breaks of a comment, so that the numbers of the lines after it stay the same. */
const emptyLines = (comment: string) => comment.replace(/[^\n]+/g, '');

async function runFile(client: pg.ClientBase, name: string, text: string): Promise<void> {
  try {
    await client.query(text);
  } catch (error) {
    if (!(error instanceof pg.DatabaseError)) throw error;
    const line =
      error.position === undefined ? '' : `, line ${findLineNumber(text, Number(error.position))}`;
    throw new FatalError(`migrations/functions/${name}${line}: ${error.message}`, {cause: error});
  }
}

function findLineNumber(text: string, position: number): number {
  return text.slice(0, position).split('\n').length;
}

async function applyTable(client: pg.ClientBase, table: WarehouseTable): Promise<void> {
  const {name, origin} = table;
  await client.query('SELECT history.keep($1, $2, $3)', [
    name,
    origin.embeddedIn,
    origin.parentColumn,
  ]);
  await client.query('SELECT sync.capture($1)', [name]);
}

// If one of our functions or triggers is older than this transaction, the source no longer has it.
// Functions of extensions are not ours; a trigger is ours if its function is.
const dropLeftovers = `
DO $$
DECLARE
  leftover record;
BEGIN
  FOR leftover IN
    SELECT tgname AS name, tgrelid::regclass AS place
      FROM pg_trigger JOIN pg_proc ON pg_proc.oid = tgfoid
     WHERE NOT tgisinternal AND pronamespace IN ('sync'::regnamespace, 'history'::regnamespace)
       AND age(pg_trigger.xmin) > 0
  LOOP
    EXECUTE format('DROP TRIGGER %I ON %s', leftover.name, leftover.place);
  END LOOP;
  FOR leftover IN
    SELECT oid::regprocedure AS name FROM pg_proc
     WHERE pronamespace IN ('sync'::regnamespace, 'history'::regnamespace) AND age(pg_proc.xmin) > 0
       AND NOT EXISTS (SELECT FROM pg_depend WHERE classid = 'pg_proc'::regclass
         AND objid = pg_proc.oid AND deptype = 'e')
  LOOP
    EXECUTE format('DROP FUNCTION %s', leftover.name);
  END LOOP;
END $$`;

/**
 * The objects that a migration makes from definitions in the code, apart from the tables of
 * `migrations/*.sql`.
 */
export interface Definitions {
  /** Every warehouse table. */
  readonly tables: readonly WarehouseTable[];
  /** Every member of the star, each after the members that it depends on. */
  readonly star: readonly StarMember[];
}
