// Values that came back from the service with another meaning than they were sent with, and the changes held
// for them.

import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {ChangeValue} from './change.ts';
import type {ChangeClaim} from './claim-changes.ts';

/** One field of a change that the service altered. */
export interface Alteration {
  readonly changeId: string;
  readonly accountId: string;
  readonly field: string;
  /** The kind that such values share: `instant`; for a text its field, `customers.name`. */
  readonly kind: string;
  readonly sent: ChangeValue;
  readonly got: ChangeValue;
}

/** An alteration as it is kept. */
export interface KeptAlteration extends Pick<Alteration, 'field' | 'kind' | 'sent' | 'got'> {
  /** True while changes of its kind are held. */
  readonly isStop: boolean;
  readonly lookedAt: string | null;
  readonly lookedBy: string | null;
}

/**
 * Keeps alterations. The first of a kind in its account stops further changes of that kind until a person has
 * looked.
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
 * Holds a change until a person has looked at an alteration of one kind of value. Where a person has just
 * looked, the change is due again.
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

/** The service's alterations of a change. */
export async function readAlterations(db: Queryable, changeId: string): Promise<KeptAlteration[]> {
  const {rows} = await db.query<KeptAlteration>(
    `SELECT field, kind, sent, got, is_stop AS "isStop", looked_at AS "lookedAt", looked_by AS "lookedBy"
       FROM sync.alterations WHERE change_id = $1 ORDER BY alteration_id`,
    [changeId],
  );
  return rows;
}
