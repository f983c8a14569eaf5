// What is so of every delivery; without drizzle, which nothing loads that runs every day.

/** How many snapshots stay at a target. */
export const usualKeep = 30;
