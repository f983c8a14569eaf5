// What a decision about many changes would do, before it is made: to how many, of which kinds, and
// why not to the others.

import {writeNumbers} from '../core/number-set.ts';
import {nameState} from './change-words.ts';
import type {DecidableChange} from './decidable-changes.ts';
import type {Deciding} from './decide-changes.ts';
import {mostDecided} from './decide-many.ts';
import {judgeDecision} from './judge-decision.ts';

const fewNumbers = 5;

/** Changes that have something in common. */
export interface ChangeGroup {
  /** `update customers, pending`; or why a decision is not open to them. */
  readonly what: string;
  readonly count: number;
  /** The first of them. */
  readonly first: readonly string[];
}

export interface DecisionPreview {
  readonly deciding: Deciding;
  /** The changes that can be decided so, by kind. */
  readonly can: readonly ChangeGroup[];
  readonly canCount: number;
  /** The others, by the reason. */
  readonly cannot: readonly ChangeGroup[];
  readonly cannotCount: number;
  /** Those that can, as `readNumbers` reads them. */
  readonly numbers: string;
  /** More match than are decided at once. */
  readonly isCut: boolean;
}

/** @param found - ascending; one more than `mostDecided` where there are more */
export function previewDecision(
  found: readonly DecidableChange[],
  deciding: Deciding,
): DecisionPreview {
  const judged = found
    .slice(0, mostDecided)
    .map((change) => ({change, refusal: judgeDecision(change, deciding)}));
  const can = judged.filter(({refusal}) => refusal === null).map(({change}) => change);
  return {
    deciding,
    can: groupChanges(
      can.map(({changeId, operation, table, state}) => ({
        changeId,
        what: `${operation} ${table}, ${nameState(state)}`,
      })),
    ),
    canCount: can.length,
    cannot: groupChanges(
      judged.flatMap(({change: {changeId}, refusal}) =>
        refusal === null ? [] : [{changeId, what: refusal}],
      ),
    ),
    cannotCount: judged.length - can.length,
    numbers: writeNumbers(can.map(({changeId}) => changeId)),
    isCut: found.length > mostDecided,
  };
}

/** Groups by what is said of them; the largest group first. */
export function groupChanges(
  changes: readonly {readonly changeId: string; readonly what: string}[],
): ChangeGroup[] {
  const groups = new Map<string, string[]>();
  for (const {changeId, what} of changes) {
    const ids = groups.get(what);
    if (ids === undefined) groups.set(what, [changeId]);
    else ids.push(changeId);
  }
  return [...groups]
    .map(([what, ids]) => ({what, count: ids.length, first: ids.slice(0, fewNumbers)}))
    .toSorted((one, other) => other.count - one.count);
}
