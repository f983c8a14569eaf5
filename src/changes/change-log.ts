// Reads the changes made here and their fates; nothing here writes.

import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {type Change, changeColumns} from './change.ts';
import type {SettledState} from './change-states.ts';
import type {attempts, changes} from './change-tables.ts';
import type {conflicts} from './conflict-tables.ts';
import {groupByChange} from './group-by-change.ts';
import {isWanted, needySql, valuesOf, type Wanted} from './wanted-changes.ts';

const attemptColumns = [
  'attempt_id',
  'method',
  'path',
  'request',
  'started_at',
  'ended_at',
  'outcome',
  'status',
  'answer',
] as const;

/** One writing request. */
export type Attempt = ReadRow<typeof attempts.$inferSelect, (typeof attemptColumns)[number]>;

const conflictColumns = [
  'field',
  'base_value',
  'warehouse_value',
  'service_value',
  'rule',
  'winner',
  'found_at',
  'decided_at',
  'decided_by',
] as const;

/** A field that was changed on both sides. */
export type FieldConflict = ReadRow<
  typeof conflicts.$inferSelect,
  (typeof conflictColumns)[number]
>;

/**
 * Lists changes: first those that are not over, a conflict before the rest and the oldest first;
 * then the others, the latest first.
 */
export async function listChanges(db: Queryable, wanted: Wanted, limit: number): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `WITH ${needySql}
     SELECT * FROM (SELECT ${changeColumns} FROM sync.changes WHERE is_open AND ${isWanted}
                     ORDER BY state = 'conflict' DESC, change_id LIMIT $10) AS open
      UNION ALL
     SELECT * FROM (SELECT ${changeColumns} FROM sync.changes WHERE NOT is_open AND ${isWanted}
                     ORDER BY change_id DESC LIMIT $10) AS settled
      LIMIT $10`,
    [...valuesOf(wanted), limit],
  );
  return rows;
}

/** @returns null when there is none of that number */
export async function readChange(db: Queryable, changeId: string): Promise<Change | null> {
  const {rows} = await db.query<Change>(
    `SELECT ${changeColumns} FROM sync.changes WHERE change_id = $1`,
    [changeId],
  );
  return rows[0] ?? null;
}

/** Changes by their numbers. */
export async function readChanges(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, Change>> {
  const {rows} = await db.query<Change>(
    `SELECT ${changeColumns} FROM sync.changes WHERE change_id = ANY ($1)`,
    [changeIds],
  );
  return new Map(rows.map((change) => [change.changeId, change]));
}

/** The numbers of changes next to one that may not be there, below and above. */
export async function listNearestChanges(
  db: Queryable,
  changeId: string,
  accountIds: readonly string[],
): Promise<string[]> {
  const {rows} = await db.query<{changeId: string}>(
    `(SELECT change_id AS "changeId" FROM sync.changes WHERE change_id < $1 AND account_id = ANY ($2) ORDER BY change_id DESC LIMIT 2)
      UNION ALL
     (SELECT change_id FROM sync.changes WHERE change_id > $1 AND account_id = ANY ($2) ORDER BY change_id LIMIT 2)
      ORDER BY 1`,
    [changeId, accountIds],
  );
  return rows.map((row) => row.changeId);
}

/** How the latest changes that are over have ended. @param most - so many of them are looked at */
export async function countLatestSettled(
  db: Queryable,
  accountIds: readonly string[],
  most: number,
): Promise<{readonly state: SettledState; readonly count: number}[]> {
  const {rows} = await db.query<{state: SettledState; count: number}>(
    `SELECT state, count(*)::integer AS count
       FROM (SELECT state FROM sync.changes WHERE account_id = ANY ($1) AND NOT is_open ORDER BY change_id DESC LIMIT $2) AS latest
      GROUP BY state ORDER BY array_position(ARRAY['done', 'rejected', 'cancelled'], state)`,
    [accountIds, most],
  );
  return rows;
}

/**
 * Changes to be sent and held ones, in the order of their making. @param after - number of a change
 */
export async function listUnsent(
  db: Queryable,
  {
    accountIds,
    after,
    limit,
  }: {readonly accountIds: readonly string[]; after: string; limit: number},
): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `SELECT ${changeColumns} FROM sync.changes
      WHERE account_id = ANY ($1) AND state IN ('pending', 'held') AND change_id > $2
      ORDER BY change_id LIMIT $3`,
    [accountIds, after, limit],
  );
  return rows;
}

