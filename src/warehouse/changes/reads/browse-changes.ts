// Finds changes by what a person asks for, a page at a time, and says of many what can be decided about them.

import type {Queryable} from '../../postgres/database.ts';
import {type Change, changeColumns} from '../change.ts';
import {type ChangeState, openStates} from '../change-states.ts';
import {latenesses, selectLate} from './change-health.ts';

/** The changes that are asked for; null leaves a condition open. */
export interface Wanted {
  readonly accountIds: readonly string[];
  /** `altered`: done, though the service holds something else; `needy`: it needs a person. */
  readonly state: ChangeState | 'altered' | 'needy' | null;
  readonly table: string | null;
  /** The database user or the application that made it. */
  readonly by: string | null;
  /** Made within this time: `7 days`. */
  readonly within: string | null;
  /** Made longer ago than this. */
  readonly before: string | null;
}

/** A change, and its place among all: the next page begins after the place of the last. */
export type PlacedChange = Change & {readonly place: string};

const isWanted = `account_id = ANY ($1)
  AND ($2::text IS NULL OR state = $2 OR $2 = 'altered' AND state = 'done' AND result ? 'altered' OR $2 = 'needy' AND change_id IN (SELECT change_id FROM needy))
  AND ($3::text IS NULL OR table_name = $3) AND ($4::text IS NULL OR $4 IN (requested_by, application))
  AND ($5::interval IS NULL OR requested_at >= now() - $5::interval) AND ($6::interval IS NULL OR requested_at < now() - $6::interval)`;

/** Changes that need a person: the late ones, and whatever is held. `rank` is low where it is urgent. */
const needySql = `needy AS MATERIALIZED (
  SELECT change_id, min(rank) AS rank
    FROM (SELECT change_id, array_position(ARRAY[${latenesses.map((lateness) => `'${lateness}'`).join(', ')}], lateness) AS rank
            FROM (${selectLate}) AS late
           UNION ALL
          SELECT change_id, ${latenesses.length} FROM sync.changes WHERE account_id = ANY ($1) AND is_open AND state = 'held') AS reasons
   GROUP BY change_id)`;

/** States that no change has which is over: it is not looked for there, where most changes are. */
const nowhereSettled = `ARRAY[${['needy', ...openStates].map((state) => `'${state}'`).join(', ')}]`;

/** A place: the part of the list, the rank in it, the number of the change. */
const placePattern = /^([123])\.(\d)\.([1-9]\d{0,17})$/;

/** Whether a text may be a place. */
export function isPlace(text: string): boolean {
  return placePattern.test(text);
}

/**
 * Lists changes: first those that need a person, the most urgent first; then the others that are not over, the oldest
 * first; then the rest, the latest first.
 * @param after - the place of the last change of the page before; null for the first page
 */
export async function browseChanges(
  db: Queryable,
  wanted: Wanted,
  {after, limit}: {readonly after: string | null; readonly limit: number},
): Promise<PlacedChange[]> {
  const [, part = '0', rank = '0', changeId = '0'] = placePattern.exec(after ?? '') ?? [];
  const {rows} = await db.query<PlacedChange>(
    `WITH ${needySql}
     SELECT * FROM (
       SELECT ${changeColumns}, '1.' || rank || '.' || change_id AS place
         FROM needy JOIN sync.changes USING (change_id)
        WHERE $7::integer < 2 AND (rank, change_id) > ($8::integer, $9::bigint) AND ${isWanted}
        ORDER BY rank, change_id LIMIT $10) AS needing
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '2.0.' || change_id FROM sync.changes
        WHERE is_open AND $2 IS DISTINCT FROM 'needy' AND $7 < 3 AND change_id > CASE $7 WHEN 2 THEN $9 ELSE 0 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${isWanted}
        ORDER BY change_id LIMIT $10) AS open
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '3.0.' || change_id FROM sync.changes
        WHERE NOT is_open AND coalesce($2, '') <> ALL (${nowhereSettled}) AND change_id < CASE $7 WHEN 3 THEN $9 ELSE 9223372036854775807 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${isWanted}
        ORDER BY change_id DESC LIMIT $10) AS settled
      LIMIT $10`,
    [...valuesOf(wanted), part, rank, changeId, limit],
  );
  return rows;
}

/** What it takes to say whether a decision is open to a change. */
export interface DecidableChange
  extends Pick<Change, 'changeId' | 'accountId' | 'table' | 'operation' | 'state' | 'reason' | 'heldFor'> {
  /** A worker has it. */
  readonly isTaken: boolean;
  /** A later change of the same record came after it. */
  readonly isOvertaken: boolean;
  /** The service altered a value of it, and nobody has accepted that. */
  readonly isAltered: boolean;
  /** Both sides changed a field, and nobody has decided. */
  readonly isFought: boolean;
}

const decidableColumns = `change_id AS "changeId", account_id AS "accountId", table_name AS "table", operation, state, reason, held_for AS "heldFor",
  coalesce(lease_until > now(), false) AS "isTaken",
  state = 'rejected' AND EXISTS (
    SELECT FROM sync.changes AS later WHERE later.row_id = change.row_id AND later.table_name = change.table_name
       AND later.change_id > change.change_id AND later.state <> 'cancelled' AND later.waits_for IS NULL) AS "isOvertaken",
  state = 'done' AND EXISTS (SELECT FROM sync.alterations WHERE alterations.change_id = change.change_id AND looked_at IS NULL) AS "isAltered",
  state = 'conflict' AND EXISTS (SELECT FROM sync.conflicts WHERE conflicts.change_id = change.change_id AND winner IS NULL) AS "isFought"`;

/** Changes by their numbers, in that order. @param accountIds - of these accounts alone */
export async function readDecidable(
  db: Queryable,
  changeIds: readonly string[],
  accountIds: readonly string[],
): Promise<DecidableChange[]> {
  const {rows} = await db.query<DecidableChange>(
    `SELECT ${decidableColumns} FROM sync.changes AS change
      WHERE change_id = ANY ($1) AND account_id = ANY ($2) ORDER BY change_id`,
    [changeIds, accountIds],
  );
  return rows;
}

/** The changes that are asked for, without those that are over and ask for nothing; the oldest first. */
export async function listDecidable(
  db: Queryable,
  wanted: Wanted,
  limit: number,
): Promise<DecidableChange[]> {
  const {rows} = await db.query<DecidableChange>(
    `WITH ${needySql}
     SELECT ${decidableColumns} FROM sync.changes AS change
      WHERE ${isWanted}
        AND change_id IN (SELECT change_id FROM sync.changes WHERE account_id = ANY ($1) AND is_open
                           UNION ALL SELECT change_id FROM sync.changes WHERE account_id = ANY ($1) AND state = 'rejected'
                           UNION ALL SELECT change_id FROM sync.alterations WHERE account_id = ANY ($1) AND looked_at IS NULL)
      ORDER BY change_id LIMIT $7`,
    [...valuesOf(wanted), limit],
  );
  return rows;
}

function valuesOf({accountIds, state, table, by, within, before}: Wanted): unknown[] {
  return [accountIds, state, table, by, within, before];
}
