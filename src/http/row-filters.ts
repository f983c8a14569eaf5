// Filters of a list by the values of columns. Any column of one value may be named: one with an
// index answers at once, another costs at most one reading of the account's rows for each page.

import pg from 'pg';
import {z} from 'zod';
import type {ColumnType, MirrorTable} from '../streams/table.ts';
import {lineOf} from './queries.ts';

/** By column the value that a row must have; '' means none. */
export type RowFilters = Readonly<Record<string, string>>;

/** How many columns one list may be filtered by. */
export const mostFilters = 8;

const kinds: Partial<Readonly<Record<ColumnType, z.ZodType<string>>>> = {
  text: lineOf(200),
  integer: z.string().regex(/^(?:-?\d{1,18})?$/, {error: 'expected a number, or nothing'}),
  boolean: z.enum(['true', 'false', '']),
};

type FilterShape = Readonly<Record<string, z.ZodOptional<z.ZodType<string>>>>;

/** @param taken - parameters of the list that have another meaning */
export function filterShapeOf({columns}: MirrorTable, taken: object): FilterShape {
  return Object.fromEntries(
    columns.flatMap(({name, type, comment}) => {
      const kind = kinds[type];
      if (kind === undefined || name in taken) return [];
      const description = `Only rows with this value; nothing for those without one. ${comment}`;
      return [[name, kind.optional().describe(description)]];
    }),
  );
}

/** The filters among the parameters of a list. */
export function pickFilters(shape: FilterShape, query: object): RowFilters {
  return Object.fromEntries(
    Object.entries(query).filter(
      (entry): entry is [string, string] => entry[0] in shape && typeof entry[1] === 'string',
    ),
  );
}

/**
 * The condition of some filters on rows that are `held`.
 * @param first - the number of its first parameter
 */
export function conditionOf(
  {columns}: MirrorTable,
  filters: RowFilters,
  first: number,
): {readonly sql: string; readonly values: readonly string[]} {
  const values: string[] = [];
  const parts = Object.entries(filters).map(([name, value]) => {
    const column = `held.${pg.escapeIdentifier(name)}`;
    const isText = columns.find((each) => each.name === name)?.type === 'text';
    if (value === '') return `(${column} IS NULL${isText ? ` OR ${column} = ''` : ''})`;
    values.push(value);
    return `${column} = $${first + values.length - 1}`;
  });
  return {sql: parts.map((part) => ` AND ${part}`).join(''), values};
}
