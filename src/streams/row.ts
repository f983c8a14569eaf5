/**
 * One row on its way into the warehouse: text or null for every column of its table, as the service
 * sent it.
 */
export interface Row {
  /** The values of the table's key columns, joined by a comma. */
  readonly key: string;
  /** Aligned with the table's columns; null is what the service called nil or did not send. */
  readonly values: readonly (string | null)[];
  /** The fields that no column takes: a JSON object as text, keys sorted. */
  readonly attributes: string;
  /**
   * Sixteen bytes of SHA-256 over the row's meaning, as 32 hex digits: equal hashes need no write.
   */
  readonly hash: string;
}

/**
 * The values of a row that is held, as text in the order of its table's columns; instants as ISO
 * 8601.
 */
export interface HeldValues {
  readonly values: readonly (string | null)[];
  readonly attributes: string;
}

/** One row as COPY takes it. */
export interface EncodedRow {
  /** The values of the table's key columns, in order. */
  readonly key: readonly string[];
  readonly hash: string;
  /**
   * Columns, attributes, hash and page as a line for COPY, in UTF-8; account, sweep and change are
   * put before it.
   */
  readonly line: Buffer;
  /**
   * Fills in, as held, the fields that its document may leave out. Absent where the document is
   * whole.
   */
  readonly recall?: (held: HeldValues) => EncodedRow;
}
