// Alerts as rows. A check finds every problem that exists at the moment. This module opens and
// resolves the alerts for these problems, and writes the deliveries that are to be sent. The rules
// of sync.alert_rules define who is notified. A settings file names all of their columns but the
// address.

import type pg from 'pg';
import type {Account} from '../accounts/accounts.ts';
import {hasSeveralVersions} from '../accounts/workers.ts';
import {type Cause, causes} from '../core/errors.ts';
import {markThisProcess} from '../core/lease.ts';
import type {Sealed} from '../core/secret.ts';
import {inTransaction, type Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {alertRules, alerts} from './tables.ts';

type Row = typeof alerts.$inferSelect;

/** A problem that does not end without a person, who must investigate, decide or act. */
export interface Problem {
  /** Name of the account; null if the problem concerns the installation. */
  readonly account: string | null;
  readonly stream: string | null;
  readonly kind: Cause;
  /**
   * Distinguishes the problem from others of its kind, account and stream: number of a sweep or
   * change, a table, a field. Empty if there can be only one, or if several are reported together.
   */
  readonly subject: string;
  /** Since when the problem exists, in ISO 8601; null if that is not known. */
  readonly since: string | null;
  /** The problem in words. */
  readonly text: string;
  /** The next step: a command, or where to check. Null if the text names it. */
  readonly next: string | null;
}

/** The problems that a check found. */
export interface FoundProblems {
  readonly problems: readonly Problem[];
  /** The accounts that were checked, with their numbers and names. */
  readonly accounts: readonly Pick<Account, 'accountId' | 'name'>[];
  /** The only kind that was checked, if the others could not be; null if all were. */
  readonly only: Cause | null;
}

/** A check that has begun, with its number: without the current number nothing is written. */
export interface AlertCheck {
  readonly fence: number;
}

/** How many alerts a check has opened and resolved. */
export interface AlertCounts {
  readonly opened: number;
  readonly resolved: number;
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
  'resolved_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.alerts, whose definition documents each column. */
export interface Alert extends ReadRow<Row, (typeof columns)[number]> {
  /** Name of the account. */
  readonly account: string | null;
}

/** The columns of an alert, for a query in which `alert` and `account` are its tables. */
export const alertColumns = `${selectColumns(columns, 'alert')}, account.name AS account`;

const checkInterval = "interval '1 minute'";
/**
 * A check takes a second. If a worker is killed during one, the next check is delayed for this
 * long.
 */
const checkLease = "interval '2 minutes'";
/** If more than these are due at once, they are sent as one message. */
const mostMessages = 5;

/**
 * Begins a check if there is a rule, the last check was a minute ago, and no other worker has begun
 * one.
 * @returns null if there is nothing to do
 */
export async function beginAlertCheck(db: Queryable): Promise<AlertCheck | null> {
  const {rows} = await db.query<AlertCheck>(
    `INSERT INTO sync.alert_checks AS last_check (lease_until, holder)
     SELECT now() + ${checkLease}, $1 WHERE EXISTS (SELECT FROM sync.alert_rules)
         ON CONFLICT (is_only) DO UPDATE SET fence = last_check.fence + 1,
           lease_until = EXCLUDED.lease_until, holder = EXCLUDED.holder
      WHERE coalesce(last_check.checked_at < now() - ${checkInterval}, true)
        AND coalesce(last_check.lease_until < now(), true)
     RETURNING fence`,
    [await markThisProcess()],
  );
  return rows[0] ?? null;
}

/**
 * Ends a check, all in one transaction. A problem without an alert gets one, and an alert whose
 * problem was no longer found is resolved. Each rule that covers such an alert gets a delivery.
 * @returns null if another worker took over the check: nothing is written
 */
export async function endAlertCheck(
  pool: pg.Pool,
  {fence}: AlertCheck,
  {problems, accounts, only}: FoundProblems,
): Promise<AlertCounts | null> {
  return await inTransaction(pool, async (client) => {
    const {rowCount} = await client.query(
      `UPDATE sync.alert_checks SET checked_at = now(), lease_until = NULL WHERE fence = $1
         AND lease_until IS NOT NULL`,
      [fence],
    );
    if (rowCount === 0) return null;
    const accountIds = new Map(accounts.map(({name, accountId}) => [name, accountId]));
    const problemsJson = JSON.stringify(
      problems.map((problem) => ({
        ...problem,
        accountId: accountIds.get(problem.account ?? '') ?? null,
      })),
    );
    const opened = await openAlerts(client, problemsJson);
    const resolved = await resolveAlerts(client, problemsJson, only);
    await requestOpened(client);
    await requestResolved(client, resolved);
    await foldIntoDigests(client);
    return {opened, resolved: resolved.length};
  });
}

/** Releases a check that failed, so the next one need not wait until its lease expires. */
export async function releaseAlertCheck(db: Queryable, {fence}: AlertCheck): Promise<void> {
  await db.query('UPDATE sync.alert_checks SET lease_until = NULL WHERE fence = $1', [fence]);
}

/** The alerts that are open, the oldest first. */
export async function listOpenAlerts(db: Queryable): Promise<Alert[]> {
  const {rows} = await db.query<Alert>(
    `SELECT ${alertColumns} FROM sync.alerts AS alert LEFT JOIN sync.accounts AS account
       USING (account_id)
      WHERE alert.resolved_at IS NULL ORDER BY alert.opened_at, alert.alert_id`,
  );
  return rows;
}

const rowsSql = `jsonb_to_recordset($1::jsonb) AS found (kind text, "accountId" bigint, stream text,
  subject text, since timestamptz, text text, next text)`;

async function openAlerts(client: pg.ClientBase, problems: string): Promise<number> {
  const {rowCount} = await client.query(
    `INSERT INTO sync.alerts (cause, account_id, stream, subject, since, text, next_step)
     SELECT kind, "accountId", stream, subject, coalesce(since, now()), text, next FROM ${rowsSql}
         ON CONFLICT DO NOTHING`,
    [problems],
  );
  return rowCount ?? 0;
}

/**
 * Resolves the alerts whose problem was not found. An alert of a kind that was not checked stays
 * open. If this version does not know its kind, it stays open while workers of several versions are
 * alive: another version resolves it.
 */
async function resolveAlerts(
  client: pg.ClientBase,
  problems: string,
  only: Cause | null,
): Promise<string[]> {
  const {rows} = await client.query<{alertId: string}>(
    `UPDATE sync.alerts AS alert SET resolved_at = now()
      WHERE resolved_at IS NULL
        AND (alert.cause = ANY ($2) OR ($3 AND NOT ${hasSeveralVersions}))
        AND NOT EXISTS (SELECT FROM ${rowsSql}
                         WHERE (found.kind, found."accountId", found.stream, found.subject)
                           IS NOT DISTINCT FROM (alert.cause, alert.account_id, alert.stream,
                             alert.subject))
     RETURNING alert_id AS "alertId"`,
    [problems, only === null ? causes : [only], only === null],
  );
  return rows.map(({alertId}) => alertId);
}

/**
 * Adds one delivery for each open alert and each rule that covers it. If the same problem was
 * reported within the rule's quiet time, the delivery is due at the end of that time. A new rule
 * also gets deliveries for alerts that are open already.
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
       JOIN sync.alert_rules AS rule ON rule.receiver <> 'ping' AND ${isCovered}
      WHERE alert.resolved_at IS NULL
        AND NOT EXISTS (SELECT FROM sync.alert_deliveries AS held
                         WHERE held.rule_id = rule.rule_id AND held.alert_id = alert.alert_id
                           AND held.kind = 'opened')
         ON CONFLICT DO NOTHING`,
  );
}

/**
 * Adds deliveries that report alerts as resolved. If no one was notified of the opening, the end is
 * not reported either. A try whose answer was lost may have arrived, so it counts.
 */
async function requestResolved(client: pg.ClientBase, alertIds: readonly string[]): Promise<void> {
  await client.query(
    `UPDATE sync.alert_deliveries SET state = 'dropped'
      WHERE alert_id = ANY ($1) AND kind = 'opened' AND state = 'due' AND attempts = 0`,
    [alertIds],
  );
  await client.query(
    `INSERT INTO sync.alert_deliveries (rule_id, alert_id, kind)
     SELECT rule_id, alert_id, 'resolved' FROM sync.alert_deliveries
      WHERE alert_id = ANY ($1) AND kind = 'opened' AND state NOT IN ('dropped', 'failed')
         ON CONFLICT DO NOTHING`,
    [alertIds],
  );
}

/**
 * Folds the due messages of a rule into one digest if there are too many. A message that was tried
 * already stays separate: the receiver may have it.
 */
async function foldIntoDigests(client: pg.ClientBase): Promise<void> {
  const isUnsent = `told.state = 'due' AND told.attempts = 0
    AND told.due_at <= now() AND told.alert_id IS NOT NULL`;
  await client.query(
    `WITH crowded AS (
       SELECT rule_id FROM sync.alert_deliveries AS told WHERE ${isUnsent}
         GROUP BY rule_id HAVING count(*) > ${mostMessages}
     ), digest AS (
       INSERT INTO sync.alert_deliveries (rule_id, kind) SELECT rule_id, 'digest' FROM crowded
         RETURNING delivery_id, rule_id
     )
     UPDATE sync.alert_deliveries AS told SET state = 'folded', digest_id = digest.delivery_id
       FROM digest WHERE told.rule_id = digest.rule_id AND ${isUnsent}`,
  );
}

type RuleRow = typeof alertRules.$inferSelect;

const ruleColumnNames = [
  'rule_id',
  'name',
  'receiver',
  'target',
  'key_id',
  'account_id',
  'causes',
  'quiet_ms',
  'every_ms',
] as const satisfies readonly (keyof RuleRow)[];

/**
 * A row of sync.alert_rules, without its sealed access. The definition of the table documents each
 * column.
 */
export interface AlertRule
  extends Omit<
    ReadRow<RuleRow, (typeof ruleColumnNames)[number]>,
    'causes' | 'quietMs' | 'everyMs'
  > {
  /** Another version may have written a cause that this version does not know. */
  readonly causes: readonly string[] | null;
  readonly quietMs: number;
  readonly everyMs: number | null;
  /** Name of the account; null if the rule is for everything. */
  readonly account: string | null;
  /** Whether the rule's address is known; a rule that a settings file made waits for it. */
  readonly hasAddress: boolean;
}

export type Receiver = AlertRule['receiver'];

/** The values of a rule that is to be made. */
export interface RulePlan
  extends Pick<
    AlertRule,
    'name' | 'receiver' | 'target' | 'accountId' | 'causes' | 'quietMs' | 'everyMs'
  > {
  readonly sealed: Sealed | null;
}

const numericColumns = ['quiet_ms', 'every_ms'] as const;

/** The columns of a rule, for a query in which `rule` and `account` are its tables. */
const ruleColumns = [
  selectColumns(
    ruleColumnNames.filter(
      (column) => column !== numericColumns[0] && column !== numericColumns[1],
    ),
    'rule',
  ),
  'rule.quiet_ms::double precision AS "quietMs"',
  'rule.every_ms::double precision AS "everyMs"',
  'account.name AS account',
  `rule.key_id IS DISTINCT FROM '' AS "hasAddress"`,
].join(', ');

/**
 * Whether a rule covers an alert, for a query with `rule` and `alert`. A rule never covers its own
 * failure. A ping that names no cause continues while the service sends a new field: nothing is
 * wrong then.
 */
export const isCovered = `(
  (rule.account_id IS NULL OR rule.account_id = alert.account_id)
  AND CASE WHEN rule.causes IS NULL THEN rule.receiver <> 'ping' OR alert.cause <> 'drift'
           ELSE alert.cause = ANY (rule.causes) END
  AND NOT (alert.cause = 'alerts-failing' AND alert.subject = rule.name))`;

/**
 * Makes a rule; its ping, if it is one, is due at once.
 * @returns false if there is a rule of that name
 */
export async function insertRule(db: Queryable, plan: RulePlan): Promise<boolean> {
  const {rowCount} = await db.query(
    `WITH made AS (
       INSERT INTO sync.alert_rules (name, receiver, target, sealed_access, key_id, account_id,
         causes, quiet_ms, every_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING
         RETURNING rule_id, receiver), ping AS (
       INSERT INTO sync.alert_deliveries (rule_id, kind) SELECT rule_id, 'ping' FROM made
         WHERE receiver = 'ping')
     SELECT FROM made`,
    [
      plan.name,
      plan.receiver,
      plan.target,
      plan.sealed?.bytes ?? null,
      plan.sealed?.keyId ?? null,
      plan.accountId,
      plan.causes,
      plan.quietMs,
      plan.everyMs,
    ],
  );
  return rowCount === 1;
}

/** Every rule, by name. */
export async function listRules(db: Queryable): Promise<AlertRule[]> {
  const {rows} = await db.query<AlertRule>(
    `SELECT ${ruleColumns} FROM sync.alert_rules AS rule LEFT JOIN sync.accounts AS account
       USING (account_id) ORDER BY rule.name`,
  );
  return rows;
}

/** The sealed access of a rule; null if it has none. */
export async function readSealedAccess(db: Queryable, ruleId: string): Promise<Sealed | null> {
  const {rows} = await db.query<{keyId: string | null; bytes: Buffer | null}>(
    'SELECT key_id AS "keyId", sealed_access AS bytes FROM sync.alert_rules WHERE rule_id = $1',
    [ruleId],
  );
  const {keyId = null, bytes = null} = rows[0] ?? {};
  return keyId === null || bytes === null ? null : {keyId, bytes};
}

/**
 * Removes a rule, and its messages that were still to be sent. Alerts exist only for rules: with
 * the last rule they are deleted, so that none stays open without being checked.
 * @returns false if there is no rule of that name
 */
export async function deleteRule(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query(
    `WITH removed AS (DELETE FROM sync.alert_rules WHERE name = $1 RETURNING rule_id),
       forgotten AS (
       DELETE FROM sync.alerts WHERE NOT EXISTS (SELECT FROM sync.alert_rules WHERE name <> $1))
     SELECT FROM removed`,
    [name],
  );
  return rowCount === 1;
}

/** Defaults: how often a ping is sent, and for how long a problem is not reported again. */
export const usualEveryMs = 300_000;
export const usualQuietMs = 14_400_000;

/** The settings of a rule. */
interface RuleSetting
  extends Pick<
    AlertRule,
    'name' | 'receiver' | 'target' | 'account' | 'causes' | 'quietMs' | 'everyMs'
  > {
  /**
   * Whether an e-mail rule has its own mail server; the environment gives that of other e-mail
   * rules.
   */
  readonly hasServer: boolean;
}

/** The settings of every rule, by name. */
export async function listRuleSettings(db: Queryable): Promise<RuleSetting[]> {
  const {rows} = await db.query<RuleSetting>(
    `SELECT rule.name, receiver, target, account.name AS account, causes,
            quiet_ms::double precision AS "quietMs",
            every_ms::double precision AS "everyMs", receiver = 'email'
              AND rule.key_id IS NOT NULL AS "hasServer"
       FROM sync.alert_rules AS rule LEFT JOIN sync.accounts AS account USING (account_id)
         ORDER BY rule.name`,
  );
  return rows;
}

/**
 * Makes a rule or changes its settings; its address and its messages stay. A new rule waits for its
 * secret access, as does an e-mail rule that is to have its own server from now on. Until then its
 * key is empty, and no worker claims its messages. The next ping is due at most one new interval
 * from now.
 */
export async function writeRuleSetting(
  db: Queryable,
  {name, receiver, target, hasServer, account, causes, quietMs, everyMs}: RuleSetting,
): Promise<void> {
  const hasOwnAccess = receiver !== 'email' || hasServer;
  await db.query(
    `WITH made AS (
       INSERT INTO sync.alert_rules AS rule (name, receiver, target, sealed_access, key_id,
         account_id, causes, quiet_ms, every_ms)
       VALUES ($1, $2, $3, CASE WHEN $4 THEN ''::bytea END, CASE WHEN $4 THEN '' END,
               (SELECT account_id FROM sync.accounts WHERE name = $5), $6, $7, $8)
           ON CONFLICT (name) DO UPDATE
          SET target = CASE rule.receiver WHEN 'email' THEN EXCLUDED.target ELSE rule.target END,
              sealed_access = CASE WHEN $4 THEN coalesce(rule.sealed_access, '') END,
              key_id = CASE WHEN $4 THEN coalesce(rule.key_id, '') END,
              account_id = EXCLUDED.account_id, causes = EXCLUDED.causes,
              quiet_ms = EXCLUDED.quiet_ms, every_ms = EXCLUDED.every_ms
       RETURNING rule_id, receiver)
     INSERT INTO sync.alert_deliveries AS ping (rule_id, kind) SELECT rule_id, 'ping' FROM made
       WHERE receiver = 'ping'
         ON CONFLICT (rule_id) WHERE kind = 'ping' DO UPDATE
        SET due_at = least(ping.due_at, now() + $8::bigint * interval '1 millisecond')`,
    [name, receiver, target, hasOwnAccess, account, causes, quietMs, everyMs],
  );
}

/**
 * Gives a rule the address or the mail server that it waits for. Its waiting messages are then
 * sent.
 * @returns false if no rule of that name waits
 */
export async function giveRuleAccess(
  db: Queryable,
  {name, target, sealed}: Pick<RulePlan, 'name' | 'target'> & {readonly sealed: Sealed},
): Promise<boolean> {
  const {rowCount} = await db.query(
    `UPDATE sync.alert_rules SET target = $2, sealed_access = $3, key_id = $4 WHERE name = $1
       AND key_id = ''`,
    [name, target, sealed.bytes, sealed.keyId],
  );
  return rowCount === 1;
}

/**
 * The command that gives a rule the address that it waits for. For e-mail, the mail server is the
 * secret.
 */
export function describeAddressStep(rule: string, receiver: Receiver): string {
  const address = receiver === 'email' ? '--email ADDRESS --smtp -' : `--${receiver} -`;
  return `fieldmirror alerts add ${rule} ${address}`;
}
