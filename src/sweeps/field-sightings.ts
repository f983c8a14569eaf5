import type {SeenField} from '../star/fields.ts';
import {planOf} from '../streams/record-plan.ts';
import type {Stream} from '../streams/stream.ts';
import type {PageFields} from './page-fields.ts';

/**
 * More fields than any account has: names beyond that are made up, and stay out of the list of
 * fields.
 */
const maxFields = 4_096;

/**
 * The fields that one sweep has met, so that each is written once a sweep and not with every page.
 */
export class FieldSightings {
  readonly #columns: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By table, by field: the types. */
  readonly #seen = new Map<string, Map<string, Set<string | null>>>();
  #count = 0;

  constructor(stream: Stream) {
    this.#columns = columnsByTable(stream);
  }

  /**
   * Takes the fields of pages, and remembers them as taken. Call it outside the transaction, which
   * may run twice.
   * @returns fields, and further types of fields, that this sweep had not met yet
   */
  take(pages: readonly PageFields[]): SeenField[] {
    const fresh: SeenField[] = [];
    for (const {table, isTyped, fields, types} of pages) {
      const seen = this.#seen.get(table) ?? new Map<string, Set<string | null>>();
      this.#seen.set(table, seen);
      for (const [at, field] of fields.entries()) {
        const type = types[at] ?? null;
        if (!this.#note(seen, field, type)) continue;
        const column = this.#columns.get(table)?.get(field) ?? null;
        fresh.push({table, field, column, type, isTyped});
      }
    }
    return fresh;
  }

  /**
   * @returns whether the sighting is new: a further type is, a missing type of a known field is not
   */
  #note(seen: Map<string, Set<string | null>>, field: string, type: string | null): boolean {
    const types = seen.get(field);
    if (types === undefined) {
      if (this.#count >= maxFields) return false;
      this.#count++;
      seen.set(field, new Set([type]));
      return true;
    }
    if (type === null || types.has(type)) return false;
    types.add(type);
    return true;
  }
}

function columnsByTable(stream: Stream): Map<string, Map<string, string>> {
  const {part, children} = planOf(stream);
  return new Map(
    [part, ...children.map((child) => child.part)].map(({table, columns, columnOf}) => [
      table.name,
      new Map([...columnOf].map(([field, at]) => [field, columns[at]?.name ?? field])),
    ]),
  );
}
