// Apart from the code that reads and writes times, which brings a calendar: the streams'
// definitions only name shapes.

/** The textual shapes of the specification, and ISO with the offset of the account's zone. */
export type TimeShape = 'M/D/YY hh:mmam' | 'MM/DD/YYYY hh:mmam' | 'M/D/YYYY hh:mmam' | 'iso';

/** Which shape each resource takes. @see docs/service.md "Fields that may be written" */
export const TIME_SHAPES = {
  job: 'M/D/YY hh:mmam',
  timeEntry: 'MM/DD/YYYY hh:mmam',
  task: 'M/D/YYYY hh:mmam',
} as const satisfies Record<string, TimeShape>;
