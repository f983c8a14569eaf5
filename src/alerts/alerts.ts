// What is wrong, as rows. A look finds everything that is wrong at the moment; here that becomes
// alerts that open and mend, and what is to be sent of them.

import type pg from 'pg';
import {hasSeveralVersions} from '../accounts/workers.ts';
import {type Cause, causes} from '../core/errors.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {isTold} from './rules.ts';
import type {alerts} from './tables.ts';

type Row = typeof alerts.$inferSelect;

/** One thing that is wrong at the moment. */
export interface Trouble {
  /** Of an open alert it may be one that only another version knows. */
  readonly cause: string;
  readonly accountId: string | null;
  readonly stream: string | null;
  /** Tells it from others of the same cause, account and stream; empty where there is but one. */
  readonly subject: string;
  /** ISO 8601; null where it is not known. */
  readonly since: string | null;
  readonly text: string;
  readonly next: string | null;
}

/** A look that has begun: its number, without which nothing is written. */
export interface AlertLook {
  readonly fence: number;
}

/** What a look has changed. */
export interface Kept {
  readonly opened: number;
  readonly mended: number;
}

const columns = [
  'alert_id',
  'cause',
  'stream',
  'subject',
  'since',
  'text',
  'next_step',
  'opened_at',
  'mended_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.alerts, whose definition says what each column means. */
export interface Alert extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of the account. */
  readonly account: string | null;
}

/** The columns of an alert, for a query in which `alert` and `account` are its tables. */
export const alertColumns = `${selectColumns(columns, 'alert')}, account.name AS account`;

const everyLook = "interval '1 minute'";
/** A look takes a second; a worker that is killed in one holds up the next for as long. */
const lookLease = "interval '2 minutes'";
/** More than these at once are told in one message. */
const mostMessages = 5;

/**
 * Begins a look, where a rule wants one, the last is a minute ago, and no other worker has begun
 * it.
 * @returns null where there is nothing to do
 */
export async function takeLook(db: Queryable): Promise<AlertLook | null> {
  const {rows} = await db.query<AlertLook>(
    `INSERT INTO sync.alert_looks AS look (lease_until)
     SELECT now() + ${lookLease} WHERE EXISTS (SELECT FROM sync.alert_rules)
         ON CONFLICT (is_only) DO UPDATE SET fence = look.fence + 1,
           lease_until = EXCLUDED.lease_until
      WHERE coalesce(look.looked_at < now() - ${everyLook}, true)
        AND coalesce(look.lease_until < now(), true)
     RETURNING fence`,
  );
  return rows[0] ?? null;
}

/**
 * Ends a look: what is wrong and has no alert gets one, an alert of what is no longer wrong is
 * mended, and each rule that tells of it gets a delivery; all in one transaction.
 * @returns null where the look was taken over by another worker: nothing is written
 */
export async function endLook(
  pool: pg.Pool,
  {fence}: AlertLook,
  troubles: readonly Trouble[],
): Promise<Kept | null> {
  return await inTransaction(pool, async (client) => {
    const {rowCount} = await client.query(
      `UPDATE sync.alert_looks SET looked_at = now(), lease_until = NULL WHERE fence = $1
         AND lease_until IS NOT NULL`,
      [fence],
    );
    if (rowCount === 0) return null;
    const found = JSON.stringify(troubles);
    const opened = await openAlerts(client, found);
    const mended = await mendAlerts(client, found);
    await requestOpened(client);
    await requestMended(client, mended);
    await foldIntoDigests(client);
    return {opened, mended: mended.length};
  });
}

/** Gives back a look that failed: the next one need not wait until it lapses. */
export async function giveBackLook(db: Queryable, {fence}: AlertLook): Promise<void> {
  await db.query('UPDATE sync.alert_looks SET lease_until = NULL WHERE fence = $1', [fence]);
}

/** The alerts that are open, the oldest first. */
export async function listOpenAlerts(db: Queryable): Promise<Alert[]> {
  const {rows} = await db.query<Alert>(
    `SELECT ${alertColumns} FROM sync.alerts AS alert LEFT JOIN sync.accounts AS account
       USING (account_id)
      WHERE alert.mended_at IS NULL ORDER BY alert.opened_at, alert.alert_id`,
  );
  return rows;
}

/** What the open alerts tell, but for those of one cause. */
export async function listOpenTroubles(db: Queryable, but: Cause): Promise<Trouble[]> {
  const {rows} = await db.query<Trouble>(
    `SELECT cause, account_id AS "accountId", stream, subject, since, text, next_step AS next
       FROM sync.alerts WHERE mended_at IS NULL AND cause <> $1`,
    [but],
  );
  return rows;
}

