// What is to be sent, under leases by the database's clock. A worker that is killed between sending
// and noting leaves its lease behind: another one sends the same message again, under the same id.

import type {Sealed} from '../core/secret.ts';
import type {Queryable} from '../postgres/database.ts';
import {isTold, type Receiver} from './alert-rules.ts';
import {type Alert, alertColumns} from './alerts.ts';

/** A delivery that was claimed, and all that it takes to send it. */
export interface Delivery {
  readonly deliveryId: string;
  readonly fence: number;
  readonly kind: 'opened' | 'mended' | 'digest' | 'ping';
  readonly messageId: string;
  /** Tries, this one included. */
  readonly attempts: number;
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
export interface Means {
  /** Keys that it opens seals with. */
  readonly keyIds: readonly string[];
  /** Whether its environment names a server of e-mail. */
  readonly hasSmtp: boolean;
}

/** Longer than any try takes. */
const lease = "interval '1 minute'";
/** About a day of tries. */
const mostAttempts = 30;

/**
 * The news that something is wrong goes out before the news that it is over, each by itself or in a
 * digest.
 */
const isAfterAnother = `
  EXISTS (SELECT FROM sync.alert_deliveries AS told
            JOIN sync.alert_deliveries AS earlier
              ON earlier.rule_id = told.rule_id AND earlier.alert_id = told.alert_id AND earlier.delivery_id < told.delivery_id
            LEFT JOIN sync.alert_deliveries AS digest ON digest.delivery_id = earlier.digest_id
           WHERE (told.delivery_id = due.delivery_id OR told.digest_id = due.delivery_id)
             AND (earlier.state IN ('due', 'sending') OR digest.state IN ('due', 'sending')))`;

/** A ping that does not come says that something is wrong: `due` and `rule` in a query. */
export const isWithheld = `
  (due.kind = 'ping' AND EXISTS (SELECT FROM sync.alerts AS alert WHERE alert.mended_at IS NULL AND ${isTold}))`;

/**
 * Claims deliveries that are due, the longest waiting first, and those whose worker was lost. What
 * this worker has not the means for is left to another.
 */
export async function claimDeliveries(
  db: Queryable,
  {keyIds, hasSmtp}: Means,
  limit: number,
): Promise<Delivery[]> {
  const {rows} = await db.query<
    Omit<Delivery, 'sealed'> & {keyId: string | null; bytes: Buffer | null}
  >(
    `UPDATE sync.alert_deliveries AS claimed
        SET state = 'sending', attempts = attempts + 1, fence = fence + 1, lease_until = now() + ${lease}
       FROM sync.alert_rules AS rule
      WHERE claimed.rule_id = rule.rule_id AND claimed.delivery_id IN (
        SELECT due.delivery_id FROM sync.alert_deliveries AS due JOIN sync.alert_rules AS rule USING (rule_id)
         WHERE (due.state = 'due' AND due.due_at <= now() OR due.state = 'sending' AND due.lease_until <= now())
           AND CASE WHEN rule.key_id IS NULL THEN $2 ELSE rule.key_id = ANY ($1) END
           AND NOT ${isAfterAnother} AND NOT ${isWithheld}
         ORDER BY due.due_at, due.delivery_id LIMIT $3 FOR UPDATE OF due SKIP LOCKED)
     RETURNING claimed.delivery_id AS "deliveryId", claimed.fence, claimed.kind, claimed.message_id AS "messageId", claimed.attempts,
               rule.name AS rule, rule.receiver, rule.target, rule.key_id AS "keyId", rule.sealed_access AS bytes`,
    [keyIds, hasSmtp, limit],
  );
  return rows.map(({keyId, bytes, ...delivery}) => ({
    ...delivery,
    sealed: keyId === null || bytes === null ? null : {keyId, bytes},
  }));
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

type Claimed = Pick<Delivery, 'deliveryId' | 'fence'>;

const isOurs = `delivery_id = $1 AND fence = $2 AND state = 'sending'`;

/** The receiver took it. The next ping is due one interval from now. */
export async function noteSent(db: Queryable, {deliveryId, fence}: Claimed): Promise<void> {
  await db.query(
    `UPDATE sync.alert_deliveries AS sent
        SET state = CASE kind WHEN 'ping' THEN 'due' ELSE 'sent' END, sent_at = now(), lease_until = NULL, last_error = NULL,
            attempts = CASE kind WHEN 'ping' THEN 0 ELSE attempts END,
            due_at = CASE kind WHEN 'ping' THEN now() + (SELECT every_ms FROM sync.alert_rules AS rule WHERE rule.rule_id = sent.rule_id) * interval '1 millisecond' ELSE due_at END
      WHERE ${isOurs}`,
    [deliveryId, fence],
  );
}

/**
 * The receiver did not take it: it is due again later, or given up after about a day. A ping is
 * never given up.
 * @returns the state that the delivery has now; null where it is no longer ours
 */
export async function noteFailed(
  db: Queryable,
  {deliveryId, fence}: Claimed,
  {error, afterMs}: {readonly error: string; readonly afterMs: number},
): Promise<'due' | 'failed' | null> {
  const {rows} = await db.query<{state: 'due' | 'failed'}>(
    `UPDATE sync.alert_deliveries
        SET state = CASE WHEN kind <> 'ping' AND attempts >= ${mostAttempts} THEN 'failed' ELSE 'due' END,
            last_error = $3, lease_until = NULL, due_at = now() + $4 * interval '1 millisecond'
      WHERE ${isOurs} RETURNING state`,
    [deliveryId, fence, error, afterMs],
  );
  return rows[0]?.state ?? null;
}

/**
 * Gives back what could not be brought to its end: another worker takes it up at once. It may have
 * arrived.
 */
export async function giveBack(db: Queryable, {deliveryId, fence}: Claimed): Promise<void> {
  await db.query(
    `UPDATE sync.alert_deliveries SET state = 'due', lease_until = NULL, due_at = now() WHERE ${isOurs}`,
    [deliveryId, fence],
  );
}
