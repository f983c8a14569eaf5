export type SweepMode = 'full' | 'window' | 'record';

export type SweepState = 'due' | 'running' | SweepEnd;

/** How a sweep ends. */
export type SweepEnd = 'certified' | 'uncertified' | 'failed';

/** What a sweep did so far; each is explained by the comment of its column. */
export interface SweepCounts {
  readonly requests: number;
  readonly pages: number;
  readonly bytes: number;
  readonly records: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly revived: number;
  readonly vanished: number;
  readonly quarantined: number;
}

/** What is to be swept. */
export interface SweepTarget {
  readonly accountId: string;
  readonly stream: string;
  readonly mode: SweepMode;
  /** Of a window sweep; null in the other modes. */
  readonly windowName: string | null;
  /** Of a record sweep; null in the other modes. */
  readonly recordNumber: string | null;
}

/** A row of sync.sweeps. Instants are ISO 8601 in UTC. */
export interface Sweep extends SweepTarget {
  readonly sweepId: string;
  readonly state: SweepState;
  readonly requestedBy: 'schedule' | 'command';
  readonly dueAt: string;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** The page to go on with. */
  readonly nextPage: number;
  /** How often it was taken up: who holds an older number may not write. */
  readonly fence: number;
  readonly leaseUntil: string | null;
  /** Tries that failed since the last saved batch. */
  readonly failures: number;
  readonly counts: SweepCounts;
  readonly reasons: readonly string[];
  readonly error: string | null;
}

/** What proves that a sweep is still ours. */
export type Claim = Pick<Sweep, 'sweepId' | 'fence'>;

/** The names of the counts, in one order. */
export const countNames = [
  'requests',
  'pages',
  'bytes',
  'records',
  'inserted',
  'updated',
  'unchanged',
  'revived',
  'vanished',
  'quarantined',
] as const satisfies readonly (keyof SweepCounts)[];

/** What a query selects or returns to read a `Sweep`. As JSON the counts arrive as numbers: none reaches 2^53. */
export const sweepColumns = `
  sweep_id AS "sweepId", account_id AS "accountId", stream, mode, window_name AS "windowName",
  record_number AS "recordNumber", state, requested_by AS "requestedBy", due_at AS "dueAt", started_at AS "startedAt",
  ended_at AS "endedAt", next_page AS "nextPage", fence, lease_until AS "leaseUntil", failures,
  json_build_object(${countNames.map((name) => `'${name}', ${name}`).join(', ')}) AS counts, reasons, error`;
