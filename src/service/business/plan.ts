// The size of the business and its relations: they follow for any customer or job from its index alone, so
// that nothing has to be kept while they are written.

import {Calendar} from './calendar.ts';
import {hash, Random} from './random.ts';

/** The business to be made up. */
export interface Scale {
  readonly seed: string;
  readonly customers: number;
  readonly jobs: number;
  readonly today: string;
  readonly timeZone: string;
}

const FIRST_ID = 1_000_001;
const FOUNDING_SHARE = 0.15;
const LAST_ARRIVAL = 0.95;
const JOBS_A_DAY = 3.2;
const VISITS_A_TECHNICIAN = 2.5;
const OFFICE = 3;

export class Plan {
  readonly seed: string;
  readonly customers: number;
  readonly jobs: number;
  readonly calendar: Calendar;
  /** How many technicians it takes, besides the owner and the office. */
  readonly technicians: number;
  readonly #ids: {next: number};

  constructor({seed, customers, jobs, today, timeZone}: Scale) {
    this.seed = seed;
    this.customers = customers;
    this.jobs = jobs;
    const days = Math.round(Math.min(1095, Math.max(90, jobs / JOBS_A_DAY)));
    this.calendar = new Calendar({today, days, timeZone});
    this.technicians = Math.max(4, Math.ceil(jobs / (days * 0.78) / VISITS_A_TECHNICIAN));
    this.#ids = {next: FIRST_ID + customers};
  }

  /** The moment at which the business is looked at: early in the morning of today, when a crew that begins at seven is there. */
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

  /** The next internal id that is free; one sequence for everything, as at the real service. */
  nextId(): string {
    return String(this.#ids.next++);
  }

  /** The last internal id that was given away. */
  get lastId(): number {
    return this.#ids.next - 1;
  }

  customerId(index: number): string {
    return String(FIRST_ID + index);
  }

  /** Numbers have gaps, as where records were deleted. */
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

  /** The day on which a customer came: some were there from the first day. */
  arrivalOf(index: number): number {
    const share = (index / this.customers - FOUNDING_SHARE) / (1 - FOUNDING_SHARE);
    return this.calendar.dayAt(Math.max(0, share) * LAST_ARRIVAL);
  }

  /** The customer of a job: one that has come by then, the older ones more often; now and then the newest. */
  customerOf(jobIndex: number, random: Random): number {
    const share = this.shareOf(jobIndex);
    const there = FOUNDING_SHARE + (1 - FOUNDING_SHARE) * Math.min(1, share / LAST_ARRIVAL);
    const count = Math.max(1, Math.min(this.customers, Math.floor(this.customers * there)));
    return random.isTrue(0.15) ? count - 1 : Math.floor(count * random.next() ** 1.5);
  }

  /** How far in the whole a job stands, 0 to just under 1. */
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

  /** Each technician can do four neighbouring kinds of work of eight; any four technicians can do all. */
  isSkilled(technician: number, work: number): boolean {
    return (work + 6 * technician) % 8 < 4;
  }
}

/** The date where none is given: the same for the same seed on every day. */
export function defaultToday(seed: string): string {
  return `2026-10-${String(1 + (hash(seed) % 28)).padStart(2, '0')}`;
}

function isBranch(index: number): boolean {
  return index % 25 === 24;
}
