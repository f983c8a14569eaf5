// Finds changes by what a person asks for, a page at a time.

import type {Queryable} from '../postgres/database.ts';
import {type Change, changeColumns} from './change.ts';
import {openStates} from './change-states.ts';
import {isWanted, needySql, valuesOf, type Wanted} from './wanted-changes.ts';

/** A change, and its place among all: the next page begins after the place of the last. */
export type PlacedChange = Change & {readonly place: string};

/** States that no change has which is over: it is not looked for there, where most changes are. */
const nowhereSettled = `ARRAY[${['needy', ...openStates].map((state) => `'${state}'`).join(', ')}]`;

/** A place: the part of the list, the rank in it, the number of the change. */
const placePattern = /^([123])\.(\d)\.([1-9]\d{0,17})$/;

/** Whether a text may be a place. */
export function isPlace(text: string): boolean {
  return placePattern.test(text);
}

/**
 * Lists changes: first those that need a person, the most urgent first; then the others that are
 * not over, the oldest first; then the rest, the latest first.
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
        WHERE $10::integer < 2 AND (rank, change_id) > ($11::integer, $12::bigint) AND ${isWanted}
        ORDER BY rank, change_id LIMIT $13) AS needing
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '2.0.' || change_id FROM sync.changes
        WHERE is_open AND $2 IS DISTINCT FROM 'needy' AND $10 < 3 AND change_id > CASE $10 WHEN 2 THEN $12 ELSE 0 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${isWanted}
        ORDER BY change_id LIMIT $13) AS open
      UNION ALL
     SELECT * FROM (
       SELECT ${changeColumns}, '3.0.' || change_id FROM sync.changes
        WHERE NOT is_open AND coalesce($2, '') <> ALL (${nowhereSettled}) AND change_id < CASE $10 WHEN 3 THEN $12 ELSE 9223372036854775807 END
          AND change_id NOT IN (SELECT change_id FROM needy) AND ${isWanted}
        ORDER BY change_id DESC LIMIT $13) AS settled
      LIMIT $13`,
    [...valuesOf(wanted), part, rank, changeId, limit],
  );
  return rows;
}
