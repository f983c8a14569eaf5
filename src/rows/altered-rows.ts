// A hash stands for the record as the service sent it, not for the row as it is now. A write past
// the triggers leaves the hash as it was, and then no sweep looks at the row again. So a sample of
// the rows is compared by value. Nothing here writes.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {decodeCopyRow} from '../postgres/sql.ts';
import type {ColumnType, EncodedRow, MirrorTable} from '../streams/table.ts';
import {findColumn, nameTable, sqlTypes} from './table-sql.ts';

const quote = (name: string) => pg.escapeIdentifier(name);
const cache = new WeakMap<MirrorTable, string>();

/**
 * Finds the rows whose values are not those that their hash stands for. Line breaks of either kind
 * mean the same, as they do to the hash. Rows under change are left out, and so are those whose
 * record has changed since it was read, and those of a forgotten customer.
 * @param rows - of one table, as the service sent them; one of a key
 */
export async function findAltered(
  db: Queryable,
  table: MirrorTable,
  {accountId, rows}: {readonly accountId: string; readonly rows: readonly EncodedRow[]},
): Promise<EncodedRow[]> {
  if (rows.length === 0) return [];
  const lines = rows.map((row) => decodeCopyRow(row.line.toString()));
  const hashes = rows.map((row) => `\\x${row.hash}`);
  const values = [...table.columns, 'extra'].map((_, at) => lines.map((line) => line[at] ?? null));
  const statement = cache.get(table) ?? alteredSql(table);
  cache.set(table, statement);
  const found = await db.query<{at: number}>(statement, [accountId, hashes, ...values]);
  return found.rows.flatMap(({at}) => rows[at] ?? []);
}

/** OFFSET 0 keeps the query to an index look-up for each row, as with the probe of a load. */
function alteredSql(table: MirrorTable): string {
  const columns = [...table.columns, {name: 'extra', type: 'nested'} as const];
  const names = columns.map((_, at) => `v${at}`);
  const arrays = columns.map((_, at) => `$${at + 3}::text[]`);
  const key = table.key.map((name) => {
    const {at, sqlType} = findColumn(table, name);
    return `row.${quote(name)} = sent.v${at}::${sqlType}`;
  });
  const same = columns.map(({name, type}, at) => {
    const [held, sent] = [`held.${quote(name)}`, `sent.v${at}`];
    return `${meaning(type, held)} IS NOT DISTINCT FROM ${meaning(type, sent)}`;
  });
  return `
    SELECT sent.at::integer - 1 AS at
      FROM unnest($2::bytea[], ${arrays.join(', ')})
        WITH ORDINALITY AS sent (hash, ${names.join(', ')}, at)
     CROSS JOIN LATERAL (
           SELECT row.* FROM ${nameTable(table)} AS row WHERE row.account_id = $1
             AND ${key.join(' AND ')} OFFSET 0) AS held
     WHERE held._hash = sent.hash AND held._pending IS NULL AND held._deleted_at IS NULL
       AND CASE WHEN ${same.join(' AND ')} THEN false
         ELSE NOT sync.is_forgotten(to_jsonb(held)) END`;
}

const breaks: Readonly<Record<'text' | 'nested', (value: string) => string>> = {
  text: (value) => `replace(replace(${value}, E'\\r\\n', E'\\n'), E'\\r', E'\\n')`,
  nested: (value) => `replace(replace(${value}::jsonb::text, '\\r\\n', '\\n'), '\\r', '\\n')`,
};

function meaning(type: ColumnType, value: string): string {
  if (type === 'text' || type === 'nested') return breaks[type](value);
  return `${value}::${sqlTypes[type]}`;
}

/**
 * Finds the parents whose children here differ from their lists: a child was put in or taken out
 * past the triggers, or the list has changed since it was read. Children under change are left out.
 */
export async function findAlteredFamilies(
  db: Queryable,
  table: MirrorTable,
  family: {
    readonly accountId: string;
    readonly parentColumn: string;
    /** The number of each parent, and the children that its list has. */
    readonly lists: ReadonlyMap<string, readonly EncodedRow[]>;
  },
): Promise<string[]> {
  const {accountId, parentColumn, lists} = family;
  if (lists.size === 0) return [];
  const keys = [...lists.values()].map((rows) =>
    [...new Set(rows.map((row) => row.key.join(',')))].sort().join(' '),
  );
  const key = table.key.map((name) => `child.${quote(name)}`);
  const text = `concat_ws(',', ${key.join(', ')})`;
  const {rows} = await db.query<{number: string}>(
    `SELECT sent.number
       FROM unnest($2::bigint[], $3::text[]) AS sent (number, keys)
      CROSS JOIN LATERAL (
            SELECT coalesce(string_agg(${text}, ' ' ORDER BY ${text} COLLATE "C"), '') AS keys
              FROM ${nameTable(table)} AS child
             WHERE child.account_id = $1 AND child.${quote(parentColumn)} = sent.number
               AND child._deleted_at IS NULL AND child._pending IS NULL
                 AND num_nulls(${key.join(', ')}) = 0) AS held
      WHERE held.keys <> sent.keys`,
    [accountId, [...lists.keys()], keys],
  );
  return rows.map(({number}) => number);
}
