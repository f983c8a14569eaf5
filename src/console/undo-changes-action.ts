import {z} from 'zod';
import {readDecidable} from '../changes/decidable-changes.ts';
import {mostDecided} from '../changes/decide-many.ts';
import {noteUndo} from '../changes/note-decision.ts';
import {nameUndo} from '../changes/undo-changes.ts';
import {undoMany} from '../changes/undo-many.ts';
import {tellUndo} from '../changes/undo-words.ts';
import {UsageError} from '../core/errors.ts';
import {readNumbers} from '../core/number-set.ts';
import {defineAction} from './action.ts';

/**
 * Takes changes back as the preview showed them, in one transaction with one entry of the audit.
 * What it makes is held.
 */
export const undoChanges = defineAction({
  path: '/changes/undo',
  name: 'changes.undo',
  role: 'operator',
  form: z.object({
    numbers: z.string().max(400_000),
    batch: z.string().max(200).default(''),
    filters: z.string().max(2_000).default(''),
  }),
  act: async (db, {seen, given}) => {
    const numbers = readNumbers(given.numbers, mostDecided);
    if (numbers === null || numbers.length === 0)
      throw new UsageError('undo: expected the numbers of changes, as the preview has them');
    const accountIds = seen.map(({accountId}) => accountId);
    const found = await readDecidable(db, numbers, accountIds);
    const batch = nameUndo(given.batch === '' ? null : given.batch, new Date());
    const ids = found.map(({changeId}) => changeId);
    const undo = await undoMany(db, ids, batch);
    const [accountId = null, ...others] = new Set(found.map((change) => change.accountId));
    return {
      accountId: others.length === 0 ? accountId : null,
      ...noteUndo(found, undo),
      said: tellUndo(undo),
      to:
        undo.undoneCount > 0
          ? `/changes?${new URLSearchParams({batch})}`
          : `/changes?${new URLSearchParams(given.filters)}`,
    };
  },
});
