/** What a person or a system may do, each role what the one before it may. */
export const roles = ['viewer', 'operator', 'admin'] as const;

export type Role = (typeof roles)[number];

/** The outside system whose keys are the column external_key of each row. */
export const defaultSystem = 'default';
