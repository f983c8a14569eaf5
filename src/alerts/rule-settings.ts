// The choices of a person for a rule, but for its address: the columns of sync.alert_rules that a
// file of settings names.

import type {Sealed} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import type {AlertRule, RulePlan} from './alert-rules.ts';

/**
 * How often a ping comes, and for how long a thing is not told again, where nothing else was asked
 * for.
 */
export const usualEveryMs = 300_000;
export const usualQuietMs = 14_400_000;

/** The settings of a rule. */
export interface RuleSetting
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
    `SELECT rule.name, receiver, target, account.name AS account, causes, quiet_ms::double precision AS "quietMs",
            every_ms::double precision AS "everyMs", receiver = 'email' AND rule.key_id IS NOT NULL AS "hasServer"
       FROM sync.alert_rules AS rule LEFT JOIN sync.accounts AS account USING (account_id) ORDER BY rule.name`,
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
       INSERT INTO sync.alert_rules AS rule (name, receiver, target, sealed_access, key_id, account_id, causes, quiet_ms, every_ms)
       VALUES ($1, $2, $3, CASE WHEN $4 THEN ''::bytea END, CASE WHEN $4 THEN '' END,
               (SELECT account_id FROM sync.accounts WHERE name = $5), $6, $7, $8)
           ON CONFLICT (name) DO UPDATE
          SET target = CASE rule.receiver WHEN 'email' THEN EXCLUDED.target ELSE rule.target END,
              sealed_access = CASE WHEN $4 THEN coalesce(rule.sealed_access, '') END, key_id = CASE WHEN $4 THEN coalesce(rule.key_id, '') END,
              account_id = EXCLUDED.account_id, causes = EXCLUDED.causes, quiet_ms = EXCLUDED.quiet_ms, every_ms = EXCLUDED.every_ms
       RETURNING rule_id, receiver)
     INSERT INTO sync.alert_deliveries AS ping (rule_id, kind) SELECT rule_id, 'ping' FROM made WHERE receiver = 'ping'
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
    `UPDATE sync.alert_rules SET target = $2, sealed_access = $3, key_id = $4 WHERE name = $1 AND key_id = ''`,
    [name, target, sealed.bytes, sealed.keyId],
  );
  return rowCount === 1;
}
