// What the changes of one run share: work that is done together, lists that are read once for many,
// the kinds of values that were stopped, and the way to the account.

import {setImmediate as nextTurn, setTimeout as wait} from 'node:timers/promises';
import type {AccountApi} from '../accounts/open-accounts.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import {type Clocks, isWithin} from '../core/lease.ts';

/**
 * The larger a batch, the longer from its beginning to the next, so that under load the next is
 * large too: a transaction costs much the same for one item as for many. An item that comes alone
 * goes at once.
 */
const gatherMs = {each: 10, most: 120};

interface Waiting<T, R> {
  readonly item: T;
  readonly done: PromiseWithResolvers<R>;
}

/**
 * Does items together that are asked for beside each other: those that come while one batch is
 * under way make the next. A batch that fails is done one by one, so that each item fails for
 * itself.
 */
export class Batcher<T, R> {
  readonly #work: (items: readonly T[]) => Promise<readonly R[]>;
  #waiting: Waiting<T, R>[] = [];
  #isAtWork = false;
  /** By the clock of this process. */
  #notBefore = 0;

  /**
   * @param work - does some items and returns the result of each, in order; all of them, or none
   */
  constructor(work: (items: readonly T[]) => Promise<readonly R[]>) {
    this.#work = work;
  }

  async do(item: T): Promise<R> {
    const done = Promise.withResolvers<R>();
    this.#waiting.push({item, done});
    if (!this.#isAtWork) void this.#drain();
    return await done.promise;
  }

  async #drain(): Promise<void> {
    this.#isAtWork = true;
    while (this.#waiting.length > 0) {
      const early = this.#notBefore - performance.now();
      if (early > 0) await wait(early);
      const batch = this.#waiting.splice(0);
      this.#notBefore = performance.now() + Math.min(gatherMs.each * batch.length, gatherMs.most);
      await this.#doBatch(batch);
    }
    this.#isAtWork = false;
  }

  async #doBatch(batch: readonly Waiting<T, R>[]): Promise<void> {
    try {
      const results = await this.#work(batch.map(({item}) => item));
      for (const [at, {done}] of batch.entries()) {
        const result = results[at];
        if (result === undefined)
          done.reject(new TypeError('a batch returns something for each of its items'));
        else done.resolve(result);
      }
    } catch (error) {
      const [only, ...others] = batch;
      if (others.length === 0) only?.done.reject(error);
      else for (const waiting of batch) await this.#doBatch([waiting]);
    }
  }
}

/** The readings of one list. */
interface Readings<T> {
  underWay: Promise<unknown>;
  /** Has not begun. */
  next: Promise<T> | null;
}

/**
 * Reads a list once for all changes that ask for it beside each other. A reading begins after every
 * change that it serves has asked, so that it is evidence of their requests sent by then: a change
 * that asks while one is under way waits for the next.
 */
export class SharedReadings<T> {
  readonly #signal: AbortSignal;
  readonly #byList = new WeakMap<object, Readings<T>>();

  /** @param signal - ends readings; a reading that serves many is not ended for the sake of one */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * @param list - the list to read: an account that was opened anew has lists of its own
   * @throws the reading's error, to every caller that it serves
   */
  async ask(list: object, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const readings = this.#byList.get(list) ?? {underWay: Promise.resolve(), next: null};
    this.#byList.set(list, readings);
    readings.next ??= this.#readNext(readings, read);
    return await readings.next;
  }

  async #readNext(readings: Readings<T>, read: (signal: AbortSignal) => Promise<T>): Promise<T> {
    await readings.underWay;
    // Changes that were claimed together ask within one turn.
    await nextTurn();
    readings.next = null;
    const reading = read(this.#signal);
    readings.underWay = reading.catch(() => {});
    return await reading;
  }
}

/**
 * Kinds that were stopped while this process was at work: a request that waits for its turn by then
 * is not sent any more.
 */
export class StoppedKinds {
  /** By kind, the time of the latest claim known at the stop: changes claimed later know better. */
  readonly #stopped = new Map<string, number>();
  #latestClaimMs = 0;

  add(kinds: readonly string[]): void {
    for (const kind of kinds) this.#stopped.set(kind, this.#latestClaimMs);
  }

  learn({claimedAt, stoppedKinds}: ClaimedChange): void {
    const claimedMs = Date.parse(claimedAt);
    this.#latestClaimMs = Math.max(this.#latestClaimMs, claimedMs);
    for (const [kind, sinceMs] of this.#stopped)
      if (claimedMs > sinceMs && !stoppedKinds.includes(kind)) this.#stopped.delete(kind);
  }

  areAmong(kinds: readonly string[]): boolean {
    return this.#stopped.size > 0 && kinds.some((kind) => this.#stopped.has(kind));
  }
}

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
