/** What the console lets others do, because it takes more than the warehouse: the service, the key that seals tokens. */
export interface Doings {
  /** Every dependency checked, live, as `fieldmirror doctor` does. */
  readonly examine: () => Promise<readonly Check[]>;
  /** Asks an account a light question with its token; what was stopped and is answered goes on. @returns a sentence */
  readonly checkAccount: (account: string) => Promise<string>;
  /**
   * Adds an account or gives one a new token, after the service has answered to it.
   * @returns a sentence
   * @throws {UsageError | AccessError} with what is wrong
   */
  readonly addAccount: (account: {
    readonly name: string;
    readonly url: string | null;
    readonly timeZone: string | null;
    readonly token: string;
  }) => Promise<string>;
}

/** One dependency, and how it stands. The words of a flaw say how to mend it. */
export interface Check {
  readonly what: string;
  readonly state: 'good' | 'warning' | 'bad';
  readonly found: string;
}
