// Values that came back from the service with another meaning than they were sent with, and the
// changes held for them.

import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {ChangeClaim} from './claim-changes.ts';
import type {alterations} from './conflict-tables.ts';
import {groupByChange} from './group-by-change.ts';

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
     SELECT (altered->>'changeId')::bigint, (altered->>'accountId')::bigint, altered->>'field', altered->>'kind', altered->'sent', altered->'got',
            NOT EXISTS (SELECT FROM sync.alterations AS seen
                         WHERE seen.account_id = (altered->>'accountId')::bigint AND seen.kind = altered->>'kind' AND looked_at IS NOT NULL)
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
    `WITH stop AS (SELECT FROM sync.alterations WHERE account_id = $3 AND kind = $4 AND is_stop LIMIT 1 FOR SHARE)
     UPDATE sync.changes
        SET lease_until = NULL, due_at = now(), state = CASE WHEN EXISTS (SELECT FROM stop) THEN 'held' ELSE 'pending' END,
            held_for = CASE WHEN EXISTS (SELECT FROM stop) THEN $4 END, reason = CASE WHEN EXISTS (SELECT FROM stop) THEN $5 END
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
