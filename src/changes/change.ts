// Reads changes, and builds the conditions by which a person selects them, in the console, in a
// terminal and over HTTP alike. Nothing here writes.

import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {lateChangesSql, latenesses, type SelectableState, type SettledState} from './states.ts';
import type {attempts, changes, conflicts} from './tables.ts';

type Row = typeof changes.$inferSelect;

const columns = [
  'change_id',
  'account_id',
  'row_id',
  'operation',
  'number',
  'parent_row_id',
  'external_key',
  'fields',
  'base',
  'seen',
  'state',
  'reason',
  'waits_for',
  'held_for',
  'is_large',
  'requested_at',
  'requested_by',
  'application',
  'batch',
  'transaction_id',
  'undoes',
  'due_at',
  'fence',
  'lease_until',
  'failures',
  'sends',
  'sent_at',
  'checks',
  'result',
  'settled_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.changes. The table's definition describes each column. */
export interface Change extends ReadRow<Row, (typeof columns)[number]> {
  readonly table: string;
}

const plainColumns = columns.filter((column) => column !== 'fields' && column !== 'base');

/** Replaces a password of an earlier version. */
export const passwordMark = '(set)';

/**
 * The columns that a query selects to read a `Change`. Earlier versions accepted passwords as
 * fields: a password is never read, only that there was one.
 */
export const changeColumns = `table_name AS "table", ${selectColumns(plainColumns)},
  CASE WHEN fields ? 'password' THEN fields || '{"password": "${passwordMark}"}' ELSE fields END
    AS fields,
  base - 'password' AS base`;

/** The conditions of a selection of changes; null leaves a condition open. */
export interface ChangeFilter {
  readonly accountIds: readonly string[];
  readonly state: SelectableState | null;
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
export function matchEveryChange(accountIds: readonly string[]): ChangeFilter {
  const noConditions = {
    state: null,
    table: null,
    by: null,
    within: null,
    before: null,
    since: null,
  };
  return {accountIds, ...noConditions, transaction: null, batch: null};
}

/**
 * SQL: whether a change matches a filter. Its values are those of `listFilterValues`, $1 to $9; it
 * needs `needsPersonSql`.
 */
export const matchesFilterSql = `account_id = ANY ($1)
  AND ($2::text IS NULL OR state = $2 OR $2 = 'altered' AND state = 'done' AND result ? 'altered'
       OR $2 = 'needy' AND change_id IN (SELECT change_id FROM needy))
  AND ($3::text IS NULL OR table_name = $3)
  AND ($4::text IS NULL OR $4 IN (requested_by, application))
  AND ($5::interval IS NULL OR requested_at >= now() - $5::interval)
  AND ($6::interval IS NULL OR requested_at < now() - $6::interval)
  AND ($7::timestamptz IS NULL OR requested_at >= $7)
  AND ($8::bigint IS NULL OR transaction_id = $8) AND ($9::text IS NULL OR batch = $9)`;

const rankedLatenesses = latenesses.map((lateness) => `'${lateness}'`).join(', ');

/** Changes that need a person: the late ones, and all that are held. A low `rank` is urgent. */
export const needsPersonSql = `needy AS MATERIALIZED (
  SELECT change_id, min(rank) AS rank
    FROM (SELECT change_id, array_position(ARRAY[${rankedLatenesses}], lateness) AS rank
            FROM (${lateChangesSql}) AS late
           UNION ALL
          SELECT change_id, ${latenesses.length} FROM sync.changes
           WHERE account_id = ANY ($1) AND is_open AND state = 'held') AS reasons
   GROUP BY change_id)`;

/** In the order of the parameters of `matchesFilterSql`. */
export function listFilterValues(filter: ChangeFilter): unknown[] {
  const {accountIds, state, table, by, within, before, since, transaction, batch} = filter;
  return [accountIds, state, table, by, within, before, since, transaction, batch];
}

/**
 * Lists changes: first the open ones, a conflict before the rest and the oldest first; then the
 * others, the latest first.
 */
export async function listChanges(
  db: Queryable,
  filter: ChangeFilter,
  limit: number,
): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `WITH ${needsPersonSql}
     SELECT * FROM (SELECT ${changeColumns} FROM sync.changes WHERE is_open AND ${matchesFilterSql}
                     ORDER BY state = 'conflict' DESC, change_id LIMIT $10) AS open
      UNION ALL
     SELECT * FROM (SELECT ${changeColumns} FROM sync.changes
        WHERE NOT is_open AND ${matchesFilterSql}
                     ORDER BY change_id DESC LIMIT $10) AS settled
      LIMIT $10`,
    [...listFilterValues(filter), limit],
  );
  return rows;
}

/** @returns null if no change has that number */
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
    `(SELECT change_id AS "changeId" FROM sync.changes
       WHERE change_id < $1 AND account_id = ANY ($2) ORDER BY change_id DESC LIMIT 2)
      UNION ALL
     (SELECT change_id FROM sync.changes
       WHERE change_id > $1 AND account_id = ANY ($2) ORDER BY change_id LIMIT 2)
      ORDER BY 1`,
    [changeId, accountIds],
  );
  return rows.map((row) => row.changeId);
}

