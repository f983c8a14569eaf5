// A business that continues while the service runs, at the speed of the clock or a multiple of it.
// It has calls, dispatch, work, invoices, payments, corrections, cancellations. The seed alone
// decides what happens, whenever and in whatever steps it is played. Values that people set through
// the API stay: only the fields that a step changes are written.

import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {arrivedAt, Ledger, makeCustomer} from './business-people.ts';
import {BusinessPlan, idCount, type Kind, type Scale} from './business-plan.ts';
import {copyRows, inServiceTransaction, openDatabase, type ServiceRow} from './database.ts';
import {Roster} from './order.ts';
import {lifeAt, timesOf} from './order-life.ts';
import type {ServiceFields, Table} from './resource.ts';
import {makeJob} from './work-orders.ts';

interface LiveOptions {
  /** 1 is the speed of the clock. */
  readonly speed: number;
  /** Milliseconds since 1970. */
  readonly now?: () => number;
  readonly log?: Logger | undefined;
}

const tickMs = 1_000;

/** The moment without a fraction of a second, as the service writes it. */
const toInstant = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;

/**
 * Plays the business in the database up to a moment, once. If several calls play at once, each
 * waits for the previous one.
 * @returns how many records were written; null if no business was made up here
 */
export async function playUntil(
  database: pg.Pool,
  player: Player,
  to: string,
): Promise<number | null> {
  return await inServiceTransaction(database, async (client) => {
    const {rows} = await client.query<{from: string}>(
      `SELECT to_char(played_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "from"
         FROM service.business WHERE played_until IS NOT NULL FOR UPDATE`,
    );
    const [held] = rows;
    if (held === undefined) return null;
    const written = await player.play(client, held.from, to);
    await client.query('UPDATE service.business SET played_until = greatest(played_until, $1)', [
      to,
    ]);
    return written;
  });
}

/** A business that the caller plays on. */
interface Life {
  /**
   * `2026-11-02T12:59:00Z`, the moment up to which it was played when it was opened; null if no
   * business was made up.
   */
  readonly playedUntil: string | null;
  playUntil(moment: string): Promise<void>;
  close(): Promise<void>;
}

/** @throws {FatalError} the database cannot be used */
export async function openLife(databaseUrl: string): Promise<Life> {
  const database = await openDatabase(databaseUrl);
  const business = await readBusiness(database);
  const player = business === null ? null : new Player(business.scale);
  return {
    playedUntil: business === null ? null : toInstant(business.playedMs),
    playUntil: async (moment) => {
      if (player !== null) await playUntil(database, player, moment);
    },
    close: () => database.end(),
  };
}

/** Starts to play: every second, everything that has happened since. */
export async function startLive(
  database: pg.Pool,
  {speed, now = Date.now, log}: LiveOptions,
): Promise<{stop(): Promise<void>}> {
  const business = await readBusiness(database);
  if (business === null) return {stop: async () => {}};
  const player = new Player(business.scale);
  const begun = now();
  // At the speed of the clock, missed time is made up for. At a higher speed, the business
  // continues from the moment at which it stopped.
  const first = speed === 1 ? Math.max(business.playedMs, begun) : business.playedMs;
  const play = async () => {
    const to = toInstant(first + (now() - begun) * speed);
    const written = await playUntil(database, player, to);
    if (written !== 0)
      log?.info(
        {event: 'service.advanced', to, written},
        'reference service: the business continued',
      );
  };
  await play();
  let underWay: Promise<void> = Promise.resolve();
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    underWay = play()
      .catch((error: unknown) =>
        log?.error(
          {event: 'service.not_advanced', err: error},
          'reference service: the business does not continue',
        ),
      )
      .finally(() => {
        isBusy = false;
      });
  }, tickMs);
  return {
    stop: async () => {
      clearInterval(timer);
      await underWay;
    },
  };
}

/**
 * The business and the moment up to which it was played: at first, the moment for which it was made
 * up.
 */
