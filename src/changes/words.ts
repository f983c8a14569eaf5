// Describes a change, a decision about changes and its result, in the words of all interfaces.

import {
  describeRate,
  formatDuration,
  formatNumber,
  showValue,
  type WorkInProgress,
} from '../core/format.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import {type Change, passwordMark} from './change.ts';
import {
  type ChangeGroup,
  type DecidedChange,
  groupChanges,
  listRefusals,
  type PlainVerb,
} from './decisions.ts';
import type {NextStep} from './next-step.ts';
import {type ChangeState, type MovingChanges, nameState} from './states.ts';
import type {Undo} from './undo.ts';

/**
 * `update customers 4711`; for a record without a number its key at the ERP, or its row:
 * `create jobs (ERP-77)`, `create jobs, row 5`.
 */
export function nameChange({
  operation,
  table,
  number,
  externalKey,
  rowId,
}: Pick<Change, 'operation' | 'table' | 'number' | 'externalKey' | 'rowId'>): string {
  const record = externalKey === null ? `, row ${rowId}` : ` (${externalKey})`;
  return `${operation} ${table}${number === null ? record : ` ${number}`}`;
}

/** The state in a word; `altered` for a change that is done, though not as it was sent. */
export function nameOutcome({state, result}: Pick<Change, 'state' | 'result'>): string {
  return state === 'done' && result?.altered !== undefined ? 'altered' : nameState(state);
}

type ChangeReason = Pick<Change, 'state' | 'reason' | 'result'> & {
  /** The fields that both sides changed, if they are known. */
  readonly conflictingFields?: readonly string[];
};

/**
 * The reason for the state; for a change that the service altered, or that both sides changed, the
 * fields. Only `reason` may quote the service or a person.
 */
export function describeReason({
  state,
  reason,
  result,
  conflictingFields = [],
}: ChangeReason): string {
  if (state === 'conflict' && conflictingFields.length > 0)
    return `changed on both sides: ${conflictingFields.join(', ')}`;
  const altered = Object.keys(result?.altered ?? {});
  if (state === 'done' && altered.length > 0) return `the service altered ${altered.join(', ')}`;
  return reason ?? '';
}

/** The change that it waits for; null if it waits for none. */
export function findBlocker({state, waitsFor}: Pick<Change, 'state' | 'waitsFor'>): string | null {
  return state === 'pending' || state === 'held' ? waitsFor : null;
}

/** The reason for the state, or the change that it waits for. */
export function describeWhy(change: ChangeReason & Pick<Change, 'waitsFor'>): string {
  const blocker = findBlocker(change);
  return blocker === null ? describeReason(change) : `waits for change ${blocker}`;
}

/** `account acme is paused: nothing of it is sent (call Ada first)` */
export function describeNextStep({text, note}: Pick<NextStep, 'text' | 'note'>): string {
  return note === null ? text : `${text} (${note})`;
}

/**
 * `change 12 is pending: a worker sends it, or fieldmirror push`
 * @param state - the one after a decision
 */
export function describeDecided(changeId: string, state: ChangeState): string {
  return `change ${changeId} is ${nameState(state)}${describeAfter(state)}`;
}

function describeAfter(state: ChangeState): string {
  if (state === 'done') return ': accepted, and further changes of that kind continue';
  if (state === 'pending') return ': a worker sends it, or fieldmirror push';
  return state === 'in_doubt' ? ': a worker checks whether it arrived, or fieldmirror push' : '';
}

/** A value of a change as a person reads it. */
export function formatWantedValue(value: ChangeValue | undefined): string {
  if (value === passwordMark) return value;
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.join(', ');
  return showValue(value);
}

/** Describes what a decision does, for an operator. */
export const decisionsDo: Readonly<Record<PlainVerb, string>> = {
  retry: 'retry waiting changes at once, and send refused changes again',
  hold: 'hold changes: nothing of them is sent until they are released',
  release: 'release held changes',
  cancel: 'cancel changes: the row gets its earlier values back',
  accept: 'accept what the service altered: changes of that kind are sent again',
};

/**
 * `9,990 changes are held.` and then
 * `10 could not be decided so: expected pending to hold it, got done (change 3, 4, 5 and 7 more).`
 */
export function describeDecisions(decided: readonly DecidedChange[]): {
  readonly done: string;
  readonly left: string;
} {
  const doneGroups = groupChanges(
    decided.flatMap(({changeId, state}) =>
      state === null ? [] : [{changeId, what: nameState(state)}],
    ),
  );
  const refusedGroups = groupChanges(listRefusals(decided));
  const count = refusedGroups.reduce((total, group) => total + group.count, 0);
  return {
    done: doneGroups
      .map(
        ({what, count: groupSize}) =>
          `${formatNumber(groupSize)} ${groupSize === 1 ? 'change is' : 'changes are'} ${what}.`,
      )
      .join(' '),
    left:
      count === 0
        ? ''
        : `${formatNumber(count)} could not be decided so: ` +
          `${refusedGroups.map(describeGroup).join('; ')}.`,
  };
}

/** `expected pending to hold it, got done (change 3, 4, 5 and 7 more)` */
export function describeGroup({what, count, first}: Omit<ChangeGroup, 'isQuote'>): string {
  const more = count > first.length ? ` and ${formatNumber(count - first.length)} more` : '';
  return `${what} (change ${first.join(', ')}${more})`;
}

/**
 * `200 changes were not sent, and are given up. 300 are taken back by 300 changes, held until
 * released. Of 1 change something was left: name: changed since (change 3).`
 */
export function describeUndo({cancelledCount, undoneCount, created, refused}: Undo): string {
  const refusedCount = refused.reduce((total, {count}) => total + count, 0);
  const sentences = [
    cancelledCount === 0
      ? ''
      : `${describeChangeCount(cancelledCount)} ` +
        `${cancelledCount === 1 ? 'was not sent, and is' : 'were not sent, and are'} given up.`,
    undoneCount === 0
      ? ''
      : `${describeChangeCount(undoneCount)} ${undoneCount === 1 ? 'is' : 'are'} taken back by ` +
        `${describeChangeCount(created.length)}, held until released.`,
    refusedCount === 0
      ? ''
      : `Of ${describeChangeCount(refusedCount)} something was left: ` +
        `${refused.map(describeGroup).join('; ')}.`,
  ];
  return sentences.filter((text) => text !== '').join(' ') || 'Nothing was taken back.';
}

/** `1 change`, `300 changes` */
export function describeChangeCount(count: number): string {
  return `${formatNumber(count)} ${count === 1 ? 'change' : 'changes'}`;
}

/** `acme: 1,200 changes to carry, 18 a second, 1 min 7 s to go` */
export function describeChanges({
  accountName: account,
  left,
  settledLastMinute,
}: MovingChanges & {readonly accountName: string}): WorkInProgress {
  const perSecond = settledLastMinute === 0 ? null : settledLastMinute / 60;
  const leftMs = perSecond === null ? null : (left * 1_000) / perSecond;
  const pace = {done: settledLastMinute, total: settledLastMinute + left, perSecond, leftMs};
  const rateTexts = perSecond === null ? [] : [describeRate(perSecond)];
  const timeTexts = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} to go`];
  const openText = `${formatNumber(left)} ${left === 1 ? 'change' : 'changes'} to carry`;
  return {account, pace, text: `${account}: ${[openText, ...rateTexts, ...timeTexts].join(', ')}`};
}
