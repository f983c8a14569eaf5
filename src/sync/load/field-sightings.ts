import {planOf} from '../../records/plan.ts';
import type {Stream} from '../../streams/stream.ts';
import type {SeenField} from '../../warehouse/fields/fields.ts';
import type {PageFields} from './page-fields.ts';

/** More than any account has: beyond it somebody makes names up, and the list of fields is not theirs to fill. */
const maxFields = 4_096;

/** Which fields one sweep has met, so that each is written once a sweep and not with every page. */
export class FieldSightings {
  readonly #columns: ReadonlyMap<string, ReadonlyMap<string, string>>;
  /** By table, by field: the types. */
  readonly #seen = new Map<string, Map<string, Set<string | null>>>();
  #count = 0;

  constructor(stream: Stream) {
    this.#columns = columnsByTable(stream);
  }

  /**
   * Takes what pages sent, and keeps in mind that it was taken: call it outside the transaction, which may run twice.
   * @returns what this sweep had not met yet: fields, and further types of fields
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

  /** @returns whether it is news: a type of a field that came without one is, the reverse is not */
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
