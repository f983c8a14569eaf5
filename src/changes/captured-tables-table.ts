import {sql} from 'drizzle-orm';
import {check, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable, listed} from '../postgres/tables.ts';
import {changeOperations} from '../streams/table.ts';

const capturedTables = sync.table(
  'captured_tables',
  {
    table_name: text().primaryKey(),
    key_column: text().notNull(),
    operations: text().array().notNull(),
    parent_table: text(),
    parent_number_column: text(),
    hint: text().notNull(),
    personal_columns: text().array().notNull().default([]),
  },
  (table) => [
    check(
      'captured_tables_operations_check',
      sql`${table.operations} <@ ARRAY[${listed(changeOperations)}] AND array_position(${table.operations}, NULL) IS NULL`,
    ),
    check(
      'captured_tables_parent_check',
      sql`(${table.parent_table} IS NULL) = (${table.parent_number_column} IS NULL)`,
    ),
  ],
);

export const capturedTablesTable = commentTable(
  capturedTables,
  'The warehouse tables whose INSERT, UPDATE and DELETE become changes, and what the service lets be done to each.',
  {
    table_name: 'The warehouse table.',
    key_column: 'The column with the number that the service gives.',
    operations:
      'What the service can do to its records, of create, update and delete; empty when it only shows them.',
    parent_table:
      'The table of the records that its records hang on; null where they hang on none.',
    parent_number_column: 'The column with the number of the parent, in both tables.',
    hint: 'The next step of an author whose statement is refused.',
    personal_columns:
      'The columns that may tell who somebody is: they are emptied when a customer is forgotten.',
  },
);
