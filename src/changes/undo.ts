// Takes many changes back, or previews that by the same statements, rolled back. A function of the
// warehouse does it, and can be called in SQL as well.

import type pg from 'pg';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {inTransaction} from '../postgres/database.ts';
import {writeNumbers} from '../rows/number-set.ts';
import {type Change, readChanges} from './change.ts';
import {
  type AuditNote,
  type ChangeGroup,
  type ChangesBefore,
  groupChanges,
  groupNumbersByWord,
  listRefusals,
  noteBefore,
} from './decisions.ts';
import {type PlannedRequest, planRequests, type Unplannable} from './request.ts';
import {longestBatch} from './states.ts';

/** The result for one change that was to be taken back. */
interface UndoneChange {
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
  /** What was not taken back, and why. */
  readonly refusal: string | null;
  /** The change that took it back earlier, if that is the reason. */
  readonly earlierUndo: string | null;
  /** Whether the reason quotes a statement that was refused: it may name values. */
  readonly isQuote: boolean;
}

/**
 * Each change takes a few milliseconds: a statement with this many ends long before its deadline.
 */
const changesPerStatement = 250;

/**
 * Takes changes back, the latest first, each separately, within the rights of the session. In a
 * transaction all of it takes effect, or none.
 * @param changeIds - ascending
 * @param batch - the name of the changes made
 * @param onProgress - gets how many are processed, as long as more follow
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
  for (let start = 0; start < latestFirst.length; start += changesPerStatement) {
    const {rows} = await client.query<UndoneChange>(
      `SELECT change_id AS "changeId", outcome, undo_id AS "undoId",
              coalesce(fields, '{}') AS fields, refusal, earlier_undo AS "earlierUndo",
              is_quote AS "isQuote"
         FROM sync.undo_changes($1, $2, $3)`,
      [latestFirst.slice(start, start + changesPerStatement), batch, changeIds],
    );
    undone.push(...rows);
    if (start + changesPerStatement < latestFirst.length) onProgress?.(start + changesPerStatement);
  }
  return undone.toReversed();
}

/**
 * Names the changes that take others back, by the name of the batch or else by the moment:
 * `undo of import 4711`.
 */
export function nameUndo(batch: string | null, now: Date): string {
  return `undo of ${batch ?? now.toISOString().slice(0, 19).replace('T', ' ')}`.slice(
    0,
    longestBatch,
  );
}

export interface Undo {
  /** The name of the changes that were made, by which they are released. */
  readonly batch: string;
  readonly cancelledCount: number;
  /** How many changes are taken back by new changes. */
  readonly undoneCount: number;
  /** The changes made, all of them held. */
  readonly created: readonly Change[];
  /** Of how many changes something was not taken back, and why. */
  readonly refused: readonly ChangeGroup[];
  readonly changes: readonly UndoneChange[];
}

export interface UndoPreview extends Undo {
  /** The requests of the changes that would be made, or of the first of them. */
  readonly requests: readonly (PlannedRequest | Unplannable)[];
}

const rolledBack = new Error('a preview is rolled back');

/** A preview keeps rows locked, so it waits only this long for each row that others have locked. */
const previewLockTimeout = '100ms';

/**
 * Takes changes back in the caller's transaction: all of it takes effect, or none.
 * @param changeIds - ascending
 */
export async function undoMany(
  client: pg.ClientBase,
  changeIds: readonly string[],
  batch: string,
): Promise<Undo> {
  const changes = await undoChanges(client, changeIds, batch);
  const undoIds = [...new Set(changes.flatMap(({undoId}) => undoId ?? []))];
  const heldChanges = [...(await readChanges(client, undoIds)).values()].filter(
    ({state}) => state === 'held',
  );
  return {
    batch,
    cancelledCount: changes.filter(({outcome}) => outcome === 'cancelled').length,
    undoneCount: changes.filter(({outcome}) => outcome === 'held').length,
    created: heldChanges.toSorted((one, other) =>
      Number(BigInt(one.changeId) - BigInt(other.changeId)),
    ),
    refused: groupChanges(listRefusals(changes)),
    changes,
  };
}

/**
 * Previews `undoMany`, with the requests of the changes that it would make. Rows are locked for as
 * long as it runs.
 * @param options - for how many of the changes made the requests are planned, from the first on;
 *   all if left out
 */
export async function previewUndo(
  pool: pg.Pool,
  changeIds: readonly string[],
  batch: string,
  {mostRequests = Number.POSITIVE_INFINITY}: {readonly mostRequests?: number} = {},
): Promise<UndoPreview> {
  const accounts: readonly Account[] = await listAccounts(pool);
  let preview: UndoPreview | null = null;
  try {
    await inTransaction(pool, async (client) => {
      await client.query(`SELECT set_config('lock_timeout', $1, true)`, [previewLockTimeout]);
      const undo = await undoMany(client, changeIds, batch);
      const first = undo.created.slice(0, mostRequests);
      preview = {...undo, requests: await planRequests(client, first, accounts)};
      throw rolledBack;
    });
  } catch (error) {
    if (error !== rolledBack || preview === null) throw error;
    return preview;
  }
  throw rolledBack;
}

/** @param changesBefore - the changes as they were before */
export function noteUndo(
  changesBefore: ChangesBefore,
  {batch, changes}: {readonly batch: string; readonly changes: readonly UndoneChange[]},
): AuditNote {
  const undoIds = [...new Set(changes.flatMap(({undoId}) => undoId ?? []))];
  return {
    ...noteBefore(changesBefore),
    after: {
      batch,
      undone: groupNumbersByWord(
        changes.flatMap(({changeId, outcome}) =>
          outcome === null ? [] : [{changeId, what: outcome}],
        ),
      ),
      made: writeNumbers(undoIds.toSorted((one, other) => Number(BigInt(one) - BigInt(other)))),
      left: groupNumbersByWord(listRefusals(changes)),
    },
  };
}
