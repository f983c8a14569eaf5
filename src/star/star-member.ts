/** A view of the schema `mart` that is made from a definition, and the same as of a moment. */
export interface StarMember {
  readonly name: string;
  readonly comment: string;
  /** Column to comment. */
  readonly columns: Readonly<Record<string, string>>;
  /** The query of the view. */
  readonly present: string;
  /** The query as of the moment `$1`; null where there is none. */
  readonly past: string | null;
  /** The query of its view in the schema `masked`: of one account, for an assistant. */
  readonly masked: string;
  /** Of a member that is kept as a table: null for a view. */
  readonly kept: {
    /** Begins with the job, by which rows are written anew: no index of the job alone is needed. */
    readonly key: readonly string[];
    readonly indexes: readonly (readonly string[])[];
    /** Indexes that an earlier version made and this one does not. */
    readonly formerIndexes: readonly (readonly string[])[];
    /** The query for some jobs alone, whose keys are `$1`. */
    readonly someJobs: string;
  } | null;
}
