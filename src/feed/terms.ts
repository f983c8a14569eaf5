// The terms of the feed: what an entry can report, and its limits. They are separate, so that a
// short command does not load the reading of the feed.

/**
 * What an entry can report of a row. `loaded` is about a stream: its rows are to be read from the
 * tables.
 */
const rowOperations = ['created', 'changed', 'removed', 'loaded'] as const;

/** What an entry can report of a change that its reader made: the state that the change reached. */
const changeStates = ['done', 'rejected', 'conflict', 'cancelled'] as const;

export const entryOperations = [...rowOperations, ...changeStates] as const;

export type EntryOperation = (typeof entryOperations)[number];

/** The most entries that one request may have. */
export const maxEntries = 1_000;

/** The most entries of one request that names no number. */
export const defaultEntries = 100;

/** The largest state that a reader may store beside its cursor, as text. */
export const maxStateBytes = 8_192;
