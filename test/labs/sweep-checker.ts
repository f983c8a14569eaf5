// Compares the warehouse after a sweep with the truth while it ran. It does not know how sweeps
// work: only what they promise.

import {
  isAliveThroughout,
  isListedThroughout,
  type Note,
  type RecordHistory,
  versionsWithin,
  wasAliveWithin,
} from './adversary-history.ts';

/** A row of the warehouse with its live notes. */
export interface HeldRow {
  readonly number: string;
  readonly name: string | null;
  readonly isDeleted: boolean;
  readonly notes: readonly Note[];
}

/** How a sweep ended, and the ticks between which it ran. */
export interface CheckedSweep {
  readonly state: 'certified' | 'uncertified' | 'stopped' | 'failed';
  readonly from: number;
  readonly to: number;
}

/**
 * - `false delete`: a row was marked deleted, though its record existed all the time
 * - `marked`: a sweep that was stopped or failed marked a row deleted
 * - `missing`: certified, and a record that existed all the time has no live row
 * - `stale`: certified, and a row is older than the start of the sweep; or any sweep wrote such a
 *   row
 * - `ghost`: certified, and the record of a live row was gone before the sweep began
 * - `children`: the notes of a row are not those of the version that it shows
 * - `invented`: a row shows content that its record never had
 */
export interface Violation {
  readonly kind:
    | 'false delete'
    | 'marked'
    | 'missing'
    | 'stale'
    | 'ghost'
    | 'children'
    | 'invented';
  readonly number: string;
  /** The truth and the held row, in one line. */
  readonly story: string;
}

interface Case {
  readonly sweep: CheckedSweep;
  readonly history: RecordHistory;
  readonly before: HeldRow | undefined;
  readonly row: HeldRow | undefined;
}

type Rule = readonly [Violation['kind'], (judged: Case) => boolean];

const rules: readonly Rule[] = [
  ['false delete', isFalseDelete],
  ['marked', isMarkedInVain],
  ['missing', isMissing],
  ['ghost', isGhost],
  ['invented', isInvented],
  ['stale', isStale],
  ['children', hasOtherChildren],
];

/**
 * Finds every broken promise of one sweep.
 * @param histories - of every record that ever was
 * @param held - all rows of the stream, before the sweep and after it
 * @returns empty when the sweep kept its promises
 */
export function findViolations(
  histories: readonly RecordHistory[],
  sweep: CheckedSweep,
  held: {readonly before: readonly HeldRow[]; readonly after: readonly HeldRow[]},
): Violation[] {
  const before = byNumber(held.before);
  const after = byNumber(held.after);
  const known = new Set(histories.map(({number}) => number));
  const strangers = held.after
    .filter(({number}) => !known.has(number))
    .map(({number}) => ({
      kind: 'invented' as const,
      number,
      story: 'a row of a record that never was',
    }));
  const broken = histories.flatMap((history) => {
    const {number} = history;
    const judged = {sweep, history, before: before.get(number), row: after.get(number)};
    return rules
      .filter(([, isBroken]) => isBroken(judged))
      .map(([kind]) => ({kind, number, story: tell(judged)}));
  });
  return [...strangers, ...broken];
}

function byNumber(rows: readonly HeldRow[]): Map<string, HeldRow> {
  return new Map(rows.map((row) => [row.number, row]));
}

function isFalseDelete(judged: Case): boolean {
  return wasMarked(judged) && existed(judged);
}

function isMarkedInVain(judged: Case): boolean {
  return (judged.sweep.state === 'stopped' || judged.sweep.state === 'failed') && wasMarked(judged);
}

function isMissing(judged: Case): boolean {
  const {sweep, history, before, row} = judged;
  if (sweep.state !== 'certified' || !existed(judged) || row?.isDeleted === false) return false;
  // A record that no list shows can be known only if it was held before.
  return isListedThroughout(history, sweep.from, sweep.to) || before?.isDeleted === false;
}

function isGhost({sweep, history, row}: Case): boolean {
  return (
    sweep.state === 'certified' &&
    row?.isDeleted === false &&
    !wasAliveWithin(history, sweep.from, sweep.to)
  );
}

function isInvented({sweep, history, row}: Case): boolean {
  return (
    row !== undefined && !versionsWithin(history, 0, sweep.to).some(({name}) => name === row.name)
  );
}

function isStale(judged: Case): boolean {
  const {sweep, history, before, row} = judged;
  if (row === undefined || row.isDeleted || isInvented(judged)) return false;
  const isWritten = before === undefined || before.isDeleted || before.name !== row.name;
  const isClaimed = sweep.state === 'certified' && existed(judged);
  if (!isWritten && !isClaimed) return false;
  return !versionsWithin(history, sweep.from, sweep.to).some(({name}) => name === row.name);
}

function hasOtherChildren(judged: Case): boolean {
  const {sweep, history, row} = judged;
  if (row === undefined || isInvented(judged)) return false;
  if (row.isDeleted) return row.notes.length > 0;
  const held = print(row.notes);
  return !versionsWithin(history, 0, sweep.to).some(
    ({name, notes}) => name === row.name && print(notes) === held,
  );
}

function wasMarked({before, row}: Case): boolean {
  return row?.isDeleted === true && before?.isDeleted !== true;
}

function existed({history, sweep}: Case): boolean {
  return isAliveThroughout(history, sweep.from, sweep.to);
}

function print(notes: readonly Note[]): string {
  return notes
    .map(({id, note}) => `${id}=${note}`)
    .sort()
    .join(', ');
}

function tell({sweep, history, before, row}: Case): string {
  const lives = history.lives.map(({from, to}) => `${from}–${to ?? ''}`).join(', ');
  const hidden = history.hidings.map(({from, to}) => `${from}–${to ?? ''}`).join(', ');
  const versions = versionsWithin(history, sweep.from, sweep.to)
    .map(({tick, name, notes}) => `${tick} "${name}" [${print(notes)}]`)
    .join(', ');
  return [
    `${sweep.state} sweep ${sweep.from}–${sweep.to}`,
    `alive ${lives}${hidden === '' ? '' : `, hidden ${hidden}`}`,
    `versions meanwhile: ${versions}`,
    `held before: ${describe(before)}`,
    `held after: ${describe(row)}`,
  ].join('; ');
}

function describe(row: HeldRow | undefined): string {
  if (row === undefined) return 'nothing';
  return `"${row.name}" [${print(row.notes)}]${row.isDeleted ? ', deleted' : ''}`;
}
