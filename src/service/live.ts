// A business that continues while the service runs, at the speed of the clock or a multiple of it.
// It has calls, dispatch, work, invoices, payments, corrections, cancellations. The seed alone
// decides what happens, whenever and in whatever steps it is played. Values that people set through
// the API stay: only the fields that a step changes are written.

import type pg from 'pg';
import type {Logger} from '../core/log.ts';
import {Ledger, makeArrivalTime, makeCustomer} from './business-people.ts';
import {BusinessPlan, countIds, type RecordKind, type Scale} from './business-plan.ts';
import {copyRows, inServiceTransaction, openDatabase, type ServiceRow} from './database.ts';
import {compareTexts, Roster} from './order.ts';
import {listTimes, readLifeAt} from './order-life.ts';
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
  until: string,
): Promise<number | null> {
  return await inServiceTransaction(database, async (client) => {
    const {rows} = await client.query<{from: string}>(
      `SELECT to_char(played_until AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"') AS "from"
         FROM service.business WHERE played_until IS NOT NULL FOR UPDATE`,
    );
    const [business] = rows;
    if (business === undefined) return null;
    const writtenCount = await player.play(client, business.from, until);
    await client.query('UPDATE service.business SET played_until = greatest(played_until, $1)', [
      until,
    ]);
    return writtenCount;
  });
}

/** A business that the caller plays on. */
interface PlayedBusiness {
  /**
   * `2026-11-02T12:59:00Z`, the moment up to which it was played when it was opened; null if no
   * business was made up.
   */
  readonly playedUntil: string | null;
  playUntil(moment: string): Promise<void>;
  close(): Promise<void>;
}

/** @throws {FatalError} the database cannot be used */
export async function openLife(databaseUrl: string): Promise<PlayedBusiness> {
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
  const startedMs = now();
  // At the speed of the clock, missed time is made up for. At a higher speed, the business
  // continues from the moment at which it stopped.
  const firstMs = speed === 1 ? Math.max(business.playedMs, startedMs) : business.playedMs;
  const play = async () => {
    const to = toInstant(firstMs + (now() - startedMs) * speed);
    const written = await playUntil(database, player, to);
    if (written !== 0)
      log?.info(
        {event: 'service.advanced', to, written},
        'reference service: the business continued',
      );
  };
  await play();
  let currentPlay: Promise<void> = Promise.resolve();
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    currentPlay = play()
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
      await currentPlay;
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
  const [row] = rows;
  if (row === undefined) return null;
  const {playedMs, ...scale} = row;
  return {scale, playedMs};
}

/** Days that a plan covers beyond the step that it is made for. */
const spareDays = 90;

/** Something happens to a job. */
interface JobEvent {
  readonly at: string;
  readonly job: number;
}

/** A customer or a job comes that was not there at first. */
interface NewRecord {
  readonly at: string;
  readonly kind: RecordKind;
  readonly index: number;
}

interface Timeline {
  readonly roster: Roster;
  readonly horizonEnd: string;
  /** In the order of time, regardless of the steps: each gets the next id. */
  readonly births: readonly NewRecord[];
  /** In the order of time. */
  readonly happenings: readonly JobEvent[];
  readonly jobsOf: ReadonlyMap<number, readonly number[]>;
}

export class Player {
  readonly #scale: Scale;
  #lives: Timeline | null = null;

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
    const timeline = this.#reach(to);
    const {plan} = timeline.roster;
    await this.#takeBirths(client, plan);
    const newRecords = selectWithin(timeline.births, from, to);
    for (const newRecord of newRecords) await assignIdentity(client, plan, newRecord);
    const newCustomers = newRecords.filter(({kind}) => kind === 'customer');
    const rows = newCustomers.flatMap(({index}) => makeCustomer(plan, index, new Ledger()));
    await copyRows(client, rows);
    let writtenCount = rows.length;
    const customers = new Set<number>();
    for (const job of new Set(
      selectWithin(timeline.happenings, from, to).map((event) => event.job),
    )) {
      customers.add(timeline.roster.order(job).customer);
      const before = makeJob(timeline.roster, job, from, new Ledger());
      writtenCount += await writeStep(
        client,
        before,
        makeJob(timeline.roster, job, to, new Ledger()),
      );
    }
    for (const customer of customers)
      writtenCount += await writeSummary(client, timeline, {customer, from, to});
    return writtenCount;
  }

  /** The plan up to that moment, and all events in it. */
  #reach(to: string): Timeline {
    if (this.#lives !== null && to < this.#lives.horizonEnd) return this.#lives;
    const today = Date.parse(`${this.#scale.today}T00:00:00Z`);
    const horizon = Math.max(0, Math.ceil((Date.parse(to) - today) / 86_400_000)) + spareDays;
    const plan = new BusinessPlan(this.#scale, horizon);
    const roster = new Roster(plan, plan.lastJobs);
    const happenings: JobEvent[] = [];
    const births: NewRecord[] = [];
    const jobsOf = new Map<number, number[]>();
    for (let index = plan.customers; index < plan.lastCustomers; index++)
      births.push({at: makeArrivalTime(plan, index), kind: 'customer', index});
    for (let job = 0; job < plan.lastJobs; job++) {
      const {createdAt, life, customer} = roster.order(job);
      if (job >= plan.jobs) births.push({at: createdAt, kind: 'job', index: job});
      for (const at of [createdAt, ...listTimes(life)]) happenings.push({at, job});
      jobsOf.set(customer, [...(jobsOf.get(customer) ?? []), job]);
    }
    births.sort(
      (first, second) =>
        compareTexts(first.at, second.at) ||
        compareTexts(first.kind, second.kind) ||
        first.index - second.index,
    );
    happenings.sort((first, second) => compareTexts(first.at, second.at) || first.job - second.job);
    // A call may come as late as the evening of its day.
    const horizonEnd = new Date(today + (horizon - 1) * 86_400_000).toISOString();
    this.#lives = {roster, horizonEnd, births, happenings, jobsOf};
    return this.#lives;
  }

  async #takeBirths(client: pg.PoolClient, plan: BusinessPlan): Promise<void> {
    const {rows} = await client.query<{
      kind: RecordKind;
      index: number;
      id: string;
      number: string;
    }>('SELECT kind, index, id::text, number::text FROM service.births');
    for (const {kind, index, id, number} of rows) plan.bear(kind, index, {id, number});
  }
}

