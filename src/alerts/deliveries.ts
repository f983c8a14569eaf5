// The messages of alerts that are to be sent, and how those of each rule fare. Nothing that is read
// here is a secret.

import type {Sealed} from '../core/secret.ts';
import {claimDue, type FailedTry, noteClaim, type SendClaim} from '../feed/deliver.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {
  type Alert,
  type AlertRule,
  alertColumns,
  isTold,
  listOpenAlerts,
  listRules,
  type Receiver,
} from './alerts.ts';
import type {alertDeliveries} from './tables.ts';

/** A delivery that was claimed, and all that it takes to send it. */
export interface Delivery extends SendClaim {
  readonly kind: 'opened' | 'mended' | 'digest' | 'ping';
  readonly messageId: string;
  readonly rule: string;
  readonly receiver: Receiver;
  readonly target: string;
  readonly sealed: Sealed | null;
}

/** What a message tells of: an alert that has opened or was mended. */
export interface News extends Alert {
  readonly news: 'opened' | 'mended';
}

/** The means of a worker. */
interface Means {
  /** Keys that it opens seals with. */
  readonly keyIds: readonly string[];
  /** Whether its environment names a server of e-mail. */
  readonly hasSmtp: boolean;
}

export const deliveryQueue = {
  ...{table: 'sync.alert_deliveries', id: 'delivery_id'},
  onClaim: `, state = 'sending', attempts = attempts + 1`,
  onRelease: `, state = 'due', due_at = now()`,
} as const;

/**
 * The news that something is wrong goes out before the news that it is over, each by itself or in a
 * digest.
 */
const isAfterAnother = `
  EXISTS (SELECT FROM sync.alert_deliveries AS told
            JOIN sync.alert_deliveries AS earlier
              ON earlier.rule_id = told.rule_id AND earlier.alert_id = told.alert_id
                AND earlier.delivery_id < told.delivery_id
            LEFT JOIN sync.alert_deliveries AS digest ON digest.delivery_id = earlier.digest_id
           WHERE (told.delivery_id = due.delivery_id OR told.digest_id = due.delivery_id)
             AND (earlier.state IN ('due', 'sending') OR digest.state IN ('due', 'sending')))`;

/** A ping that does not come says that something is wrong: `due` and `rule` in a query. */
const isWithheld = `
  (due.kind = 'ping' AND EXISTS (
    SELECT FROM sync.alerts AS alert WHERE alert.mended_at IS NULL AND ${isTold}))`;

/** Claims deliveries. What this worker has not the means for is left to another. */
export async function claimDeliveries(
  db: Queryable,
  {keyIds, hasSmtp}: Means,
  limit: number,
): Promise<Delivery[]> {
  const select = {
    columns: `due.kind, due.message_id AS "messageId", due.attempts AS failures, rule.name AS rule,
      rule.receiver, rule.target, rule.key_id AS "keyId", rule.sealed_access AS bytes`,
    joins: 'JOIN sync.alert_rules AS rule USING (rule_id)',
    where: `due.state IN ('due', 'sending')
      AND CASE WHEN rule.key_id IS NULL THEN $3 ELSE rule.key_id = ANY ($2) END
      AND NOT ${isAfterAnother} AND NOT ${isWithheld}`,
  };
  return await claimDue<Delivery>(db, deliveryQueue, select, [limit, keyIds, hasSmtp]);
}

/** What a delivery tells, in the order in which it happened; nothing for a ping. */
export async function listNews(db: Queryable, deliveryId: string): Promise<News[]> {
  const {rows} = await db.query<News>(
    `SELECT ${alertColumns}, told.kind AS news
       FROM sync.alert_deliveries AS told
       JOIN sync.alerts AS alert USING (alert_id)
       LEFT JOIN sync.accounts AS account USING (account_id)
      WHERE told.delivery_id = $1 OR told.digest_id = $1
      ORDER BY told.delivery_id`,
    [deliveryId],
  );
  return rows;
}

/** The receiver took it. The next ping is due one interval from now. */
export async function noteSent(db: Queryable, delivery: Delivery): Promise<void> {
  const next = `now() + (SELECT every_ms FROM sync.alert_rules AS rule
    WHERE rule.rule_id = claimed.rule_id) * interval '1 millisecond'`;
  const changes =
    delivery.kind === 'ping' ? `state = 'due', attempts = 0, due_at = ${next}` : `state = 'sent'`;
  await noteClaim(
    ...[db, deliveryQueue, delivery],
    `${changes}, sent_at = now(), lease_until = NULL, last_error = NULL`,
  );
}

