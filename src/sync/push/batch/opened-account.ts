import {type Clocks, isWithin} from '../../lease.ts';
import type {AccountApi} from '../../sweep/sweep-deps.ts';

/** A change may be in hand for long before it is begun: the account is looked at again after so long. */
const freshMs = 2_000;

interface Opening {
  /** Of the account's row when the change was claimed that asked for it. */
  readonly version: string;
  readonly since: readonly number[];
  readonly account: Promise<AccountApi>;
}

/**
 * The way to the account of a run, opened once for all its changes. It is opened again when the account has been written
 * since (another token, another zone, resumed), which each claim tells at no cost, and every few seconds.
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
   * @throws {FatalError} nobody knows its token here; who comes next tries again
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

  /** Its token was refused: another one may be there by now. */
  forget(): void {
    this.#held = null;
  }

  #isFresh({version, since}: Opening, asked: string): boolean {
    return version === asked && isWithin(this.#clocks, since, freshMs);
  }
}
