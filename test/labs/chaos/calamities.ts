// The calamities that strike the parts, one after the other, until time is up.

import {setTimeout as wait} from 'node:timers/promises';
import {Redis} from 'ioredis';
import type {Random} from '../../../src/service/vocabulary.ts';
import type {Place} from './place.ts';
import type {Supervised} from './process.ts';

/** The count of each calamity. */
export interface Calamities {
  kills: number;
  /** SIGSTOP, and SIGCONT later. */
  stops: number;
  /** Stops so long that every lease ran out. */
  longStops: number;
  /** SIGTERM. */
  restarts: number;
  postgresLosses: number;
  redisLosses: number;
  serviceLosses: number;
  linesDown: number;
  /** Workers that did not end within half a minute of a stop. */
  readonly slowEnds: string[];
}

const betweenMs = [1_000, 6_000] as const;
/** A worker has a change for 30 s, and a sweep for 15 s, unless it renews the lease. */
const longStopMs = [32_000, 40_000] as const;
const shortStopMs = [500, 8_000] as const;
const awayMs = [0, 6_000] as const;

export class Mayhem {
  readonly counts: Calamities = {
    kills: 0,
    stops: 0,
    longStops: 0,
    restarts: 0,
    postgresLosses: 0,
    redisLosses: 0,
    serviceLosses: 0,
    linesDown: 0,
    slowEnds: [],
  };
  readonly #place: Place;
  readonly #random: Random;
  /** Calamities that last for a while. */
  readonly #underWay = new Set<Promise<unknown>>();
  #stopped: Supervised | null = null;

  constructor(place: Place, random: Random) {
    this.#place = place;
    this.#random = random;
  }

  /** Goes on until the signal aborts, and ends when every part is back. */
  async rage(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await wait(this.#between(betweenMs), undefined, {signal}).catch(() => {});
      if (!signal.aborted) await this.#strike();
    }
    await Promise.all(this.#underWay);
  }

  async #strike(): Promise<void> {
    const random = this.#random;
    const hasRedis = this.#place.lines.redis !== null;
    const kinds: readonly (readonly [number, () => unknown])[] = [
      [6, () => this.#kill()],
      [3, () => this.#stop(shortStopMs)],
      [2, () => this.#stop(longStopMs)],
      [2, () => this.#last(this.#restart())],
      [2, () => this.#crashPostgres()],
      [hasRedis ? 2 : 0, () => this.#killRedis()],
      [hasRedis ? 2 : 0, () => this.#wipeRedis()],
      [2, () => this.#killService()],
      [2, () => this.#last(this.#cutLine())],
    ];
    await kinds[random.weighted(kinds.map(([weight]) => weight))]?.[1]();
  }

  /** The first worker is never killed, so that it shows any growth. */
  #mortal(): Supervised {
    const [first, ...mortals] = this.#place.workers;
    const [second, ...others] = mortals.filter((worker) => worker !== this.#stopped);
    if (first === undefined) throw new Error('no worker');
    return second === undefined ? first : this.#random.pick([second, ...others]);
  }

  #kill(): void {
    this.counts.kills++;
    this.#mortal().kill(this.#between(awayMs));
  }

  #stop(range: readonly [number, number]): void {
    const [first, ...others] = this.#place.workers;
    if (first === undefined || this.#stopped !== null) return;
    const worker = this.#random.pick([first, ...others]);
    this.#stopped = worker;
    this.counts.stops++;
    if (range === longStopMs) this.counts.longStops++;
    const over = worker.stopFor(this.#between(range)).then(() => {
      this.#stopped = null;
    });
    this.#last(over);
  }

  async #restart(): Promise<void> {
    const worker = this.#mortal();
    this.counts.restarts++;
    if (!(await worker.restart())) this.counts.slowEnds.push(worker.name);
  }

  async #crashPostgres(): Promise<void> {
    this.counts.postgresLosses++;
    await this.#place.crashPostgres();
  }

  async #killRedis(): Promise<void> {
    this.counts.redisLosses++;
    await this.#place.killRedis(() => wait(this.#between(awayMs)));
  }

  async #wipeRedis(): Promise<void> {
    this.counts.redisLosses++;
    const redis = new Redis(this.#place.redisUrl ?? '');
    await redis.flushall();
    redis.disconnect();
  }

  #killService(): void {
    this.counts.serviceLosses++;
    this.#place.service.kill(this.#between(awayMs));
  }

  async #cutLine(): Promise<void> {
    const [first, ...others] = this.#place.allLines;
    if (first === undefined) return;
    const line = this.#random.pick([first, ...others]);
    this.counts.linesDown++;
    await line.goDown();
    await wait(this.#between(awayMs));
    await line.comeUp();
  }

  #last(calamity: Promise<unknown>): void {
    this.#underWay.add(calamity);
    void calamity.finally(() => this.#underWay.delete(calamity));
  }

  #between([from, to]: readonly [number, number]): number {
    return this.#random.integer(from, to);
  }
}
