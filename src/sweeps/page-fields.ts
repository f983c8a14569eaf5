// From the elements that the parser saw to the fields of warehouse tables. Runs once a page; the
// cost is per shape of record.

import {listTypes, namesTypes, type SeenElements, type SentType} from '../api/seen-elements.ts';
import {type Part, planOf} from '../streams/record-plan.ts';
import {isSecret} from '../streams/secret-values.ts';
import type {Stream} from '../streams/stream.ts';

/**
 * The type a field came as; `secret` was dropped, whatever its type; null where it was nil and
 * untyped.
 */
export type FieldType = SentType | 'secret' | null;

/**
 * The fields that one page sent for one table; plain and small: they cross threads with every page.
 */
export interface PageFields {
  readonly table: string;
  /** True where records named types: only then is a field without one known to be a text. */
  readonly isTyped: boolean;
  /** A field that came as two types stands twice. */
  readonly fields: readonly string[];
  /** The type of each of `fields`. */
  readonly types: readonly FieldType[];
}

const secret = 256;
/** No real field is as long; an index of Postgres would refuse ten times that. */
const maxNameLength = 200;
/** By part and by list of names: the names that are fields, and which of them are secrets. */
const kept = new WeakMap<Part, WeakMap<readonly string[], readonly Field[]>>();

interface Field {
  readonly name: string;
  readonly at: number;
  readonly isSecret: boolean;
}

/**
 * The fields of a stream's records and of their embedded elements, by the table that takes them. An
 * element that becomes rows of another table, or that other records bring in full, is no field.
 */
export function listPageFields(stream: Stream, seen: SeenElements): PageFields[] {
  const tables = new Map<string, {bits: Map<string, number>; isTyped: boolean}>();
  for (const {path, names, types} of seen) {
    const part = findPart(stream, path);
    if (part === null) continue;
    const table = tables.get(part.table.name) ?? {bits: new Map<string, number>(), isTyped: false};
    tables.set(part.table.name, table);
    for (const {name, at, isSecret} of fieldsIn(part, names)) {
      const sent = types[at] ?? 0;
      table.isTyped ||= namesTypes(sent);
      table.bits.set(name, (table.bits.get(name) ?? 0) | (isSecret ? secret : sent));
    }
  }
  return [...tables].map(([table, {bits, isTyped}]) => ({table, isTyped, ...listTyped(bits)}));
}

function listTyped(bits: ReadonlyMap<string, number>): Pick<PageFields, 'fields' | 'types'> {
  const fields: string[] = [];
  const types: FieldType[] = [];
  for (const [name, sent] of bits) {
    const found: FieldType[] = sent === secret ? ['secret'] : sent === 0 ? [null] : listTypes(sent);
    for (const type of found) {
      fields.push(name);
      types.push(type);
    }
  }
  return {fields, types};
}

/**
 * The part that takes the elements of a path; null where they are not read, or are read elsewhere.
 */
function findPart(stream: Stream, [element, item]: readonly string[]): Part | null {
  const {part, children} = planOf(stream);
  if (element === undefined) return part;
  return (
    children.find(({child}) => child.element === element && (child.item ?? undefined) === item)
      ?.part ?? null
  );
}

function fieldsIn(part: Part, names: readonly string[]): readonly Field[] {
  const ofPart = kept.get(part) ?? new WeakMap<readonly string[], readonly Field[]>();
  kept.set(part, ofPart);
  const fields = ofPart.get(names) ?? findFields(part, names);
  ofPart.set(names, fields);
  return fields;
}

function findFields({columnOf, skipped, keepsRest}: Part, names: readonly string[]): Field[] {
  return names.flatMap((name, at) => {
    if (columnOf.has(name)) return [{name, at, isSecret: false}];
    if (!keepsRest || skipped.has(name) || name.length > maxNameLength) return [];
    return [{name, at, isSecret: isSecret(name)}];
  });
}
