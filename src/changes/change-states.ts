/**
 * The states of a change that is not over; the column `is_open` of sync.changes is made from this
 * list.
 */
export const openStates = ['held', 'pending', 'sending', 'in_doubt', 'conflict'] as const;
export const settledStates = ['done', 'rejected', 'cancelled'] as const;
export const changeStates = [...openStates, ...settledStates] as const;

export type OpenState = (typeof openStates)[number];
export type SettledState = (typeof settledStates)[number];
export type ChangeState = (typeof changeStates)[number];

/** How a writing request ends; `not-sent`: nothing was written. */
export const attemptOutcomes = ['done', 'refused', 'not-sent', 'in-doubt'] as const;

/** The name of a transaction has room for so many characters. */
export const longestBatch = 200;
