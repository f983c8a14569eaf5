import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {alertDeliveries} from './alert-tables.ts';

const columns = [
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
  extends ReadRow<typeof alertDeliveries.$inferSelect, (typeof columns)[number]> {
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
    `SELECT ${selectColumns(columns, 'delivery')}, rule.name AS rule, alert.text,
            (SELECT count(*)::integer FROM sync.alert_deliveries AS told WHERE told.digest_id = delivery.delivery_id) AS folded
       FROM sync.alert_deliveries AS delivery
       JOIN sync.alert_rules AS rule USING (rule_id)
       LEFT JOIN sync.alerts AS alert USING (alert_id)
      WHERE rule.name = ANY ($1) AND delivery.state <> 'folded' AND (delivery.kind <> 'ping' OR delivery.last_error IS NOT NULL)
      ORDER BY delivery.delivery_id DESC LIMIT $2`,
    [rules, limit],
  );
  return rows;
}
