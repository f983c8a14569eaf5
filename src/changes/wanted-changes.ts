// The conditions by which a person asks for changes, in the console, in a terminal and over HTTP
// alike.

import {latenesses, selectLate} from './change-health.ts';
import type {ChangeState} from './change-states.ts';

/** The changes that are asked for; null leaves a condition open. */
export interface Wanted {
  readonly accountIds: readonly string[];
  /** `altered`: done, though the service holds something else; `needy`: it needs a person. */
  readonly state: ChangeState | 'altered' | 'needy' | null;
  readonly table: string | null;
  /** The person, database user or application that made it. */
  readonly by: string | null;
  /** Made within this time: `7 days`. */
  readonly within: string | null;
  /** Made longer ago than this. */
  readonly before: string | null;
  /** Made at this instant or later: ISO 8601. */
  readonly since: string | null;
  /** Number of the transaction. */
  readonly transaction: string | null;
  /** Name of the transaction, in full. */
  readonly batch: string | null;
}

/** Every change of some accounts. */
export function everyChange(accountIds: readonly string[]): Wanted {
  const open = {state: null, table: null, by: null, within: null, before: null, since: null};
  return {accountIds, ...open, transaction: null, batch: null};
}

/** SQL: whether a change is wanted. Its values are `valuesOf`, $1 to $9; it needs `needySql`. */
export const isWanted = `account_id = ANY ($1)
  AND ($2::text IS NULL OR state = $2 OR $2 = 'altered' AND state = 'done' AND result ? 'altered' OR $2 = 'needy' AND change_id IN (SELECT change_id FROM needy))
  AND ($3::text IS NULL OR table_name = $3) AND ($4::text IS NULL OR $4 IN (requested_by, application))
  AND ($5::interval IS NULL OR requested_at >= now() - $5::interval) AND ($6::interval IS NULL OR requested_at < now() - $6::interval)
  AND ($7::timestamptz IS NULL OR requested_at >= $7) AND ($8::bigint IS NULL OR transaction_id = $8) AND ($9::text IS NULL OR batch = $9)`;

/**
 * Changes that need a person: the late ones, and whatever is held. `rank` is low where it is
 * urgent.
 */
export const needySql = `needy AS MATERIALIZED (
  SELECT change_id, min(rank) AS rank
    FROM (SELECT change_id, array_position(ARRAY[${latenesses.map((lateness) => `'${lateness}'`).join(', ')}], lateness) AS rank
            FROM (${selectLate}) AS late
           UNION ALL
          SELECT change_id, ${latenesses.length} FROM sync.changes WHERE account_id = ANY ($1) AND is_open AND state = 'held') AS reasons
   GROUP BY change_id)`;

/** In the order of the parameters of `isWanted`. */
export function valuesOf(wanted: Wanted): unknown[] {
  const {accountIds, state, table, by, within, before, since, transaction, batch} = wanted;
  return [accountIds, state, table, by, within, before, since, transaction, batch];
}
