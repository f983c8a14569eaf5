import {readMigrationFiles} from 'drizzle-orm/migrator';
import {bigint, integer, text} from 'drizzle-orm/pg-core';
import type pg from 'pg';
import {sync} from '../accounts/tables.ts';
import {applyCapturedTables} from '../changes/captured-tables.ts';
import {applyTransitions} from '../changes/transitions.ts';
import {applyWriteRules} from '../changes/write-rules.ts';
import {commentTable} from '../postgres/tables.ts';
import {applyRetention} from '../retention/retention.ts';
import {applyStar, dropStarLeftovers, starComments} from '../star/apply-star.ts';
import {martTables} from '../star/tables.ts';
import {applySource, commentSource} from './apply-source.ts';
import {commentsOf, writeComments} from './comments.ts';
import type {Definitions} from './definitions.ts';
import {historyComments} from './history-comments.ts';
import {migrationsFolder} from './migration-check.ts';
import type {Source} from './read-source.ts';
import {syncTables} from './sync-tables.ts';

/** Made by migration-turn.ts, as drizzle makes it; not by a migration. */
const migrationsTable = commentTable(
  sync.table('migrations', {id: integer(), hash: text(), created_at: bigint({mode: 'number'})}),
  'Changes of the schema that were applied to this database.',
  {
    id: 'Number of the entry.',
    hash: 'SHA-256 of the migration as it was applied.',
    created_at: 'When the migration was written, in milliseconds since 1970.',
  },
);

/**
 * Runs the migrations that are missing and brings all else in line with the code, all or nothing:
 * one that fails at its last function leaves no table either. drizzle reads the files; run by
 * drizzle, they would be a transaction of their own. The caller has the turn.
 * @param applied - hashes of the migrations that the database has
 */
export async function applyMigrations(
  client: pg.ClientBase,
  {
    definitions,
    source,
    applied,
  }: {
    readonly definitions: Definitions;
    readonly source: Source;
    readonly applied: readonly string[];
  },
): Promise<void> {
  await client.query('BEGIN');
  try {
    const missing = readMigrationFiles({migrationsFolder}).filter(
      ({hash}) => !applied.includes(hash),
    );
    for (const {sql, hash, folderMillis} of missing) {
      for (const statement of sql) await client.query(statement);
      await client.query('INSERT INTO sync.migrations (hash, created_at) VALUES ($1, $2)', [
        hash,
        folderMillis,
      ]);
    }
    await applyDefinitions(client, definitions, source);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  }
}

/**
 * Functions, the drawing of the states, the captured tables, the write rules, the retention, the
 * star and every comment.
 */
export async function applyDefinitions(
  client: pg.ClientBase,
  {tables, star}: Definitions,
  source: Source,
): Promise<void> {
  await applySource(client, tables, source);
  await applyTransitions(client);
  await applyCapturedTables(client, tables);
  await client.query('SELECT sync.guard_forgotten()');
  await applyWriteRules(client, tables);
  await applyRetention(client);
  await applyStar(client, star);
  await dropStarLeftovers(client, star);
  await commentSource(client, source);
  await applyComments(client, {tables, star});
}

/**
 * Brings comments, the views of mart and the grants in line with the code; a comment that agrees is
 * not touched.
 */
export async function applyComments(
  client: pg.ClientBase,
  {tables, star}: Definitions,
): Promise<void> {
  const commented = [...tables.map(commentsOf), ...syncTables, ...martTables, migrationsTable];
  await writeComments(client, commented, [...historyComments(tables), ...starComments(star)]);
  // The views of mart show every column there is, each with its comment.
  await client.query('SELECT sync.build_mart()');
  await client.query('SELECT sync.grant_roles()');
}