/**
 * Changes that a person must decide, that stop others, or were refused or altered since: the oldest
 * first.
 */
export async function listNeedy(
  db: Queryable,
  {accountIds, since}: {readonly accountIds: readonly string[]; readonly since: string},
): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `SELECT ${changeColumns} FROM sync.changes
      WHERE account_id = ANY ($1) AND (state = 'conflict' OR state = 'rejected' AND settled_at >= $2)
         OR change_id IN (SELECT change_id FROM sync.alterations
                           WHERE account_id = ANY ($1) AND looked_at IS NULL AND (is_stop OR found_at >= $2))
      ORDER BY change_id`,
    [accountIds, since],
  );
  return rows;
}

/** Every writing request of a change, the first first. */
export async function readAttempts(db: Queryable, changeId: string): Promise<Attempt[]> {
  const {rows} = await db.query<Attempt>(
    `SELECT ${selectColumns(attemptColumns)}
       FROM sync.attempts WHERE change_id = $1 ORDER BY attempt_id`,
    [changeId],
  );
  return rows;
}

/** Every conflict of a change, decided or not, the first first. */
export async function readConflicts(db: Queryable, changeId: string): Promise<FieldConflict[]> {
  return (await readConflictsOf(db, [changeId])).get(changeId) ?? [];
}

/** The same of several changes; absent where there is none. */
export async function readConflictsOf(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, FieldConflict[]>> {
  const {rows} = await db.query<FieldConflict & {changeId: string}>(
    `SELECT change_id AS "changeId", ${selectColumns(conflictColumns)}
       FROM sync.conflicts WHERE change_id = ANY ($1) ORDER BY conflict_id`,
    [changeIds],
  );
  return groupByChange<FieldConflict>(rows);
}

/** The changes that go on once this one is settled, the first of them, and how many there are. */
export async function readWaiting(
  db: Queryable,
  changeId: string,
): Promise<{readonly count: number; readonly first: readonly string[]}> {
  const {rows} = await db.query<{count: number; first: string[]}>(
    `SELECT count(*)::integer AS count, coalesce((array_agg(change_id::text ORDER BY change_id))[:5], '{}') AS first
       FROM sync.changes WHERE waits_for = $1`,
    [changeId],
  );
  return rows[0] ?? {count: 0, first: []};
}

/** Those of some changes after which a later change of the same record has come. */
export async function listOvertaken(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const {rows} = await db.query<{changeId: string}>(
    `SELECT change_id AS "changeId" FROM sync.changes AS change
      WHERE change_id = ANY ($1)
        AND EXISTS (SELECT FROM sync.changes AS later
                     WHERE later.row_id = change.row_id AND later.table_name = change.table_name AND later.change_id > change.change_id)`,
    [changeIds],
  );
  return new Set(rows.map(({changeId}) => changeId));
}

const wishColumns = ['change_id', 'operation', 'fields', 'base', 'state', 'requested_at'] as const;

/** An open change of a record, as far as `explain` tells it. */
export type OpenWish = ReadRow<typeof changes.$inferSelect, (typeof wishColumns)[number]>;

/**
 * The changes of a row that are not over, the first first; the base of each is what the service
 * held when a conflict was seen.
 */
export async function listOpenWishes(
  db: Queryable,
  {table, rowId}: {readonly table: string; readonly rowId: string},
): Promise<OpenWish[]> {
  const {rows} = await db.query<OpenWish>(
    `SELECT ${selectColumns(wishColumns)}
       FROM (SELECT change_id, operation, fields, state, requested_at,
                    base || coalesce((SELECT jsonb_object_agg(field, service_value ORDER BY conflict_id) FROM sync.conflicts AS seen
                                       WHERE seen.change_id = change.change_id), '{}') AS base
               FROM sync.changes AS change WHERE row_id = $1 AND table_name = $2 AND is_open) AS wish ORDER BY change_id`,
    [rowId, table],
  );
  return rows;
}
