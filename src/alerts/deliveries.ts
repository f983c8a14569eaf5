// The alert messages that are to be sent, and the health of each rule's messages. No plain secret
// is read here.

import type {Sealed} from '../core/secret.ts';
import {claimDue, type FailedTry, noteClaim, type SendClaim} from '../feed/deliver.ts';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {
  type Alert,
  type AlertRule,
  alertColumns,
  isCovered,
  listOpenAlerts,
  listRules,
  type Receiver,
} from './alerts.ts';
import type {alertDeliveries} from './tables.ts';

/** A claimed delivery, and everything needed to send it. */
export interface Delivery extends SendClaim {
  readonly kind: 'opened' | 'resolved' | 'digest' | 'ping';
  readonly messageId: string;
  readonly rule: string;
  readonly receiver: Receiver;
  readonly target: string;
  readonly sealed: Sealed | null;
}

/** An alert as a message reports it: it was opened or resolved. */
export interface News extends Alert {
  readonly news: 'opened' | 'resolved';
}

/** The keys and the mail server that a worker has. */
interface SendResources {
  /** Ids of the keys with which the worker opens seals. */
  readonly keyIds: readonly string[];
  /** Whether the worker's environment names a mail server. */
  readonly hasSmtp: boolean;
}

export const deliveryQueue = {
  table: 'sync.alert_deliveries',
  id: 'delivery_id',
  onClaim: `, state = 'sending', attempts = attempts + 1`,
  onRelease: `, state = 'due', due_at = now()`,
} as const;

/**
 * Whether an earlier message about the same alert is still to be sent, separately or in a digest.
 * The message that an alert was opened is sent before the message that it was resolved.
 */
const isAfterAnother = `
  EXISTS (SELECT FROM sync.alert_deliveries AS told
            JOIN sync.alert_deliveries AS earlier
              ON earlier.rule_id = told.rule_id AND earlier.alert_id = told.alert_id
                AND earlier.delivery_id < told.delivery_id
            LEFT JOIN sync.alert_deliveries AS digest ON digest.delivery_id = earlier.digest_id
           WHERE (told.delivery_id = due.delivery_id OR told.digest_id = due.delivery_id)
             AND (earlier.state IN ('due', 'sending') OR digest.state IN ('due', 'sending')))`;

/**
 * Whether a ping is withheld because its rule covers an open alert, for a query with `due` and
 * `rule`. A missing ping signals that something is wrong.
 */
const isWithheld = `
  (due.kind = 'ping' AND EXISTS (
    SELECT FROM sync.alerts AS alert WHERE alert.resolved_at IS NULL AND ${isCovered}))`;

/**
 * Claims deliveries. If this worker lacks the key or the mail server for one, it is left to another
 * worker.
 */
