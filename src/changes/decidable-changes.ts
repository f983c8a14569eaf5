// What can be decided about many changes.

import type {Queryable} from '../postgres/database.ts';
import type {Change} from './change.ts';
import {isWanted, needySql, valuesOf, type Wanted} from './wanted-changes.ts';

/** What it takes to say whether a decision is open to a change. */
export interface DecidableChange
  extends Pick<
    Change,
    'changeId' | 'accountId' | 'table' | 'operation' | 'state' | 'reason' | 'heldFor'
  > {
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

/**
 * The changes that are asked for, without those that are over and ask for nothing; the oldest
 * first.
 */
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
      ORDER BY change_id LIMIT $10`,
    [...valuesOf(wanted), limit],
  );
  return rows;
}

/**
 * Numbers of the changes that are asked for and can have left something to take back; what takes
 * others back is none of them.
 */
export async function listUndoable(
  db: Queryable,
  wanted: Wanted,
  limit: number,
): Promise<string[]> {
  const {rows} = await db.query<{changeId: string}>(
    `WITH ${needySql}
     SELECT change_id AS "changeId" FROM sync.changes
      WHERE ${isWanted} AND state NOT IN ('rejected', 'cancelled') AND undoes IS NULL
      ORDER BY change_id LIMIT $10`,
    [...valuesOf(wanted), limit],
  );
  return rows.map(({changeId}) => changeId);
}
