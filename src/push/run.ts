// The dependencies of a push, the context of one change in progress, and the state that the changes
// of one run share. They share work that is done together, the bound of what is stored and unsent,
// lists that are read once for many, the stopped kinds of values, and the opened account.

import {setImmediate as nextTurn, setTimeout as wait} from 'node:timers/promises';
import PQueue from 'p-queue';
import type {AccountApi} from '../accounts/open-accounts.ts';
import type {ClaimedChange} from '../changes/claim-changes.ts';
import type {Begun, Sending} from '../changes/move-changes.ts';
import {type Clocks, isWithin, type Lease} from '../core/lease.ts';
import type {SweepDeps} from '../sweeps/sweep-run.ts';
import type {ChangeFacts, Done, SettlePolicy, ShownRow} from './decision.ts';

/**
 * The larger a batch, the longer from its beginning to the next. So under load the next is large
 * too: a transaction costs much the same for one item as for many. An item that comes alone is done
 * at once.
 */
const defaultGatherMs = {each: 10, most: 120};

interface WaitingItem<Item, Result> {
  readonly item: Item;
  readonly done: PromiseWithResolvers<Result>;
}

/**
 * Does some items, all of them or none.
 * @param mayWait - whether it may wait for a lock of another transaction
 * @returns the result of each, in order; null for one that was left out because it would have to
 *   wait
 */
export type BatchWork<Item, Result> = (
  items: readonly Item[],
  mayWait: boolean,
) => Promise<readonly (Result | null)[]>;

/**
 * Does concurrent items together: those that come while one batch is in progress form the next. If
 * a batch fails, its items are done one by one, so that each fails separately. An item that another
 * transaction has locked is done alone, too, while later batches continue.
 */
export class Batcher<Item, Result extends NonNullable<unknown>> {
  readonly #work: BatchWork<Item, Result>;
  readonly #isEnough: (count: number) => boolean;
  readonly #gatherMs: typeof defaultGatherMs;
  #enough = Promise.withResolvers<void>();
  #waiting: WaitingItem<Item, Result>[] = [];
  #isAtWork = false;
  /** Resolves when all items that are done alone are done; one runs at a time. */
  #alone: Promise<void> = Promise.resolve();
  /** By the clock of this process. */
  #notBefore = 0;

  /** @param options.isEnough - whether a batch of so many items begins without waiting for more */
  constructor(
    work: BatchWork<Item, Result>,
    {
      isEnough = () => false,
      gatherMs = defaultGatherMs,
    }: {
      readonly isEnough?: (count: number) => boolean;
      readonly gatherMs?: typeof defaultGatherMs;
    } = {},
  ) {
    this.#work = work;
    this.#isEnough = isEnough;
    this.#gatherMs = gatherMs;
  }

