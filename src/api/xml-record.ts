// The shape in which every part of the product meets a record of the service: names and texts, as
// sent.

/**
 * The content of an element: its text, null where it said `nil="true"`, or the elements inside it.
 */
export type Value = string | null | Element;

/**
 * One element with others inside, in the order sent: `names[i]` belongs to `values[i]`. Names have
 * underscores whatever the dialect. A name may repeat: the items of an array do. Kept as two lists
 * because a sweep makes a hundred of these fields per record, and most are read once.
 */
export interface Element {
  readonly names: readonly string[];
  readonly values: readonly Value[];
  /** True where the service said `type="array"`; the documented dialect never says it. */
  readonly isArray: boolean;
}

/** One record of a list, or the one record of a show. */
export type FieldRecord = Element;

/**
 * The names of a list and of its records, with underscores:
 * `{list: 'time_entries', item: 'time_entry'}`.
 */
export interface ElementNames {
  readonly list: string;
  readonly item: string;
}