async function readBusiness(
  database: pg.Pool,
): Promise<{readonly scale: Scale; readonly playedMs: number} | null> {
  const {rows} = await database.query<Scale & {playedMs: number}>(
    `UPDATE service.business
        SET played_until = coalesce(played_until, (today + time '07:59') AT TIME ZONE time_zone)
      RETURNING seed, customers, jobs, today::text AS today, time_zone AS "timeZone",
        extract(epoch FROM played_until)::float * 1000 AS "playedMs"`,
  );
  const [held] = rows;
  if (held === undefined) return null;
  const {playedMs, ...scale} = held;
  return {scale, playedMs};
}

/** Days that a plan covers beyond the step that it is made for. */
const spareDays = 90;

/** Something happens to a job. */
interface Happening {
  readonly at: string;
  readonly job: number;
}

/** A customer or a job comes that was not there at first. */
interface Birth {
  readonly at: string;
  readonly kind: Kind;
  readonly index: number;
}

interface Lives {
  readonly roster: Roster;
  readonly horizonEnd: string;
  /** In the order of time, regardless of the steps: each gets the next id. */
  readonly births: readonly Birth[];
  /** In the order of time. */
  readonly happenings: readonly Happening[];
  readonly jobsOf: ReadonlyMap<number, readonly number[]>;
}

export class Player {
  readonly #scale: Scale;
  #lives: Lives | null = null;

  constructor(scale: Scale) {
    this.#scale = scale;
  }

  /**
   * Plays from the present moment of the business, in the transaction of the caller, which holds
   * the row of the business.
   * @param from - `2026-11-02T12:59:00Z`; events at this moment are played
   * @param to - events at this moment are not
   * @returns how many records were written
   */
  async play(client: pg.PoolClient, from: string, to: string): Promise<number> {
    if (to <= from) return 0;
    const lives = this.#reach(to);
    const {plan} = lives.roster;
    await this.#takeBirths(client, plan);
    const born = within(lives.births, from, to);
    for (const birth of born) await bear(client, plan, birth);
    const arrived = born.filter(({kind}) => kind === 'customer');
    const rows = arrived.flatMap(({index}) => makeCustomer(plan, index, new Ledger()));
    await copyRows(client, rows);
    let written = rows.length;
    const customers = new Set<number>();
    for (const job of new Set(
      within(lives.happenings, from, to).map((happening) => happening.job),
    )) {
      customers.add(lives.roster.order(job).customer);
      const before = makeJob(lives.roster, job, from, new Ledger());
      written += await writeStep(client, before, makeJob(lives.roster, job, to, new Ledger()));
    }
    for (const customer of customers)
      written += await writeSummary(client, lives, {customer, from, to});
    return written;
  }

  /** The plan up to that moment, and all events in it. */
  #reach(to: string): Lives {
    if (this.#lives !== null && to < this.#lives.horizonEnd) return this.#lives;
    const today = Date.parse(`${this.#scale.today}T00:00:00Z`);
    const horizon = Math.max(0, Math.ceil((Date.parse(to) - today) / 86_400_000)) + spareDays;
    const plan = new BusinessPlan(this.#scale, horizon);
    const roster = new Roster(plan, plan.lastJobs);
    const happenings: Happening[] = [];
    const births: Birth[] = [];
    const jobsOf = new Map<number, number[]>();
    for (let index = plan.customers; index < plan.lastCustomers; index++)
      births.push({at: arrivedAt(plan, index), kind: 'customer', index});
    for (let job = 0; job < plan.lastJobs; job++) {
      const {createdAt, life, customer} = roster.order(job);
      if (job >= plan.jobs) births.push({at: createdAt, kind: 'job', index: job});
      for (const at of [createdAt, ...timesOf(life)]) happenings.push({at, job});
      jobsOf.set(customer, [...(jobsOf.get(customer) ?? []), job]);
    }
    births.sort(
      (one, other) =>
        compare(one.at, other.at) || compare(one.kind, other.kind) || one.index - other.index,
    );
    happenings.sort((one, other) => compare(one.at, other.at) || one.job - other.job);
    // A call may come as late as the evening of its day.
    const horizonEnd = new Date(today + (horizon - 1) * 86_400_000).toISOString();
    this.#lives = {roster, horizonEnd, births, happenings, jobsOf};
    return this.#lives;
  }

  async #takeBirths(client: pg.PoolClient, plan: BusinessPlan): Promise<void> {
    const {rows} = await client.query<{kind: Kind; index: number; id: string; number: string}>(
      'SELECT kind, index, id::text, number::text FROM service.births',
    );
    for (const {kind, index, id, number} of rows) plan.bear(kind, index, {id, number});
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);

/** The entries from one moment on, before another. */
function within<T extends {readonly at: string}>(
  list: readonly T[],
  from: string,
  to: string,
): readonly T[] {
  return list.slice(firstFrom(list, from), firstFrom(list, to));
}

/** The index of the first entry that is not before a moment. */
function firstFrom(list: readonly {readonly at: string}[], moment: string): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.at ?? '') < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Gives a record the next id and number, as the service gives them to any record. */
async function bear(
  client: pg.PoolClient,
  plan: BusinessPlan,
  {kind, index}: Birth,
): Promise<void> {
  const {rows} = await client.query<{id: string; number: string}>(
    `INSERT INTO service.births (kind, index, id, number)
     SELECT $1, $2, setval('service.ids', nextval('service.ids') + $3 - 1) - $3 + 1,
            nextval('service.${kind}_numbers') RETURNING id::text, number::text`,
    [kind, index, idCount(kind)],
  );
  if (rows[0] !== undefined) plan.bear(kind, index, rows[0]);
}

