// The workers that serve accounts, as rows, and the leases of processes that have ended. Their
// leases end at once if that is certain, which only the machine of the process can know. Everywhere
// else the leases expire.

import {findPlace, hasHolderEnded} from '../core/lease.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {workers} from './tables.ts';

type WorkerRow = typeof workers.$inferSelect;

const identityColumns = [
  'worker_id',
  'host',
  'pid',
  'version',
  'console_url',
] as const satisfies readonly (keyof WorkerRow)[];
const columns = [
  ...identityColumns,
  'started_at',
  'seen_at',
] as const satisfies readonly (keyof WorkerRow)[];

/** The identity of a worker; it stays as it is while the worker runs. */
export type WorkerIdentity = ReadRow<WorkerRow, (typeof identityColumns)[number]>;

/** The accounts and keys within a worker's reach at the moment. */
export interface WorkerReach {
  readonly accountIds: readonly string[];
  /** Ids of the keys with which the worker opens sealed tokens. */
  readonly keyIds: readonly string[];
  /** Whether the worker's environment names a mail server. */
  readonly sendsMail: boolean;
  /** The account whose token it has from its environment, and a mark of that token. */
  readonly given: {readonly accountId: string; readonly tokenMark: string} | null;
}

/** A worker: a row of sync.workers, whose definition documents each column. */
export interface Worker extends ReadRow<WorkerRow, (typeof columns)[number]>, WorkerReach {
  /** Whether it has checked for work within the last minute. */
  readonly isAlive: boolean;
}

/** Rows of workers that were killed are kept for a day, so that a person can be told. */
const pruneStatement = `DELETE FROM sync.workers WHERE seen_at < now() - interval '1 day'`;

/** Notes that a worker is alive, and deletes the rows of workers that were not seen for a day. */
export async function saveWorker(
  db: Queryable,
  worker: WorkerIdentity & WorkerReach,
): Promise<void> {
  await db.query(
    `WITH pruned AS (${pruneStatement})
     INSERT INTO sync.workers (worker_id, host, pid, version, account_ids, key_ids,
       given_account_id, given_token_mark, console_url, sends_mail)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
         ON CONFLICT (worker_id) DO UPDATE
        SET seen_at = now(), account_ids = EXCLUDED.account_ids,
            given_account_id = EXCLUDED.given_account_id,
            given_token_mark = EXCLUDED.given_token_mark`,
    [
      worker.workerId,
      worker.host,
      worker.pid,
      worker.version,
      worker.accountIds,
      worker.keyIds,
      worker.given?.accountId ?? null,
      worker.given?.tokenMark ?? null,
      worker.consoleUrl,
      worker.sendsMail,
    ],
  );
}

/**
 * A worker that stops properly leaves no row. If a row is left, its worker was killed, or cannot
 * reach the database. Rows of workers that were killed before are removed, too: a person stops this
 * one, so that no worker is alive is then no consequence of theirs.
 */
export async function removeWorker(db: Queryable, workerId: string): Promise<void> {
  await db.query(`DELETE FROM sync.workers WHERE worker_id = $1 OR NOT ${isAlive}`, [workerId]);
}

/** Whether a worker has checked for work lately: a condition, as SQL. */
const isAlive = `seen_at > now() - interval '1 minute'`;

/** Whether workers of more than one version are alive, as in a rollout: a condition, as SQL. */
export const hasSeveralVersions = `(SELECT count(DISTINCT version) > 1 FROM sync.workers
  WHERE ${isAlive})`;

/** Every worker that is alive or was within the last day, the latest seen first. */
export async function listWorkers(db: Queryable): Promise<Worker[]> {
  const {rows} = await db.query<Worker>(
    `SELECT ${selectColumns(columns)}, ${isAlive} AS "isAlive",
            account_ids::text[] AS "accountIds", key_ids AS "keyIds", sends_mail AS "sendsMail",
            CASE WHEN given_account_id IS NOT NULL
                 THEN jsonb_build_object('accountId', given_account_id::text, 'tokenMark',
                   given_token_mark) END AS given
       FROM sync.workers ORDER BY seen_at DESC, worker_id`,
  );
  return rows;
}

/**
 * Every table with leases, each with `lease_until` and `holder`, and the condition by which an
 * index finds the rows that may be held; `true` if there is none.
 */
const leaseConditions: Readonly<Record<string, string>> = {
  alert_checks: 'true',
  alert_deliveries: `state IN ('due', 'sending')`,
  changes: `(state IN ('pending', 'in_doubt') AND waits_for IS NULL OR state = 'sending')`,
  delivery_targets: 'true',
  feed_hooks: 'true',
  prunings: 'true',
  report_mails: `state IN ('due', 'sending')`,
  sweeps: `state = 'running'`,
};

/** The names of all tables with leases, in order. */
export const leasedTables: readonly string[] = Object.keys(leaseConditions);

const holdersQuery = Object.entries(leaseConditions)
  .map(
    ([table, condition]) => `SELECT holder FROM sync.${table}
      WHERE ${condition} AND lease_until > now() AND starts_with(holder, $1)`,
  )
  .join(' UNION ALL ');

/**
 * Ends the leases of processes of this machine that have certainly ended, so that another process
 * takes up their work at once. That process increments the fence, as after a lease that expired.
 * @returns how many leases were ended
 */
export async function endDeadLeases(db: Queryable): Promise<number> {
  const ownPlace = await findPlace();
  if (ownPlace === null) return 0;
  const {rows} = await db.query<{holder: string}>(
    `SELECT DISTINCT holder FROM (${holdersQuery}) AS held`,
    [`${ownPlace}.`],
  );
  const deadHolders: string[] = [];
  for (const {holder} of rows) if (await hasHolderEnded(holder)) deadHolders.push(holder);
  if (deadHolders.length === 0) return 0;
  let count = 0;
  for (const [table, condition] of Object.entries(leaseConditions)) {
    const {rowCount} = await db.query(
      `UPDATE sync.${table} SET lease_until = now()
        WHERE ${condition} AND lease_until > now() AND holder = ANY ($1)`,
      [deadHolders],
    );
    count += rowCount ?? 0;
  }
  return count;
}
