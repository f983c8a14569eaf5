import pg from 'pg';

const tables = [
  'customers',
  'customer_notes',
  'jobs',
  'job_notes',
  'time_entries',
  'job_charges',
  'tasks',
];

/**
 * A worker that waits for one of them may hold another: we give way long before Postgres looks for
 * a deadlock.
 */
const lockTimeout = '200ms';
const mostTries = 300;

/**
 * Lets time pass by moving all past instants back, for the product goes by the clock of the
 * database. Late requests that are due by then arrive at the service. All of it happens at one
 * moment of the database: a change claimed between two halves of it would be sent long after its
 * lease, and long after the quarantine.
 * @param shiftService - moves the service's instants, too; without it its records look younger than
 *   they are
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
  const client = await pool.connect();
  try {
    await holdStill(client);
    await mischief.pass(seconds);
    shiftService?.(seconds);
    await moveBack(client, seconds);
    await client.query('COMMIT');
  } catch (error) {
    await client.query('ROLLBACK');
    throw error;
  } finally {
    client.release();
  }
}

/** Begins a transaction during which nobody else writes. */
async function holdStill(client: pg.ClientBase): Promise<void> {
  const names = [...tables.map((table) => `warehouse.${table}`), 'sync.changes', 'sync.attempts'];
  for (let attempt = 1; ; attempt++) {
    await client.query(`BEGIN; SET LOCAL lock_timeout = '${lockTimeout}'`);
    try {
      await client.query(`LOCK TABLE ${names.join(', ')} IN EXCLUSIVE MODE`);
      return;
    } catch (error) {
      const isBusy =
        error instanceof pg.DatabaseError && ['55P03', '40P01'].includes(error.code ?? '');
      if (!isBusy || attempt === mostTries) throw error;
      await client.query('ROLLBACK');
    }
  }
}

async function moveBack(client: pg.ClientBase, seconds: number): Promise<void> {
  const back = `interval '${seconds} seconds'`;
  // No trigger: no author wrote anything.
  await client.query('SET LOCAL session_replication_role = replica');
  for (const table of tables)
    await client.query(`UPDATE warehouse.${table} SET _first_seen_at = _first_seen_at - ${back}`);
  await client.query(
    `UPDATE sync.changes SET due_at = due_at - ${back}, lease_until = lease_until - ${back},
      sent_at = sent_at - ${back},
            requested_at = requested_at - ${back}, settled_at = settled_at - ${back}`,
  );
  await client.query(
    `UPDATE sync.attempts SET started_at = started_at - ${back}, ended_at = ended_at - ${back}`,
  );
}

/** Seconds until a change is due or a lease runs out; null when there is neither. */
export async function readNextDue(pool: pg.Pool): Promise<number | null> {
  const {rows} = await pool.query<{seconds: number | null}>(
    `SELECT greatest(0, ceil(extract(epoch
      FROM min(CASE WHEN state = 'sending' THEN lease_until ELSE greatest(due_at, lease_until) END)
      - now())))::integer AS seconds
       FROM sync.changes WHERE state IN ('pending', 'sending', 'in_doubt') AND waits_for IS NULL
     HAVING count(*) > 0`,
  );
  return rows[0]?.seconds ?? null;
}