const found = `jsonb_to_recordset($1::jsonb) AS found (cause text, "accountId" bigint, stream text,
  subject text, since timestamptz, text text, next text)`;

async function openAlerts(client: pg.ClientBase, troubles: string): Promise<number> {
  const {rowCount} = await client.query(
    `INSERT INTO sync.alerts (cause, account_id, stream, subject, since, text, next_step)
     SELECT cause, "accountId", stream, subject, coalesce(since, now()), text, next FROM ${found}
         ON CONFLICT DO NOTHING`,
    [troubles],
  );
  return rowCount ?? 0;
}

/**
 * An alert that this version cannot find is another's to mend, for as long as workers of several
 * versions are alive.
 */
async function mendAlerts(client: pg.ClientBase, troubles: string): Promise<string[]> {
  const {rows} = await client.query<{alertId: string}>(
    `UPDATE sync.alerts AS alert SET mended_at = now()
      WHERE mended_at IS NULL
        AND (alert.cause = ANY ($2) OR NOT ${hasSeveralVersions})
        AND NOT EXISTS (SELECT FROM ${found}
                         WHERE (found.cause, found."accountId", found.stream, found.subject)
                           IS NOT DISTINCT FROM (alert.cause, alert.account_id, alert.stream,
                             alert.subject))
     RETURNING alert_id AS "alertId"`,
    [troubles, causes],
  );
  return rows.map(({alertId}) => alertId);
}

/**
 * For each open alert and each rule that tells of it, once. Was the same thing told within the
 * rule's quiet time, it waits for the end of that. A rule that was just made is told of what is
 * open already.
 */
async function requestOpened(client: pg.ClientBase): Promise<void> {
  await client.query(
    `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind, due_at)
     SELECT rule.rule_id, alert.alert_id, 'opened',
            greatest(now(), rule.quiet_ms * interval '1 millisecond' + (
              SELECT max(coalesce(digest.sent_at, told.sent_at))
                FROM sync.alerts AS past
                JOIN sync.alert_deliveries AS told ON told.alert_id = past.alert_id
                  AND told.rule_id = rule.rule_id AND told.kind = 'opened'
                LEFT JOIN sync.alert_deliveries AS digest ON digest.delivery_id = told.digest_id
               WHERE (past.cause, past.account_id, past.stream, past.subject)
                 IS NOT DISTINCT FROM (alert.cause, alert.account_id, alert.stream, alert.subject)))
       FROM sync.alerts AS alert
       JOIN sync.alert_rules AS rule ON rule.receiver <> 'ping' AND ${isTold}
      WHERE alert.mended_at IS NULL
        AND NOT EXISTS (SELECT FROM sync.alert_deliveries AS held
                         WHERE held.rule_id = rule.rule_id AND held.alert_id = alert.alert_id
                           AND held.kind = 'opened')
         ON CONFLICT DO NOTHING`,
  );
}

/** What nobody was told of is not told mended. A try whose answer was lost may have arrived. */
async function requestMended(client: pg.ClientBase, alertIds: readonly string[]): Promise<void> {
  await client.query(
    `UPDATE sync.alert_deliveries SET state = 'dropped'
      WHERE alert_id = ANY ($1) AND kind = 'opened' AND state = 'due' AND attempts = 0`,
    [alertIds],
  );
  await client.query(
    `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind)
     SELECT rule_id, alert_id, 'mended' FROM sync.alert_deliveries
      WHERE alert_id = ANY ($1) AND kind = 'opened' AND state NOT IN ('dropped', 'failed')
         ON CONFLICT DO NOTHING`,
    [alertIds],
  );
}

/** Whatever was tried already keeps the message of its own: the receiver may have it. */
async function foldIntoDigests(client: pg.ClientBase): Promise<void> {
  const isUntold = `told.state = 'due' AND told.attempts = 0 AND told.due_at <= now() AND told.alert_id IS NOT NULL`;
  await client.query(
    `WITH crowded AS (
       SELECT rule_id FROM sync.alert_deliveries AS told WHERE ${isUntold}
         GROUP BY rule_id HAVING count(*) > ${mostMessages}
     ), digest AS (
       INSERT INTO sync.alert_deliveries (rule_id, kind) SELECT rule_id, 'digest' FROM crowded
         RETURNING delivery_id, rule_id
     )
     UPDATE sync.alert_deliveries AS told SET state = 'folded', digest_id = digest.delivery_id
       FROM digest WHERE told.rule_id = digest.rule_id AND ${isUntold}`,
  );
}
