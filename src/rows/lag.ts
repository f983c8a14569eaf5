/**
 * A service may answer reads from a copy of its records that is behind. A reading taken so soon
 * after a write of ours that the service confirmed, and that shows the value from before, may be
 * older than the write. Later than this it counts as it is.
 */
export const lagLimitMs = 60_000;

/** The same limit as SQL. */
export const lagLimit = `interval '${lagLimitMs} milliseconds'`;
