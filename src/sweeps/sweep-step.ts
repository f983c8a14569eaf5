/**
 * The steps of a sweep between which it can be cut off. `…-written` is inside the transaction,
 * `…-committed` after it.
 */
export const sweepSteps = [
  'claimed',
  'batch-read',
  'batch-written',
  'batch-committed',
  'list-read',
  'list-verified',
  'numbers-asked',
  'numbers-written',
  'numbers-committed',
  'end-written',
  'end-committed',
] as const;

export type SweepStep = (typeof sweepSteps)[number];
