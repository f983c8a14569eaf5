import {type ReadRow, selectColumns} from '../postgres/sql.ts';
import type {changes} from './change-tables.ts';

type Row = typeof changes.$inferSelect;

const columns = [
  'change_id',
  'account_id',
  'row_id',
  'operation',
  'number',
  'parent_row_id',
  'external_key',
  'fields',
  'base',
  'state',
  'reason',
  'waits_for',
  'held_for',
  'requested_at',
  'requested_by',
  'application',
  'batch',
  'transaction_id',
  'undoes',
  'due_at',
  'fence',
  'lease_until',
  'failures',
  'sends',
  'sent_at',
  'looks',
  'result',
  'settled_at',
] as const satisfies readonly (keyof Row)[];

/** A row of sync.changes, whose definition says what each column means. */
export interface Change extends ReadRow<Row, (typeof columns)[number]> {
  readonly table: string;
}

/** The columns that a query selects or returns to read a `Change`. */
export const changeColumns = `table_name AS "table", ${selectColumns(columns)}`;
