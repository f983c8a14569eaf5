// What the audit keeps of a decision about many changes: every number, in few characters.

import {writeNumbers} from '../core/number-set.ts';
import type {DecidableChange} from './decidable-changes.ts';
import type {DecidedChange, Deciding} from './decide-changes.ts';
import {listRefusals} from './refusals.ts';
import type {UndoneChange} from './undo-changes.ts';

/** A part of an entry of the audit. */
interface Note {
  readonly subject: string;
  readonly before: unknown;
  readonly after: unknown;
}

type Found = readonly Pick<DecidableChange, 'changeId' | 'state'>[];

/** @param found - the changes as they were before */
export function noteDecision(
  found: Found,
  decided: readonly DecidedChange[],
  deciding: Deciding,
): Note {
  return {
    ...noteBefore(found),
    after: {
      ...deciding,
      decided: listByWord(
        decided.flatMap(({changeId, state}) => (state === null ? [] : [{changeId, what: state}])),
      ),
      refused: listByWord(listRefusals(decided)),
    },
  };
}

/** @param found - the changes as they were before */
export function noteUndo(
  found: Found,
  {batch, changes}: {readonly batch: string; readonly changes: readonly UndoneChange[]},
): Note {
  const made = [...new Set(changes.flatMap(({undoId}) => undoId ?? []))];
  return {
    ...noteBefore(found),
    after: {
      batch,
      undone: listByWord(
        changes.flatMap(({changeId, outcome}) =>
          outcome === null ? [] : [{changeId, what: outcome}],
        ),
      ),
      made: writeNumbers(made.toSorted((one, other) => Number(BigInt(one) - BigInt(other)))),
      left: listByWord(listRefusals(changes)),
    },
  };
}

function noteBefore(found: Found): Pick<Note, 'subject' | 'before'> {
  return {
    subject:
      found.length === 1
        ? `change ${found[0]?.changeId}`
        : `${found.length.toLocaleString('en')} changes`,
    before: listByWord(found.map(({changeId, state}) => ({changeId, what: state}))),
  };
}

/** `{pending: '3-5,9'}` */
function listByWord(
  words: readonly {readonly changeId: string; readonly what: string}[],
): Record<string, string> {
  const lists = Object.groupBy(words, ({what}) => what);
  return Object.fromEntries(
    Object.entries(lists).map(([what, list = []]) => [
      what,
      writeNumbers(list.map(({changeId}) => changeId)),
    ]),
  );
}
