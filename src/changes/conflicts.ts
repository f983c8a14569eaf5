// Fields that were changed on both sides since they last agreed, and values that came back from the
// service with another meaning than they were sent with, with the changes held for them.

import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import {groupByChange} from './change.ts';
import type {ChangeClaim} from './claim-changes.ts';
import type {alterations, conflicts} from './tables.ts';

/** A field that both sides changed, as it is kept. `winner` is null while it is undecided. */
export type KeptConflict = ReadRow<
  typeof conflicts.$inferSelect,
  'field' | 'base_value' | 'warehouse_value' | 'service_value' | 'rule' | 'winner'
>;

/**
 * Keeps both values of every field that both sides changed, in place of the conflicts still
 * undecided.
 */
export async function keepConflicts(
  client: pg.ClientBase,
  {changeId}: ChangeClaim,
  found: readonly KeptConflict[],
): Promise<void> {
  if (found.length === 0) return;
  await client.query('DELETE FROM sync.conflicts WHERE change_id = $1 AND winner IS NULL', [
    changeId,
  ]);
  await client.query(
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule,
                                 winner, decided_at, decided_by)
     SELECT $1, conflict->>'field', conflict->'baseValue', conflict->'warehouseValue',
            conflict->'serviceValue', conflict->>'rule',
            conflict->>'winner', CASE WHEN conflict->>'winner' IS NOT NULL THEN now() END,
            CASE WHEN conflict->>'winner' IS NOT NULL THEN 'rule ' || (conflict->>'rule') END
       FROM jsonb_array_elements($2::jsonb) AS conflict`,
    [changeId, JSON.stringify(found)],
  );
}

type Row = typeof alterations.$inferSelect;

/** One field of a change that the service altered. */
export type Alteration = ReadRow<
  Row,
  'change_id' | 'account_id' | 'field' | 'kind' | 'sent' | 'got'
>;

const keptColumns = ['field', 'kind', 'sent', 'got', 'is_stop', 'looked_at', 'looked_by'] as const;

/** An alteration as it is kept. */
export type KeptAlteration = ReadRow<Row, (typeof keptColumns)[number]>;

/**
 * Keeps alterations. The first of a kind in its account stops further changes of that kind until a
 * person has looked.
 * @returns the kinds that are stopped
 */
export async function keepAlterations(
  client: pg.ClientBase,
  found: readonly Alteration[],
): Promise<string[]> {
  if (found.length === 0) return [];
  const {rows} = await client.query<{kind: string; isStop: boolean}>(
    `INSERT INTO sync.alterations (change_id, account_id, field, kind, sent, got, is_stop)
     SELECT (altered->>'changeId')::bigint, (altered->>'accountId')::bigint, altered->>'field',
            altered->>'kind', altered->'sent', altered->'got',
            NOT EXISTS (SELECT FROM sync.alterations AS seen
                         WHERE seen.account_id = (altered->>'accountId')::bigint
                           AND seen.kind = altered->>'kind' AND looked_at IS NOT NULL)
       FROM jsonb_array_elements($1::jsonb) AS altered
  RETURNING kind, is_stop AS "isStop"`,
    [JSON.stringify(found)],
  );
  return rows.flatMap(({kind, isStop}) => (isStop ? [kind] : []));
}

/**
 * Holds a change until a person has looked at an alteration of one kind of value. Where a person
 * has just looked, the change is due again.
 */
export async function holdForKind(
  db: Queryable,
  claim: ChangeClaim & {readonly accountId: string},
  {kind, reason}: {readonly kind: string; readonly reason: string},
): Promise<void> {
  await db.query(
    `WITH stop AS (SELECT FROM sync.alterations WHERE account_id = $3 AND kind = $4 AND is_stop
                    LIMIT 1 FOR SHARE)
     UPDATE sync.changes
        SET lease_until = NULL, due_at = now(),
            state = CASE WHEN EXISTS (SELECT FROM stop) THEN 'held' ELSE 'pending' END,
            held_for = CASE WHEN EXISTS (SELECT FROM stop) THEN $4 END,
            reason = CASE WHEN EXISTS (SELECT FROM stop) THEN $5 END
      WHERE change_id = $1 AND fence = $2 AND state = 'pending'`,
    [claim.changeId, claim.fence, claim.accountId, kind, reason],
  );
}

/** The service's alterations of some changes; absent where there is none. */
export async function readAlterations(
  db: Queryable,
  changeIds: readonly string[],
): Promise<ReadonlyMap<string, KeptAlteration[]>> {
  const {rows} = await db.query<KeptAlteration & {changeId: string}>(
    `SELECT change_id AS "changeId", ${selectColumns(keptColumns)}
       FROM sync.alterations WHERE change_id = ANY ($1) ORDER BY alteration_id`,
    [changeIds],
  );
  return groupByChange<KeptAlteration>(rows);
}
