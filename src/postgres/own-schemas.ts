// Which schemas of a database are Fieldmirror's. A name alone proves nothing: `mart` is common.

import {FatalError} from '../core/errors.ts';
import type {Queryable} from './database.ts';

/** Our migrations make each of these schemas, except that of the queue, which its package makes. */
const ownSchemas = ['warehouse', 'history', 'mart', 'masked', 'sync', 'bullmq'];
const queueSchema = 'bullmq';

/**
 * The names that are ours in this database. The migrations make their schemas in one transaction,
 * and fail if one exists, so all are ours once one migration is applied. Before that only `sync` is
 * ours, if it holds nothing but the table of migrations.
 */
export async function listOwnNames(db: Queryable): Promise<readonly string[]> {
  if (await hasMigrations(db)) return ownSchemas;
  const {rows} = await db.query<{isOurs: boolean}>(
    `SELECT to_regclass('sync.migrations') IS NOT NULL AND NOT EXISTS (SELECT FROM pg_class
        WHERE relnamespace = to_regnamespace('sync') AND relname NOT LIKE 'migrations%')
        AS "isOurs"`,
  );
  return rows[0]?.isOurs === true ? ['sync'] : [];
}

/**
 * Checks that a database without our migrations has no schema of one of our names.
 * @throws {FatalError} it has one, which belongs to another program
 */
export async function refuseForeignSchemas(db: Queryable): Promise<void> {
  const names = ownSchemas.filter((name) => name !== queueSchema);
  const {rows} = await db.query<{name: string}>(
    `SELECT nspname AS name FROM pg_namespace
      WHERE nspname = ANY($1) AND (nspname <> 'sync' OR EXISTS (SELECT FROM pg_class
        WHERE relnamespace = pg_namespace.oid AND relname NOT LIKE 'migrations%'))
      ORDER BY array_position($1, nspname::text)`,
    [names],
  );
  // Another session may have migrated before this query, and all of that is seen at once.
  if (rows.length === 0 || (await hasMigrations(db))) return;
  const found = rows.map(({name}) => name).join(', ');
  throw new FatalError(
    `migrations: expected no schema of a name that Fieldmirror uses (${names.join(', ')}), got ` +
      `${found}, which another program has made; give Fieldmirror a separate database, or rename ` +
      'what is there (ALTER SCHEMA … RENAME TO …); nothing was changed',
    {kind: 'schema'},
  );
}

async function hasMigrations(db: Queryable): Promise<boolean> {
  const {rows: tables} = await db.query<{isThere: boolean}>(
    `SELECT to_regclass('sync.migrations') IS NOT NULL AS "isThere"`,
  );
  if (tables[0]?.isThere !== true) return false;
  const {rows} = await db.query<{isApplied: boolean}>(
    'SELECT EXISTS (SELECT FROM sync.migrations) AS "isApplied"',
  );
  return rows[0]?.isApplied === true;
}
