// Authors who write, workers that die and stall, a line that loses things: one warehouse lives
// through many runs, is healed, and is judged. The module does not know the test runner: the
// torture uses it too.

import type pg from 'pg';
import {upsertAccount} from '../../../src/accounts/accounts.ts';
import {createLogger} from '../../../src/core/log.ts';
import {openPool} from '../../../src/postgres/database.ts';
import {Random} from '../../../src/service/vocabulary.ts';
import {allStreams} from '../../../src/streams/all.ts';
import type {PageReader} from '../../../src/sweeps/page-reader.ts';
import {Author} from './author.ts';
import {judge} from './checker.ts';
import {readEstates} from './estates.ts';
import {letTimePass, readNextDue} from './fake-time.ts';
import {
  findCanaries,
  readChanges,
  readConflicts,
  readFinalRows,
  readRecords,
  toEffects,
} from './final-state.ts';
import {endSessions, LabWorker, type WorkerPlace} from './lab-worker.ts';
import {Mischief} from './mischief.ts';
import type {Mutant} from './mutants.ts';
import {findReverted} from './reverted.ts';
import type {LabService} from './services.ts';
import {sweepStream} from './sweeping.ts';
import {emptyTally, listViolations, type Tally} from './tally.ts';
import {storm, type Weather} from './weather.ts';

/** The number of authors that share a warehouse, each with a customer of its own. */
export const runsPerWorld = 100;
const rounds = 7;
/** Rounds in which separate processes may carry changes, where a test has them. */
const roundsOfOthers = 4;
const mostRounds = 40;
/** The carry at which every sleeper wakes: others have had the time to settle everything. */
const latestWaking = 25;
/** Longer than a reading is behind, and than the product doubts one. */
const longSeconds = 100;
/**
 * Longer than the quarantine: a worker that stops for so long wakes when others have settled
 * everything.
 */
const longStopSeconds = 1_000;
/** The seconds that may pass between two rounds. */
const allPauses = [1, 3, 12, 45, 120, 240, longStopSeconds] as const;
/** The latest step of a round, counted over all changes, at which its outage comes. */
const latestOutageStep = 150;

interface World {
  readonly seed: number;
  readonly runs: number;
  /** A migrated, empty warehouse of its own. */
  readonly databaseUrl: string;
  readonly pageReader: PageReader;
  readonly openService: (options: {
    readonly seed: number;
    readonly runs: number;
  }) => Promise<LabService>;
  readonly weather?: Weather;
  /** The seconds that may pass between two rounds. */
  readonly pauses?: readonly [number, ...number[]];
  readonly mutant?: Mutant;
  /** Carries due changes in the first rounds, in place of workers in this process. */
  readonly carry?: (
    place: Pick<WorkerPlace, 'databaseUrl' | 'accountId' | 'service' | 'timeZone'>,
  ) => Promise<unknown>;
}

/** Lives through one world; the seed decides all but the order in which things happen at once. */
export async function runWorld(world: World): Promise<Tally> {
  const service = await world.openService(world);
  const pool = openPool(world.databaseUrl, {max: 6, applicationName: 'lab'});
  const life = new Life(world, service, pool);
  try {
    await world.mutant?.prepare?.(pool);
    await life.begin();
    for (let round = 1; round <= rounds; round++) await life.goThrough(round);
    await life.heal();
    return await life.judge();
  } finally {
    await life.close();
  }
}

class Life {
  readonly #world: World;
  readonly #weather: Weather;
  /** The odds of all workers, until all is healed. */
  readonly #frailty: {death: number; stall: number};
  readonly #service: LabService;
  readonly #pool: pg.Pool;
  readonly #mischief: Mischief;
  readonly #random: Random;
  readonly #tally = emptyTally();
  readonly #authors: Author[] = [];
  readonly #lines: string[] = [];
  #workers: LabWorker[] = [];
  #stalled: LabWorker[] = [];
  #accountId = '';
  #workerCount = 0;
  #carries = 0;
  /** Null: none is to come. */
  #stepsUntilOutage: number | null = null;

