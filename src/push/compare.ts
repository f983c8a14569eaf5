// Judges readings of the service's record for a change. A reading may be older than a confirmed
// write of ours, because the service's reads may lag behind. A create made a record if the record
// contains everything that was sent and is not another's. The three-way merge takes the values that
// the author had seen, the values wanted here and the service's present values. All functions are
// pure.

import type {CustomerFilters} from '../api/client.ts';
import type {Appearance, FieldRule, Rule} from '../changes/authored-rows.ts';
import type {SavedConflict} from '../changes/move-changes.ts';
import {readDate} from '../core/pauses.ts';
import {
  type ChangeValue,
  type ChangeValues,
  isEchoOf,
  isSameValue,
  showsReplaced,
} from '../rows/change-values.ts';
import {lagLimitMs} from '../rows/table-sql.ts';
import {
  type ChangeFacts,
  type Postponed,
  postpone,
  type RemoteRow,
  type ShownRow,
} from './decision.ts';

export interface Merge {
  /** The values to send. */
  readonly send: ChangeValues;
  /** Fields that the service holds already as they are wanted. */
  readonly unsent: readonly string[];
  /** Fields that the rule gives to the service. */
  readonly lost: readonly string[];
  readonly conflicts: readonly SavedConflict[];
}

export interface Sides {
  /** The wanted values. */
  readonly fields: ChangeValues;
  /**
   * The values that the author had seen before the change; includes the fields that move with the
   * wanted ones.
   */
  readonly base: ChangeValues;
  /** The values that the row held before the change, of the same fields. */
  readonly held: ChangeValues;
  /**
   * The service's present values. A field that the service left out is unknown: it is sent, and is
   * no conflict.
   */
  readonly remote: ChangeValues;
  /**
   * Whether the service's record changed after the change was requested; null if the service does
   * not show it.
   */
  readonly isServiceNewer: boolean | null;
  readonly rules: ReadonlyMap<string, FieldRule>;
}

/**
 * Merges field by field, and group by group. Fields of one group, such as an address, move as one:
 * a street changed here and a city changed there are a conflict.
 */
export function mergeFields(sides: Sides): Merge {
  const merges = groupFields(sides).map((fields) => mergeUnit(fields, sides));
  return {
    send: Object.assign({}, ...merges.map(({send}) => send)),
    unsent: merges.flatMap(({unsent}) => unsent),
    lost: merges.flatMap(({lost}) => lost),
    conflicts: merges.flatMap(({conflicts}) => conflicts),
  };
}

/** The names of base and fields, those of one group together. */
function groupFields({fields, base, rules}: Sides): string[][] {
  const names = new Set([...Object.keys(fields), ...Object.keys(base)]);
  return [...Map.groupBy(names, (name) => rules.get(name)?.group ?? name).values()];
}

function mergeUnit(names: readonly string[], sides: Sides): Merge {
  const {fields, base, held, remote, rules} = sides;
  const readValue = (values: ChangeValues, name: string) => values[name] ?? null;
  const isSame = (name: string, one: ChangeValue, other: ChangeValue) =>
    isSameValue(rules.get(name)?.kind ?? 'text', one, other);
  const findWanted = (name: string) => readValue(name in fields ? fields : base, name);
  const differing = names.filter((name) =>
    name in remote ? !isSame(name, findWanted(name), readValue(remote, name)) : name in fields,
  );
  const toSend = differing.filter((name) => name in fields);
  const unsent = names.filter((name) => name in fields && !differing.includes(name));
  // A reading that shows the value seen by the author, and not the row's later value, may be old.
  const isChangedAtService = [base, held].some((earlierValues) =>
    names.some(
      (name) =>
        name in earlierValues &&
        name in remote &&
        !isSame(name, readValue(earlierValues, name), readValue(remote, name)),
    ),
  );
  const pickWanted = (fieldNames: readonly string[]) =>
    Object.fromEntries(fieldNames.map((name) => [name, findWanted(name)]));
  if (toSend.length === 0 || !isChangedAtService)
    return {send: pickWanted(toSend), unsent, lost: [], conflicts: []};
  const rule = findRule(names, rules);
  const winner = decideWinner(rule, sides);
  const conflicts = differing.map((field) => ({
    field,
    baseValue: readValue(base, field),
    warehouseValue: findWanted(field),
    serviceValue: readValue(remote, field),
    rule,
    winner,
  }));
  if (winner === 'warehouse') return {send: pickWanted(differing), unsent, lost: [], conflicts};
  return {send: {}, unsent, lost: winner === 'service' ? toSend : [], conflicts};
}

/** A group whose fields have different rules is left to a person. */
function findRule(names: readonly string[], rules: ReadonlyMap<string, FieldRule>): Rule {
  const [rule = 'ask', ...otherRules] = new Set(
    names.map((name) => rules.get(name)?.rule ?? 'ask'),
  );
  return otherRules.length === 0 ? rule : 'ask';
}

function decideWinner(rule: Rule, {isServiceNewer}: Sides): SavedConflict['winner'] {
  if (rule === 'ask') return null;
  if (rule !== 'newest') return rule;
  if (isServiceNewer === null) return null;
  return isServiceNewer ? 'service' : 'warehouse';
}

const shortestPauseMs = 2_000;

/** An update that the service has confirmed. */
interface Confirmed {
  readonly fields: ChangeValues;
  /** What the service held before. */
  readonly base: ChangeValues;
}

