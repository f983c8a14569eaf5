import type {DecidedChange} from './decide-changes.ts';

/**
 * More of these would make a group of each: a change that was taken back before is told by number
 * as long as they are few.
 */
const fewUndoings = 3;
const undoneBefore = /^change \d+ takes it back already$/;

interface Refusal {
  readonly changeId: string;
  readonly what: string;
}

/**
 * Refusals without the number of the change before each, so that those that say the same are one
 * group.
 */
export function listRefusals(
  decided: readonly Pick<DecidedChange, 'changeId' | 'refusal'>[],
): Refusal[] {
  const refusals = decided.flatMap(({changeId, refusal}) =>
    refusal === null ? [] : [{changeId, what: refusal.replace(`change ${changeId}: `, '')}],
  );
  const undoings = new Set(refusals.flatMap(({what}) => (undoneBefore.test(what) ? [what] : [])));
  return undoings.size <= fewUndoings ? refusals : refusals.map(withoutUndoing);
}

function withoutUndoing({changeId, what}: Refusal): Refusal {
  return {changeId, what: what.replace(undoneBefore, 'another change takes it back already')};
}
