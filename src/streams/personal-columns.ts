import type {ColumnType, MirrorTable} from './mirror-table.ts';

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

/**
 * Whether a value may tell who somebody is, or how to reach them. @param type - not given where the
 * field has no column
 */
export function mayName(field: string, type: ColumnType | undefined): boolean {
  if (plainTexts.has(field)) return false;
  return type === undefined || type === 'text' || type === 'nested' || type === 'float';
}

/**
 * The columns of a table whose values may tell who somebody is; `extra` holds every field without a
 * column.
 */
export function personalColumnsOf(table: MirrorTable): readonly string[] {
  return [
    ...table.columns.filter(({name, type}) => mayName(name, type)).map(({name}) => name),
    'extra',
  ];
}
