// The history of changes, from the author's commit to the end, as plain data for the checker.

export type Value = string | null | readonly string[];
export type Values = Readonly<Record<string, Value>>;

/** One committed statement of an author. Several can be one change. */
export interface Intent {
  readonly changeId: string;
  readonly operation: 'create' | 'update' | 'delete';
  readonly table: string;
  readonly rowId: string;
  /** Tells the content of a create from that of others. Twins share it. */
  readonly key: string | null;
  readonly fields: Values;
  /** The values of these fields that the author saw. */
  readonly saw: Values;
  /** Whose it is, where several authors write. */
  readonly author?: string;
}

/** One effect at the service, in order. */
export interface Effect {
  readonly operation: 'create' | 'update' | 'delete';
  readonly table: string;
  readonly number: string;
  readonly key: string | null;
  readonly fields: Values;
  /** The earlier values of the fields; empty where the service does not tell. */
  readonly before: Values;
  /** False: another client of the service did it. */
  readonly isOurs: boolean;
}

export interface FinalChange {
  readonly changeId: string;
  readonly table: string;
  readonly rowId: string;
  readonly operation: 'create' | 'update' | 'delete';
  readonly state: string;
  readonly number: string | null;
  readonly reason: string | null;
  /** The change that must be settled first. */
  readonly waitsFor: string | null;
  /** Writing requests noted for it. */
  readonly attempts: number;
  /** Fields that the service is said to have altered. */
  readonly altered: readonly string[];
}

export interface FinalConflict {
  readonly changeId: string;
  readonly field: string;
  readonly warehouseValue: Value;
  readonly serviceValue: Value;
  readonly winner: string | null;
}

export interface FinalRow {
  readonly table: string;
  readonly rowId: string;
  readonly number: string | null;
  readonly fields: Values;
  readonly isDeleted: boolean;
  readonly isPending: boolean;
}

export interface FinalRecord {
  readonly table: string;
  readonly number: string;
  readonly fields: Values;
}

export interface History {
  readonly intents: readonly Intent[];
  readonly effects: readonly Effect[];
  readonly changes: readonly FinalChange[];
  readonly conflicts: readonly FinalConflict[];
  /** All rows, deleted ones too. */
  readonly rows: readonly FinalRow[];
  /** Live records. */
  readonly records: readonly FinalRecord[];
  /** Places with a secret that should be nowhere. */
  readonly canaryHits: readonly string[];
}

/** Values that mean the same are written the same. */
export function normal(value: Value | undefined): string {
  if (value === null || value === undefined) return 'null';
  if (typeof value !== 'string') return [...value].sort().join();
  if (/^\d{4}-\d\d-\d\d[T ]\d\d:\d\d/.test(value)) return new Date(value).toISOString();
  return /^-?\d{1,15}(\.\d+)?$/.test(value) ? String(Number(value)) : value;
}
