import {drizzle} from 'drizzle-orm/node-postgres';
import {migrate} from 'drizzle-orm/node-postgres/migrator';
import {bigint, integer, text} from 'drizzle-orm/pg-core';
import type pg from 'pg';
import {sync} from './accounts-table.ts';
import {commentTable} from './commented-table.ts';
import {applyComments, commentsOf} from './comments.ts';
import {functionComments} from './function-comments.ts';
import {historyComments} from './history-comments.ts';
import {migrationsFolder} from './migration-check.ts';
import type {MirrorTable} from './mirror-table.ts';
import {syncTables} from './sync-tables.ts';
import {applyWriteRules} from './write-rules.ts';

/** Made by drizzle, not by a migration. */
const migrationsTable = commentTable(
  sync.table('migrations', {id: integer(), hash: text(), created_at: bigint({mode: 'number'})}),
  'Changes of the schema that were applied to this database.',
  {
    id: 'Number of the entry.',
    hash: 'SHA-256 of the migration as it was applied.',
    created_at: 'When the migration was written, in milliseconds since 1970.',
  },
);

/** Runs the migrations that are missing, then brings every comment in line with the code. The caller holds the lock. */
export async function applyMigrations(client: pg.PoolClient, tables: readonly MirrorTable[]): Promise<void> {
  await migrate(drizzle({client}), {
    migrationsFolder,
    migrationsSchema: 'sync',
    migrationsTable: 'migrations',
  });
  await applyWriteRules(client, tables);
  const commented = [...tables.map(commentsOf), ...syncTables, migrationsTable];
  await applyComments(client, commented, [...historyComments(tables), ...functionComments()]);
  // The views of mart show every column there is, each with its comment.
  await client.query('SELECT sync.build_mart()');
  await client.query('SELECT sync.grant_roles()');
}
