// The targets that the star is delivered to: the rows of sync.delivery_targets, the leases of
// workers, and the nights that are due. A lease is counted by the clock of the database.

import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {Snapshot} from './snapshot.ts';
import type {deliveryTargets, snapshots} from './tables.ts';

type TargetRow = typeof deliveryTargets.$inferSelect;
type SnapshotRow = typeof snapshots.$inferSelect;

const settingColumns = ['name', 'place', 'endpoint', 'region', 'keep'] as const;

/** A target as a file of settings has it. */
export type TargetSetting = ReadRow<TargetRow, (typeof settingColumns)[number]>;

/** The targets, by name. */
export async function listTargetSettings(db: Queryable): Promise<TargetSetting[]> {
  const {rows} = await db.query<TargetSetting>(
    `SELECT ${selectColumns(settingColumns)} FROM sync.delivery_targets ORDER BY name`,
  );
  return rows;
}

/**
 * Makes a target, or changes the one of that name. At another place it holds no snapshot yet, and a
 * delivery in progress is given up.
 */
export async function writeTargetSetting(
  db: Queryable,
  {name, place, endpoint, region, keep}: TargetSetting,
): Promise<void> {
  await db.query(
    `DELETE FROM sync.snapshots USING sync.delivery_targets AS held
      WHERE snapshots.target = held.name AND held.name = $1
        AND (held.place, held.endpoint) IS DISTINCT FROM ($2, $3::text)`,
    [name, place, endpoint],
  );
  const moved = `(held.place, held.endpoint) IS DISTINCT FROM (EXCLUDED.place, EXCLUDED.endpoint)`;
  await db.query(
    `INSERT INTO sync.delivery_targets AS held (name, place, endpoint, region, keep)
     VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT (name) DO UPDATE
        SET place = EXCLUDED.place, endpoint = EXCLUDED.endpoint, region = EXCLUDED.region,
            keep = EXCLUDED.keep, fence = held.fence + 1, lease_until = NULL, begun_at = NULL,
            step = NULL, attempts = 0, due_at = now(), failing_since = NULL, last_error = NULL,
            added_at = CASE WHEN ${moved} THEN now() ELSE held.added_at END`,
    [name, place, endpoint, region, keep],
  );
}

/** Removes a target; its snapshots stay where they are. */
export async function deleteTarget(db: Queryable, name: string): Promise<void> {
  await db.query('DELETE FROM sync.delivery_targets WHERE name = $1', [name]);
}

const healthColumns = [
  ...settingColumns,
  ...(['added_at', 'begun_at', 'step', 'attempts', 'due_at', 'failing_since'] as const),
  'last_error',
] as const satisfies readonly (keyof TargetRow)[];
const deliveredColumns = [
  ...(['name', 'known_as_of', 'delivered_at', 'files', 'rows', 'bytes', 'broken_ties'] as const),
] as const satisfies readonly (keyof SnapshotRow)[];

/** A snapshot that was delivered. */
export type DeliveredSnapshot = ReadRow<SnapshotRow, (typeof deliveredColumns)[number]>;

/** A target, and how its deliveries fare. */
export interface TargetHealth extends ReadRow<TargetRow, (typeof healthColumns)[number]> {
  /** Whether a worker delivers at the moment. */
  readonly isUnderWay: boolean;
  readonly latest: DeliveredSnapshot | null;
  /** How many snapshots it holds. */
  readonly held: number;
  /** How long a night takes to come again, by the schedules; null if no account is active. */
  readonly everyMs: number | null;
  /** Sweeps that the next night waits for, as `jobs of acme`. */
  readonly waitsFor: readonly string[];
}

/** The schedules that make a night: full sweeps that come twice a day at most. */
const nightlyMs = 43_200_000;
const isNightly = `schedule.mode = 'full' AND schedule.every_ms >= ${nightlyMs}`;

/**
 * The nightly schedules of active accounts for each target: whether the last sweep that one asked
 * for was certified (`is_certain`), whether the last snapshot lacks that sweep (`is_new`), and
 * whether the next one is due after this night (`is_far`).
 */
const nights = `(
  SELECT target.name AS target, account.name AS account, schedule.stream, schedule.every_ms,
         coalesce(proof.ended_at >= coalesce(schedule.last_requested_at, '-infinity'), false)
           AND NOT EXISTS (SELECT FROM sync.sweeps AS open
                            WHERE open.account_id = account.account_id
                              AND open.stream = schedule.stream AND open.mode = 'full'
                              AND open.state IN ('due', 'running')) AS is_certain,
         coalesce(proof.sweep_id <> ALL (latest.sweep_ids), proof.sweep_id IS NOT NULL) AS is_new,
         schedule.next_due_at > now() + interval '12 hours' AS is_far
    FROM sync.delivery_targets AS target
    JOIN sync.accounts AS account ON account.state = 'active'
    JOIN sync.schedules AS schedule ON schedule.account_id = account.account_id AND ${isNightly}
    LEFT JOIN LATERAL (SELECT sweep_ids FROM sync.snapshots WHERE snapshots.target = target.name
                        ORDER BY known_as_of DESC LIMIT 1) AS latest ON true
    LEFT JOIN LATERAL (SELECT sweep_id, ended_at FROM sync.sweeps AS sweep
                        WHERE sweep.account_id = account.account_id
                          AND sweep.stream = schedule.stream
                          AND sweep.mode = 'full' AND sweep.state = 'certified'
                        ORDER BY sweep_id DESC LIMIT 1) AS proof ON true) AS night`;
const isReady = 'is_certain AND (is_new OR is_far)';

