// Who is told: the rows of sync.alert_rules.

import type {Cause} from '../core/errors.ts';
import type {Sealed} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {alertRules} from './alert-tables.ts';

type Row = typeof alertRules.$inferSelect;

const columns = [
  'rule_id',
  'name',
  'receiver',
  'target',
  'key_id',
  'account_id',
  'causes',
  'quiet_ms',
  'every_ms',
] as const satisfies readonly (keyof Row)[];

/**
 * A row of sync.alert_rules, without what is sealed in it. Its definition says what each column
 * means.
 */
export interface AlertRule
  extends Omit<ReadRow<Row, (typeof columns)[number]>, 'causes' | 'quietMs' | 'everyMs'> {
  readonly causes: readonly Cause[] | null;
  readonly quietMs: number;
  readonly everyMs: number | null;
  /** Name of the account; null where the rule is for everything. */
  readonly account: string | null;
  /** Whether its address is known; one that a file of settings made waits for it. */
  readonly hasAddress: boolean;
}

export type Receiver = AlertRule['receiver'];

/** A rule as it is asked for. */
export interface RulePlan
  extends Pick<
    AlertRule,
    'name' | 'receiver' | 'target' | 'accountId' | 'causes' | 'quietMs' | 'everyMs'
  > {
  readonly sealed: Sealed | null;
}

const numbers = ['quiet_ms', 'every_ms'] as const;

/** The columns of a rule, for a query in which `rule` and `account` are its tables. */
export const ruleColumns = [
  selectColumns(
    columns.filter((column) => column !== numbers[0] && column !== numbers[1]),
    'rule',
  ),
  `rule.quiet_ms::double precision AS "quietMs", rule.every_ms::double precision AS "everyMs", account.name AS account, rule.key_id IS DISTINCT FROM '' AS "hasAddress"`,
].join(', ');

/**
 * Whether a rule tells of an alert: `rule` and `alert` in a query. A rule is never told of its own
 * failure, and a ping that names no cause goes on while the service sends a new field: nothing is
 * wrong then.
 */
export const isTold = `(
  (rule.account_id IS NULL OR rule.account_id = alert.account_id)
  AND CASE WHEN rule.causes IS NULL THEN rule.receiver <> 'ping' OR alert.cause <> 'drift' ELSE alert.cause = ANY (rule.causes) END
  AND NOT (alert.cause = 'alerts-failing' AND alert.subject = rule.name))`;

/**
 * Makes a rule; a ping is due at once.
 * @returns false where there is a rule of that name
 */
export async function insertRule(db: Queryable, plan: RulePlan): Promise<boolean> {
  const {rowCount} = await db.query(
    `WITH made AS (
       INSERT INTO sync.alert_rules (name, receiver, target, sealed_access, key_id, account_id, causes, quiet_ms, every_ms)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (name) DO NOTHING RETURNING rule_id, receiver), ping AS (
       INSERT INTO sync.alert_deliveries (rule_id, kind) SELECT rule_id, 'ping' FROM made WHERE receiver = 'ping')
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
    `SELECT ${ruleColumns} FROM sync.alert_rules AS rule LEFT JOIN sync.accounts AS account USING (account_id) ORDER BY rule.name`,
  );
  return rows;
}

/** What is sealed of a rule; null where nothing is. */
export async function readSealedAccess(db: Queryable, ruleId: string): Promise<Sealed | null> {
  const {rows} = await db.query<{keyId: string | null; bytes: Buffer | null}>(
    'SELECT key_id AS "keyId", sealed_access AS bytes FROM sync.alert_rules WHERE rule_id = $1',
    [ruleId],
  );
  const {keyId = null, bytes = null} = rows[0] ?? {};
  return keyId === null || bytes === null ? null : {keyId, bytes};
}

/**
 * Removes a rule, and what was still to be sent by it. Alerts are kept for rules: with the last
 * rule they go, so that none stays open that no worker looks at.
 * @returns false where there is none of that name
 */
export async function deleteRule(db: Queryable, name: string): Promise<boolean> {
  const {rowCount} = await db.query(
    `WITH removed AS (DELETE FROM sync.alert_rules WHERE name = $1 RETURNING rule_id), forgotten AS (
       DELETE FROM sync.alerts WHERE NOT EXISTS (SELECT FROM sync.alert_rules WHERE name <> $1))
     SELECT FROM removed`,
    [name],
  );
  return rowCount === 1;
}
