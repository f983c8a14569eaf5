// The size of the business and its relations. For any customer or job they follow from its index
// alone, so nothing has to be kept while they are written.

import {Temporal} from 'temporal-polyfill';
import {UsageError} from '../core/errors.ts';
import {hash, Random} from './vocabulary.ts';

/** The business to be made up. */
export interface Scale {
  readonly seed: string;
  readonly customers: number;
  readonly jobs: number;
  readonly today: string;
  readonly timeZone: string;
}

const FIRST_ID = 1_000_001;
/** The number of ids that a record and its child records take; the record has the first of them. */
const idCounts = {customer: 8, job: 16} as const;
const FOUNDING_SHARE = 0.15;
const JOBS_A_DAY = 3.2;
const VISITS_A_TECHNICIAN = 2.5;
const OFFICE = 3;

/** How the service knows a record. */
interface Identity {
  readonly id: string;
  readonly number: string;
}

export type RecordKind = keyof typeof idCounts;

/** How many ids a record takes together with its child records. */
export const countIds = (kind: RecordKind) => idCounts[kind];

export class BusinessPlan {
  readonly seed: string;
  readonly customers: number;
  readonly jobs: number;
  readonly calendar: Calendar;
  /** How many technicians the business needs, besides the owner and the office. */
  readonly technicians: number;
  /**
   * Records that came after the business was written. They have the next ids and numbers that were
   * free then.
   */
  readonly #born = new Map<string, Identity>();

  /** @param horizon - days after today that the plan covers */
  constructor({seed, customers, jobs, today, timeZone}: Scale, horizon = 0) {
    this.seed = seed;
    this.customers = customers;
    this.jobs = jobs;
    const days = Math.round(Math.min(1095, Math.max(90, jobs / JOBS_A_DAY)));
    this.calendar = new Calendar({today, days, horizon, timeZone});
    this.technicians = Math.max(4, Math.ceil(jobs / (days * 0.78) / VISITS_A_TECHNICIAN));
  }

  /**
   * The moment for which the business is shown: early in the morning of today, when a crew that
   * begins at seven is there.
   */
  get now(): string {
    return this.calendar.at(this.calendar.today, 479);
  }

  /** The year of the first day. */
  get firstYear(): number {
    return Number(this.calendar.at(this.calendar.today - this.calendar.days, 720).slice(0, 4));
  }

  random(label: string, index: number): Random {
    return new Random(this.seed, label, index);
  }

  /** How many customers and jobs there are at the end of the horizon. */
  get lastCustomers(): number {
    return Math.floor(
      this.customers * (FOUNDING_SHARE + (1 - FOUNDING_SHARE) * this.calendar.share),
    );
  }

  get lastJobs(): number {
    return Math.floor(this.jobs * this.calendar.share);
  }

  /** The last internal id of the records that were written at first. */
  get lastId(): number {
    return FIRST_ID + this.customers * idCounts.customer + this.jobs * idCounts.job;
  }

  customer(index: number): Identity {
    if (index >= this.customers) return this.#identityOf('customer', index);
    return {
      id: String(FIRST_ID + index * idCounts.customer),
      number: String(this.customerNumber(index)),
    };
  }

  job(index: number): Identity {
    if (index >= this.jobs) return this.#identityOf('job', index);
    const firstJobId = FIRST_ID + this.customers * idCounts.customer;
    return {id: String(firstJobId + index * idCounts.job), number: String(this.jobNumber(index))};
  }

  /** The id of a child record, by its place among the children of its record: 1 is the first. */
  partOf(id: string, place: number): string {
    return String(Number(id) + place);
  }

  /** Gives a record that comes after the first ones its id and its number. */
  bear(kind: RecordKind, index: number, identity: Identity): void {
    this.#born.set(`${kind} ${index}`, identity);
  }

  isBorn(kind: RecordKind, index: number): boolean {
    return (
      index < (kind === 'job' ? this.jobs : this.customers) || this.#born.has(`${kind} ${index}`)
    );
  }

  #identityOf(kind: RecordKind, index: number): Identity {
    const identity = this.#born.get(`${kind} ${index}`);
    if (identity === undefined)
      throw new TypeError(`${kind} ${index}: expected it to be born, and it is not`);
    return identity;
  }

  /** Numbers have gaps, as after deleted records. */
  customerNumber(index: number): number {
    return index + 1 + Math.floor(index / 37);
  }

  jobNumber(index: number): number {
    return index + 1 + Math.floor(index / 41);
  }

  /** Each twenty-fifth customer belongs to an earlier one, which itself belongs to none. */
  parentOf(index: number): number | null {
    if (!isBranch(index)) return null;
    const parent = Math.floor(this.random('parent', index).next() * index);
    return isBranch(parent) ? parent - 1 : parent;
  }

  /** The day on which a customer came: some exist from the first day. */
  arrivalOf(index: number): number {
    const share = (index / this.customers - FOUNDING_SHARE) / (1 - FOUNDING_SHARE);
    return this.calendar.dayAt(Math.max(0, share));
  }

  /**
   * The customer of a job: one that has come by then, the older ones more often; now and then the
   * newest.
   */
  customerOf(jobIndex: number, random: Random): number {
    const customerShare = FOUNDING_SHARE + (1 - FOUNDING_SHARE) * this.shareOf(jobIndex);
    const count = Math.max(1, Math.floor(this.customers * customerShare));
    return random.isTrue(0.15) ? count - 1 : Math.floor(count * random.next() ** 1.5);
  }

  /** The position of a job among all jobs: 0 to just under 1 up to today. */
  shareOf(jobIndex: number): number {
    return (jobIndex + 0.5) / this.jobs;
  }

  /** The number of employees: the owner, the office, the technicians. */
  get employees(): number {
    return 1 + OFFICE + this.technicians;
  }

  employeeId(index: number): string {
    return String(1001 + index);
  }

  /** The index of a technician. */
  technician(index: number): number {
    return 1 + OFFICE + (index % this.technicians);
  }

  /** An employee of the office. */
  officeId(random: Random): string {
    return this.employeeId(random.integer(1, OFFICE));
  }

  /** Whether an employee works on a day: the last technician has left. */
  isThere(index: number, day: number): boolean {
    return (
      index < this.employees - 1 || day < this.calendar.today - Math.round(this.calendar.days / 4)
    );
  }

  /**
   * Each technician can do four neighbouring kinds of work of eight; any four technicians can do
   * all.
   */
  isSkilled(technician: number, work: number): boolean {
    return (work + 6 * technician) % 8 < 4;
  }
}

