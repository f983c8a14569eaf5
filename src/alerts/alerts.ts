// What is wrong, as rows. A look finds everything that is wrong at the moment; here that becomes
// alerts that open and mend, and what is to be sent of them.

import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {hasSeveralVersions} from '../accounts/workers.ts';
import {type Cause, causes} from '../core/errors.ts';
import {markThisProcess} from '../core/holder.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {isTold} from './rules.ts';
import type {alerts} from './tables.ts';

type Row = typeof alerts.$inferSelect;

/** Something that is wrong and does not end without a person, who must look, decide or act. */
export interface Problem {
  /** Name of the account; null where it is about the installation. */
  readonly account: string | null;
  readonly stream: string | null;
  readonly kind: Cause;
  /**
   * Tells it from others of its kind, account and stream: number of a sweep or change, a table, a
   * field. Empty where there is but one, or where several are told together.
   */
  readonly subject: string;
  /** Since when it is so: ISO 8601; null where that is not known. */
  readonly since: string | null;
  /** The problem in words. */
  readonly text: string;
  /** The next step: a command, or where to look. Null where the text says it. */
  readonly next: string | null;
}

/** The problems that a look found. */
export interface FoundProblems {
  readonly problems: readonly Problem[];
  /** The accounts that were looked at: their numbers by name. */
  readonly accounts: readonly Pick<Account, 'accountId' | 'name'>[];
  /** The only kind that was looked for, where others could not be; null: all were. */
  readonly only: Cause | null;
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
    `INSERT INTO sync.alert_looks AS look (lease_until, holder)
     SELECT now() + ${lookLease}, $1 WHERE EXISTS (SELECT FROM sync.alert_rules)
         ON CONFLICT (is_only) DO UPDATE SET fence = look.fence + 1,
           lease_until = EXCLUDED.lease_until, holder = EXCLUDED.holder
      WHERE coalesce(look.looked_at < now() - ${everyLook}, true)
        AND coalesce(look.lease_until < now(), true)
     RETURNING fence`,
    [await markThisProcess()],
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
  {problems, accounts, only}: FoundProblems,
): Promise<Kept | null> {
  return await inTransaction(pool, async (client) => {
    const {rowCount} = await client.query(
      `UPDATE sync.alert_looks SET looked_at = now(), lease_until = NULL WHERE fence = $1
         AND lease_until IS NOT NULL`,
      [fence],
    );
    if (rowCount === 0) return null;
    const ids = new Map(accounts.map(({name, accountId}) => [name, accountId]));
    const found = JSON.stringify(
      problems.map((problem) => ({...problem, accountId: ids.get(problem.account ?? '') ?? null})),
    );
    const opened = await openAlerts(client, found);
    const mended = await mendAlerts(client, found, only);
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

const found = `jsonb_to_recordset($1::jsonb) AS found (kind text, "accountId" bigint, stream text,
  subject text, since timestamptz, text text, next text)`;

async function openAlerts(client: pg.ClientBase, problems: string): Promise<number> {
  const {rowCount} = await client.query(
    `INSERT INTO sync.alerts (cause, account_id, stream, subject, since, text, next_step)
     SELECT kind, "accountId", stream, subject, coalesce(since, now()), text, next FROM ${found}
         ON CONFLICT DO NOTHING`,
    [problems],
  );
  return rowCount ?? 0;
}

/**
 * An alert of a kind that was not looked for stays open. One that this version cannot find is
 * another's to mend, for as long as workers of several versions are alive.
 */
async function mendAlerts(
  client: pg.ClientBase,
  problems: string,
  only: Cause | null,
): Promise<string[]> {
  const {rows} = await client.query<{alertId: string}>(
    `UPDATE sync.alerts AS alert SET mended_at = now()
      WHERE mended_at IS NULL
        AND (alert.cause = ANY ($2) OR ($3 AND NOT ${hasSeveralVersions}))
        AND NOT EXISTS (SELECT FROM ${found}
                         WHERE (found.kind, found."accountId", found.stream, found.subject)
                           IS NOT DISTINCT FROM (alert.cause, alert.account_id, alert.stream,
                             alert.subject))
     RETURNING alert_id AS "alertId"`,
    [problems, only === null ? causes : [only], only === null],
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
  const isUntold = `told.state = 'due' AND told.attempts = 0
    AND told.due_at <= now() AND told.alert_id IS NOT NULL`;
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
