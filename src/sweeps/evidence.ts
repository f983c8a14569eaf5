// The evidence of a sweep: what it saw and requested, as its row stores it in JSON. This is
// separate from the tables, because most files of sweeps collect or read evidence, and need no
// table.

/**
 * How a first pass ended; only an empty page, or an answer that is the whole list, is a proper end.
 */
export type ListEnd = 'empty-page' | 'whole-answer' | 'repeated-page' | 'nothing-new';

/** The result of requesting records by their number. */
export interface AskedCounts {
  readonly asked: number;
  readonly found: number;
  readonly gone: number;
}

/** The known records that a sweep compares with their rows. */
export interface Sample {
  readonly records: number;
  /** Rows with other values, though nothing had marked them as changed. */
  readonly altered: number;
  /** Whether every known record was compared. */
  readonly isWhole: boolean;
}

/** The sightings and answers of a sweep, on which its end state is based. */
export interface Evidence {
  /**
   * When a full sweep had read the list and its verification began, by the database's clock. The
   * statement that saves the checkpoint sets it.
   */
  readonly readAt?: string;
  /** Known records that were nevertheless parsed, to compare the values of their rows. */
  readonly sample?: Sample;
  readonly firstPass?: {
    readonly lastPage: number;
    readonly endedBy: ListEnd;
    readonly numbers: number;
  };
  readonly secondPass?: {
    readonly pages: number;
    readonly numbers: number;
    /** Numbers that the first pass had not seen. */
    readonly missed: number;
    /** Whether every page held the same numbers as in the first pass. */
    readonly isQuiet: boolean;
  };
  /** Numbers that only the second pass saw. */
  readonly missed?: AskedCounts;
  /** Numbers that only the first pass saw. */
  readonly lost?: AskedCounts;
  /** Live rows that no pass saw. */
  readonly unseen?: AskedCounts;
  /** Numbers of records in quarantine that this sweep had not met. */
  readonly quarantined?: AskedCounts;
  /** Numbers that rows of other streams name, and no list has shown. */
  readonly named?: AskedCounts;
  /**
   * Numbers inside the known range that were never seen. `left` still have to be requested; of
   * `sampled`, only a sample was.
   */
  readonly gaps?: AskedCounts & {readonly left: number; readonly sampled?: number};
  /** Numbers just outside the known range. */
  readonly edges?: AskedCounts;
  /** The service's answer if it has no record of the requested number. */
  readonly absent?: {readonly status: number; readonly message: string};
  /**
   * Records that the service showed as they were before one of our changes, and that are read again
   * before the sweep ends. `pauses`: how often the sweep has paused for them.
   */
  readonly older?: {readonly numbers: readonly string[]; readonly pauses: number};
  readonly liveRows?: number;
  /** How many tombstones one sweep may write. */
  readonly tombstoneLimit?: number;
}
