// The warehouse's tables as drizzle knows them. Only migrations need that: loading drizzle takes a
// third of a second and a hundred megabytes, so nothing that runs every day imports it.

import {sql} from 'drizzle-orm';
import {
  boolean,
  doublePrecision,
  index,
  integer,
  jsonb,
  numeric,
  type PgColumn,
  type PgColumnBuilderBase,
  type PgTable,
  pgSchema,
  text,
  unique,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {bigNumber, bytea, instant} from '../postgres/tables.ts';
import {searchedWords} from '../rows/searched-words.ts';
import type {Column, ColumnType, MirrorTable} from '../streams/table.ts';

export const warehouse = pgSchema('warehouse');

const builders: Readonly<Record<ColumnType, () => PgColumnBuilderBase>> = {
  text: () => text(),
  integer: bigNumber,
  decimal: () => numeric(),
  float: () => doublePrecision(),
  boolean: () => boolean(),
  instant,
  nested: () => jsonb(),
};

/**
 * The table with its keys and indexes. Nulls are distinct in its unique constraint: a row may have
 * no number yet.
 */
export function toDrizzle({name, key, columns, indexes, searched}: MirrorTable): PgTable {
  return warehouse.table(name, buildColumns(columns), (table) => [
    unique(`${name}_key`).on(...pickColumns(table, ['account_id', ...key])),
    // Of every row: an upsert cannot name an index of some rows alone, without its condition.
    uniqueIndex(`${name}_external_key`).on(...pickColumns(table, ['account_id', 'external_key'])),
    ...indexes.map((names) =>
      index(`${name}_${names.join('_')}_idx`).on(...pickColumns(table, ['account_id', ...names])),
    ),
    ...(searched === null
      ? []
      : [index(`${name}_search_idx`).using('gin', sql.raw(`(${searchedWords(searched)})`))]),
  ]);
}

function buildColumns(columns: readonly Column[]): Record<string, PgColumnBuilderBase> {
  return {
    row_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber().notNull(),
    external_key: text(),
    ...Object.fromEntries(columns.map((column) => [column.name, builders[column.type]()])),
    extra: jsonb().notNull().default(sql`'{}'::jsonb`),
    _hash: bytea(),
    _first_seen_at: instant().notNull().defaultNow(),
    _changed_at: instant().notNull().defaultNow(),
    _deleted_at: instant(),
    _sweep_id: bigNumber(),
    _page: integer(),
    parent_row_id: bigNumber(),
    _change_id: bigNumber(),
    _pending: boolean(),
  };
}

function pickColumns(
  table: Record<string, PgColumn>,
  names: readonly string[],
): [PgColumn, ...PgColumn[]] {
  const [first, ...rest] = names.map((name) => {
    const column = table[name];
    if (column === undefined) throw new TypeError(`no column "${name}"`);
    return column;
  });
  if (first === undefined) throw new TypeError('no columns named');
  return [first, ...rest];
}
