// Faults that no test notices, each with the reason why that is right. A fault is known by its source, the line that it
// is in, and what it changes there.

export interface Survivor {
  readonly source: string;
  /** The line without the spaces around it. */
  readonly line: string;
  readonly before: string;
  readonly after: string;
  readonly reason: string;
}

export const survivors: readonly Survivor[] = [];