/**
 * Counts how the latest settled changes ended.
 * @param limit - only this many of them are counted
 */
export async function countLatestSettled(
  db: Queryable,
  accountIds: readonly string[],
  limit: number,
): Promise<{readonly state: SettledState; readonly count: number}[]> {
  const {rows} = await db.query<{state: SettledState; count: number}>(
    `SELECT state, count(*)::integer AS count
       FROM (SELECT state FROM sync.changes WHERE account_id = ANY ($1) AND NOT is_open
              ORDER BY change_id DESC LIMIT $2) AS latest
      GROUP BY state ORDER BY array_position(ARRAY['done', 'rejected', 'cancelled'], state)`,
    [accountIds, limit],
  );
  return rows;
}

/**
 * Lists changes to be sent and held ones, in the order in which they were made.
 * @param after - number of a change
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
export async function listChangesForPerson(
  db: Queryable,
  {accountIds, since}: {readonly accountIds: readonly string[]; readonly since: string},
): Promise<Change[]> {
  const {rows} = await db.query<Change>(
    `SELECT ${changeColumns} FROM sync.changes
      WHERE account_id = ANY ($1)
        AND (state = 'conflict' OR state = 'rejected' AND settled_at >= $2)
         OR change_id IN (SELECT change_id FROM sync.alterations
                           WHERE account_id = ANY ($1) AND accepted_at IS NULL
                             AND (is_stop OR found_at >= $2))
      ORDER BY change_id`,
    [accountIds, since],
  );
  return rows;
}

/** Lists those of some changes that have a later change of the same record. */
export async function listOvertaken(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlySet<string>> {
  const {rows} = await db.query<{changeId: string}>(
    `SELECT change_id AS "changeId" FROM sync.changes AS change
      WHERE change_id = ANY ($1)
        AND EXISTS (SELECT FROM sync.changes AS later
                     WHERE later.row_id = change.row_id AND later.table_name = change.table_name
                       AND later.change_id > change.change_id)`,
    [changeIds],
  );
  return new Set(rows.map(({changeId}) => changeId));
}

/** Reads the changes that wait for this one: how many there are, and the first of them. */
export async function readWaiting(
  db: Queryable,
  changeId: string,
): Promise<{readonly count: number; readonly first: readonly string[]}> {
  const {rows} = await db.query<{count: number; first: string[]}>(
    `SELECT count(*)::integer AS count,
            coalesce((array_agg(change_id::text ORDER BY change_id))[:5], '{}') AS first
       FROM sync.changes WHERE waits_for = $1`,
    [changeId],
  );
  return rows[0] ?? {count: 0, first: []};
}

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

/** Every writing request of a change, the oldest first. */
export async function readAttempts(db: Queryable, changeId: string): Promise<Attempt[]> {
  const {rows} = await db.query<Attempt>(
    `SELECT ${selectColumns(attemptColumns)}
       FROM sync.attempts WHERE change_id = $1 ORDER BY attempt_id`,
    [changeId],
  );
  return rows;
}

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

/** Every conflict of a change, decided or not, the oldest first. */
export async function readConflicts(db: Queryable, changeId: string): Promise<FieldConflict[]> {
  return (await readConflictsOf(db, [changeId])).get(changeId) ?? [];
}

/** The conflicts of several changes; a change without any is absent. */
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

const openChangeColumns = [
  'change_id',
  'operation',
  'fields',
  'base',
  'state',
  'requested_at',
] as const;

/** An open change of a record, with the columns that `explain` shows. */
export type OpenChange = ReadRow<typeof changes.$inferSelect, (typeof openChangeColumns)[number]>;

/**
 * Lists the open changes of a row, the oldest first. If a change has conflicts, its base has the
 * values that the service held when they were seen.
 */
export async function listOpenChanges(
  db: Queryable,
  {table, rowId}: {readonly table: string; readonly rowId: string},
): Promise<OpenChange[]> {
  const {rows} = await db.query<OpenChange>(
    `SELECT ${selectColumns(openChangeColumns)}
       FROM (SELECT change_id, operation, fields, state, requested_at,
                    base || coalesce((
                      SELECT jsonb_object_agg(field, service_value ORDER BY conflict_id)
                        FROM sync.conflicts AS seen
                                       WHERE seen.change_id = change.change_id), '{}') AS base
               FROM sync.changes AS change 
              WHERE row_id = $1 AND table_name = $2 AND is_open) AS wish
      ORDER BY change_id`,
    [rowId, table],
  );
  return rows;
}

/** Rows by the change that they belong to, in their order; a change without rows is absent. */
export function groupByChange<Row extends object>(
  rows: readonly (Row & {readonly changeId: string})[],
): ReadonlyMap<string, Row[]> {
  const grouped = new Map<string, Row[]>();
  for (const {changeId, ...row} of rows)
    grouped.set(changeId, [...(grouped.get(changeId) ?? []), row as unknown as Row]);
  return grouped;
}
