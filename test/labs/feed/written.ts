/** One version of a row that was committed. */
export interface Write {
  /** Name of the row's new value: no two writes have the same. */
  readonly token: string;
  readonly rowId: string;
  /** A value that the writer had read before, committed by then; null where it read none. */
  readonly cause: string | null;
  /** When its commit was asked for, by the clock of `performance`. */
  readonly committedAt?: number;
}

/** An entry as a reader noted it. */
export interface Noted {
  readonly id: string;
  readonly rowId: string | null;
  readonly before: string | null;
  readonly token: string | null;
  readonly operation: string;
}
