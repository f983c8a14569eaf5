// Whether a create made a record: the record bears everything that was sent, and is not another's.
// Pure.

import type {CustomerFilters} from '../api/client.ts';
import type {Appearance} from '../changes/authored-rows.ts';
import {readDate} from '../core/back-off.ts';
import {type ChangeValues, isEchoOf} from '../rows/change-values.ts';
import type {ChangeFacts, RemoteRow, ShownRow} from './facts.ts';

/** Numbers of records that bear everything that was sent and are not another's. */
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
  /** Fields of other creates under the same parent whose fate is open. */
  readonly rivals: readonly ChangeValues[];
  /** Records that were known before the create was sent, or that another create has made. */
  readonly known: ReadonlySet<string>;
  /** Records that had been there for longer than the create had been sent. */
  readonly older: ReadonlySet<string>;
}

type Rules = Pick<ChangeFacts, 'rules'>;

/** Whether a row bears everything that was sent. */
export function isMatch({rules}: Rules, fields: ChangeValues, {values}: RemoteRow): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const kind = rules.get(name)?.kind ?? 'text';
    // A list may leave out the assigned employees.
    return values[name] === undefined || isEchoOf(kind, value, values[name] ?? null);
  });
}

/**
 * The rows that a create may have made, of those that bear everything that was sent. A record is
 * another's when it was known before, or when it is nearer to another create whose fate is open.
 * @param rows - each of them a match
 */
export function pickCandidates(
  {rules, change}: Rules & {readonly change: {readonly fields: ChangeValues}},
  rows: readonly RemoteRow[],
  {rivals, known, older}: Claimants,
): Candidates {
  const isFree = (row: RemoteRow) =>
    !known.has(row.number) &&
    !rivals.some((rival) => isNearer(rival, change.fields) && isMatch({rules}, rival, row));
  const free = [...new Set(rows.filter(isFree).map(({number}) => number))];
  return {
    ours: free.filter((number) => !older.has(number)),
    older: free.filter((number) => older.has(number)),
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
 * Fields that the service may not have changed: addresses are joined, numbers formatted, names
 * kept. @see docs/service.md "Filters"
 */
const FILTERS: readonly (keyof CustomerFilters)[] = ['name'];

/**
 * Exact filters for the list in which a created record is looked for. A text that services keep in
 * several forms (outer or doubled blanks, line ends, letters with more than one Unicode form)
 * filters nothing, as its stored form is not known. Nor does anything filter the last look: after
 * it the create may be sent again, and no filter may have hidden its record.
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