/**
 * Whether a reading shows nothing of a confirmed update, and the old value in one of its fields at
 * least. Employees may come from a separate reading, so they are judged separately.
 */
export function showsOldValues(
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
  const ages = Object.entries(fields).flatMap(([name, wanted]) => {
    const held = values[name];
    if (held === undefined || !isMeant(name)) return [];
    const kind = rules.get(name)?.kind ?? 'text';
    const {[name]: before} = base;
    if (before === undefined || !isSameValue(kind, before, held))
      return isEchoOf(kind, wanted, held) ? ['new'] : [];
    // A field that is wanted as it was before shows no age.
    return isSameValue(kind, before, wanted) ? [] : ['old'];
  });
  return ages.includes('old') && !ages.includes('new');
}

/**
 * Whether a reading may be older than an earlier change of the record that was done a short while
 * ago: it shows the value from before that change.
 * @param row - null if the record was not there
 * @param confirmed - the values that this change has written since. A field that shows one of them
 *   is not older, even if an earlier change replaced that value, as when a value is taken back
 */
export function isBeforeRecentWrites(
  {change, rules}: Pick<ChangeFacts, 'change' | 'rules'>,
  row: RemoteRow | null,
  confirmed: ChangeValues = {},
): boolean {
  const {recentWrites} = change;
  if (row === null) return recentWrites.some(({operation}) => operation === 'create');
  const findFieldKind = (name: string) => rules.get(name)?.kind ?? 'text';
  const isConfirmed = ([name, current]: [string, ChangeValue]) =>
    name in confirmed && isSameValue(findFieldKind(name), confirmed[name] ?? null, current);
  const otherValues = Object.fromEntries(
    Object.entries(row.values).filter((entry) => !isConfirmed(entry)),
  );
  return showsReplaced(recentWrites, otherValues, findFieldKind);
}

/**
 * Postpones a change until a reading is no older than the last change of the record. The longer ago
 * that change was done, the longer the delay.
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

/** Numbers of records that contain everything that was sent and are not another's. */
export interface Candidates {
  /** Records that the create can have made. */
  readonly ours: readonly string[];
  /**
   * Records older than the sending by the service's clock. A clock proves nothing: a person
   * decides.
   */
  readonly older: readonly string[];
}

/** Other claims to the records, as the warehouse knows them. */
interface Claimants {
  /** Fields of other creates under the same parent whose outcome is open. */
  readonly rivals: readonly ChangeValues[];
  /** Records that were known before the create was sent, or that another create has made. */
  readonly known: ReadonlySet<string>;
  /** Records that existed for longer than the time since the create was sent. */
  readonly older: ReadonlySet<string>;
}

type Rules = Pick<ChangeFacts, 'rules'>;

/** Whether a row contains everything that was sent. */
export function isMatch({rules}: Rules, fields: ChangeValues, {values}: RemoteRow): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const kind = rules.get(name)?.kind ?? 'text';
    // A list may leave out the assigned employees.
    return values[name] === undefined || isEchoOf(kind, value, values[name] ?? null);
  });
}

/**
 * Picks the rows that a create may have made, of those that contain everything that was sent. A
 * record is another's if it was known before, or if it is nearer to another create whose outcome is
 * open.
 * @param rows - each of them a match
 */
export function pickCandidates(
  {rules, change}: Rules & {readonly change: {readonly fields: ChangeValues}},
  rows: readonly RemoteRow[],
  {rivals, known, older}: Claimants,
): Candidates {
  const isUnclaimed = (row: RemoteRow) =>
    !known.has(row.number) &&
    !rivals.some((rival) => isNearer(rival, change.fields) && isMatch({rules}, rival, row));
  const unclaimed = [...new Set(rows.filter(isUnclaimed).map(({number}) => number))];
  return {
    ours: unclaimed.filter((number) => !older.has(number)),
    older: unclaimed.filter((number) => older.has(number)),
  };
}

/** A record that fits two creates belongs to the one that sent more fields. */
function isNearer(rival: ChangeValues, ours: ChangeValues): boolean {
  return Object.keys(rival).length > Object.keys(ours).length;
}

/** When a record was made and shown, by the service's clock. */
export function toAppearance({number, values, dateHeader}: ShownRow): Appearance {
  const {created_at: created = values.created_on} = values;
  const shownMs = readDate(dateHeader);
  return {
    number,
    createdAt: typeof created === 'string' ? created : null,
    shownAt: shownMs === null ? null : new Date(shownMs).toISOString(),
  };
}

/**
 * Fields that the service does not alter: it joins addresses and formats numbers, but keeps names.
 * @see docs/service.md "Filters"
 */
const FILTERS: readonly (keyof CustomerFilters)[] = ['name'];

/**
 * Exact filters for the list in which a created record is looked for. A text that services keep in
 * several forms (outer or doubled blanks, line ends, letters with more than one Unicode form) is no
 * filter, as its stored form is not known. The last look uses no filter: after it the create may be
 * sent again, and no filter may have hidden its record.
 */
export function listFiltersOf(
  fields: ChangeValues,
  {isLast}: {readonly isLast: boolean},
): CustomerFilters {
  if (isLast) return {};
  return Object.fromEntries(
    FILTERS.flatMap((name) => {
      const value = fields[name];
      return typeof value === 'string' && hasOneForm(value) ? [[name, value]] : [];
    }),
  );
}

/** Visible ASCII letters and signs with single blanks between them. */
function hasOneForm(text: string): boolean {
  return /^[!-~]+(?: [!-~]+)*$/.test(text);
}
