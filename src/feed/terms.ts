// The terms of the feed: the operations that entries report, and the limits. They are separate, so
// that a short command does not load the reading of the feed.

/** The operations on a row. `loaded` concerns a whole stream: read its rows from the tables. */
const rowOperations = ['created', 'changed', 'removed', 'loaded'] as const;

/** The states that a change of the reader itself can reach. */
const changeStates = ['done', 'rejected', 'conflict', 'cancelled'] as const;

export const entryOperations = [...rowOperations, ...changeStates] as const;

export type EntryOperation = (typeof entryOperations)[number];

/** The most entries that one request may have. */
export const maxEntries = 1_000;

/** The most entries of one request that names no number. */
export const defaultEntries = 100;

/** The largest state that a reader may store beside its cursor, as text. */
export const maxStateBytes = 8_192;
