// Takes changes back: a function of the warehouse does it, which may be called in SQL as well.

import type pg from 'pg';
import {longestBatch} from './change-states.ts';

/** What became of one change that was to be taken back. */
export interface UndoneChange {
  readonly changeId: string;
  /**
   * `cancelled`: it was not sent, and is given up; `held`: another change takes it back, and is
   * held; null: nothing was done.
   */
  readonly outcome: 'cancelled' | 'held' | null;
  /** The change that takes it back. */
  readonly undoId: string | null;
  /** The fields that it writes. */
  readonly fields: readonly string[];
  /** What was left, and why. */
  readonly refusal: string | null;
}

/** Each change costs a few milliseconds: so many end long before the deadline of a statement. */
const atOnce = 250;

/**
 * Takes changes back, the latest first, each by itself, within the rights of the session. In a
 * transaction all of it is there, or none.
 * @param changeIds - ascending
 * @param batch - the name of the changes made
 * @param onProgress - hears how many are looked at, as long as more follow
 * @returns ascending
 */
export async function undoChanges(
  client: pg.ClientBase,
  changeIds: readonly string[],
  batch: string,
  {onProgress}: {readonly onProgress?: (count: number) => void} = {},
): Promise<UndoneChange[]> {
  const latestFirst = changeIds.toReversed();
  const undone: UndoneChange[] = [];
  for (let at = 0; at < latestFirst.length; at += atOnce) {
    const {rows} = await client.query<UndoneChange>(
      `SELECT change_id AS "changeId", outcome, undo_id AS "undoId", coalesce(fields, '{}') AS fields, refusal
         FROM sync.undo_changes($1, $2, $3)`,
      [latestFirst.slice(at, at + atOnce), batch, changeIds],
    );
    undone.push(...rows);
    if (at + atOnce < latestFirst.length) onProgress?.(at + atOnce);
  }
  return undone.toReversed();
}

/**
 * The name of what takes changes back, by the name of the batch or else by the moment:
 * `undo of import 4711`.
 */
export function nameUndo(batch: string | null, now: Date): string {
  return `undo of ${batch ?? now.toISOString().slice(0, 19).replace('T', ' ')}`.slice(
    0,
    longestBatch,
  );
}
