/**
 * How a first pass came to its end; only an empty page, or an answer that is the whole list, ends
 * it as it should.
 */
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
  /**
   * When a full sweep had read the list, by the database's clock: its verification began. The row
   * itself notes it.
   */
  readonly readAt?: string;
  /** Known records that were parsed all the same, to compare the values of their rows. */
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
  readonly missed?: Asked;
  /** Numbers that only the first pass saw. */
  readonly lost?: Asked;
  /** Live rows that no pass saw. */
  readonly unseen?: Asked;
  /** Numbers of records in quarantine that this sweep had not met. */
  readonly quarantined?: Asked;
  /** Numbers that rows of other streams name, and no list has shown. */
  readonly named?: Asked;
  /**
   * Numbers inside the known range that were never seen; `left` are still to be asked, of `sampled`
   * a sample was.
   */
  readonly gaps?: Asked & {readonly left: number; readonly sampled?: number};
  /** Numbers just outside the known range. */
  readonly edges?: Asked;
  /** The service's answer when it was asked for one record and has none of that number. */
  readonly absent?: {readonly status: number; readonly words: string};
  /**
   * Records that were shown as they were before a change of ours, and are to be read again before
   * the sweep ends; `pauses` that it has made for them.
   */
  readonly older?: {readonly numbers: readonly string[]; readonly pauses: number};
  readonly liveRows?: number;
  /** How many tombstones one sweep may write. */
  readonly tombstoneLimit?: number;
}
