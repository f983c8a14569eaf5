/** The states of a change that is not over; the column `is_open` of sync.changes is made from this list. */
export const openStates = ['held', 'pending', 'sending', 'in_doubt', 'conflict'] as const;
export const settledStates = ['done', 'rejected', 'cancelled'] as const;
export const changeStates = [...openStates, ...settledStates] as const;

export type OpenState = (typeof openStates)[number];
export type ChangeState = (typeof changeStates)[number];
export type ChangeOperation = 'create' | 'update' | 'delete';

/** A value as a change keeps it: its text, null, or the ids of an array. */
export type ChangeValue = string | null | readonly string[];
export type ChangeValues = Readonly<Record<string, ChangeValue>>;

/** The result of a change at the service, where it is not the one asked for. */
export interface ChangeResult {
  /** Fields that came back with another meaning than they were sent with. */
  readonly altered?: Readonly<Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>>;
  /** Fields that came back in another writing: trimmed, or their signs in another order. */
  readonly tidied?: Readonly<Record<string, {readonly sent: ChangeValue; readonly got: ChangeValue}>>;
  /** Fields that were not sent, for the service held them already. */
  readonly unsent?: readonly string[];
  /** Records that a create in doubt may have become. */
  readonly candidates?: readonly string[];
}

/** A row of sync.changes. Numbers are texts, instants ISO 8601 in UTC. */
export interface Change {
  readonly changeId: string;
  readonly accountId: string;
  readonly table: string;
  readonly rowId: string;
  readonly operation: ChangeOperation;
  /** Number of the record; null until the service has given it one. */
  readonly number: string | null;
  readonly parentRowId: string | null;
  readonly externalKey: string | null;
  readonly fields: ChangeValues;
  readonly base: ChangeValues;
  readonly state: ChangeState;
  readonly reason: string | null;
  readonly waitsFor: string | null;
  /** The kind of values that it is held for, because the service altered one; null otherwise. */
  readonly heldFor: string | null;
  readonly requestedAt: string;
  readonly requestedBy: string;
  readonly application: string | null;
  readonly dueAt: string;
  readonly fence: number;
  readonly leaseUntil: string | null;
  readonly failures: number;
  readonly sends: number;
  readonly sentAt: string | null;
  readonly looks: number;
  readonly result: ChangeResult | null;
  readonly settledAt: string | null;
}

/** The columns that a query selects or returns to read a `Change`. */
export const changeColumns = `
  change_id AS "changeId", account_id AS "accountId", table_name AS "table", row_id AS "rowId", operation, number,
  parent_row_id AS "parentRowId", external_key AS "externalKey", fields, base, state, reason, waits_for AS "waitsFor",
  held_for AS "heldFor",
  requested_at AS "requestedAt", requested_by AS "requestedBy", application, due_at AS "dueAt", fence,
  lease_until AS "leaseUntil", failures, sends, sent_at AS "sentAt", looks, result, settled_at AS "settledAt"`;