/** Writes the changes of a step to a job and to its child records. */
async function writeStep(
  client: pg.PoolClient,
  before: readonly ServiceRow[],
  after: readonly ServiceRow[],
): Promise<number> {
  const known = new Map(before.map((row) => [`${row.table} ${row.fields.id}`, row]));
  const added: ServiceRow[] = [];
  let written = 0;
  for (const row of after) {
    const held = known.get(`${row.table} ${row.fields.id}`);
    if (held === undefined) added.push(row);
    else written += await writeChanges(client, held, row);
  }
  await copyRows(client, added);
  return written + added.length;
}

async function writeChanges(
  client: pg.PoolClient,
  before: ServiceRow,
  after: ServiceRow,
): Promise<number> {
  const changed = differing(before.fields, after.fields);
  const crew = after.beside?.employee_ids;
  const isOtherCrew = crew !== undefined && crew !== before.beside?.employee_ids;
  if (Object.keys(changed).length === 0 && !isOtherCrew) return 0;
  await update(client, after.table, {id: after.fields.id ?? '', changed});
  if (isOtherCrew)
    await client.query('UPDATE service.jobs SET employee_ids = $2 WHERE id = $1', [
      after.fields.id,
      crew,
    ]);
  return 1;
}

function differing(before: ServiceFields, after: ServiceFields): Record<string, string | null> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed: Record<string, string | null> = {};
  for (const name of names) {
    const value = after[name] ?? null;
    if (value !== (before[name] ?? null)) changed[name] = value;
  }
  return changed;
}

async function update(
  client: pg.PoolClient,
  table: Table,
  {id, changed}: {readonly id: string; readonly changed: Readonly<Record<string, string | null>>},
): Promise<void> {
  await client.query(
    `UPDATE service.${table} SET fields = jsonb_strip_nulls(fields || $2)
      WHERE id = $1 AND deleted_at IS NULL`,
    [id, changed],
  );
}

/** The sum owed by a customer and the last job done for it follow from its jobs. */
async function writeSummary(
  client: pg.PoolClient,
  lives: Lives,
  {customer, from, to}: {readonly customer: number; readonly from: string; readonly to: string},
): Promise<number> {
  const changed = differing(summaryAt(lives, customer, from), summaryAt(lives, customer, to));
  if (Object.keys(changed).length === 0) return 0;
  await update(client, 'customers', {id: lives.roster.plan.customer(customer).id, changed});
  return 1;
}

function summaryAt({roster, jobsOf}: Lives, customer: number, now: string): ServiceFields {
  const ledger = new Ledger();
  const times: string[] = [];
  for (const job of jobsOf.get(customer) ?? []) {
    if (!roster.plan.isBorn('job', job)) continue;
    makeJob(roster, job, now, ledger);
    const {endedAt, correctedAt, partPaidAt, paidAt} = lifeAt(roster.order(job).life, now);
    for (const at of [endedAt, correctedAt, partPaidAt, paidAt]) if (at !== null) times.push(at);
  }
  return {...ledger.summaryOf(customer), updated_at: times.toSorted().at(-1) ?? null};
}