export async function claimDeliveries(
  db: Queryable,
  {keyIds, hasSmtp}: SendResources,
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

/** The alerts that a delivery reports, in the order in which they happened; none for a ping. */
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

/** Notes that the receiver accepted a delivery. The next ping is due one interval from now. */
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
 * Notes that the receiver did not accept a delivery: it is due again later, or given up.
 * @returns whether this worker still held the claim
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
 * A past message to a receiver, for a person: a row of sync.alert_deliveries, whose definition
 * documents each column.
 */
export interface PastDelivery
  extends ReadRow<typeof alertDeliveries.$inferSelect, (typeof pastColumns)[number]> {
  readonly rule: string;
  /** The text of the alert that it reports; null for a digest and a ping. */
  readonly text: string | null;
  /** How many messages a digest replaces; 0 for any other message. */
  readonly folded: number;
}

/**
 * The latest messages of some rules, the newest first. A digest appears in place of the messages
 * that it contains. A ping is left out unless its last try failed.
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

/** The health of one rule's messages. Instants are ISO 8601 in UTC. */
export interface RuleHealth {
  readonly rule: string;
  readonly receiver: Receiver;
  /** Whether the rule's address is known; a rule that a settings file made waits for it. */
  readonly hasAddress: boolean;
  /**
   * The key that the rule's address is sealed with; null if the mail server of the workers'
   * environment sends its messages.
   */
  readonly keyId: string | null;
  /** When a receiver last accepted a message. */
  readonly lastSentAt: string | null;
  /** Messages that are still to be sent. */
  readonly waiting: number;
  /**
   * Messages that were given up within the last week, after which the receiver accepted no other.
   */
  readonly givenUp: number;
  /**
   * Since when messages do not arrive; null while nothing is wrong with the rule. A rule that waits
   * for its address counts as failing ten minutes after it was made, even if nothing is to be sent.
   * Otherwise its first message would be late.
   */
  readonly failingSince: string | null;
  /** Why the last try failed; null also if no worker has tried. */
  readonly lastError: string | null;
}

/** The first tries may fail because the receiver is being restarted. */
const failingAfterTries = 3;
/** A worker checks for due deliveries every ten seconds. */
const untakenAfter = "interval '10 minutes'";

/**
 * Whether a message was given up within the last week, and no later message was accepted either.
 */
const isGivenUp = `(
  due.state = 'failed' AND due.due_at > now() - interval '7 days'
  AND NOT EXISTS (
    SELECT FROM sync.alert_deliveries AS later
     WHERE later.rule_id = due.rule_id AND later.sent_at > due.due_at - interval '1 hour'))`;

/** Until when a ping was withheld the last time; null for another message. */
const withheldUntil = `
  (SELECT max(alert.resolved_at) FROM sync.alerts AS alert
    WHERE due.kind = 'ping' AND ${isCovered})`;

const isFailing = `(
  due.state IN ('due', 'sending') AND NOT ${isWithheld}
  AND (due.attempts >= ${failingAfterTries} AND due.last_error IS NOT NULL
    OR coalesce(due.lease_until, greatest(due.due_at, ${withheldUntil})) < now() - ${untakenAfter})
  OR ${isGivenUp})`;

/**
 * The health of each rule, by name. Sent messages are not counted: only the time of the last one
 * matters.
 */
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
                 ELSE min(CASE WHEN due.kind = 'ping'
                   THEN greatest(coalesce(due.sent_at, due.created_at), ${withheldUntil})
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

/** A rule, and the health of its messages. */
export interface RuleStatus extends AlertRule, Omit<RuleHealth, 'rule'> {}

/** The account and the causes of a rule: `acme: failed, approval`. */
export function describeRuleScope({
  account,
  causes,
}: Pick<RuleStatus, 'account' | 'causes'>): string {
  const scope = [account, causes?.join(', ') ?? null].filter((part) => part !== null).join(': ');
  return scope === '' ? 'everything' : scope;
}

export interface AlertOverview {
  /** By name. */
  readonly rules: readonly RuleStatus[];
  /** The oldest first. */
  readonly open: readonly Alert[];
  /**
   * When the last check ended, if that was minutes ago, because no worker is alive; ISO 8601. Else
   * null.
   */
  readonly uncheckedSince: string | null;
}

/** Reads the rules with their health, and the open alerts. */
export async function readAlertOverview(db: Queryable): Promise<AlertOverview> {
  const health = new Map(
    (await listRuleHealth(db)).map(({rule, ...ruleHealth}) => [rule, ruleHealth]),
  );
  const rules = await listRules(db);
  return {
    rules: rules.flatMap((rule) => {
      const ruleHealth = health.get(rule.name);
      return ruleHealth === undefined ? [] : [{...rule, ...ruleHealth}];
    }),
    open: await listOpenAlerts(db),
    uncheckedSince: await readUncheckedSince(db),
  };
}

async function readUncheckedSince(db: Queryable): Promise<string | null> {
  const {rows} = await db.query<{checkedAt: string}>(
    `SELECT checked_at AS "checkedAt" FROM sync.alert_checks
      WHERE checked_at < now() - interval '3 minutes'`,
  );
  return rows[0]?.checkedAt ?? null;
}
