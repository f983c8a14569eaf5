// A worker's work beside the queue: its parts, its heartbeat, the accounts that it serves, and the
// check whether it may work at all. Each part has a heartbeat, and all heartbeats are stored in
// rows. So `status`, `doctor` and alerts find with the same code which part does not do its work.
// No part waits for another one.

import PQueue from 'p-queue';
import type pg from 'pg';
import {listAccounts} from '../src/accounts/accounts.ts';
import {
  removeWorker,
  saveWorker,
  type WorkerIdentity,
  type WorkerReach,
} from '../src/accounts/workers.ts';
import type {Logger} from '../src/core/log.ts';
import {Pulse} from '../src/core/pauses.ts';
import {noteParts, type PartName, removeParts} from '../src/health/installation.ts';
import {listOverdueSchedules} from '../src/sweeps/schedules.ts';

/** A part that is begun repeatedly; see `Rounds`. */
export interface BackgroundPart {
  begin(): void;
  stop(): Promise<void>;
}

/** The means that a worker gives to a part. */
export interface BackgroundSurroundings {
  /** The heartbeat of a part: the part that takes it must keep it going. */
  readonly pulse: (part: PartName) => Pulse;
  /** The accounts that are served at the moment. */
  readonly listServed: () => readonly string[];
}

export interface BackgroundTimes {
  /** The time between two checks whether a part is due. */
  readonly tickMs: number;
  readonly noteMs: number;
  /** Milliseconds that only grow, by which heartbeats are measured. */
  readonly clock: () => number;
}

const usualTimes: BackgroundTimes = {tickMs: 2_000, noteMs: 10_000, clock: () => performance.now()};

export class Background {
  readonly #pool: pg.Pool;
  readonly #workerId: string | null;
  readonly #times: BackgroundTimes;
  readonly #pulses = new Map<PartName, Pulse>();
  readonly #parts: BackgroundPart[] = [];
  readonly #timers: NodeJS.Timeout[] = [];
  #noting: Promise<void> | null = null;

  /** @param workerId - as in sync.workers; null: nothing is noted */
  constructor(pool: pg.Pool, workerId: string | null, times: Partial<BackgroundTimes> = {}) {
    this.#pool = pool;
    this.#workerId = workerId;
    this.#times = {...usualTimes, ...times};
  }

  /** The heartbeat of a part, which counts from now. */
  pulse(part: PartName): Pulse {
    const pulse = this.#pulses.get(part) ?? new Pulse(this.#times.clock);
    this.#pulses.set(part, pulse);
    return pulse;
  }

  /** Adds parts that are begun at every tick. */
  add(...parts: readonly BackgroundPart[]): void {
    this.#parts.push(...parts);
  }

