// The fields that the service sends. Once per page, the elements that the parser saw are mapped to
// the fields of warehouse tables, at a cost per shape of record. This file also keeps the fields
// that a sweep has met.

import {listTypes, namesTypes, type SeenElements, type SentType} from '../api/value-types.ts';
import type {SeenField} from '../star/remember-fields.ts';
import {type Part, planOf} from '../streams/record-plan.ts';
import {isSecret} from '../streams/secret-values.ts';
import type {Stream} from '../streams/stream.ts';

/**
 * The type that a field was sent with. `secret`: its value was dropped, whatever its type. Null:
 * the field was nil and untyped.
 */
type FieldType = SentType | 'secret' | null;

/**
 * The fields that one page contained for one table. Plain and small data, because it crosses
 * threads with every page.
 */
export interface PageFields {
  readonly table: string;
  /** True if records named types: only then is a field without a type known to be text. */
  readonly isTyped: boolean;
  /** A field that was sent with two types is listed twice. */
  readonly fields: readonly string[];
  /** The type of each of `fields`. */
  readonly types: readonly FieldType[];
}

const secretBit = 256;
/** No real field name is this long; a Postgres index would refuse ten times as much. */
const maxNameLength = 200;
/** By part and by list of names: the names that are fields, and which of them are secrets. */
const fieldsByNames = new WeakMap<Part, WeakMap<readonly string[], readonly Field[]>>();

interface Field {
  readonly name: string;
  readonly at: number;
  readonly isSecret: boolean;
}

/**
 * The fields of a stream's records and of their embedded elements, by the table that stores them.
 * An element is no field if it becomes rows of another table, or if other records contain it in
 * full.
 */
export function listPageFields(stream: Stream, seen: SeenElements): PageFields[] {
  const tables = new Map<string, {bits: Map<string, number>; isTyped: boolean}>();
  for (const {path, names, types} of seen) {
    const part = findPart(stream, path);
    if (part === null) continue;
    const table = tables.get(part.table.name) ?? {bits: new Map<string, number>(), isTyped: false};
    tables.set(part.table.name, table);
    for (const {name, at, isSecret} of fieldsIn(part, names)) {
      const typeBits = types[at] ?? 0;
      table.isTyped ||= namesTypes(typeBits);
      table.bits.set(name, (table.bits.get(name) ?? 0) | (isSecret ? secretBit : typeBits));
    }
  }
  return [...tables].map(([table, {bits, isTyped}]) => ({table, isTyped, ...listTyped(bits)}));
}

function listTyped(bits: ReadonlyMap<string, number>): Pick<PageFields, 'fields' | 'types'> {
  const fields: string[] = [];
  const types: FieldType[] = [];
  for (const [name, typeBits] of bits) {
    const sentTypes: FieldType[] =
      typeBits === secretBit ? ['secret'] : typeBits === 0 ? [null] : listTypes(typeBits);
    for (const type of sentTypes) {
      fields.push(name);
      types.push(type);
    }
  }
  return {fields, types};
}

/** The part that reads the elements of a path; null if they are not read, or are read elsewhere. */
function findPart(stream: Stream, [element, item]: readonly string[]): Part | null {
  const {part, children} = planOf(stream);
  if (element === undefined) return part;
  return (
    children.find(({child}) => child.element === element && (child.item ?? undefined) === item)
      ?.part ?? null
  );
}

function fieldsIn(part: Part, names: readonly string[]): readonly Field[] {
  const cachedFields =
    fieldsByNames.get(part) ?? new WeakMap<readonly string[], readonly Field[]>();
  fieldsByNames.set(part, cachedFields);
  const fields = cachedFields.get(names) ?? findFields(part, names);
  cachedFields.set(names, fields);
  return fields;
}

function findFields({columnOf, skipped, keepsRest}: Part, names: readonly string[]): Field[] {
  return names.flatMap((name, at) => {
    if (columnOf.has(name)) return [{name, at, isSecret: false}];
    if (!keepsRest || skipped.has(name) || name.length > maxNameLength) return [];
    return [{name, at, isSecret: isSecret(name)}];
  });
}

/**
 * More fields than any account has. Names beyond this number are made up, and stay out of the list
 * of fields.
 */
const maxFields = 4_096;

/**
 * The fields that one sweep has met, so that each is written once per sweep and not with every
 * page.
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
   * Adds the fields of pages. Call it outside the transaction, which may run twice.
   * @returns fields, and further types of fields, that this sweep had not met yet
   */
  take(pages: readonly PageFields[]): SeenField[] {
    const newFields: SeenField[] = [];
    for (const {table, isTyped, fields, types} of pages) {
      const seen = this.#seen.get(table) ?? new Map<string, Set<string | null>>();
      this.#seen.set(table, seen);
      for (const [at, field] of fields.entries()) {
        const type = types[at] ?? null;
        if (!this.#note(seen, field, type)) continue;
        const column = this.#columns.get(table)?.get(field) ?? null;
        newFields.push({table, field, column, type, isTyped});
      }
    }
    return newFields;
  }

  /**
   * @returns whether the sighting is new: a further type is new, a missing type of a known field is
   *   not
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
