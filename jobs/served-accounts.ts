import PQueue from 'p-queue';
import type pg from 'pg';
import {listAccounts} from '../src/accounts/accounts.ts';
import type {Logger} from '../src/core/log.ts';

/**
 * Numbers of accounts, or a function that reads them, so that an added account is served within
 * seconds.
 */
export type AccountIds = readonly string[] | (() => Promise<readonly string[]>);

/** The accounts that this process serves, with one log line for each that it no longer serves. */
export class ServedAccounts {
  readonly #accountIds: AccountIds;
  readonly #deps: {readonly pool: pg.Pool; readonly log: Logger};
  readonly #served = new Set<string>();
  /** With two looks at once, the later would log again the lines of the earlier. */
  readonly #oneByOne = new PQueue({concurrency: 1});

  constructor(accountIds: AccountIds, deps: {readonly pool: pg.Pool; readonly log: Logger}) {
    this.#accountIds = accountIds;
    this.#deps = deps;
  }

  /**
   * Reads the accounts to serve now. For each account that is served no longer, one line says why.
   */
  async look(): Promise<readonly string[]> {
    return await this.#oneByOne.add(async () => {
      const accountIds =
        typeof this.#accountIds === 'function' ? await this.#accountIds() : this.#accountIds;
      const left = new Set(this.#served).difference(new Set(accountIds));
      if (left.size > 0) await this.#tell(left);
      this.#served.clear();
      for (const accountId of accountIds) this.#served.add(accountId);
      return accountIds;
    });
  }

  /** The accounts that were served at the last look. */
  get served(): readonly string[] {
    return [...this.#served];
  }

  /** Whether an account was served at the last look: costs nothing. */
  knows(accountId: string): boolean {
    return this.#served.has(accountId);
  }

  /** Whether an account is served; an unknown account is looked for once more. */
  async serves(accountId: string): Promise<boolean> {
    return this.#served.has(accountId) || (await this.look()).includes(accountId);
  }

  async #tell(left: ReadonlySet<string>): Promise<void> {
    const {pool, log} = this.#deps;
    for (const {accountId, name, state, stateReason} of await listAccounts(pool)) {
      if (!left.has(accountId)) continue;
      const facts = {account: name, reason: stateReason};
      if (state === 'stopped')
        log.error(
          {event: 'account.stopped', ...facts},
          `account ${name} is stopped; the others go on`,
        );
      else if (state === 'paused')
        log.info({event: 'account.paused', ...facts}, `account ${name} is paused`);
      // Neither stopped nor paused: a person sealed its token with another key.
      else
        log.warn(
          {event: 'account.unserved', account: name},
          `account ${name} is no longer served here: its token is sealed with another key`,
        );
    }
  }
}
