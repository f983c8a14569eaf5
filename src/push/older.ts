// Readings that may be older than a write of ours which the service has confirmed: its reads may
// lag behind. Pure.

import {
  type ChangeValue,
  type ChangeValues,
  isEchoOf,
  isSameValue,
  showsReplaced,
} from '../rows/change-values.ts';
import {lagLimitMs} from '../rows/recent-writes.ts';
import {type Postponed, postpone} from './decision.ts';
import type {ChangeFacts, RemoteRow} from './facts.ts';

const shortestPauseMs = 2_000;

/** An update that the service has confirmed. */
interface Confirmed {
  readonly fields: ChangeValues;
  /** What the service held before. */
  readonly base: ChangeValues;
}

/**
 * Whether a reading shows nothing of a confirmed update, and the old value in one of its fields at
 * least. Employees may come from a reading of their own, so that they are judged apart.
 */
export function showsTheOld(
  {rules}: Pick<ChangeFacts, 'rules'>,
  confirmed: Confirmed,
  row: RemoteRow,
): boolean {
  const isApart = (name: string) => rules.get(name)?.kind === 'ids';
  return [true, false].some((apart) =>
    showsOld(rules, confirmed, row, (name) => isApart(name) === apart),
  );
}

function showsOld(
  rules: ChangeFacts['rules'],
  {fields, base}: Confirmed,
  {values}: RemoteRow,
  isMeant: (field: string) => boolean,
): boolean {
  const shown = Object.entries(fields).flatMap(([name, wanted]) => {
    const held = values[name];
    if (held === undefined || !isMeant(name)) return [];
    const kind = rules.get(name)?.kind ?? 'text';
    if (isSameValue(kind, wanted, held)) return ['new'];
    const {[name]: before} = base;
    if (before !== undefined && isSameValue(kind, before, held)) return ['old'];
    return isEchoOf(kind, wanted, held) ? ['new'] : [];
  });
  return shown.includes('old') && !shown.includes('new');
}

/**
 * Whether a reading may be older than an earlier change of the record that was done a short while
 * ago: it shows the value from before that change.
 * @param row - null where the record was not there
 * @param confirmed - what this change has written since: a field that shows it is no older, also
 *   where an earlier change replaced
 *   that value, as when a value is taken back
 */
export function isBeforeOthers(
  {change, rules}: Pick<ChangeFacts, 'change' | 'rules'>,
  row: RemoteRow | null,
  confirmed: ChangeValues = {},
): boolean {
  const {recentWrites} = change;
  if (row === null) return recentWrites.some(({operation}) => operation === 'create');
  const kindOf = (name: string) => rules.get(name)?.kind ?? 'text';
  const isShown = ([name, held]: [string, ChangeValue]) =>
    name in confirmed && isSameValue(kindOf(name), confirmed[name] ?? null, held);
  const others = Object.fromEntries(Object.entries(row.values).filter((entry) => !isShown(entry)));
  return showsReplaced(recentWrites, others, kindOf);
}

/**
 * Waits for a reading that is no older than the last change of the record: for longer, the longer
 * it has been done.
 */
export function waitForNewer(agoMs: number): Postponed {
  const delayMs = Math.max(shortestPauseMs, Math.round(agoMs));
  return postpone(
    'the service still shows its record as it was before the last change of it',
    delayMs,
  );
}

/** Whether the change's request ended so long ago that every reading shows its effect. */
export function isPastLag({change}: Pick<ChangeFacts, 'change'>): boolean {
  return (change.requestEndedAgoMs ?? 0) >= lagLimitMs;
}
