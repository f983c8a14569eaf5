// The receivers of deliveries. Targets of the star: the rows of sync.delivery_targets, the leases
// of workers, and the nights that are due. A lease is counted by the clock of the database. Lists
// of the weekly report by e-mail: the rows of sync.report_lists, and the state of each list's
// mails. Times of day are in the zone of the account.

import {markThisProcess} from '../core/lease.ts';
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
 * Adds a target, or changes the one of that name. At a new place it holds no snapshot yet. A
 * delivery in progress is abandoned.
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
type DeliveredSnapshot = ReadRow<SnapshotRow, (typeof deliveredColumns)[number]>;

/** A target, and the state of its deliveries. */
export interface TargetHealth extends ReadRow<TargetRow, (typeof healthColumns)[number]> {
  /** Whether a worker delivers at the moment. */
  readonly isUnderWay: boolean;
  readonly latest: DeliveredSnapshot | null;
  /** How many snapshots it holds. */
  readonly held: number;
  /** The interval between two nights, by the schedules; null if no account is active. */
  readonly everyMs: number | null;
  /** Sweeps that the next night waits for, as `jobs of acme`. */
  readonly waitsFor: readonly string[];
}

/** The schedules that form a night: full sweeps that run twice a day at most. */
const nightlyMs = 43_200_000;
const isNightly = `schedule.mode = 'full' AND schedule.every_ms >= ${nightlyMs}`;

/**
 * The nightly schedules of active accounts for each target, each with three flags. `is_certain`:
 * the last sweep that the schedule requested was certified. `is_new`: the last snapshot lacks that
 * sweep. `is_far`: the next sweep is due after this night.
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
 * last snapshot, or its next sweep is not of this night. At least one sweep is new.
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

const isOwnClaim = 'name = $1 AND fence = $2 AND lease_until IS NOT NULL';

/**
 * Claims a target, unless another process delivers to it, or the warehouse may be a copy.
 * @returns null if there is nothing to claim
 */
export async function claimTarget(
  db: Queryable,
  name: string,
  leaseMs: number,
): Promise<ClaimedTarget | null> {
  const {rows} = await db.query<ClaimedTarget>(
    `UPDATE sync.delivery_targets
        SET fence = fence + 1, lease_until = now() + $2 * interval '1 millisecond',
            holder = $3, begun_at = now(), step = NULL
      WHERE name = $1 AND coalesce(lease_until < now(), true) AND NOT sync.is_copy()
     RETURNING ${selectColumns(settingColumns)}, fence, attempts`,
    [name, leaseMs, await markThisProcess()],
  );
  return rows[0] ?? null;
}

/**
 * Extends our claim on a target, and stores the present step.
 * @returns whether the target is still ours
 */
export async function renewTarget(
  db: Queryable,
  {name, fence}: Claim,
  {leaseMs, step}: {readonly leaseMs: number; readonly step: string | null},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.delivery_targets SET lease_until = now() + $3 * interval '1 millisecond',
       step = $4 WHERE ${isOwnClaim}`,
    [name, fence, leaseMs, step],
  );
  return rowCount === 1;
}

const releaseColumns = 'lease_until = NULL, begun_at = NULL, step = NULL';

/**
 * Stores the row of a delivered snapshot, even if another process has claimed the target since.
 * Releases the target if it is still ours.
 * @param left - names of the snapshots that the target holds
 * @param trouble - why old snapshots could not be removed; null if they were
 */
export async function saveDelivered(
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
     UPDATE sync.delivery_targets SET ${releaseColumns}, attempts = 0, due_at = now(),
       failing_since = NULL, last_error = $12 WHERE ${isOwnClaim}`,
    [
      ...[name, fence, snapshot.name, knownAsOf, sweepIds, files.length, rows, bytes],
      ...[manifest.sha256, brokenTies, left, trouble],
    ],
  );
}

/** Stores why nothing was delivered, and releases the target until the next try. */
export async function saveUndelivered(
  db: Queryable,
  {name, fence}: Claim,
  {error, afterMs}: {readonly error: string; readonly afterMs: number},
): Promise<void> {
  await db.query(
    `UPDATE sync.delivery_targets SET ${releaseColumns}, attempts = attempts + 1, last_error = $3,
       failing_since = coalesce(failing_since, now()),
       due_at = now() + $4 * interval '1 millisecond' WHERE ${isOwnClaim}`,
    [name, fence, error, afterMs],
  );
}

/** Releases a target to which nothing was delivered, because this process ends. */
export async function releaseTarget(db: Queryable, {name, fence}: Claim): Promise<void> {
  await db.query(`UPDATE sync.delivery_targets SET ${releaseColumns} WHERE ${isOwnClaim}`, [
    name,
    fence,
  ]);
}

/** A list as a file of settings has it. */
interface ReportListSetting {
  readonly name: string;
  readonly addresses: readonly string[];
  /** Name of the only account that is reported; null for every account. */
  readonly account: string | null;
  /** Monday is 1, Sunday 7. */
  readonly weekday: number;
  /** `06:00` */
  readonly at: string;
}

const listSettingColumns = `list.name, list.addresses, account.name AS account, list.weekday,
  to_char(list.at, 'HH24:MI') AS at`;

/** The lists, by name. */
export async function listReportListSettings(db: Queryable): Promise<ReportListSetting[]> {
  const {rows} = await db.query<ReportListSetting>(
    `SELECT ${listSettingColumns} FROM sync.report_lists AS list
       LEFT JOIN sync.accounts AS account USING (account_id) ORDER BY list.name`,
  );
  return rows;
}

/**
 * Adds a list, or changes the one of that name. Mails to an address that is no longer on it are not
 * sent.
 */
