// Values that are hidden from those who are not to see personal data. A text may name anybody: all texts are hidden but for
// those that have a few values only, and every field without a column.

import {allTables} from './all-tables.ts';

/** Texts that say how a record stands, not whom it is about. */
const plainTexts: ReadonlySet<string> = new Set([
  'status',
  'invoice_status',
  'invoice_terms',
  'estimate_type',
  'estimate_terms',
  'recurring_interval',
  'which_billing_address',
  'origin',
  'delivery_method',
  'noteable_type',
  'external_key',
]);

/** Whether the values of a field may tell who somebody is, or how to reach them. */
export function isPersonal(table: string, field: string): boolean {
  if (plainTexts.has(field)) return false;
  const columns = allTables.find(({name}) => name === table)?.columns ?? [];
  const type = columns.find(({name}) => name === field)?.type;
  return type === undefined || type === 'text' || type === 'nested' || type === 'float';
}
