import {z} from 'zod';
import {UsageError} from '../../../../base/errors.ts';
import {readNumbers, writeNumbers} from '../../../../base/memory/number-ranges.ts';
import {listRefusals, tellMany} from '../../../../views/changes/decisions/decided-words.ts';
import {formatNumber} from '../../../../views/format.ts';
import {decideMany as decide, mostDecided} from '../../../../warehouse/changes/decisions/decide-many.ts';
import {readDecidable} from '../../../../warehouse/changes/reads/decidable-changes.ts';
import {defineAction} from '../../action.ts';
import {findChoice} from './choices.ts';

/**
 * Decides many changes alike, as the preview showed them. What can be done is done, in one transaction with one entry of the
 * audit: a person decided once, and either all of that is there or none of it.
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
      subject:
        decided.length === 1 ? `change ${decided[0]?.changeId}` : `${formatNumber(decided.length)} changes`,
      accountId: accountIds.size === 1 ? accountId : null,
      before: listByWord(found.map(({changeId, state}) => ({changeId, what: state}))),
      after: {
        ...deciding,
        decided: listByWord(
          decided.flatMap(({changeId, state}) => (state === null ? [] : [{changeId, what: state}])),
        ),
        refused: listByWord(listRefusals(decided)),
      },
      said: Object.values(tellMany(decided)).join(' ').trim(),
      to: `/changes?${new URLSearchParams(given.filters)}`,
    };
  },
});

interface Word {
  readonly changeId: string;
  readonly what: string;
}

/** `{pending: '3-5,9'}`: every number, in few characters. */
function listByWord(words: readonly Word[]): Record<string, string> {
  const lists = Object.groupBy(words, ({what}) => what);
  return Object.fromEntries(
    Object.entries(lists).map(([what, list = []]) => [
      what,
      writeNumbers(list.map(({changeId}) => changeId)),
    ]),
  );
}
