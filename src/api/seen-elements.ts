import {ARRAY, TEXT, type TypeName, valueTypes} from './value-type.ts';
import {toUnderscored} from './xml-shape.ts';

/**
 * How a field was sent: by its `type` attribute, as `text` where it has none, as `nested` with
 * elements inside.
 */
export type SentType = Exclude<TypeName, 'array'> | 'nested';

/** Elements of one kind with the same fields, in one document. */
export interface SeenElement {
  /**
   * From the record inwards, underscored: `[]` is the record itself, `['notes', 'note']` one of its
   * notes.
   */
  readonly path: readonly string[];
  /** Their fields, as every element of this shape has them. */
  readonly names: readonly string[];
  /**
   * Of each field the types it was sent with, for `listTypes`; 0 where it was nil throughout and
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
 * True where a field had a type that only a `type` attribute can tell: the documented dialect has
 * none.
 */
export function namesTypes(types: number): boolean {
  return (types & ~(TEXT.bit | ARRAY.bit)) !== 0;
}

interface Entry {
  readonly depth: number;
  /** Of the element around it, where that is not the record. */
  readonly parent: string;
  readonly name: string;
  readonly types: Uint8Array;
  /** Elements of another kind with the same fields in the same order. */
  readonly next: Entry | undefined;
}

/**
 * Which fields one document was seen to hold, and of which types: one entry for each kind and shape
 * of element.
 */
export class SeenElements {
  readonly #entries = new Map<readonly string[], Entry>();
  /** Items of a list that is still open: its name is told when it closes. */
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

  /** Notes all that another document, or another reading of this one, was seen to hold. */
  addAll(other: SeenElements): void {
    for (const [names, first] of other.#entries) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next)
        this.#add(names, entry.types, entry);
    }
  }

  #add(
    names: readonly string[],
    types: ArrayLike<number>,
    place: Pick<Entry, 'depth' | 'parent' | 'name'>,
  ): void {
    const {depth, parent, name} = place;
    const known = this.#entries.get(names);
    let entry = known;
    while (entry !== undefined && !isAt(entry, place)) entry = entry.next;
    if (entry === undefined) {
      entry = {depth, parent, name, types: new Uint8Array(names.length), next: known};
      this.#entries.set(names, entry);
    }
    const seen = entry.types;
    for (let at = 0; at < seen.length; at++) seen[at] = (seen[at] ?? 0) | (types[at] ?? 0);
  }

  *[Symbol.iterator](): Generator<SeenElement> {
    for (const [names, first] of this.#entries) {
      for (let entry: Entry | undefined = first; entry !== undefined; entry = entry.next) {
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
