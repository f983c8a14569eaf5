import {z} from 'zod';
import {readDecidable} from '../changes/decidable-changes.ts';
import {decideMany as decide, mostDecided} from '../changes/decide-many.ts';
import {tellMany} from '../changes/decided-words.ts';
import {noteDecision} from '../changes/note-decision.ts';
import {UsageError} from '../core/errors.ts';
import {readNumbers} from '../core/number-set.ts';
import {defineAction} from './action.ts';
import {findChoice} from './change-choices.ts';

/**
 * Decides many changes alike, as the preview showed them. What can be done is done, in one
 * transaction with one entry of the audit: a person decided once, and either all of that is there
 * or none of it.
 */
export const decideMany = defineAction({
  path: '/changes/decide',
  name: 'changes.decide',
  role: 'operator',
  form: z.object({
    choice: z.string(),
    numbers: z.string().max(400_000),
    reason: z.string().trim().max(500).default(''),
    filters: z.string().max(2_000).default(''),
  }),
  act: async (db, {seen, given}) => {
    const choice = findChoice(given.choice);
    const numbers = readNumbers(given.numbers, mostDecided);
    if (choice === undefined || numbers === null || numbers.length === 0)
      throw new UsageError(
        'changes: expected a decision and the numbers of changes, as the preview has them',
      );
    const isReasoned = choice.deciding.verb === 'cancel' && given.reason !== '';
    const deciding = isReasoned ? {...choice.deciding, given: given.reason} : choice.deciding;
    const found = await readDecidable(
      db,
      numbers,
      seen.map(({accountId}) => accountId),
    );
    const decided = await decide(
      db,
      found.map(({changeId}) => changeId),
      deciding,
    );
    const accountIds = new Set(found.map(({accountId}) => accountId));
    const [accountId = null] = accountIds;
    return {
      accountId: accountIds.size === 1 ? accountId : null,
      ...noteDecision(found, decided, deciding),
      said: Object.values(tellMany(decided)).join(' ').trim(),
      to: `/changes?${new URLSearchParams(given.filters)}`,
    };
  },
});
