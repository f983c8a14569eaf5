export type SweepMode = 'full' | 'window' | 'record';

export type SweepState = 'due' | 'running' | SweepEnd;

/** How a sweep ends. */
export type SweepEnd = 'certified' | 'refreshed' | 'uncertified' | 'stopped' | 'failed';

/** The stage where a sweep goes on: the first pass, the second and its questions, or approved tombstones. */
export type SweepStage = 'read' | 'verify' | 'approved';

/** The counts of a sweep so far; each is explained by the comment of its column. */
export interface SweepCounts {
  readonly requests: number;
  readonly pages: number;
  readonly bytes: number;
  readonly records: number;
  readonly known: number;
  readonly asked: number;
  readonly inserted: number;
  readonly updated: number;
  readonly unchanged: number;
  readonly revived: number;
  readonly tombstoned: number;
  readonly vanished: number;
  readonly quarantined: number;
}

/** How a first pass came to its end; only an empty page, or an answer that is the whole list, ends it as it should. */
export type ListEnd = 'empty-page' | 'whole-answer' | 'repeated-page' | 'nothing-new';

/** The result of asking for records by their number. */
export interface Asked {
  readonly asked: number;
  readonly found: number;
  readonly gone: number;
}

/** The known records that a sweep compares with their rows. */
export interface Sample {
  readonly records: number;
  /** Rows with other values, though nothing had marked them as changed. */
  readonly altered: number;
  /** Whether every known record was in it. */
  readonly isWhole: boolean;
}

/** The sightings and answers of a sweep, on which its end state rests. */
export interface Evidence {
  /** Known records that were parsed all the same, to compare the values of their rows. */
  readonly sample?: Sample;
  readonly firstPass?: {readonly lastPage: number; readonly endedBy: ListEnd; readonly numbers: number};
  readonly secondPass?: {
    readonly pages: number;
    readonly numbers: number;
    /** Numbers that the first pass had not seen. */
    readonly missed: number;
    /** Whether every page held the same numbers as in the first pass. */
    readonly isQuiet: boolean;
  };
  /** Numbers that only the second pass saw. */
  readonly missed?: Asked;
  /** Numbers that only the first pass saw. */
  readonly lost?: Asked;
  /** Live rows that no pass saw. */
  readonly unseen?: Asked;
  /** Numbers of records in quarantine that this sweep had not met. */
  readonly quarantined?: Asked;
  /** Numbers inside the known range that were never seen; `left` are still to be asked, of `sampled` a sample was. */
  readonly gaps?: Asked & {readonly left: number; readonly sampled?: number};
  /** Numbers just outside the known range. */
  readonly edges?: Asked;
  /** The service's answer when it was asked for one record and has none of that number. */
  readonly absent?: {readonly status: number; readonly words: string};
  readonly liveRows?: number;
  /** How many tombstones one sweep may write. */
  readonly tombstoneLimit?: number;
}

/** The target of a sweep. */
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
  readonly stage: SweepStage;
  /** The page to go on with. */
  readonly nextPage: number;
  /** How often it was taken up: a holder of an older number may not write. */
  readonly fence: number;
  readonly leaseUntil: string | null;
  /** Tries that failed since the last saved batch. */
  readonly failures: number;
  readonly counts: SweepCounts;
  readonly reasons: readonly string[];
  readonly error: string | null;
  readonly evidence: Evidence;
  /** When a person let its tombstones through. */
  readonly approvedAt: string | null;
}

/** The proof that a sweep is still ours. */
export type Claim = Pick<Sweep, 'sweepId' | 'fence'>;

/** The names of the counts, in one order. */
export const countNames = [
  'requests',
  'pages',
  'bytes',
  'records',
  'known',
  'asked',
  'inserted',
  'updated',
  'unchanged',
  'revived',
  'tombstoned',
  'vanished',
  'quarantined',
] as const satisfies readonly (keyof SweepCounts)[];

/**
 * As SQL, true of a full sweep until a later one of its stream comes to an end, for that one knows better.
 * @param sweep - the alias of sync.sweeps in the query
 */
export function isLatestOpinion(sweep: string): string {
  return `NOT EXISTS (
    SELECT FROM sync.sweeps AS later
     WHERE later.account_id = ${sweep}.account_id AND later.stream = ${sweep}.stream AND later.mode = 'full'
       AND later.sweep_id > ${sweep}.sweep_id AND later.state IN ('certified', 'uncertified', 'stopped'))`;
}

/** The columns for a query that reads a `Sweep`. As JSON the counts arrive as numbers: none reaches 2^53. */
export const sweepColumns = `
  sweep_id AS "sweepId", account_id AS "accountId", stream, mode, window_name AS "windowName",
  record_number AS "recordNumber", state, requested_by AS "requestedBy", due_at AS "dueAt", started_at AS "startedAt",
  ended_at AS "endedAt", stage, next_page AS "nextPage", fence, lease_until AS "leaseUntil", failures,
  json_build_object(${countNames.map((name) => `'${name}', ${name}`).join(', ')}) AS counts, reasons, error, evidence,
  approved_at AS "approvedAt"`;
