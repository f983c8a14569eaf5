/** One row on its way into the warehouse: text or null for every column of its table, as the service sent it. */
export interface Row {
  /** The values of the table's key columns, joined by a comma. */
  readonly key: string;
  /** Aligned with the table's columns; null is what the service called nil or did not send. */
  readonly values: readonly (string | null)[];
  /** The fields that no column takes: a JSON object as text, keys sorted. */
  readonly attributes: string;
  /** Sixteen bytes of SHA-256 over the row's meaning, as 32 hex digits: equal hashes need no write. */
  readonly hash: string;
}