  constructor(world: World, service: LabService, pool: pg.Pool) {
    this.#world = world;
    this.#weather = world.weather ?? storm;
    const {death, stall} = this.#weather;
    this.#frailty = {death, stall};
    this.#service = service;
    this.#pool = pool;
    this.#random = new Random(String(world.seed), 'life', 0);
    this.#mischief = new Mischief(service.backend, {
      seed: String(world.seed),
      odds: this.#weather.odds,
      readTrouble: this.#weather.readTrouble,
    });
  }

  /** Loads the service's records into the warehouse. */
  async begin(): Promise<void> {
    const {seed} = this.#world;
    await this.#mischief.comeUp();
    this.#mischief.isHealed = true;
    const {accountId} = await upsertAccount(this.#pool, {
      name: 'lab',
      apiUrl: this.#mischief.url,
      timeZone: 'America/New_York',
    });
    this.#accountId = accountId;
    await this.#sweepAll();
    this.#mischief.isHealed = false;
    for (const [at, estate] of (await readEstates(this.#pool)).slice(0, this.#world.runs).entries())
      this.#authors.push(new Author(this.#pool, new Random(String(seed), 'author', at), estate));
  }

  /** Authors write, workers carry, time passes. */
  async goThrough(round: number): Promise<void> {
    const random = this.#random;
    const write = async () => {
      for (const author of this.#authors) if (random.isTrue(0.5)) await author.act();
    };
    const isAtOnce = random.isTrue(0.4);
    if (!isAtOnce) await write();
    this.#stepsUntilOutage = random.isTrue(this.#weather.outage)
      ? random.integer(1, latestOutageStep)
      : null;
    const isDown = random.isTrue(0.1);
    if (isDown) await this.#mischief.goDown();
    await Promise.all([
      isAtOnce ? write() : null,
      this.#carryIn(round),
      random.isTrue(0.3) ? this.#sweep() : null,
    ]);
    await this.#world.mutant?.meddle?.(this.#pool);
    await this.#findReverted();
    await this.#mischief.comeUp();
    await this.#letTimePass(random.pick(this.#world.pauses ?? allPauses));
  }

  /** Mends the line, lets no worker die any more, and brings to rest all that can be. */
  async heal(): Promise<void> {
    this.#mischief.isHealed = true;
    Object.assign(this.#frailty, {death: 0, stall: 0});
    this.#stepsUntilOutage = null;
    for (let round = 1; round <= mostRounds; round++) {
      await this.#carry(1);
      await this.#world.mutant?.meddle?.(this.#pool);
      const seconds = await readNextDue(this.#pool);
      if (seconds === null && this.#stalled.length === 0) break;
      await this.#letTimePass(Math.min(Math.max(seconds ?? 0, 20 * round), 900));
    }
    // No reading is behind any more.
    await this.#letTimePass(longSeconds);
    // The first pass ends sweeps begun earlier, which show earlier state; the second shows the
    // present one.
    await this.#sweepAll();
    await this.#sweepAll();
  }

  async #findReverted(): Promise<void> {
    for (const story of await findReverted(this.#pool))
      this.#tally.violations.push(`seed ${this.#world.seed}: reverted: ${story}`);
  }

  async judge(): Promise<Tally> {
    const {seed} = this.#world;
    const {token} = this.#service;
    const tally = this.#tally;
    const changes = await readChanges(this.#pool);
    const secrets = [token, Buffer.from(`${token}:${token}`).toString('base64')];
    const verdict = judge({
      intents: this.#authors.flatMap(({intents}) => intents),
      effects: toEffects(await this.#service.readJournal()),
      changes,
      conflicts: await readConflicts(this.#pool),
      rows: await readFinalRows(this.#pool),
      records: await readRecords({url: this.#mischief.url, token}),
      canaryHits: await findCanaries(this.#pool, secrets, this.#lines),
    });
    tally.runs += this.#authors.length;
    tally.changes += changes.length;
    tally.creates += changes.filter(({operation}) => operation === 'create').length;
    for (const {state} of changes) tally.states[state] = (tally.states[state] ?? 0) + 1;
    for (const fate of Object.keys(tally.fates) as (keyof typeof tally.fates)[])
      tally.fates[fate] += this.#mischief.fates[fate];
    tally.leftToPerson.push(...verdict.leftToPerson.map((story) => `seed ${seed}: ${story}`));
    tally.refusals.push(...this.#authors.flatMap(({refusals}) => refusals));
    tally.violations.push(...listViolations(verdict, `seed ${seed}`));
    return tally;
  }

  async close(): Promise<void> {
    for (const worker of [...this.#workers, ...this.#stalled]) await worker.close();
    await this.#mischief.goDown();
    await this.#service.close();
    await this.#pool.end();
  }

  async #carryIn(round: number): Promise<void> {
    const {carry} = this.#world;
    if (carry === undefined || round > roundsOfOthers) await this.#carry(round % 2 === 0 ? 2 : 1);
    else await carry(this.#place());
  }

  /** Runs one or two workers, beside those that still stall from before, some of which sleep on. */
  async #carry(count: number): Promise<void> {
    const stalled = this.#stalled.splice(0);
    const sleepOn =
      this.#carries++ < latestWaking ? stalled.filter(() => this.#random.isTrue(0.8)) : [];
    const before = stalled.filter((worker) => !sleepOn.includes(worker));
    this.#stalled.push(...sleepOn);
    const wakeEarly = before.filter(() => this.#random.isTrue(0.4));
    while (this.#workers.length < count) this.#workers.push(this.#openWorker());
    const ends = await Promise.all([
      ...this.#workers
        .slice(0, count)
        .map(async (worker) => [worker, await worker.work()] as const),
      ...wakeEarly.map(async (worker) => {
        await worker.wake();
        return [worker, 'woken'] as const;
      }),
    ]);
    for (const worker of before) {
      if (!wakeEarly.includes(worker)) await worker.wake();
      await worker.close();
    }
    for (const [worker, end] of ends) {
      if (end === 'woken') continue;
      this.#tally.rounds++;
      if (end === 'ended' && !worker.isDead) continue;
      this.#workers = this.#workers.filter((other) => other !== worker);
      if (end === 'stalled') {
        this.#tally.stalls++;
        this.#stalled.push(worker);
      } else {
        this.#tally.deaths++;
        await worker.close();
      }
    }
  }

  #openWorker(): LabWorker {
    const {seed, mutant} = this.#world;
    const place = {
      ...this.#place(),
      // No secrets are scrubbed: the log lines are searched for them.
      log: createLogger({
        level: 'debug',
        secrets: [],
        destination: {write: (line: string) => void this.#lines.push(line)},
      }),
      rewrite: mutant?.rewrite,
      passedSeconds: mutant?.isTimeless === true ? undefined : () => this.#mischief.seconds,
      onStep: () => this.#comeNearerToOutage(),
      countOutages: () => this.#tally.outages,
    };
    return new LabWorker(
      place,
      new Random(String(seed), 'worker', ++this.#workerCount),
      this.#frailty,
    );
  }

  async #comeNearerToOutage(): Promise<void> {
    if (this.#stepsUntilOutage === null || --this.#stepsUntilOutage > 0) return;
    this.#stepsUntilOutage = null;
    this.#tally.outages++;
    await endSessions(this.#world.databaseUrl);
  }

  #place() {
    const service = {url: this.#mischief.url, token: this.#service.token};
    return {
      databaseUrl: this.#world.databaseUrl,
      accountId: this.#accountId,
      service,
      timeZone: 'America/New_York',
    };
  }

  async #letTimePass(seconds: number): Promise<void> {
    const {shift} = this.#service;
    const shiftService = shift === null ? {} : {shiftService: shift};
    await letTimePass({pool: this.#pool, mischief: this.#mischief, ...shiftService}, seconds);
  }

  async #sweep(): Promise<void> {
    await this.#runSweep(this.#random.pick(['customers', 'jobs', 'tasks'] as const), 1);
  }

  async #sweepAll(): Promise<void> {
    for (const {name} of allStreams)
      if (!(await this.#runSweep(name, 20)))
        this.#tally.violations.push(`seed ${this.#world.seed}: the sweep of ${name} does not end`);
  }

  /** @returns whether it ended */
  async #runSweep(stream: string, tries: number): Promise<boolean> {
    const {databaseUrl, pageReader} = this.#world;
    const service = {url: this.#mischief.url, token: this.#service.token};
    return await sweepStream(
      {pool: this.#pool, databaseUrl, accountId: this.#accountId, pageReader, service},
      {stream, tries},
    );
  }
}