  /**
   * Begins every part, and notes the heartbeats of all parts. This does not depend on the worker's
   * other work.
   */
  begin(): void {
    const tick = () => {
      for (const part of this.#parts) part.begin();
    };
    const {tickMs, noteMs} = this.#times;
    tick();
    this.#note();
    this.#timers.push(
      setInterval(tick, tickMs),
      setInterval(() => this.#note(), noteMs),
    );
  }

  async stop(): Promise<void> {
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.all([...this.#parts.map((part) => part.stop()), this.#noting]);
    if (this.#workerId !== null) await removeParts(this.#pool, this.#workerId).catch(() => {});
  }

  /**
   * If the warehouse is out of reach, no note is stored. The rows then grow old, and the worker
   * counts as lost.
   */
  #note(): void {
    const workerId = this.#workerId;
    if (workerId === null || this.#noting !== null) return;
    const readings = [...this.#pulses].map(([part, pulse]) => ({part, ...pulse.read()}));
    this.#noting = noteParts(this.#pool, workerId, readings)
      .catch(() => {})
      .finally(() => {
        this.#noting = null;
      });
  }
}

/** The worker that beats. `reach` gives its present reach, without the accounts that it serves. */
export interface HeartbeatPlan extends WorkerIdentity {
  readonly reach: () => Omit<WorkerReach, 'accountIds'>;
}

const heartbeatEveryMs = 15_000;

/**
 * Stores in a separate row that the worker is alive, after each round in which it searched for
 * work. A worker that hangs, or cannot reach the queue, stores nothing more.
 */
export class Heartbeat {
  readonly #pool: pg.Pool;
  readonly #plan: HeartbeatPlan;
  readonly #clock: () => number;
  /** The state noted last, and when: a change is noted at once. */
  #lastMessage = '';
  #lastMessageAt = Number.NEGATIVE_INFINITY;
  #beating: Promise<void> = Promise.resolve();
  #hasStopped = false;

  /** @param clock - milliseconds that only grow */
  constructor(pool: pg.Pool, plan: HeartbeatPlan, clock: () => number = () => performance.now()) {
    this.#pool = pool;
    this.#plan = plan;
    this.#clock = clock;
  }

  /** Notes the worker's state, unless the same was noted a moment ago. */
  async beat(accountIds: readonly string[]): Promise<void> {
    const {reach, ...identity} = this.#plan;
    const state = {...reach(), accountIds};
    const stateText = JSON.stringify(state);
    const isFresh =
      stateText === this.#lastMessage && this.#clock() - this.#lastMessageAt < heartbeatEveryMs;
    if (isFresh || this.#hasStopped) return;
    this.#beating = saveWorker(this.#pool, {...identity, ...state});
    await this.#beating;
    this.#lastMessage = stateText;
    this.#lastMessageAt = this.#clock();
  }

  /**
   * Removes the row, so that a stopped worker is not reported as missing. If the database is out of
   * reach, the row stays and grows old.
   */
  async stop(): Promise<void> {
    this.#hasStopped = true;
    await this.#beating.catch(() => {});
    await removeWorker(this.#pool, this.#plan.workerId).catch(() => {});
  }
}

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
  /** If two checks ran at once, the later one would log the lines of the earlier one again. */
  readonly #oneByOne = new PQueue({concurrency: 1});

  constructor(accountIds: AccountIds, deps: {readonly pool: pg.Pool; readonly log: Logger}) {
    this.#accountIds = accountIds;
    this.#deps = deps;
  }

  /**
   * Reads the accounts to serve now. For each account that is no longer served, one log line gives
   * the reason.
   */
  async read(): Promise<readonly string[]> {
    return await this.#oneByOne.add(async () => {
      const accountIds =
        typeof this.#accountIds === 'function' ? await this.#accountIds() : this.#accountIds;
      const noLongerServed = new Set(this.#served).difference(new Set(accountIds));
      if (noLongerServed.size > 0) await this.#report(noLongerServed);
      this.#served.clear();
      for (const accountId of accountIds) this.#served.add(accountId);
      return accountIds;
    });
  }

  /** The accounts that were served at the last check. */
  get served(): readonly string[] {
    return [...this.#served];
  }

  /** Whether an account was served at the last check. The call reads nothing from the database. */
  knows(accountId: string): boolean {
    return this.#served.has(accountId);
  }

  /** Whether an account is served. For an unknown account the accounts are read once more. */
  async serves(accountId: string): Promise<boolean> {
    return this.#served.has(accountId) || (await this.read()).includes(accountId);
  }

  async #report(noLongerServed: ReadonlySet<string>): Promise<void> {
    const {pool, log} = this.#deps;
    for (const {accountId, name, state, stateReason} of await listAccounts(pool)) {
      if (!noLongerServed.has(accountId)) continue;
      const facts = {account: name, reason: stateReason};
      if (state === 'stopped')
        log.error(
          {event: 'account.stopped', ...facts},
          `account ${name} is stopped; the others continue`,
        );
      else if (state === 'paused')
        log.info({event: 'account.paused', ...facts}, `account ${name} is paused`);
      // Neither stopped nor paused: a person sealed its token with another key.
      else
        log.warn(
          {event: 'account.key_missing', account: name},
          `account ${name} is no longer served here: its token is sealed with another key`,
        );
    }
  }
}

/** Gives the reason why the warehouse may be a copy, or null. */
export type FindCopy = () => Promise<string | null>;

/**
 * While the warehouse may be a copy, its worker starts nothing: no change is sent, and no sweep is
 * run.
 */
export class CopyWatch {
  readonly #find: FindCopy;
  readonly #log: Logger;
  /** The reason found last; undefined before the first check. */
  #found: string | null | undefined;

  constructor(findCopy: FindCopy, log: Logger) {
    this.#find = findCopy;
    this.#log = log;
  }

  /** Whether work is on hold. It is on hold until the first check. */
  get holds(): boolean {
    return this.#found !== null;
  }

  /**
   * Checks once. A line is logged when work is put on hold, and when it continues.
   * @returns whether work is on hold
   */
  async check(): Promise<boolean> {
    const reason = await this.#find();
    if (reason !== null && reason !== this.#found)
      this.#log.error({event: 'copy.suspected'}, reason);
    if (reason === null && typeof this.#found === 'string')
      this.#log.info(
        {event: 'copy.claimed'},
        'the warehouse was claimed as the active one; work continues',
      );
    this.#found = reason;
    return this.holds;
  }
}

const overdueCheckMs = 30_000;

/**
 * Logs each overdue schedule once. A schedule that has run since, and is overdue again, is logged
 * again.
 */
export class OverdueSchedules {
  readonly #deps: {readonly pool: pg.Pool; readonly log: Logger};
  #reported: ReadonlySet<string> = new Set();
  #checkedAt = Number.NEGATIVE_INFINITY;

  constructor(deps: {readonly pool: pg.Pool; readonly log: Logger}) {
    this.#deps = deps;
  }

  /** Checks, unless the last check is less than half a minute ago. */
  async tell(accountIds: readonly string[]): Promise<void> {
    const {pool, log} = this.#deps;
    if (performance.now() - this.#checkedAt < overdueCheckMs) return;
    const overdue = await listOverdueSchedules(pool, accountIds);
    this.#checkedAt = performance.now();
    for (const {scheduleId, name, accountName, waitsSince} of overdue) {
      if (this.#reported.has(scheduleId)) continue;
      log.warn(
        {event: 'schedule.overdue', account: accountName, schedule: name, waitsSince},
        'a schedule has not run for two intervals',
      );
    }
    this.#reported = new Set(overdue.map(({scheduleId}) => scheduleId));
  }
}
