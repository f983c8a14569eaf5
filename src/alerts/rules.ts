// Who is told: the rows of sync.alert_rules. A file of settings names all of their columns but the
// address.

import type {Sealed} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {alertRules} from './tables.ts';

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
  /** Another version may have written one that this does not know. */
  readonly causes: readonly string[] | null;
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
const ruleColumns = [
  selectColumns(
    columns.filter((column) => column !== numbers[0] && column !== numbers[1]),
    'rule',
  ),
  'rule.quiet_ms::double precision AS "quietMs"',
  'rule.every_ms::double precision AS "everyMs"',
  'account.name AS account',
  `rule.key_id IS DISTINCT FROM '' AS "hasAddress"`,
].join(', ');

/**
 * Whether a rule tells of an alert: `rule` and `alert` in a query. A rule is never told of its own
 * failure, and a ping that names no cause goes on while the service sends a new field: nothing is
 * wrong then.
 */
export const isTold = `(
  (rule.account_id IS NULL OR rule.account_id = alert.account_id)
  AND CASE WHEN rule.causes IS NULL THEN rule.receiver <> 'ping' OR alert.cause <> 'drift'
           ELSE alert.cause = ANY (rule.causes) END
  AND NOT (alert.cause = 'alerts-failing' AND alert.subject = rule.name))`;

/**
 * Makes a rule; a ping is due at once.
 * @returns false where there is a rule of that name
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
    `WITH removed AS (DELETE FROM sync.alert_rules WHERE name = $1 RETURNING rule_id),
       forgotten AS (
       DELETE FROM sync.alerts WHERE NOT EXISTS (SELECT FROM sync.alert_rules WHERE name <> $1))
     SELECT FROM removed`,
    [name],
  );
  return rowCount === 1;
}

/**
 * How often a ping comes, and for how long a thing is not told again, where nothing else was asked
 * for.
 */
export const usualEveryMs = 300_000;
export const usualQuietMs = 14_400_000;

/** The settings of a rule. */
interface RuleSetting
  extends Pick<
    AlertRule,
    'name' | 'receiver' | 'target' | 'account' | 'causes' | 'quietMs' | 'everyMs'
  > {
  /**
   * Whether a rule of e-mail brings the server that sends it; the environment gives that of others.
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
 * Changes the settings of a rule; its address and its messages stay. A new rule, and one of e-mail
 * that is to bring its server from now on, waits for what is secret: no worker claims by an empty
 * key. A ping comes no later than its new interval says.
 */
export async function writeRuleSetting(
  db: Queryable,
  {name, receiver, target, hasServer, account, causes, quietMs, everyMs}: RuleSetting,
): Promise<void> {
  const bringsAccess = receiver !== 'email' || hasServer;
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
    [name, receiver, target, bringsAccess, account, causes, quietMs, everyMs],
  );
}

/**
 * Gives a rule the address, or the server of e-mail, that it waits for. Messages that wait are sent
 * then.
 * @returns false where no rule of that name waits
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
 * The step that gives a rule the address that it waits for; of e-mail its server is what is secret.
 */
export function tellAddressStep(rule: string, receiver: Receiver): string {
  const address = receiver === 'email' ? '--email ADDRESS --smtp -' : `--${receiver} -`;
  return `fieldmirror alerts add ${rule} ${address}`;
}
