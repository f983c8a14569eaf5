import type {Queryable} from '../postgres/database.ts';
import {isWithheld} from './alert-deliveries.ts';
import type {Receiver} from './alert-rules.ts';

/** How the messages of one rule fare. Instants are ISO 8601 in UTC. */
export interface RuleHealth {
  readonly rule: string;
  readonly receiver: Receiver;
  /** Whether its address is known; one that a file of settings made waits for it. */
  readonly hasAddress: boolean;
  /**
   * The key that its address is sealed with; null: it goes through the mail server of the workers'
   * environment.
   */
  readonly keyId: string | null;
  /** When a receiver last took one. */
  readonly lastSentAt: string | null;
  /** Messages that are still to be sent. */
  readonly waiting: number;
  /** Messages that were given up within the last week, and not followed by one that was taken. */
  readonly givenUp: number;
  /**
   * Since when messages do not arrive; null while nothing is wrong with the rule. A rule that waits
   * for its address fails ten minutes after it was made, though nothing is to be sent: otherwise
   * its first message would be late.
   */
  readonly failingSince: string | null;
  /** Why the last try failed; null also where no worker has tried. */
  readonly lastError: string | null;
}

/** The first tries may meet a receiver that is just being restarted. */
const failingAfterTries = 3;
/** A worker looks every ten seconds. */
const untakenAfter = "interval '10 minutes'";

/** Nothing that came later was taken either. */
const isGivenUp = `(
  due.state = 'failed' AND due.due_at > now() - interval '7 days'
  AND NOT EXISTS (SELECT FROM sync.alert_deliveries AS later WHERE later.rule_id = due.rule_id AND later.sent_at > due.due_at - interval '1 hour'))`;

const isFailing = `(
  due.state IN ('due', 'sending') AND NOT ${isWithheld}
  AND (due.attempts >= ${failingAfterTries} AND due.last_error IS NOT NULL OR coalesce(due.lease_until, due.due_at) < now() - ${untakenAfter})
  OR ${isGivenUp})`;

/** How each rule fares, by name. What was sent is not counted: of it the last alone matters. */
export async function listRuleHealth(db: Queryable): Promise<RuleHealth[]> {
  const {rows} = await db.query<RuleHealth>(
    `SELECT rule.name AS rule, rule.receiver, rule.key_id IS DISTINCT FROM '' AS "hasAddress", rule.key_id AS "keyId",
            (SELECT max(sent_at) FROM sync.alert_deliveries AS sent WHERE sent.rule_id = rule.rule_id) AS "lastSentAt",
            count(*) FILTER (WHERE due.state IN ('due', 'sending') AND due.kind <> 'ping')::integer AS waiting,
            count(*) FILTER (WHERE ${isGivenUp})::integer AS "givenUp",
            CASE rule.key_id WHEN '' THEN CASE WHEN rule.created_at < now() - ${untakenAfter} THEN rule.created_at END
                 ELSE min(CASE WHEN due.kind = 'ping' THEN coalesce(due.sent_at, due.created_at) ELSE due.created_at END) FILTER (WHERE ${isFailing}) END AS "failingSince",
            (array_agg(due.last_error ORDER BY due.due_at DESC) FILTER (WHERE due.last_error IS NOT NULL AND ${isFailing}))[1] AS "lastError"
       FROM sync.alert_rules AS rule
       LEFT JOIN sync.alert_deliveries AS due ON due.rule_id = rule.rule_id AND due.state IN ('due', 'sending', 'failed')
      GROUP BY rule.rule_id ORDER BY rule.name`,
  );
  return rows;
}
