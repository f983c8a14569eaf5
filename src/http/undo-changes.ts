// Changes taken back over HTTP, within the key's account: all of it in one transaction.

import type pg from 'pg';
import {z} from 'zod';
import {listUndoable, readDecidable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import {noteUndo} from '../changes/note-decision.ts';
import {nameUndo, undoChanges} from '../changes/undo-changes.ts';
import {inTransaction} from '../postgres/database.ts';
import type {AccountKey} from './authentication.ts';
import {type Asked, chosenShape, isOneChosen, listUnknown, oneOf} from './chosen-changes.ts';
import {auditKey, decideAs} from './key-decides.ts';
import {Problem} from './problem.ts';
import {toWanted} from './wanted-query.ts';

export const undoRequestSchema = z.strictObject(chosenShape).refine(isOneChosen, oneOf);

/** A request to take changes back. */
export type UndoAsked = Asked<typeof undoRequestSchema>;

export const undoneChangeSchema = z.object({
  change_id: z.string(),
  outcome: z
    .enum(['cancelled', 'held'])
    .nullable()
    .describe('cancelled: it was not sent; held: undone_by takes it back; null: nothing was done.'),
  undone_by: z.string().nullable(),
  fields: z.array(z.string()).describe('The fields that are written.'),
  refusal: z.string().nullable().describe('What was left, and why.'),
});

export const undoneSchema = z.object({
  batch: z.string().describe('The name of the changes that were made: release them by it.'),
  changes: z.array(undoneChangeSchema),
});

/** How far it is, while nothing is committed. */
export interface UndoProgress {
  readonly looked_at: number;
  readonly of: number;
}

/**
 * Takes changes back, in one transaction. @throws {Problem} more match than can be taken back at
 * once
 */
export async function undoOverHttp(
  pool: pg.Pool,
  key: AccountKey,
  {body: {change_ids: ids, filter: filters = {}}, address}: UndoAsked,
  onProgress: (progress: UndoProgress) => void = () => {},
): Promise<z.infer<typeof undoneSchema>> {
  const {accountId} = key;
  return await inTransaction(pool, async (client) => {
    await decideAs(client, key);
    const wanted =
      ids ?? (await listUndoable(client, toWanted(accountId, filters), mostDecided + 1));
    if (wanted.length > mostDecided)
      throw new Problem(422, 'too-many', {
        detail: `expected at most ${mostDecided} changes at once, and more match`,
        hint: 'Narrow the filter, for example by table or since. Nothing was done.',
      });
    const chosen = await readDecidable(client, wanted, [accountId]);
    const found = chosen.map(({changeId}) => changeId);
    const batch = nameUndo(filters.batch ?? null, new Date());
    const changes = await undoChanges(client, found, batch, {
      onProgress: (count) => onProgress({looked_at: count, of: found.length}),
    });
    const note = noteUndo(chosen, {batch, changes});
    if (found.length > 0) await auditKey(client, key, {...note, action: 'changes.undo', address});
    const told = changes.map(({changeId, outcome, undoId, fields, refusal}) => ({
      ...{change_id: changeId, outcome, undone_by: undoId, fields: [...fields], refusal},
    }));
    const unknown = listUnknown(ids ?? [], found).map(({change_id, refusal}) => ({
      ...{change_id, outcome: null, undone_by: null, fields: [], refusal},
    }));
    return {batch, changes: [...told, ...unknown]};
  });
}
