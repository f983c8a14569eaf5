import type {Looker} from '../../../views/concerns/every-concern.ts';
import type {Account} from '../../../warehouse/accounts/accounts.ts';
import type {Queryable} from '../../../warehouse/postgres/database.ts';

/** What the console lets others do, because it takes more than the warehouse: the service, the key that seals tokens. */
export interface Doings {
  /** What this process knows beside the warehouse when it looks for what needs a person. */
  readonly looker: Looker;
  /** Every dependency checked, live, as `fieldmirror doctor` does. */
  readonly examine: () => Promise<readonly Check[]>;
  /** Asks an account a light question with its token; what was stopped and is answered goes on. @returns a sentence */
  readonly checkAccount: (account: string) => Promise<string>;
  /**
   * Asks the service with the token of an account that is to be added, or to be given that token. Nothing is stored yet.
   * @throws {UsageError | AccessError} with what is wrong
   */
  readonly tryAccount: (account: GivenAccount) => Promise<{
    /** Stores it, in a transaction of the caller. */
    readonly keep: (db: Queryable) => Promise<Account>;
    /** A sentence that says what was done. */
    readonly tell: (account: Account) => string;
  }>;
}

/** An account as it is filled into a form; one that is there keeps its address and zone where they are not given. */
export interface GivenAccount {
  readonly name: string;
  readonly url: string | null;
  readonly timeZone: string | null;
  readonly token: string;
}

/** One dependency, and how it stands. The words of a flaw say how to mend it. */
export interface Check {
  readonly what: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
}
