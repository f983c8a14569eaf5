import type pg from 'pg';
import type {WarehouseTable} from '../rows/warehouse-table.ts';

/** Brings sync.captured_tables in line with the code. */
export async function applyCapturedTables(
  client: pg.ClientBase,
  tables: readonly WarehouseTable[],
): Promise<void> {
  const captured = tables.map(({name, capture: {key, operations, parent, hint}}) => ({
    ...{table_name: name, key_column: key, operations, hint},
    ...{parent_table: parent?.table, parent_number_column: parent?.numberColumn},
  }));
  await client.query('DELETE FROM sync.captured_tables');
  await client.query(
    `INSERT INTO sync.captured_tables (table_name, key_column, operations, parent_table, parent_number_column, hint)
     SELECT table_name, key_column, operations, parent_table, parent_number_column, hint
       FROM jsonb_to_recordset($1::jsonb) AS captured (
         table_name text, key_column text, operations text[], parent_table text, parent_number_column text, hint text)`,
    [JSON.stringify(captured)],
  );
}
