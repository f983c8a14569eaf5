// The types of values that the service declares, which of them were seen in which fields, and the
// shapes of its times as texts. The code that reads and writes times loads a calendar, so it is in
// a separate file: times.ts. The streams' definitions only name shapes.

import {toUnderscored} from './xml-document.ts';

/** The textual shapes of the specification, and ISO with the offset of the account's zone. */
export type TimeShape = 'M/D/YY hh:mmam' | 'MM/DD/YYYY hh:mmam' | 'M/D/YYYY hh:mmam' | 'iso';

/** Which shape each resource takes. @see docs/service.md "Fields that may be written" */
export const TIME_SHAPES = {
  job: 'M/D/YY hh:mmam',
  timeEntry: 'MM/DD/YYYY hh:mmam',
  task: 'M/D/YYYY hh:mmam',
} as const satisfies Record<string, TimeShape>;

const isoDay = /(\d{4})-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])/.source;
const isoTime = /(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,9})?/.source;
const isoOffset = /(?:Z|[+-](?:0\d|1[0-4]):[0-5]\d)/.source;
const ISO_INSTANT = new RegExp(`^${isoDay}T${isoTime}${isoOffset}$`);

/**
 * True for a moment as the service writes it, `2031-07-04T09:00:00-04:00`: a day that exists, a
 * time of 24 hours, an offset. It runs for every record, so it creates no date object: 25 of these
 * come with every job.
 * @see docs/service.md "Times"
 */
export function isIsoInstant(text: string): boolean {
  if (!ISO_INSTANT.test(text)) return false;
  const day = Number(text.slice(8, 10));
  return day <= 28 || day <= daysInMonth(Number(text.slice(0, 4)), Number(text.slice(5, 7)));
}