/** The date if none is given: the same for the same seed on every day. */
export function defaultToday(seed: string): string {
  return `2026-10-${String(1 + (hash(seed) % 28)).padStart(2, '0')}`;
}

function isBranch(index: number): boolean {
  return index % 25 === 24;
}

const DAY_MS = 86_400_000;
/** Sunday first: emergencies only; short Saturdays. */
const weekdayWeights = [0.05, 1.1, 1, 1, 1, 1.05, 0.35];
/** January first: frost and heat make work, spring and autumn are quiet. */
const monthWeights = [1.15, 1.05, 0.9, 0.85, 0.95, 1.2, 1.35, 1.3, 0.95, 0.9, 1, 1.1];
const FIRST_YEAR_SHARE = 0.6;

/**
 * The working days of a business up to `today`, and some of those to come. Days are counted from
 * 1970-01-01.
 */
class Calendar {
  readonly today: number;
  /** How many days of history there are before today. */
  readonly days: number;
  readonly #timeZone: string;
  readonly #sums: readonly number[];
  readonly #offsets = new Map<number, number>();

  /** @throws {UsageError} `today` is no date like 2026-11-02 */
  constructor({
    today,
    days,
    horizon = 0,
    timeZone,
  }: {
    readonly today: string;
    readonly days: number;
    /** How many days to come. */
    readonly horizon?: number;
    readonly timeZone: string;
  }) {
    this.today = readDay(today);
    this.days = days;
    this.#timeZone = timeZone;
    let sum = 0;
    this.#sums = Array.from({length: days + horizon}, (_, index) => {
      sum += this.#weight(this.today - days + index, index / days);
      return sum;
    });
  }

  /**
   * The work of all days, including those to come, as a share of the work up to today; 1 if there
   * are no days to come.
   */
  get share(): number {
    return (this.#sums.at(-1) ?? 1) / (this.#sums[this.days - 1] ?? 1);
  }

  /**
   * The day on which a share of the work has come in: 0 is the first day, just under 1 is
   * yesterday, 1 today.
   */
  dayAt(share: number): number {
    const targetSum = share * (this.#sums[this.days - 1] ?? 0);
    let [low, high] = [0, this.#sums.length - 1];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((this.#sums[middle] ?? 0) > targetSum) high = middle;
      else low = middle + 1;
    }
    return this.today - this.days + low;
  }

  /** The day itself, or the next one that is not a Sunday. */
  workingDay(day: number): number {
    return this.weekday(day) === 0 ? day + 1 : day;
  }

  /** 0 is Sunday. */
  weekday(day: number): number {
    return new Date(day * DAY_MS).getUTCDay();
  }

  /** 0 is January. */
  month(day: number): number {
    return new Date(day * DAY_MS).getUTCMonth();
  }

  /**
   * Minutes after local midnight of a day, as an instant in UTC. Right from 6 in the morning:
   * clocks change at night.
   */
  at(day: number, minutes: number): string {
    const instant = new Date(day * DAY_MS + minutes * 60_000 - this.#offset(day));
    return `${instant.toISOString().slice(0, 19)}Z`;
  }

  #weight(day: number, share: number): number {
    const growth = FIRST_YEAR_SHARE + (1 - FIRST_YEAR_SHARE) * share;
    return (weekdayWeights[this.weekday(day)] ?? 1) * (monthWeights[this.month(day)] ?? 1) * growth;
  }

  #offset(day: number): number {
    const cached = this.#offsets.get(day);
    if (cached !== undefined) return cached;
    const noon = Temporal.Instant.fromEpochMilliseconds(day * DAY_MS + DAY_MS / 2);
    const offset = noon.toZonedDateTimeISO(this.#timeZone).offsetNanoseconds / 1_000_000;
    this.#offsets.set(day, offset);
    return offset;
  }
}

function readDay(text: string): number {
  try {
    return Temporal.PlainDate.from(text).toZonedDateTime('UTC').epochMilliseconds / DAY_MS;
  } catch (cause) {
    throw new UsageError(`today: expected a date such as 2026-11-02, got "${text}"`, {cause});
  }
}