/**
 * The receiver did not take it: it is due again later, or given up.
 * @returns whether it was still ours
 */
export async function noteFailed(
  db: Queryable,
  delivery: Delivery,
  {error, afterMs, isLast}: FailedTry,
): Promise<boolean> {
  return await noteClaim(
    ...[db, deliveryQueue, delivery],
    `state = CASE WHEN $5 THEN 'failed' ELSE 'due' END, last_error = $3, lease_until = NULL,
     due_at = now() + $4 * interval '1 millisecond'`,
    [error, afterMs, isLast],
  );
}

const pastColumns = [
  'delivery_id',
  'kind',
  'state',
  'attempts',
  'due_at',
  'last_error',
  'created_at',
  'sent_at',
] as const satisfies readonly (keyof typeof alertDeliveries.$inferSelect)[];

/**
 * A message to a receiver, as a person looks back on it: a row of sync.alert_deliveries, whose
 * definition says what each column means.
 */
export interface PastDelivery
  extends ReadRow<typeof alertDeliveries.$inferSelect, (typeof pastColumns)[number]> {
  readonly rule: string;
  /** The alert that it tells of, in words; null of a digest and a ping. */
  readonly text: string | null;
  /** How many messages a digest stands for; 0 of any other. */
  readonly folded: number;
}

/**
 * The latest messages of some rules, the newest first: a digest in place of those that it tells, no
 * ping that was taken.
 */
export async function listPastDeliveries(
  db: Queryable,
  {rules, limit}: {readonly rules: readonly string[]; readonly limit: number},
): Promise<PastDelivery[]> {
  const {rows} = await db.query<PastDelivery>(
    `SELECT ${selectColumns(pastColumns, 'delivery')}, rule.name AS rule, alert.text,
            (SELECT count(*)::integer FROM sync.alert_deliveries AS told
              WHERE told.digest_id = delivery.delivery_id) AS folded
       FROM sync.alert_deliveries AS delivery
       JOIN sync.alert_rules AS rule USING (rule_id)
       LEFT JOIN sync.alerts AS alert USING (alert_id)
      WHERE rule.name = ANY ($1) AND delivery.state <> 'folded'
        AND (delivery.kind <> 'ping' OR delivery.last_error IS NOT NULL)
      ORDER BY delivery.delivery_id DESC LIMIT $2`,
    [rules, limit],
  );
  return rows;
}

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
  AND NOT EXISTS (
    SELECT FROM sync.alert_deliveries AS later
     WHERE later.rule_id = due.rule_id AND later.sent_at > due.due_at - interval '1 hour'))`;

const isFailing = `(
  due.state IN ('due', 'sending') AND NOT ${isWithheld}
  AND (due.attempts >= ${failingAfterTries} AND due.last_error IS NOT NULL
    OR coalesce(due.lease_until, due.due_at) < now() - ${untakenAfter})
  OR ${isGivenUp})`;

/** How each rule fares, by name. What was sent is not counted: of it the last alone matters. */
export async function listRuleHealth(db: Queryable): Promise<RuleHealth[]> {
  const {rows} = await db.query<RuleHealth>(
    `SELECT rule.name AS rule, rule.receiver, rule.key_id IS DISTINCT FROM '' AS "hasAddress",
            rule.key_id AS "keyId",
            (SELECT max(sent_at) FROM sync.alert_deliveries AS sent
              WHERE sent.rule_id = rule.rule_id) AS "lastSentAt",
            count(*) FILTER (WHERE due.state IN ('due', 'sending')
              AND due.kind <> 'ping')::integer AS waiting,
            count(*) FILTER (WHERE ${isGivenUp})::integer AS "givenUp",
            CASE rule.key_id WHEN '' THEN CASE WHEN rule.created_at < now() - ${untakenAfter}
              THEN rule.created_at END
                 ELSE min(CASE WHEN due.kind = 'ping' THEN coalesce(due.sent_at, due.created_at)
                   ELSE due.created_at END) FILTER (WHERE ${isFailing}) END AS "failingSince",
            (array_agg(due.last_error ORDER BY due.due_at DESC)
              FILTER (WHERE due.last_error IS NOT NULL AND ${isFailing}))[1] AS "lastError"
       FROM sync.alert_rules AS rule
       LEFT JOIN sync.alert_deliveries AS due ON due.rule_id = rule.rule_id
         AND due.state IN ('due', 'sending', 'failed')
      GROUP BY rule.rule_id ORDER BY rule.name`,
  );
  return rows;
}

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
