import type {WriteRule} from '../streams/table.ts';
import {meaningOf} from '../streams/values.ts';
import type {ChangeValue} from './change-values.ts';

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
    return meaning(kind, one) === meaning(kind, other);
  if (one === null || other === null) return one === other;
  return idsOf(one).join() === idsOf(other).join();
}

/**
 * Whether the value that came back can be the one sent: services trim, change case, join blanks,
 * choose another Unicode form of a letter, and take an empty text for none. Used where the fate of
 * a request is in doubt, and nowhere else.
 */
export function isEchoOf(kind: WriteRule['kind'], sent: ChangeValue, got: ChangeValue): boolean {
  if (kind !== 'text') return isSameValue(kind, sent, got);
  return loosen(sent) === loosen(got);
}

/**
 * Whether the value that came back says the same to a person. Blanks and line ends do not count,
 * nor an empty text for none, nor the case of an e-mail address, nor anything but digits in a
 * telephone number. Every other letter, digit and sign does.
 */
export function saysTheSame(
  {field, kind}: {readonly field: string; readonly kind: WriteRule['kind']},
  sent: ChangeValue,
  got: ChangeValue,
): boolean {
  if (kind !== 'text') return isSameValue(kind, sent, got);
  return plain(field, sent) === plain(field, got);
}

function plain(field: string, value: ChangeValue): string {
  const text =
    typeof value === 'string' ? value.normalize('NFC').trim().replaceAll(/\s+/g, ' ') : '';
  if (field === 'email_address') return text.toLowerCase();
  if (field !== 'phone_number' && field !== 'fax') return text;
  return text.replaceAll(/\D/g, '') || text;
}

function meaning(kind: WriteRule['kind'], value: string): string {
  return kind === 'ids' || kind === 'secret' ? value : meaningOf(kind, value);
}

function loosen(value: ChangeValue): string {
  return typeof value === 'string'
    ? value.normalize('NFKC').trim().replaceAll(/\s+/g, ' ').toLowerCase()
    : '';
}

function idsOf(value: string | readonly string[]): string[] {
  return (typeof value === 'string' ? [value] : [...value]).sort();
}
