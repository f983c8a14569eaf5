import type pg from 'pg';
import type {WarehouseTable} from '../streams/table.ts';
import {replaceRows} from './replace-rows.ts';

/** Brings sync.captured_tables in line with the code. */
export async function applyCapturedTables(
  client: pg.ClientBase,
  tables: readonly WarehouseTable[],
): Promise<void> {
  const captured = tables.map(({name, personal, capture: {key, operations, parent, hint}}) => ({
    ...{table_name: name, key_column: key, operations, hint, personal_columns: personal},
    ...{parent_table: parent?.table, parent_number_column: parent?.numberColumn},
  }));
  await replaceRows(client, 'sync.captured_tables', captured);
}
