import type pg from 'pg';
import {z} from 'zod';
import {UsageError} from '../../../../base/errors.ts';
import {readNumbers, writeNumbers} from '../../../../base/memory/number-ranges.ts';
import {nameState} from '../../../../views/changes/change-words.ts';
import {groupChanges, mostDecided} from '../../../../views/changes/preview-decision.ts';
import {formatNumber} from '../../../../views/format.ts';
import {
  type DecidedChange,
  type Deciding,
  decideChanges,
} from '../../../../warehouse/changes/decide-changes.ts';
import {type DecidableChange, readDecidable} from '../../../../warehouse/changes/reads/browse-changes.ts';
import {defineAction} from '../../action.ts';
import {findChoice} from './choices.ts';

/** Changes that one statement decides: it ends long before the deadline of a statement. */
const atOnce = 500;

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
    const decided = await decideAll(db, found, deciding);
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
      said: tellDecided(decided),
      to: `/changes?${new URLSearchParams(given.filters)}`,
    };
  },
});

async function decideAll(
  db: pg.ClientBase,
  found: readonly DecidableChange[],
  deciding: Deciding,
): Promise<DecidedChange[]> {
  const decided: DecidedChange[] = [];
  // What is given up is given up from its end.
  const ids = found.map(({changeId}) => changeId);
  if (deciding.verb === 'cancel') ids.reverse();
  for (let at = 0; at < ids.length; at += atOnce)
    decided.push(...(await decideChanges(db, ids.slice(at, at + atOnce), deciding)));
  return decided.toSorted((one, other) => Number(BigInt(one.changeId) - BigInt(other.changeId)));
}

interface Word {
  readonly changeId: string;
  readonly what: string;
}

/** Refusals, without the number of the change before each. */
function listRefusals(decided: readonly DecidedChange[]): Word[] {
  return decided.flatMap(({changeId, refusal}) =>
    refusal === null ? [] : [{changeId, what: refusal.replace(`change ${changeId}: `, '')}],
  );
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

/** `9,990 changes are held. 10 could not be decided so: expected pending to hold it, got done (3, 4, 5 and 7 more).` */
function tellDecided(decided: readonly DecidedChange[]): string {
  const done = groupChanges(
    decided.flatMap(({changeId, state}) => (state === null ? [] : [{changeId, what: nameState(state)}])),
  );
  const refused = groupChanges(listRefusals(decided));
  const sentences = done.map(
    ({what, count}) => `${formatNumber(count)} ${count === 1 ? 'change is' : 'changes are'} ${what}.`,
  );
  const count = refused.reduce((total, group) => total + group.count, 0);
  if (count === 0) return sentences.join(' ');
  const reasons = refused.map(({what, first, count: some}) => {
    const more = some > first.length ? ` and ${formatNumber(some - first.length)} more` : '';
    return `${what} (change ${first.join(', ')}${more})`;
  });
  return [...sentences, `${formatNumber(count)} could not be decided so: ${reasons.join('; ')}.`].join(' ');
}