/** Every target, by name. */
export async function listTargets(db: Queryable): Promise<TargetHealth[]> {
  const {rows} = await db.query<TargetHealth>(
    `SELECT ${selectColumns(healthColumns, 'target')},
            coalesce(target.lease_until > now(), false) AS "isUnderWay",
            (SELECT count(*)::integer FROM sync.snapshots WHERE snapshots.target = target.name)
              AS held,
            (SELECT row_to_json(snapshot)
               FROM (SELECT ${selectColumns(deliveredColumns)} FROM sync.snapshots
                      WHERE snapshots.target = target.name
                      ORDER BY known_as_of DESC LIMIT 1) AS snapshot) AS latest,
            CASE WHEN EXISTS (SELECT FROM sync.accounts WHERE state = 'active')
                 THEN coalesce((SELECT min(every_ms) FROM ${nights}
                                 WHERE night.target = target.name), 86400000)::double precision
                  END AS "everyMs",
            ARRAY(SELECT night.stream || ' of ' || night.account FROM ${nights}
                   WHERE night.target = target.name AND NOT (${isReady})
                   ORDER BY night.account, night.stream LIMIT 10) AS "waitsFor"
       FROM sync.delivery_targets AS target ORDER BY target.name`,
  );
  return rows;
}

/**
 * The targets for which a night is complete: every nightly schedule has a certified sweep since the
 * last snapshot, or its next one is not of this night; at least one is new.
 */
export async function listDueTargets(db: Queryable): Promise<string[]> {
  const {rows} = await db.query<{name: string}>(
    `SELECT target.name FROM sync.delivery_targets AS target
       JOIN ${nights} ON night.target = target.name
      WHERE target.due_at <= now() AND coalesce(target.lease_until < now(), true)
      GROUP BY target.name HAVING bool_and(${isReady}) AND bool_or(is_new) ORDER BY target.name`,
  );
  return rows.map(({name}) => name);
}

/** A target that this process delivers to. */
export interface ClaimedTarget extends TargetSetting {
  readonly fence: number;
  readonly attempts: number;
}

type Claim = Pick<ClaimedTarget, 'name' | 'fence'>;

const isOurs = 'name = $1 AND fence = $2 AND lease_until IS NOT NULL';

/**
 * Claims a target, unless another process delivers to it, or the warehouse may be a copy.
 * @returns null where there is nothing to claim
 */
export async function claimTarget(
  db: Queryable,
  name: string,
  leaseMs: number,
): Promise<ClaimedTarget | null> {
  const {rows} = await db.query<ClaimedTarget>(
    `UPDATE sync.delivery_targets
        SET fence = fence + 1, lease_until = now() + $2 * interval '1 millisecond',
            begun_at = now(), step = NULL
      WHERE name = $1 AND coalesce(lease_until < now(), true) AND NOT sync.is_copy()
     RETURNING ${selectColumns(settingColumns)}, fence, attempts`,
    [name, leaseMs],
  );
  return rows[0] ?? null;
}

/** Keeps a target ours for longer, and notes what is done. @returns whether it is still ours */
export async function renewTarget(
  db: Queryable,
  {name, fence}: Claim,
  {leaseMs, step}: {readonly leaseMs: number; readonly step: string | null},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.delivery_targets SET lease_until = now() + $3 * interval '1 millisecond',
       step = $4 WHERE ${isOurs}`,
    [name, fence, leaseMs, step],
  );
  return rowCount === 1;
}

const release = 'lease_until = NULL, begun_at = NULL, step = NULL';

/**
 * Notes a snapshot that is there, whoever delivers meanwhile, and gives the target back.
 * @param left - names of the snapshots that the target holds
 * @param trouble - why old snapshots could not be removed; null if they were
 */
export async function noteDelivered(
  db: Queryable,
  {name, fence}: Claim,
  {
    snapshot,
    left,
    trouble,
  }: {
    readonly snapshot: Snapshot;
    readonly left: readonly string[];
    readonly trouble: string | null;
  },
): Promise<void> {
  const {knownAsOf, sweepIds, files, rows, bytes, manifest, brokenTies} = snapshot;
  await db.query(
    `WITH added AS (
       INSERT INTO sync.snapshots (target, name, known_as_of, sweep_ids, files, rows, bytes,
         manifest_sha256, broken_ties)
       VALUES ($1, $3, $4, $5, $6, $7, $8, $9, $10)
     ), gone AS (
       DELETE FROM sync.snapshots WHERE target = $1 AND name <> ALL ($11)
     )
     UPDATE sync.delivery_targets SET ${release}, attempts = 0, due_at = now(),
       failing_since = NULL, last_error = $12 WHERE ${isOurs}`,
    [
      ...[name, fence, snapshot.name, knownAsOf, sweepIds, files.length, rows, bytes],
      ...[manifest.sha256, brokenTies, left, trouble],
    ],
  );
}

/** Notes why nothing was delivered, and gives the target back until the next try. */
export async function noteUndelivered(
  db: Queryable,
  {name, fence}: Claim,
  {error, afterMs}: {readonly error: string; readonly afterMs: number},
): Promise<void> {
  await db.query(
    `UPDATE sync.delivery_targets SET ${release}, attempts = attempts + 1, last_error = $3,
       failing_since = coalesce(failing_since, now()),
       due_at = now() + $4 * interval '1 millisecond' WHERE ${isOurs}`,
    [name, fence, error, afterMs],
  );
}

/** Gives a target back of which nothing became: this process ends. */
export async function giveTargetBack(db: Queryable, {name, fence}: Claim): Promise<void> {
  await db.query(`UPDATE sync.delivery_targets SET ${release} WHERE ${isOurs}`, [name, fence]);
}