/** Days of a month of the Gregorian calendar. @param month - from 1 */
export function daysInMonth(year: number, month: number): number {
  if (month === 2) return (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0 ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

type TypeName =
  | 'array'
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'dateTime'
  | 'date'
  | 'text';

/** The promise of a `type` attribute about the text; `text` promises nothing. */
export interface ValueType {
  readonly name: TypeName;
  /** A separate bit in a byte, so that the types of one field over many records are one number. */
  readonly bit: number;
}

export const TEXT: ValueType = {name: 'text', bit: 1};
export const ARRAY: ValueType = {name: 'array', bit: 128};

/** Every type. */
export const valueTypes: readonly ValueType[] = [
  TEXT,
  {name: 'integer', bit: 2},
  {name: 'decimal', bit: 4},
  {name: 'float', bit: 8},
  {name: 'boolean', bit: 16},
  {name: 'dateTime', bit: 32},
  {name: 'date', bit: 64},
  ARRAY,
];

const typesByAttribute = new Map(valueTypes.map((type) => [type.name as string, type]));
for (const type of valueTypes) if (type.name === 'dateTime') typesByAttribute.set('datetime', type);

/**
 * Reads a `type` attribute. A type that starts with a capital is a class name (`type="Customer"`),
 * no type of data; one that we do not know promises nothing.
 * @see docs/service.md "Types and nil"; docs/service.md "Nested records"
 */
export function readValueType(attribute: string): ValueType {
  return typesByAttribute.get(attribute) ?? TEXT;
}

const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/;
const FLOAT_WORD = /^(?:NaN|[+-]?Infinity)$/;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

/**
 * True when the text is what its type promises. The text itself is kept as sent: `275.10` stays
 * `275.10`.
 */
export function isOfType(type: ValueType, text: string): boolean {
  switch (type.name) {
    case 'text':
      return true;
    case 'integer':
      return INTEGER.test(text);
    case 'decimal':
      return DECIMAL.test(text);
    case 'float':
      return DECIMAL.test(text) || FLOAT_WORD.test(text);
    case 'boolean':
      return text === 'true' || text === 'false';
    case 'dateTime':
      return isIsoInstant(text);
    case 'date':
      return DATE.test(text);
    case 'array':
      return false;
  }
}

/**
 * How a field was sent: by its `type` attribute, as `text` if it has none, as `nested` with
 * elements inside.
 */
export type SentType = Exclude<TypeName, 'array'> | 'nested';

/** Elements of one kind with the same fields, in one document. */
interface SeenElement {
  /**
   * From the record inwards, underscored: `[]` is the record itself, `['notes', 'note']` one of its
   * notes.
   */
  readonly path: readonly string[];
  /** Their fields, as every element of this shape has them. */
  readonly names: readonly string[];
  /**
   * For each field the types it was sent with, for `listTypes`; 0 if it was nil throughout and
   * named none.
   */
  readonly types: Uint8Array;
}

/** How far below the record elements are noted: its children, and the items of its lists. */
export const maxSeenDepth = 2;

/** The types of one field, in a fixed order. */
export function listTypes(types: number): SentType[] {
  return valueTypes
    .filter(({bit}) => (types & bit) !== 0)
    .map(({name}) => (name === 'array' ? 'nested' : name));
}

/**
 * True if a field had a type that only a `type` attribute can give: the documented dialect has
 * none.
 */
export function namesTypes(types: number): boolean {
  return (types & ~(TEXT.bit | ARRAY.bit)) !== 0;
}

interface Entry {
  readonly depth: number;
  /** Name of the element around it; empty if that is the record. */
  readonly parent: string;
  readonly name: string;
  readonly types: Uint8Array;
  /** Elements of another kind with the same fields in the same order. */
  readonly next: Entry | undefined;
}

/**
 * The fields seen in one document, and their types: one entry for each kind and shape of element.
 */
export class SeenElements {
  readonly #entries = new Map<readonly string[], Entry>();
  /** Items of a list that is still open: its name is known when it closes. */
  readonly #waiting: {names: readonly string[]; types: number[]; name: string}[] = [];

  /**
   * Notes one element, inner ones before those around them.
   * @param names - the list that all elements of its shape share; null for an element that shares
   *   its names with none,
   *   which is a list
   * @param types - of each field the bit of its type, or 0; more may follow
   */
  note(
    names: readonly string[] | null,
    types: readonly number[],
    {depth, name}: {readonly depth: number; readonly name: string},
  ): void {
    if (depth === maxSeenDepth) {
      if (names !== null) this.#waiting.push({names, types: types.slice(0, names.length), name});
      return;
    }
    const parent = depth === 1 ? name : '';
    for (const item of this.#waiting)
      this.#add(item.names, item.types, {depth: maxSeenDepth, parent, name: item.name});
    this.#waiting.length = 0;
    if (names !== null) this.#add(names, types, {depth, parent: '', name});
  }

  /** Notes all that was seen in another document, or in another reading of this one. */
  addAll(other: SeenElements): void {
    for (const [names, firstEntry] of other.#entries) {
      for (let entry: Entry | undefined = firstEntry; entry !== undefined; entry = entry.next)
        this.#add(names, entry.types, entry);
    }
  }

  #add(
    names: readonly string[],
    types: ArrayLike<number>,
    position: Pick<Entry, 'depth' | 'parent' | 'name'>,
  ): void {
    const {depth, parent, name} = position;
    const firstEntry = this.#entries.get(names);
    let entry = firstEntry;
    while (entry !== undefined && !isAt(entry, position)) entry = entry.next;
    if (entry === undefined) {
      entry = {depth, parent, name, types: new Uint8Array(names.length), next: firstEntry};
      this.#entries.set(names, entry);
    }
    const seenTypes = entry.types;
    for (let index = 0; index < seenTypes.length; index++)
      seenTypes[index] = (seenTypes[index] ?? 0) | (types[index] ?? 0);
  }

  *[Symbol.iterator](): Generator<SeenElement> {
    for (const [names, firstEntry] of this.#entries) {
      for (let entry: Entry | undefined = firstEntry; entry !== undefined; entry = entry.next) {
        const path = [entry.parent, entry.name]
          .slice(maxSeenDepth - entry.depth)
          .map(toUnderscored);
        yield {path, names, types: entry.types};
      }
    }
  }
}

function isAt(
  entry: Entry,
  {depth, parent, name}: Pick<Entry, 'depth' | 'parent' | 'name'>,
): boolean {
  return entry.depth === depth && (depth === 0 || (entry.name === name && entry.parent === parent));
}
