// Values that are hidden from those who are not to see personal data. A text may name anybody: all
// texts are hidden but for those that have a few values only, and every field without a column.

import {allTables} from './all-tables.ts';
import {mayName} from './personal-columns.ts';

/** Whether the values of a field may tell who somebody is, or how to reach them. */
export function isPersonal(table: string, field: string): boolean {
  const columns = allTables.find(({name}) => name === table)?.columns ?? [];
  return mayName(field, columns.find(({name}) => name === field)?.type);
}
