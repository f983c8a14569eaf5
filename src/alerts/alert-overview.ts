// The read model of alerts: who is told, what is open, which messages do not arrive. Nothing in it
// is a secret.

import type {Queryable} from '../postgres/database.ts';
import {type AlertRule, listRules} from './alert-rules.ts';
import {type Alert, listOpenAlerts} from './alerts.ts';
import {listRuleHealth, type RuleHealth} from './rule-health.ts';

/** A rule, and how its messages fare. */
export interface RuleStatus extends AlertRule, Omit<RuleHealth, 'rule'> {}

export interface AlertOverview {
  /** By name. */
  readonly rules: readonly RuleStatus[];
  /** The oldest first. */
  readonly open: readonly Alert[];
}

/** Reads what there is of alerts. */
export async function readAlertOverview(db: Queryable): Promise<AlertOverview> {
  const health = new Map((await listRuleHealth(db)).map(({rule, ...each}) => [rule, each]));
  const rules = await listRules(db);
  return {
    rules: rules.flatMap((rule) => {
      const own = health.get(rule.name);
      return own === undefined ? [] : [{...rule, ...own}];
    }),
    open: await listOpenAlerts(db),
  };
}
