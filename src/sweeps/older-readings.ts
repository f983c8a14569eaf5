// Records that a sweep was shown as they were before a change of ours: it reads them again before
// it ends.

import type {Queryable} from '../postgres/database.ts';
import type {Evidence} from './evidence.ts';

/** Notes such records in the sweep's row, in the transaction that left their rows alone. */
export async function noteOlder(
  db: Queryable,
  sweepId: string,
  numbers: readonly string[],
): Promise<void> {
  if (numbers.length === 0) return;
  await db.query(
    `UPDATE sync.sweeps
        SET evidence = evidence || jsonb_build_object('older', jsonb_build_object(
              'pauses', coalesce((evidence #>> '{older,pauses}')::integer, 0),
              'numbers', (SELECT jsonb_agg(number) FROM (
                 SELECT jsonb_array_elements_text(evidence #> '{older,numbers}') UNION SELECT unnest($2::text[])) AS noted (number))))
      WHERE sweep_id = $1`,
    [sweepId, numbers],
  );
}

/** The records that are noted, null where there are none. */
export async function readOlder(
  db: Queryable,
  sweepId: string,
): Promise<NonNullable<Evidence['older']> | null> {
  const {rows} = await db.query<{older: NonNullable<Evidence['older']> | null}>(
    `SELECT evidence->'older' AS older FROM sync.sweeps WHERE sweep_id = $1`,
    [sweepId],
  );
  return rows[0]?.older ?? null;
}

/**
 * Notes which records are left once the noted ones were read again; one more pause comes where
 * there are any.
 */
export async function leaveOlder(
  db: Queryable,
  sweepId: string,
  older: NonNullable<Evidence['older']>,
): Promise<void> {
  await db.query(
    `UPDATE sync.sweeps
        SET evidence = CASE WHEN $2::jsonb IS NULL THEN evidence - 'older' ELSE evidence || jsonb_build_object('older', $2::jsonb) END
      WHERE sweep_id = $1`,
    [sweepId, older.numbers.length === 0 ? null : JSON.stringify(older)],
  );
}
