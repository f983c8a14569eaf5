// The warehouse's tables as drizzle knows them. Only migrations need that: loading drizzle takes a third of a second and
// a hundred megabytes, so nothing that runs every day imports it.

import {sql} from 'drizzle-orm';
import {
  bigint,
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
  timestamp,
  unique,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {bytea} from './bytea.ts';
import type {Column, ColumnType, MirrorTable} from './mirror-table.ts';

export const warehouse = pgSchema('warehouse');

const builders: Readonly<Record<ColumnType, () => PgColumnBuilderBase>> = {
  text: () => text(),
  integer: () => bigint({mode: 'bigint'}),
  decimal: () => numeric(),
  float: () => doublePrecision(),
  boolean: () => boolean(),
  instant: () => timestamp({withTimezone: true, mode: 'string'}),
  nested: () => jsonb(),
};

/** The table with its keys and indexes. Nulls are distinct in its unique constraint: a row may have no number yet. */
export function toDrizzle({name, key, columns, indexes}: MirrorTable): PgTable {
  return warehouse.table(name, buildColumns(columns), (table) => [
    unique(`${name}_key`).on(...pickColumns(table, ['account_id', ...key])),
    // Most rows have none, and pay nothing for it.
    uniqueIndex(`${name}_external_key`)
      .on(...pickColumns(table, ['account_id', 'external_key']))
      .where(sql`external_key IS NOT NULL`),
    ...indexes.map((names) =>
      index(`${name}_${names.join('_')}_idx`).on(...pickColumns(table, ['account_id', ...names])),
    ),
  ]);
}

function buildColumns(columns: readonly Column[]): Record<string, PgColumnBuilderBase> {
  return {
    row_id: bigint({mode: 'bigint'}).primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigint({mode: 'bigint'}).notNull(),
    external_key: text(),
    ...Object.fromEntries(columns.map((column) => [column.name, builders[column.type]()])),
    attributes: jsonb().notNull().default(sql`'{}'::jsonb`),
    _hash: bytea(),
    _first_seen_at: timestamp({withTimezone: true, mode: 'string'}).notNull().defaultNow(),
    _changed_at: timestamp({withTimezone: true, mode: 'string'}).notNull().defaultNow(),
    _deleted_at: timestamp({withTimezone: true, mode: 'string'}),
    _sweep_id: bigint({mode: 'bigint'}),
    _page: integer(),
    parent_row_id: bigint({mode: 'bigint'}),
    _change_id: bigint({mode: 'bigint'}),
    _pending: boolean(),
  };
}

function pickColumns(table: Record<string, PgColumn>, names: readonly string[]): [PgColumn, ...PgColumn[]] {
  const [first, ...rest] = names.map((name) => {
    const column = table[name];
    if (column === undefined) throw new TypeError(`no column "${name}"`);
    return column;
  });
  if (first === undefined) throw new TypeError('no columns named');
  return [first, ...rest];
}