  async do(item: Item): Promise<Result> {
    const done = Promise.withResolvers<Result>();
    this.#waiting.push({item, done});
    if (this.#isEnough(this.#waiting.length)) this.#enough.resolve();
    if (!this.#isAtWork) void this.#drain();
    return await done.promise;
  }

  async #drain(): Promise<void> {
    const {each, most} = this.#gatherMs;
    this.#isAtWork = true;
    while (this.#waiting.length > 0) {
      const earlyMs = this.#notBefore - performance.now();
      if (earlyMs > 0) await Promise.race([wait(earlyMs), this.#enough.promise]);
      this.#enough = Promise.withResolvers();
      const batch = this.#waiting.splice(0);
      this.#notBefore = performance.now() + Math.min(each * batch.length, most);
      await this.#doBatch(batch);
    }
    this.#isAtWork = false;
  }

  async #doBatch(batch: readonly WaitingItem<Item, Result>[], mayWait = false): Promise<void> {
    try {
      const items = batch.map(({item}) => item);
      const results = await this.#work(items, mayWait);
      for (const [index, waiting] of batch.entries()) {
        const result = results[index] ?? null;
        if (result !== null) waiting.done.resolve(result);
        else if (mayWait) waiting.done.reject(new TypeError('what may wait has a result'));
        else this.#alone = this.#alone.then(async () => await this.#doBatch([waiting], true));
      }
    } catch (error) {
      const [only, ...others] = batch;
      if (others.length === 0) only?.done.reject(error);
      else for (const waiting of batch) await this.#doBatch([waiting]);
    }
  }
}

/** Stored and unsent requests, in proportion to the requests that run at once. */
const unsentShare = 2;

/**
 * Bounds how many requests are stored as sent while they still wait for their turn. If the process
 * dies, each of them is in doubt although it never left, and a create is repeated only after
 * minutes. A few have to be ready, so that a turn never waits for a transaction.
 */
export class UnsentRequests {
  readonly #queue = new PQueue({concurrency: 1});

  /**
   * Waits until one more request may be stored.
   * @param concurrency - how many requests of the account run at once now
   * @param signal - ends the wait
   * @returns to be called when the request is begun, or will not be sent
   */
  async enter(concurrency: number, signal: AbortSignal): Promise<() => void> {
    const entered = Promise.withResolvers<void>();
    const left = Promise.withResolvers<void>();
    this.#queue.concurrency = concurrency * unsentShare;
    const stay = async () => {
      entered.resolve();
      await left.promise;
    };
    this.#queue.add(stay, {signal}).catch(entered.reject);
    await entered.promise;
    return left.resolve;
  }

  /** Whether so many waiting requests are enough to be stored together. */
  areMany(count: number): boolean {
    return count * unsentShare >= this.#queue.concurrency;
  }
}

/** The readings of one list. */
interface Readings<Result> {
  underWay: Promise<unknown>;
  /** A reading that has not begun; null: none is wanted. */
  next: Promise<Result> | null;
}

/**
 * Reads a list once for all changes that request it at the same time. A reading begins after every
 * change that it serves has requested it, so that it is evidence of their requests sent by then. If
 * a change requests one while another is in progress, it waits for the next.
 */
export class SharedReadings<Result> {
  readonly #signal: AbortSignal;
  readonly #byList = new WeakMap<object, Readings<Result>>();

  /** @param signal - ends readings; one change alone does not end a reading that serves many */
  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /**
   * @param list - the list to read: an account that was opened again has its own lists
   * @throws the reading's error, to every caller that it serves
   */
  async ask(list: object, read: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const readings = this.#byList.get(list) ?? {underWay: Promise.resolve(), next: null};
    this.#byList.set(list, readings);
    readings.next ??= this.#readNext(readings, read);
    return await readings.next;
  }

  async #readNext(
    readings: Readings<Result>,
    read: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    await readings.underWay;
    // Changes that were claimed together call `ask` within one turn.
    await nextTurn();
    readings.next = null;
    const reading = read(this.#signal);
    readings.underWay = reading.catch(() => {});
    return await reading;
  }
}

/**
 * Kinds that were stopped while this process runs: a request of them that still waits for its turn
 * is not sent.
 */
export class StoppedKinds {
  /**
   * By kind, the time of the latest claim known at the stop: changes claimed later have newer
   * facts.
   */
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
 * A change may be in hand for long before it is begun: after this time the account is opened again.
 */
const freshMs = 2_000;

interface Opening {
  /** The version of the account's row when the requesting change was claimed. */
  readonly version: string;
  readonly since: readonly number[];
  readonly account: Promise<AccountApi>;
}

/**
 * The account of a run, opened once for all its changes. It is opened again every few seconds, and
 * if the account's row was written since (another token, another zone, resumed). Each claim reports
 * that at no cost.
 */
export class OpenedAccount {
  readonly #open: () => Promise<AccountApi>;
  readonly #clocks: Clocks;
  #opening: Opening | null = null;

  constructor(open: () => Promise<AccountApi>, clocks: Clocks) {
    this.#open = open;
    this.#clocks = clocks;
  }

  /**
   * @param version - of the account's row, as the claim of the change returned it
   * @throws {FatalError} its token is not known here; the next caller tries again
   */
  async get(version: string): Promise<AccountApi> {
    if (this.#opening === null || !this.#isFresh(this.#opening, version))
      this.#opening = {version, since: this.#clocks(), account: this.#open()};
    const opening = this.#opening;
    try {
      return await opening.account;
    } catch (error) {
      if (this.#opening === opening) this.forget();
      throw error;
    }
  }

  /** Call it when the token was refused: the account may have another by now. */
  forget(): void {
    this.#opening = null;
  }

  #isFresh({version, since}: Opening, requestedVersion: string): boolean {
    return version === requestedVersion && isWithin(this.#clocks, since, freshMs);
  }
}

/** The dependencies of a push. */
export interface PushDeps extends Pick<SweepDeps, 'pool' | 'databaseUrl' | 'openAccount' | 'log'> {
  /** Called for each change that a push has carried as far as it goes now. */
  readonly onCarried?: (carried: CarriedChange) => void;
  /** Called at each step of a change; a test may end the process there. */
  readonly onStep?: (step: PushStep, changeId: string) => Promise<void>;
  /** How long a claim on a change lasts by the database's clock, unless renewed. */
  readonly leaseMs?: number;
  /** The clocks that measure leases in this process; the machine's unless a test has its own. */
  readonly clocks?: Clocks;
  readonly settle?: Partial<SettlePolicy>;
}

/** The outcome of a change for now. */
export type PushEnd = 'done' | 'rejected' | 'conflict' | 'postponed' | 'in_doubt';

/** A change that a push had in hand. */
export interface CarriedChange {
  /** As it was claimed. */
  readonly change: ClaimedChange;
  readonly end: PushEnd;
  /** How long it was in hand, by the clock of this process. */
  readonly durationMs: number;
}

/** The outcomes of the claimed changes, counted. */
export interface PushCounts {
  readonly done: number;
  readonly rejected: number;
  /** They wait for a person. */
  readonly conflict: number;
  /** They are tried again later. */
  readonly postponed: number;
  readonly inDoubt: number;
}

/** A change in hand, and the account where it is sent and read. */
export interface ChangeContext extends Pick<ChangeFacts, 'change' | 'writes' | 'stream' | 'rules'> {
  readonly deps: PushDeps;
  readonly account: AccountApi;
  /** Aborts at shutdown, and when the claim on the change is lost. */
  readonly signal: AbortSignal;
}

/** One change in progress in this process. */
export interface PushRun extends ChangeContext, ChangeFacts {
  /** How long this process certainly holds the change. */
  readonly lease: Lease;
  /**
   * Batches with other changes: `beginnings` stores requests before they are sent, `ends` settles
   * changes.
   */
  readonly beginnings: Beginnings;
  readonly ends: Ends;
  /** The requests that are stored and not yet begun. */
  readonly unsent: UnsentRequests;
  /** Lists of the whole account, each read once for several changes in doubt. */
  readonly readings: SharedReadings<ShownRow[]>;
  /**
   * Aborts when the account is paused: unsent changes are given back, requests in progress
   * continue.
   */
  readonly paused: AbortSignal;
  /** Kinds of values that were stopped meanwhile. */
  readonly stops: StoppedKinds;
}

/**
 * The result of storing a request before it is sent: it may be sent; an identical create is in
 * progress; the claim on the change is lost.
 */
export type Beginning = Begun | 'twin' | 'lost';

export type Beginnings = Batcher<ToBegin, Beginning>;

/** A request that is about to be sent, and the run of its change. */
export interface ToBegin {
  readonly run: ChangeContext;
  readonly sending: Sending;
}

/** A change that is done, and the decision to write. */
export interface FinishedChange {
  readonly run: ChangeContext;
  readonly done: Done;
}

export type Ends = Batcher<FinishedChange, true>;

/**
 * The steps of a change between which its worker can be lost. `…-written` is inside the
 * transaction, `…-committed` after it. At `turn` the request has waited behind others, and its
 * first byte is next; between `turn` and `answered` it is in progress.
 */
export const pushSteps = [
  'claimed',
  'read',
  'sending-written',
  'sending-committed',
  'turn',
  'answered',
  'read-back',
  'end-written',
  'end-committed',
  'checked',
] as const;

export type PushStep = (typeof pushSteps)[number];

/** Reports that the change has reached a step. */
export async function atStep(
  {deps, change}: Pick<ChangeContext, 'deps' | 'change'>,
  step: PushStep,
): Promise<void> {
  await deps.onStep?.(step, change.changeId);
}
