import type {AccountApi} from '../accounts/open-accounts.ts';
import {type Clocks, isWithin} from '../core/lease.ts';

/**
 * A change may be in hand for long before it is begun: after so long the account is looked at
 * again.
 */
const freshMs = 2_000;

interface Opening {
  /** The version of the account's row when the asking change was claimed. */
  readonly version: string;
  readonly since: readonly number[];
  readonly account: Promise<AccountApi>;
}

/**
 * The way to the account of a run, opened once for all its changes. It is opened again every few
 * seconds, and when the account's row was written since (another token, another zone, resumed):
 * each claim tells that at no cost.
 */
export class OpenedAccount {
  readonly #open: () => Promise<AccountApi>;
  readonly #clocks: Clocks;
  #held: Opening | null = null;

  constructor(open: () => Promise<AccountApi>, clocks: Clocks) {
    this.#open = open;
    this.#clocks = clocks;
  }

  /**
   * @param version - of the account's row, as the claim of the change told it
   * @throws {FatalError} its token is not known here; the next caller tries again
   */
  async get(version: string): Promise<AccountApi> {
    if (this.#held === null || !this.#isFresh(this.#held, version))
      this.#held = {version, since: this.#clocks(), account: this.#open()};
    const opening = this.#held;
    try {
      return await opening.account;
    } catch (error) {
      if (this.#held === opening) this.forget();
      throw error;
    }
  }

  /** The token was refused: the account may have another by now. */
  forget(): void {
    this.#held = null;
  }

  #isFresh({version, since}: Opening, asked: string): boolean {
    return version === asked && isWithin(this.#clocks, since, freshMs);
  }
}
