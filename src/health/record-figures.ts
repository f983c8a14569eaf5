// Figures of what the warehouse holds, of every account at once. The tables of the warehouse are
// never counted: a million rows would be read for one number, so their size is what Postgres itself
// believes it to be.

import type {Queryable} from '../postgres/database.ts';
import type {FieldEvent} from './health.ts';

/** Records of one stream in quarantine, still open. */
export interface OpenQuarantine {
  readonly accountId: string;
  readonly stream: string;
  readonly count: number;
}

/** Counts the records in quarantine that are still open; a stream without any is left out. */
export async function countOpenQuarantine(db: Queryable): Promise<OpenQuarantine[]> {
  const {rows} = await db.query<OpenQuarantine>(
    `SELECT account_id AS "accountId", stream, count(*)::integer AS count
       FROM sync.quarantine WHERE resolved_at IS NULL
      GROUP BY account_id, stream ORDER BY account_id, stream`,
  );
  return rows;
}

/** The changes of one kind in what an account's service sends, since ever. */
export interface FieldEventCount extends Pick<FieldEvent, 'accountId' | 'kind'> {
  readonly count: number;
}

/** Counts the changes in what the service sends; they are rare, and none is ever removed. */
export async function countFieldEvents(db: Queryable): Promise<FieldEventCount[]> {
  const {rows} = await db.query<FieldEventCount>(
    `SELECT account_id AS "accountId", kind, count(*)::integer AS count
       FROM sync.field_events GROUP BY account_id, kind ORDER BY account_id, kind`,
  );
  return rows;
}

/** A table of ours and its size. */
export interface TableSize {
  readonly schema: string;
  readonly table: string;
  /**
   * As of its last VACUUM or ANALYZE, all accounts and deleted rows included; null before the
   * first.
   */
  readonly rows: number | null;
  /** With its indexes and long values. */
  readonly bytes: number;
}

/** Reads the sizes of the tables that grow with use, as Postgres keeps them. */
export async function listTableSizes(db: Queryable): Promise<TableSize[]> {
  const {rows} = await db.query<TableSize>(
    `SELECT nspname AS schema, relname AS table, nullif(reltuples, -1)::float8 AS rows,
            pg_total_relation_size(class.oid)::float8 AS bytes
       FROM pg_class AS class JOIN pg_namespace AS namespace ON namespace.oid = relnamespace
      WHERE nspname IN ('warehouse', 'history', 'mart', 'sync') AND relkind = 'r'
      ORDER BY nspname, relname`,
  );
  return rows;
}
