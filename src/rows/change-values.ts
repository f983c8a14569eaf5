// Values of a change: whether two values are the same, and which values a completed change has
// replaced.

import type {ChangeOperation, WriteKind, WriteRule} from '../streams/table.ts';
import {meaningOf} from '../streams/values.ts';

/** A value as a change stores it: its text, null, or the ids of an array. */
export type ChangeValue = string | null | readonly string[];
export type ChangeValues = Readonly<Record<string, ChangeValue>>;

/** The result of a change at the service, if it differs from the requested one. */
export interface ChangeResult {
  /** Fields that came back with another meaning than they were sent with. */
  readonly altered?: Readonly<
    Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>
  >;
  /**
   * Fields that came back written differently: trimmed, or with their characters in another order.
   */
  readonly tidied?: Readonly<
    Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>
  >;
  /** Fields that were not sent, because the service already had the values. */
  readonly unsent?: readonly string[];
  /** Records that a create with an unknown result may have become. */
  readonly candidates?: readonly string[];
}

/** A change that is done. */
export interface RecentWrite {
  readonly operation: ChangeOperation;
  readonly fields: ChangeValues;
  readonly base: ChangeValues;
  /** The fields whose values the service altered or tidied. */
  readonly made: NonNullable<ChangeResult['altered' | 'tidied']>;
  /** How long ago it was done, in milliseconds by the database's clock. */
  readonly agoMs: number;
}

/**
 * Whether two values of a field mean the same: `275.10` and `275.1`, one moment under two offsets,
 * the same employees in any order. Null and an empty text differ.
 */
export function isSameValue(
  kind: WriteRule['kind'],
  one: ChangeValue,
  other: ChangeValue,
): boolean {
  if (typeof one === 'string' && typeof other === 'string')
    return readMeaning(kind, one) === readMeaning(kind, other);
  if (one === null || other === null) return one === other;
  return listIds(one).join() === listIds(other).join();
}

/**
 * Whether the value that came back can be the one sent: services trim, change case, join blanks,
 * choose another Unicode form of a letter, and treat an empty text as none. Used only if the result
 * of a request is unknown.
 */
export function isEchoOf(kind: WriteRule['kind'], sent: ChangeValue, got: ChangeValue): boolean {
  if (kind !== 'text') return isSameValue(kind, sent, got);
  return loosen(sent) === loosen(got);
}

/**
 * Whether the value that came back means the same to a person. Blanks and line ends do not count,
 * nor an empty text instead of none. Nor does the case of an e-mail address, nor anything but
 * digits in a telephone number. Every other letter, digit and sign counts.
 */
export function isSameMeaning(
  {field, kind}: {readonly field: string; readonly kind: WriteRule['kind']},
  sent: ChangeValue,
  got: ChangeValue,
): boolean {
  if (kind !== 'text') return isSameValue(kind, sent, got);
  return simplify(field, sent) === simplify(field, got);
}

function simplify(field: string, value: ChangeValue): string {
  const text =
    typeof value === 'string' ? value.normalize('NFC').trim().replaceAll(/\s+/g, ' ') : '';
  if (field === 'email_address') return text.toLowerCase();
  if (field !== 'phone_number' && field !== 'fax') return text;
  return text.replaceAll(/\D/g, '') || text;
}

function readMeaning(kind: WriteRule['kind'], value: string): string {
  return kind === 'ids' ? value : meaningOf(kind, value);
}

function loosen(value: ChangeValue): string {
  return typeof value === 'string'
    ? value.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase()
    : '';
}

function listIds(value: string | readonly string[]): string[] {
  return (typeof value === 'string' ? [value] : [...value]).sort();
}

/**
 * Whether a record shows a value that one of the completed changes has replaced, and not the value
 * that the last of them left.
 */
export function showsReplaced(
  writes: readonly RecentWrite[],
  shown: ChangeValues,
  kindOf: (field: string) => WriteKind,
): boolean {
  return [...new Set(writes.flatMap(({fields}) => Object.keys(fields)))].some((name) => {
    const current = shown[name];
    const fieldWrites = writes.filter(({fields}) => name in fields);
    const last = fieldWrites.at(-1);
    if (current === undefined || last === undefined) return false;
    const kind = kindOf(name);
    const lastValue = last.made[name]?.got ?? last.fields[name] ?? null;
    return (
      !isSameValue(kind, lastValue, current) &&
      fieldWrites.some(
        ({base: {[name]: before}}) => before !== undefined && isSameValue(kind, before, current),
      )
    );
  });
}
