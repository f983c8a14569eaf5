/**
 * What an entry of the feed says of a row; `loaded` is of a stream: its rows are to be read from
 * the tables.
 */
export const entryOperations = ['created', 'changed', 'removed', 'loaded'] as const;

export type EntryOperation = (typeof entryOperations)[number];
