// drizzle passes over a migration that is older than the newest one applied, and never compares a
// hash. So the journal beside the migrations is compared with what the database says it has, read
// as drizzle reads it.

import {createHash} from 'node:crypto';
import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import pg from 'pg';
import {FatalError} from '../core/errors.ts';
import {packageRoot} from '../core/package.ts';
import type {Queryable} from '../postgres/database.ts';

export const migrationsFolder = join(packageRoot, 'migrations');

/** How the database stands to the migrations of this version. */
export interface MigrationCheck {
  /** Migrations that the database does not have, by the place in the journal, from 1. */
  readonly missing: readonly number[];
  /** Hashes of migrations in the database that this version does not know. */
  readonly unknown: readonly string[];
  /** Hashes of the migrations that the database has. */
  readonly applied: readonly string[];
  /** The problem and the next step; null when there is none. */
  readonly problem: string | null;
}

/**
 * Compares the migrations applied with those of this version. A database that was never migrated
 * misses everything.
 * @throws {FatalError} the journal itself is out of order
 */
export async function checkMigrations(
  db: Queryable,
  folder = migrationsFolder,
): Promise<MigrationCheck> {
  const brought = readJournal(folder);
  const applied = await readApplied(db);
  const missing = brought.flatMap((hash, at) => (applied.includes(hash) ? [] : at + 1));
  const unknown = applied.filter((hash) => !brought.includes(hash));
  return {
    missing,
    unknown,
    applied,
    problem: describeProblem(missing, unknown, applied.length === 0),
  };
}

/** An entry of the journal that drizzle-kit keeps; `tag` names the file of SQL. */
interface Entry {
  readonly tag: string;
  /** Milliseconds since 1970. */
  readonly when: number;
}

/** @returns the hash of every migration as drizzle notes it when it applies one, in order */
function readJournal(folder: string): string[] {
  const {entries} = JSON.parse(read(folder, 'meta/_journal.json')) as {
    readonly entries: readonly Entry[];
  };
  for (const [at, {when}] of entries.entries()) {
    const previous = entries[at - 1]?.when ?? 0;
    if (when > previous) continue;
    throw new FatalError(
      `migrations: number ${at + 1} of the journal: expected it to be younger than ${previous}, got ${when}, so it would be passed over; generate it again`,
    );
  }
  return entries.map(({tag}) =>
    createHash('sha256')
      .update(read(folder, `${tag}.sql`))
      .digest('hex'),
  );
}

function read(folder: string, name: string): string {
  return readFileSync(join(folder, name), 'utf8');
}

/** @returns hashes; none when the table is not there */
async function readApplied(db: Queryable): Promise<string[]> {
  try {
    const {rows} = await db.query<{hash: string}>(
      'SELECT hash FROM sync.migrations ORDER BY created_at',
    );
    return rows.map((row) => row.hash);
  } catch (error) {
    if (error instanceof pg.DatabaseError && error.code === '42P01') return [];
    throw error;
  }
}

function describeProblem(
  missing: readonly number[],
  unknown: readonly string[],
  isEmpty: boolean,
): string | null {
  if (unknown.length > 0 && missing.includes(1)) {
    return 'this database was made by a state of fieldmirror from before its first release, and cannot be upgraded: export what you need of it, and start with an empty database';
  }
  if (unknown.length > 0) {
    return `${count(unknown)} that this version does not know: a newer version has migrated this database, or a migration was edited; update fieldmirror`;
  }
  if (missing.length === 0) return null;
  return isEmpty
    ? 'it holds nothing of Fieldmirror yet: `fieldmirror start` makes the schema and fills it, `fieldmirror init` sets up an account of yours first, `fieldmirror migrate` makes the schema alone'
    : `${count(missing)} missing: run \`fieldmirror migrate\``;
}

function count(items: readonly unknown[]): string {
  return `${items.length} ${items.length === 1 ? 'migration' : 'migrations'}`;
}