/** The entries from one moment on, before another. */
function selectWithin<T extends {readonly at: string}>(
  list: readonly T[],
  from: string,
  to: string,
): readonly T[] {
  return list.slice(findFirstIndex(list, from), findFirstIndex(list, to));
}

/** The index of the first entry that is not before a moment. */
function findFirstIndex(list: readonly {readonly at: string}[], moment: string): number {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((list[middle]?.at ?? '') < moment) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Gives a record the next id and number, as the service gives them to any record. */
async function assignIdentity(
  client: pg.PoolClient,
  plan: BusinessPlan,
  {kind, index}: NewRecord,
): Promise<void> {
  const {rows} = await client.query<{id: string; number: string}>(
    `INSERT INTO service.births (kind, index, id, number)
     SELECT $1, $2, setval('service.ids', nextval('service.ids') + $3 - 1) - $3 + 1,
            nextval('service.${kind}_numbers') RETURNING id::text, number::text`,
    [kind, index, countIds(kind)],
  );
  if (rows[0] !== undefined) plan.bear(kind, index, rows[0]);
}

/** Writes the changes of a step to a job and to its child records. */
async function writeStep(
  client: pg.PoolClient,
  before: readonly ServiceRow[],
  after: readonly ServiceRow[],
): Promise<number> {
  const rowsBefore = new Map(before.map((row) => [`${row.table} ${row.fields.id}`, row]));
  const addedRows: ServiceRow[] = [];
  let writtenCount = 0;
  for (const row of after) {
    const rowBefore = rowsBefore.get(`${row.table} ${row.fields.id}`);
    if (rowBefore === undefined) addedRows.push(row);
    else writtenCount += await writeChanges(client, rowBefore, row);
  }
  await copyRows(client, addedRows);
  return writtenCount + addedRows.length;
}

async function writeChanges(
  client: pg.PoolClient,
  before: ServiceRow,
  after: ServiceRow,
): Promise<number> {
  const changed = findDifferences(before.fields, after.fields);
  const crew = after.beside?.employee_ids;
  const isCrewChanged = crew !== undefined && crew !== before.beside?.employee_ids;
  if (Object.keys(changed).length === 0 && !isCrewChanged) return 0;
  await updateFields(client, after.table, {id: after.fields.id ?? '', changed});
  if (isCrewChanged)
    await client.query('UPDATE service.jobs SET employee_ids = $2 WHERE id = $1', [
      after.fields.id,
      crew,
    ]);
  return 1;
}

function findDifferences(
  before: ServiceFields,
  after: ServiceFields,
): Record<string, string | null> {
  const names = new Set([...Object.keys(before), ...Object.keys(after)]);
  const changed: Record<string, string | null> = {};
  for (const name of names) {
    const value = after[name] ?? null;
    if (value !== (before[name] ?? null)) changed[name] = value;
  }
  return changed;
}

async function updateFields(
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
  timeline: Timeline,
  {customer, from, to}: {readonly customer: number; readonly from: string; readonly to: string},
): Promise<number> {
  const changed = findDifferences(
    makeSummary(timeline, customer, from),
    makeSummary(timeline, customer, to),
  );
  if (Object.keys(changed).length === 0) return 0;
  await updateFields(client, 'customers', {
    id: timeline.roster.plan.customer(customer).id,
    changed,
  });
  return 1;
}

function makeSummary({roster, jobsOf}: Timeline, customer: number, now: string): ServiceFields {
  const ledger = new Ledger();
  const times: string[] = [];
  for (const job of jobsOf.get(customer) ?? []) {
    if (!roster.plan.isBorn('job', job)) continue;
    makeJob(roster, job, now, ledger);
    const {endedAt, correctedAt, partPaidAt, paidAt} = readLifeAt(roster.order(job).life, now);
    for (const at of [endedAt, correctedAt, partPaidAt, paidAt]) if (at !== null) times.push(at);
  }
  return {...ledger.summaryOf(customer), updated_at: times.toSorted().at(-1) ?? null};
}
