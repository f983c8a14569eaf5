import {Readable} from 'node:stream';
import {pipeline} from 'node:stream/promises';
import type pg from 'pg';
import {from} from 'pg-copy-streams';
import type {Fields} from './field.ts';
import type {Table} from './resource.ts';

/** A made-up record on its way to its table. */
export interface Row {
  readonly table: Table;
  readonly fields: Fields;
  /** Columns beside `fields`, as COPY reads them. */
  readonly beside?: Readonly<Record<string, string>>;
}

/**
 * Writes rows of any tables, one COPY a table; all rows of a table have the same columns beside
 * `fields`.
 */
export async function copyRows(client: pg.PoolClient, rows: readonly Row[]): Promise<void> {
  const lines = new Map<Table, string[]>();
  const columns = new Map<Table, readonly string[]>();
  for (const row of rows) {
    const beside = Object.entries(row.beside ?? {});
    const own = lines.get(row.table) ?? [];
    if (own.length === 0) {
      lines.set(row.table, own);
      columns.set(row.table, ['fields', ...beside.map(([name]) => name)]);
    }
    own.push(`${[writeFields(row), ...beside.map(([, value]) => value)].join('\t')}\n`);
  }
  for (const [table, own] of lines) {
    const statement = `COPY service.${table} (${columns.get(table)?.join(', ')}) FROM STDIN`;
    await pipeline(Readable.from([own.join('')]), client.query(from(statement)));
  }
}

/** JSON holds no raw tab or line break; its backslashes are COPY's as well. */
function writeFields({fields}: Row): string {
  const present = Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
  return JSON.stringify(present).replaceAll('\\', '\\\\');
}
