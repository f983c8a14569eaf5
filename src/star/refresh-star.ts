import type pg from 'pg';
import {hasSharedSessions, inTransaction, type Queryable} from '../postgres/database.ts';

/**
 * An edit is written into the star this long after it was made: edits are written together, not one
 * by one.
 */
const settleSeconds = 5;
/**
 * The tables of the parts of jobs: filling them takes about as long as filling the table of the
 * jobs.
 */
const partTables = ['fct_job_charge', 'fct_time_entry', 'fct_assignment'];
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
