import pg from 'pg';

const tables = ['customers', 'customer_notes', 'jobs', 'job_notes', 'time_entries', 'job_charges', 'tasks'];

/**
 * Lets time pass by moving all past instants back, for the product goes by the clock of the database. Late
 * requests that are due by then arrive at the service.
 * @param shiftService - moves the service's instants, too; without it its records look younger than they are
 */
export async function letTimePass(
  place: {
    readonly pool: pg.Pool;
    /** Holds back the requests that arrive late. */
    readonly mischief: {pass(seconds: number): Promise<void>};
    readonly shiftService?: (seconds: number) => void;
  },
  seconds: number,
): Promise<void> {
  const {pool, mischief, shiftService} = place;
  await mischief.pass(seconds);
  shiftService?.(seconds);
  const back = `interval '${seconds} seconds'`;
  // No trigger: no author wrote anything.
  for (const table of tables)
    await runInTurn(
      pool,
      `BEGIN; SET LOCAL session_replication_role = replica; UPDATE warehouse.${table} SET _first_seen_at = _first_seen_at - ${back}; COMMIT`,
    );
  await runInTurn(
    pool,
    `UPDATE sync.changes SET due_at = due_at - ${back}, lease_until = lease_until - ${back}, sent_at = sent_at - ${back},
            requested_at = requested_at - ${back}, settled_at = settled_at - ${back}`,
  );
  await runInTurn(
    pool,
    `UPDATE sync.attempts SET started_at = started_at - ${back}, ended_at = ended_at - ${back}`,
  );
}

/** Rows are taken in no order here, so that another transaction can be in the way. */
async function runInTurn(pool: pg.Pool, sql: string): Promise<void> {
  for (let attempt = 1; ; attempt++) {
    const client = await pool.connect();
    try {
      await client.query(sql);
      return;
    } catch (error) {
      await client.query('ROLLBACK');
      if (attempt === 5 || !(error instanceof pg.DatabaseError && error.code === '40P01')) throw error;
    } finally {
      client.release();
    }
  }
}

/** Seconds until a change is due or a lease runs out; null when there is neither. */
export async function readNextDue(pool: pg.Pool): Promise<number | null> {
  const {rows} = await pool.query<{seconds: number | null}>(
    `SELECT greatest(0, ceil(extract(epoch FROM min(CASE WHEN state = 'sending' THEN lease_until ELSE greatest(due_at, lease_until) END) - now())))::integer AS seconds
       FROM sync.changes WHERE state IN ('pending', 'sending', 'in_doubt') AND waits_for IS NULL
     HAVING count(*) > 0`,
  );
  return rows[0]?.seconds ?? null;
}
