import type pg from 'pg';
import {inTransaction, type Queryable} from '../postgres/database.ts';

/** Edits are written into the star so long after they were made: together, and not one by one. */
const settleSeconds = 5;

/**
 * Writes what changed into the kept tables of the star, where anything did.
 * @returns how many jobs were written
 */
export async function refreshStar(pool: pg.Pool): Promise<number> {
  // After a first load, when nothing is known of the tables, the queries of the refresh would take several times as long as the load.
  await pool.query('SELECT sync.gather_statistics() WHERE EXISTS (SELECT FROM sync.stale_jobs)');
  const written = await inTransaction(pool, async (client) => {
    // One snapshot, so that the notes that are taken are those of the rows that are read; taken after the lock, so that it
    // has what the refresh before has written. Its commit waits for no disk: a crash that undoes it brings the notes back too.
    await client.query(
      'SET TRANSACTION ISOLATION LEVEL REPEATABLE READ; SET LOCAL statement_timeout = 0; SET LOCAL synchronous_commit = off',
    );
    await client.query('LOCK TABLE sync.stale_jobs IN SHARE UPDATE EXCLUSIVE MODE');
    const {rows} = await client.query<{written: string}>('SELECT sync.refresh_star() AS written');
    return Number(rows[0]?.written ?? 0);
  });
  if (written > 0) await pool.query('SELECT sync.gather_statistics()');
  return written;
}

/** When the oldest change was made that the star does not hold; null where it holds all. */
export async function readWaitingSince(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<{since: string | null}>('SELECT since FROM mart.freshness');
  return rows[0]?.since ?? null;
}

/** Whether changes wait for a refresh that no sweep under way will make at its end. */
export async function isStarStale(pool: pg.Pool): Promise<boolean> {
  const {rows} = await pool.query<{isStale: boolean}>(
    `SELECT EXISTS (SELECT FROM sync.stale_jobs WHERE noted_at < now() - $1 * interval '1 second')
        AND NOT EXISTS (SELECT FROM sync.sweeps WHERE state = 'running') AS "isStale"`,
    [settleSeconds],
  );
  return rows[0]?.isStale === true;
}
