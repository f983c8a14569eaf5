// What a decision about many changes came to, in words.

import {formatNumber} from '../core/format.ts';
import {nameState} from './change-words.ts';
import type {DecidedChange} from './decide-changes.ts';
import {type ChangeGroup, groupChanges} from './preview-decision.ts';
import {listRefusals} from './refusals.ts';

/**
 * `9,990 changes are held.` and then
 * `10 could not be decided so: expected pending to hold it, got done (change 3, 4, 5 and 7 more).`
 */
export function tellMany(decided: readonly DecidedChange[]): {
  readonly done: string;
  readonly left: string;
} {
  const done = groupChanges(
    decided.flatMap(({changeId, state}) =>
      state === null ? [] : [{changeId, what: nameState(state)}],
    ),
  );
  const refused = groupChanges(listRefusals(decided));
  const count = refused.reduce((total, group) => total + group.count, 0);
  return {
    done: done
      .map(
        ({what, count: some}) =>
          `${formatNumber(some)} ${some === 1 ? 'change is' : 'changes are'} ${what}.`,
      )
      .join(' '),
    left:
      count === 0
        ? ''
        : `${formatNumber(count)} could not be decided so: ${refused.map(tellGroup).join('; ')}.`,
  };
}

/** `expected pending to hold it, got done (change 3, 4, 5 and 7 more)` */
export function tellGroup({what, count, first}: ChangeGroup): string {
  const more = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return `${what} (change ${first.join(', ')}${more})`;
}