export async function writeReportList(
  db: Queryable,
  {name, addresses, account, weekday, at}: ReportListSetting,
): Promise<void> {
  await db.query(
    `INSERT INTO sync.report_lists (name, addresses, account_id, weekday, at)
     VALUES ($1, $2, (SELECT account_id FROM sync.accounts WHERE name = $3), $4, $5)
         ON CONFLICT (name) DO UPDATE SET addresses = EXCLUDED.addresses,
            account_id = EXCLUDED.account_id, weekday = EXCLUDED.weekday, at = EXCLUDED.at`,
    [name, addresses, account, weekday, at],
  );
  await db.query(
    `DELETE FROM sync.report_mails AS mail USING sync.report_lists AS list
      WHERE mail.list = $1 AND list.name = $1 AND mail.state <> 'sent'
        AND (mail.address <> ALL (list.addresses) OR mail.account_id <> list.account_id)`,
    [name],
  );
}

/** Removes a list, and its mails that are still to be sent. */
export async function deleteReportList(db: Queryable, name: string): Promise<void> {
  await db.query('DELETE FROM sync.report_lists WHERE name = $1', [name]);
}

/** A report that is late: it is due, and was not made. */
interface LateReport {
  readonly account: string;
  /** When it was due. */
  readonly since: string;
  /** When the jobs of the account were last proven complete; null if never. */
  readonly freshAsOf: string | null;
}

/** A list, and the state of its mails. Instants are ISO 8601 in UTC. */
export interface ReportListHealth extends ReportListSetting {
  readonly addedAt: string;
  /** When a mail server last accepted one of its mails. */
  readonly lastSentAt: string | null;
  /** Mails that are still to be sent. */
  readonly waiting: number;
  /** Mails that were given up within the last eight days, and not followed by one that was sent. */
  readonly givenUp: number;
  /** Mails of the last eight days that may have arrived twice. */
  readonly repeated: number;
  /** Since when mails do not arrive; null if none fails. */
  readonly failingSince: string | null;
  /** Why the last try failed; null also if no worker has tried. */
  readonly lastError: string | null;
  /** Reports that were not made six hours after their time. */
  readonly late: readonly LateReport[];
}

/** The first tries may fail because a mail server is being restarted. */
const failingAfterTries = 3;
/** A worker checks once a minute. */
const unclaimedAfter = "interval '10 minutes'";
/** A report waits until the night before it is proven complete. */
const lateAfter = "interval '6 hours'";

const isGivenUp = `(mail.state = 'failed' AND mail.due_at > now() - interval '8 days'
  AND NOT EXISTS (SELECT FROM sync.report_mails AS later
    WHERE (later.list, later.account_id, later.address) = (mail.list, mail.account_id, mail.address)
      AND later.sent_at > mail.due_at))`;

const isFailing = `(mail.state IN ('due', 'sending')
  AND (mail.attempts >= ${failingAfterTries} AND mail.last_error IS NOT NULL
    OR coalesce(mail.lease_until, mail.due_at) < now() - ${unclaimedAfter}) OR ${isGivenUp})`;

/**
 * The active accounts of each list, with the first time after its last report, or after it was
 * added, at which one is due.
 */
const nextDue = `(
  SELECT list.name AS list, account.name, account.jobs_fresh_as_of,
         (slot + CASE WHEN slot > local.since THEN interval '0' ELSE interval '7 days' END)
           AT TIME ZONE account.time_zone AS due_at
    FROM sync.report_lists AS list
    JOIN mart.dim_account AS account ON coalesce(account.account_key = list.account_id, true)
    JOIN sync.accounts AS held ON held.account_id = account.account_key AND held.state = 'active'
   CROSS JOIN LATERAL (
      SELECT coalesce(max(made_at), list.added_at) AT TIME ZONE account.time_zone AS since
        FROM sync.report_mails AS mail
       WHERE mail.list = list.name AND mail.account_id = account.account_key) AS local
   CROSS JOIN LATERAL (
      SELECT date_trunc('week', local.since) + (list.weekday - 1) * interval '1 day' + list.at
        AS slot) AS time) AS next`;

/** Every list, by name. */
export async function listReportLists(db: Queryable): Promise<ReportListHealth[]> {
  const {rows} = await db.query<ReportListHealth>(
    `SELECT ${listSettingColumns}, list.added_at AS "addedAt", mails.*,
            ARRAY(SELECT json_build_object('account', next.name, 'since', next.due_at,
                    'freshAsOf', next.jobs_fresh_as_of)
                    FROM ${nextDue}
                   WHERE next.list = list.name AND next.due_at < now() - ${lateAfter}
                   ORDER BY next.due_at, next.name) AS late
       FROM sync.report_lists AS list
       LEFT JOIN sync.accounts AS account USING (account_id)
      CROSS JOIN LATERAL (
         SELECT max(mail.sent_at) AS "lastSentAt",
                count(*) FILTER (WHERE mail.state IN ('due', 'sending'))::integer AS waiting,
                count(*) FILTER (WHERE ${isGivenUp})::integer AS "givenUp",
                count(*) FILTER (WHERE mail.repeats > 0
                  AND mail.made_at > now() - interval '8 days')::integer AS repeated,
                min(mail.made_at) FILTER (WHERE ${isFailing}) AS "failingSince",
                (array_agg(mail.last_error ORDER BY mail.due_at DESC)
                  FILTER (WHERE mail.last_error IS NOT NULL AND ${isFailing}))[1] AS "lastError"
           FROM sync.report_mails AS mail WHERE mail.list = list.name) AS mails
      ORDER BY list.name`,
  );
  return rows;
}
