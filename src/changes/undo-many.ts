// Many changes taken back, or a look at what that would do: the same statements, rolled back.

import type pg from 'pg';
import {type Account, listAccounts} from '../accounts/accounts.ts';
import {inTransaction} from '../postgres/database.ts';
import type {Change} from './change.ts';
import {readChanges} from './change-log.ts';
import {type PlannedRequest, planRequests, type Unplannable} from './change-request.ts';
import {type ChangeGroup, groupChanges} from './preview-decision.ts';
import {listRefusals} from './refusals.ts';
import {type UndoneChange, undoChanges} from './undo-changes.ts';

export interface Undo {
  /** The name of the changes that were made, by which they are released. */
  readonly batch: string;
  readonly cancelledCount: number;
  /** Changes that are taken back by changes of their own. */
  readonly undoneCount: number;
  /** The changes made, all of them held. */
  readonly made: readonly Change[];
  /** What was left of how many changes, and why. */
  readonly left: readonly ChangeGroup[];
  readonly changes: readonly UndoneChange[];
}

export interface UndoPreview extends Undo {
  /** The requests of the changes that would be made, or of the first of them. */
  readonly requests: readonly (PlannedRequest | Unplannable)[];
}

const rolledBack = new Error('a preview is rolled back');

/** A preview keeps rows locked: it waits for those of others only so long, at each. */
const previewLockTimeout = '100ms';

/**
 * Takes changes back in the caller's transaction: all of it is there, or none. @param changeIds -
 * ascending
 */
export async function undoMany(
  client: pg.ClientBase,
  changeIds: readonly string[],
  batch: string,
): Promise<Undo> {
  const changes = await undoChanges(client, changeIds, batch);
  const made = [...new Set(changes.flatMap(({undoId}) => undoId ?? []))];
  const held = [...(await readChanges(client, made)).values()].filter(
    ({state}) => state === 'held',
  );
  return {
    batch,
    cancelledCount: changes.filter(({outcome}) => outcome === 'cancelled').length,
    undoneCount: changes.filter(({outcome}) => outcome === 'held').length,
    made: held.toSorted((one, other) => Number(BigInt(one.changeId) - BigInt(other.changeId))),
    left: groupChanges(listRefusals(changes)),
    changes,
  };
}

/**
 * What `undoMany` would do, with the requests of the changes that it would make. Rows are locked
 * for as long as it takes.
 * @param options - of how many changes made the requests are planned, from the first on; all when
 *   it is left out
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
      const first = undo.made.slice(0, mostRequests);
      preview = {...undo, requests: await planRequests(client, first, accounts)};
      throw rolledBack;
    });
  } catch (error) {
    if (error !== rolledBack || preview === null) throw error;
    return preview;
  }
  throw rolledBack;
}
