import {showValue} from '../core/format.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import type {Change} from './change.ts';
import type {ChangeState} from './change-states.ts';

/**
 * `update customers 4711`; of a record without a number its key at the ERP, or its row:
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

/** The reason for the state; of a change that the service altered, the fields. */
export function tellReason({
  state,
  reason,
  result,
}: Pick<Change, 'state' | 'reason' | 'result'>): string {
  const altered = Object.keys(result?.altered ?? {});
  if (state === 'done' && altered.length > 0) return `the service altered ${altered.join(', ')}`;
  return reason ?? '';
}

export function nameState(state: ChangeState): string {
  return state.replace('_', ' ');
}

/** The reason for the state, or the change that it waits for. */
export function tellWhy(change: Pick<Change, 'state' | 'reason' | 'result' | 'waitsFor'>): string {
  const {state, waitsFor} = change;
  if (waitsFor !== null && (state === 'pending' || state === 'held'))
    return `waits for change ${waitsFor}`;
  return tellReason(change);
}

/**
 * `change 12 is pending: a worker sends it, or fieldmirror push` @param state - the one that a
 * decision has led to
 */
export function tellDecided(changeId: string, state: ChangeState): string {
  return `change ${changeId} is ${nameState(state)}${tellAfter(state)}`;
}

function tellAfter(state: ChangeState): string {
  if (state === 'done') return ': accepted, and further changes of that kind go on';
  if (state === 'pending') return ': a worker sends it, or fieldmirror push';
  return state === 'in_doubt' ? ': a worker looks whether it arrived, or fieldmirror push' : '';
}

/** A value of a change as a person reads it; of a password only that there is one. */
export function showWanted(field: string, value: ChangeValue | undefined): string {
  if (field === 'password') return '(set)';
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.join(', ');
  return showValue(value);
}

/** The change without values that must not be read. */
export function maskChange(change: Change): Change {
  const {fields, base} = change;
  return {...change, fields: mask(fields), base: mask(base)};
}

function mask(values: Change['fields']): Change['fields'] {
  return 'password' in values ? {...values, password: '(set)'} : values;
}
