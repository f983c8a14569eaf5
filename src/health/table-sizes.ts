import {statfs} from 'node:fs/promises';
import type {Queryable} from '../postgres/database.ts';

/** How many bytes something takes, or has left. */
export interface Size {
  readonly name: string;
  /** Null where there is no such thing. */
  readonly bytes: number | null;
}

const databaseSize = 'pg_database_size(current_database())';

/** How many bytes the whole database takes on disk. */
export async function readDatabaseBytes(db: Queryable): Promise<number> {
  const {rows} = await db.query<{bytes: number}>(
    `SELECT ${databaseSize}::double precision AS bytes`,
  );
  return rows[0]?.bytes ?? 0;
}

/**
 * How much the database, or tables with their indexes, take on disk. Nothing is counted: the files
 * are asked for.
 */
export async function listSizes(db: Queryable, names: readonly string[]): Promise<Size[]> {
  const {rows} = await db.query<Size>(
    `SELECT name, CASE name WHEN 'database' THEN ${databaseSize} ELSE pg_total_relation_size(to_regclass(name)) END::double precision AS bytes
       FROM unnest($1::text[]) AS name`,
    [names],
  );
  return rows;
}

/** How much room a folder has. */
export async function readFreeBytes(folder: string): Promise<number | null> {
  try {
    const {bavail, bsize} = await statfs(folder);
    return bavail * bsize;
  } catch {
    return null;
  }
}
