import type pg from 'pg';
import type {AccountApi} from '../accounts/account-api.ts';
import type {Logger} from '../core/log.ts';
import type {PageReader} from './page-reader.ts';
import type {ClaimedSweep} from './sweep.ts';
import type {SweepStep} from './sweep-step.ts';

/** When a list counts as one without an end: `usualBounds`. */
export interface ListBounds {
  /** It is stopped at so many times the records that it had before, ... */
  readonly multiple: number;
  /** ... and never below so many records. */
  readonly least: number;
  /** Where nothing is known of the list. */
  readonly unknown: number;
  /**
   * How many records outside of the known range are looked for: a service may answer every number
   * with one.
   */
  readonly beyond: number;
}

/** The dependencies of a sweep. */
export interface SweepDeps {
  readonly pool: pg.Pool;
  /** The pool's address, for error messages; never printed as it stands. */
  readonly databaseUrl: string;
  /**
   * Opens the way to an account, the same one at every call.
   * @throws {FatalError} its token is not known here
   */
  readonly openAccount: (accountId: string) => Promise<AccountApi>;
  readonly pageReader: PageReader;
  readonly log: Logger;
  /** Called after every batch, for a person who watches. */
  readonly onProgress?: (progress: SweepProgress) => void;
  /** Called at each step of a sweep, which waits for it; a test may end the process there. */
  readonly onSweepStep?: (step: SweepStep, sweep: ClaimedSweep) => Promise<void>;
  /** How long a sweep is ours by the database's clock, unless renewed. */
  readonly leaseMs?: number;
  /** How many records are written at once, unless they are large. */
  readonly batchRecords?: number;
  /** When a list counts as one without an end; the usual ones when absent. */
  readonly listBounds?: ListBounds;
}

export interface SweepProgress {
  readonly accountId: string;
  readonly stream: string;
  readonly records: number;
}
