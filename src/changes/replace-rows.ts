import type pg from 'pg';

/**
 * Brings a table in line with the code: its rows are these and no others. @param rows - values by
 * column
 */
export async function replaceRows(
  client: pg.ClientBase,
  table: 'sync.captured_tables' | 'sync.change_transitions',
  rows: readonly object[],
): Promise<void> {
  await client.query(`DELETE FROM ${table}`);
  await client.query(
    `INSERT INTO ${table} SELECT * FROM jsonb_populate_recordset(NULL::${table}, $1::jsonb)`,
    [JSON.stringify(rows)],
  );
}
