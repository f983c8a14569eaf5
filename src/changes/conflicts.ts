// Fields that were changed on both sides since they last agreed.

import type pg from 'pg';
import type {ReadRow} from '../postgres/sql.ts';
import type {ChangeClaim} from './claim-changes.ts';
import type {conflicts} from './conflict-tables.ts';

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
    `INSERT INTO sync.conflicts (change_id, field, base_value, warehouse_value, service_value, rule, winner, decided_at, decided_by)
     SELECT $1, conflict->>'field', conflict->'baseValue', conflict->'warehouseValue', conflict->'serviceValue', conflict->>'rule',
            conflict->>'winner', CASE WHEN conflict->>'winner' IS NOT NULL THEN now() END,
            CASE WHEN conflict->>'winner' IS NOT NULL THEN 'rule ' || (conflict->>'rule') END
       FROM jsonb_array_elements($2::jsonb) AS conflict`,
    [changeId, JSON.stringify(found)],
  );
}
