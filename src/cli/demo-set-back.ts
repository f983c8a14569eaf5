import type pg from 'pg';
import {inTransaction} from '../postgres/database.ts';

/** A night that was lived through within a moment. */
export interface Night {
  /** `2026-11-02T07:30:00Z`, where it belongs. */
  readonly moment: string;
  /** When it began by the database's clock. */
  readonly begun: string;
}

/**
 * Dates all that a warehouse has noted back: to the night in which it was noted, so long after its
 * beginning as it was. Rows of the service keep the times that the service gave them. For the demo
 * alone: it takes a superuser, and no trigger runs.
 * @param nights - in the order of time
 */
export async function setBack(pool: pg.Pool, nights: readonly Night[]): Promise<void> {
  if (nights.length === 0) return;
  await inTransaction(pool, async (client) => {
    await client.query(`SET LOCAL session_replication_role = replica; SET LOCAL statement_timeout = 0;
      CREATE TEMPORARY TABLE nights (begun timestamptz PRIMARY KEY, moment timestamptz NOT NULL) ON COMMIT DROP`);
    await client.query(
      'INSERT INTO nights SELECT * FROM unnest($1::timestamptz[], $2::timestamptz[])',
      [nights.map(({begun}) => begun), nights.map(({moment}) => moment)],
    );
    await client.query(`CREATE FUNCTION pg_temp.set_back(noted timestamptz) RETURNS timestamptz LANGUAGE sql STABLE AS $$
        SELECT coalesce((SELECT noted - begun + moment FROM nights WHERE begun <= noted ORDER BY begun DESC LIMIT 1),
                        (SELECT noted - begun + moment FROM nights ORDER BY begun LIMIT 1)) WHERE noted IS NOT NULL $$`);
    for (const {place, columns} of await listNotedTimes(client)) {
      const set = columns.map((column) => `${column} = pg_temp.set_back(${column})`).join(', ');
      await client.query(`UPDATE ${place} SET ${set}`);
    }
    await client.query(`UPDATE sync.sweeps
      SET evidence = jsonb_set(evidence, '{readAt}', to_jsonb(pg_temp.set_back((evidence->>'readAt')::timestamptz))) WHERE evidence ? 'readAt'`);
    await client.query('INSERT INTO sync.stale_jobs DEFAULT VALUES');
  });
}

/**
 * The columns that hold times of ours: of a row of the service those whose names begin with an
 * underscore.
 */
async function listNotedTimes(
  client: pg.ClientBase,
): Promise<{readonly place: string; readonly columns: readonly string[]}[]> {
  const {rows} = await client.query<{place: string; columns: string[]}>(`
    SELECT format('%I.%I', nspname, relname) AS place, array_agg(format('%I', attname) ORDER BY attnum) AS columns
      FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid JOIN pg_namespace ON pg_namespace.oid = relnamespace
     WHERE relkind = 'r' AND attnum > 0 AND NOT attisdropped AND atttypid = 'timestamptz'::regtype
       AND (nspname = 'sync' OR attname = 'known_as_of' AND nspname = 'mart' OR (nspname IN ('warehouse', 'history') AND (attname LIKE '\\_%' OR attname IN ('valid_to', 'at'))))
     GROUP BY nspname, relname ORDER BY 1`);
  return rows;
}
