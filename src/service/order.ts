// The orders of customers and the crews that come: a technician is in one place at a time. The
// roster decides the orders one after another, because each takes time from the following ones.

import {AccountTime} from './account-time.ts';
import {isFirm, taxOf} from './business-people.ts';
import type {BusinessPlan} from './business-plan.ts';
import {taxes} from './foundation.ts';
import {
  drawEstimate,
  drawVisit,
  type Life,
  postponeOrder,
  startOf,
  untouched,
  workedMinutes,
} from './order-life.ts';
import {type Random, type Work, workCatalogue} from './vocabulary.ts';

/** A job with all events of its life. */
export interface WorkOrder {
  readonly index: number;
  /** The place of the customer among the customers. */
  readonly customer: number;
  readonly work: Work;
  readonly crew: readonly number[];
  readonly createdAt: string;
  /** Planned. */
  readonly minutes: number;
  readonly life: Life;
  readonly taxId: string | null;
  /** In percent, on parts. */
  readonly taxRate: string;
}

/** In minutes after midnight. */
const dayBegins = 420;
const dayEnds = 1_080;
/** An emergency is handled until then. */
const nightBegins = 1_260;
const shortestNotice = 60;
/** How many days ahead the office searches for a day with room. */
const searchedDays = 21;
/** A technician who leaves gets no visits from this many days before on. */
const leaversNotice = 60;

/**
 * Decides the customer of a job, its work, its crew, and its life.
 * @param bookings - of the orders before it; gets its visit
 */
function decideOrder(
  plan: BusinessPlan,
  {index, bookings}: {readonly index: number; readonly bookings: Bookings},
): WorkOrder {
  const {calendar} = plan;
  const random = plan.random('job', index);
  const day = calendar.dayAt(plan.shareOf(index));
  const place = random.weighted(workCatalogue.map(({months}) => months[calendar.month(day)] ?? 1));
  const work = workCatalogue[place] ?? workCatalogue[0];
  if (work === undefined) throw new TypeError('the catalogue is empty');
  const isEmergency = work.name === 'Emergency call';
  const created = 480 + random.integer(0, 500);
  const minutes = work.minutes + random.integer(-1, 2) * 15;
  const size = random.isTrue(0.25) ? random.integer(2, work.crew) : 1;
  const lead = isEmergency
    ? 0
    : random.integer(0, 3) === 0
      ? random.integer(8, 40)
      : random.integer(0, 7);
  const slot = work.minutes >= 480 ? random.integer(14, 18) * 30 : random.integer(14, 32) * 30;
  const customer = plan.customerOf(index, random);
  const taxId = taxOf(plan, customer);
  const call = {day, created, at: calendar.at(day, created)};
  const able = listAble(plan, {place, random, day: day + lead + leaversNotice});
  const wish = {call, lead, slot, minutes, isEmergency, able, size: Math.min(size, able.length)};
  const chance = plan.random('life', index);
  const decided = decideLife(plan, wish, {chance, isFirm: isFirm(plan, customer), bookings});
  return {
    ...{index, customer, work, minutes, taxId},
    ...decided,
    createdAt: call.at,
    taxRate: taxes.find(({id}) => id === taxId)?.rate ?? '0.0',
  };
}

interface Wish {
  readonly call: {
    readonly day: number;
    /** Minutes after midnight. */
    readonly created: number;
    readonly at: string;
  };
  /** Days from the call to the visit. */
  readonly lead: number;
  /** Minutes after midnight. */
  readonly slot: number;
  readonly minutes: number;
  readonly isEmergency: boolean;
  /** Technicians who can do the work, the preferred one first. */
  readonly able: readonly number[];
  /** How many technicians the work needs. */
  readonly size: number;
}

type Decided = Pick<WorkOrder, 'life' | 'crew'>;

function decideLife(
  plan: BusinessPlan,
  wish: Wish,
  {
    chance,
    isFirm,
    bookings,
  }: {readonly chance: Random; readonly isFirm: boolean; readonly bookings: Bookings},
): Decided {
  const {call, minutes, isEmergency, able, size} = wish;
  const nobody = able.slice(0, size);
  const estimate = isEmergency ? null : drawEstimate(chance, call.at);
  const unplanned = {crew: nobody, life: {...untouched, estimate}};
  if (estimate !== null && estimate.wonAt === null) return unplanned;
  const agreedAt = estimate?.wonAt ?? call.at;
  const waits = isEmergency ? 0 : chance.weighted([91.7, 8, 0.3]);
  if (waits === 2) return unplanned;
  const madeAt =
    waits === 1 ? AccountTime.addMinutes(agreedAt, chance.integer(1, 40) * 1_440) : agreedAt;
  const visit = chooseVisit(plan, wish, {madeAt, bookings});
  const {crew} = visit;
  const first = {madeAt, start: plan.calendar.at(visit.day, visit.slot)};
  const moved = isEmergency ? null : drawMove(plan, wish, {chance, visit, first, bookings});
  const appointments = moved === null ? [first] : [first, moved.appointment];
  const {start} = moved?.appointment ?? first;
  const canceledAt = drawCancellation(chance, appointments.at(-1)?.madeAt ?? madeAt, start);
  const planned = {...untouched, estimate, appointments};
  if (canceledAt !== null) return {crew, life: {...planned, canceledAt}};
  bookings.book(moved?.visit ?? visit, minutes);
  return {crew, life: {...planned, ...drawVisit(chance, {start, minutes, isFirm})}};
}

/**
 * A time within the working day, after it was agreed, at which a crew is free. If there is no such
 * time, a technician has to be in two places.
 */
function chooseVisit(
  plan: BusinessPlan,
  wish: Wish,
  {madeAt, bookings}: {readonly madeAt: string; readonly bookings: Bookings},
): Booking {
  const {calendar} = plan;
  const {call, lead, minutes, isEmergency, able, size} = wish;
  const afterwards = madeAt === call.at ? 0 : Math.ceil(Date.parse(madeAt) / 86_400_000);
  const earliest = Math.max(call.day + lead, afterwards);
  const soonest = Math.ceil((call.created + shortestNotice) / 30) * 30;
  const latest = isEmergency ? nightBegins : Math.max(dayBegins, dayEnds - minutes);
  const slotsOf = (day: number) =>
    slotsFrom(wish.slot, latest).filter((slot) => day > call.day || slot >= soonest);
  const days = isEmergency ? [earliest] : workingDays(plan, earliest);
  const found = bookings.find({days, slotsOf, minutes, able, size});
  if (found !== null) return found;
  const crew = able.slice(0, size);
  if (isEmergency) return {day: earliest, slot: Math.max(wish.slot, soonest), crew};
  return {day: calendar.workingDay(earliest + 1), slot: Math.min(wish.slot, latest), crew};
}

/** Working days, from a given day on. */
function workingDays({calendar}: BusinessPlan, first: number): number[] {
  const days = Array.from({length: searchedDays}, (_, step) => calendar.workingDay(first + step));
  return [...new Set(days)];
}

/** Each half hour of a working day, those from the wanted time on first. */
function slotsFrom(wish: number, latest: number): number[] {
  const all = Array.from(
    {length: Math.floor((latest - dayBegins) / 30) + 1},
    (_, step) => dayBegins + step * 30,
  );
  return [...all.filter((slot) => slot >= wish), ...all.filter((slot) => slot < wish).toReversed()];
}

/** A few appointments are moved before their time. */
function drawMove(
  plan: BusinessPlan,
  {minutes}: Wish,
  {
    chance,
    visit,
    first,
    bookings,
  }: {
    readonly chance: Random;
    readonly visit: Booking;
    readonly first: Life['appointments'][number];
    readonly bookings: Bookings;
  },
): {readonly visit: Booking; readonly appointment: Life['appointments'][number]} | null {
  const isMoved = chance.isTrue(0.06);
  const share = chance.next();
  const days = workingDays(plan, visit.day + chance.integer(1, 10));
  const madeAt = between(first.madeAt, first.start, share);
  if (!isMoved || madeAt <= first.madeAt) return null;
  const {crew, slot} = visit;
  const moved = bookings.find({
    days,
    slotsOf: () => [slot],
    minutes,
    able: crew,
    size: crew.length,
  });
  if (moved === null) return null;
  return {visit: moved, appointment: {madeAt, start: plan.calendar.at(moved.day, moved.slot)}};
}

/** A visit that is cancelled in time, half of these on the day before; null for nearly all. */
function drawCancellation(chance: Random, madeAt: string, start: string): string | null {
  const isCanceled = chance.isTrue(0.05);
  const isLate = chance.isTrue(0.5);
  const share = chance.next();
  if (!isCanceled) return null;
  const dayBefore = AccountTime.addMinutes(start, -1_080);
  const at = isLate && dayBefore > madeAt ? dayBefore : between(madeAt, start, share);
  return at > madeAt && at < start ? at : null;
}

/** A whole minute between two moments. */
function between(from: string, to: string, share: number): string {
  const minutes = (Date.parse(to) - Date.parse(from)) / 60_000;
  return AccountTime.addMinutes(from, Math.floor(minutes * share));
}

/**
 * Technicians with the skill, in order from a random one on; those who have left are not listed.
 */
function listAble(
  plan: BusinessPlan,
  {place, random, day}: {readonly place: number; readonly random: Random; readonly day: number},
): readonly number[] {
  const chance = random.next();
  const all = Array.from({length: plan.technicians}, (_, step) => plan.technician(step)).filter(
    (technician) => plan.isThere(technician, day),
  );
  const skilled = all.filter((technician) => plan.isSkilled(technician, place));
  const able = skilled.length === 0 ? all : skilled;
  const first = Math.floor(chance * able.length);
  return [...able.slice(first), ...able.slice(0, first)];
}

const minutesOfDay = 1_440;
/** Travel time between two customers. */
const travelMinutes = 30;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A wanted visit: minutes are counted from local midnight. */
interface Wanted {
  readonly days: readonly number[];
  /** The start times that would suit on a day, the best one first. */
  readonly slotsOf: (day: number) => readonly number[];
  readonly minutes: number;
  /** Technicians who can do the work, the best one first. */
  readonly able: readonly number[];
  readonly size: number;
}

interface Booking {
  readonly day: number;
  readonly slot: number;
  readonly crew: readonly number[];
}

/** The visits that are promised so far. */
class Bookings {
  /** By technician and day. */
  readonly #spans = new Map<string, Span[]>();

  /**
   * The first day and time at which enough suitable technicians are free; null if there is none.
   */
  find({days, slotsOf, minutes, able, size}: Wanted): Booking | null {
    for (const day of days) {
      for (const slot of slotsOf(day)) {
        const free = able.filter((technician) => this.#isFree(technician, {day, slot, minutes}));
        if (free.length >= size) return {day, slot, crew: free.slice(0, size)};
      }
    }
    return null;
  }

  book({day, slot, crew}: Booking, minutes: number): void {
    const span = spanOf({day, slot, minutes});
    for (const technician of crew)
      for (const each of daysOf(span)) {
        const key = `${technician} ${each}`;
        this.#spans.set(key, [...(this.#spans.get(key) ?? []), span]);
      }
  }

  #isFree(technician: number, visit: Parameters<typeof spanOf>[0]): boolean {
    const {from, to} = spanOf(visit);
    return daysOf({from, to}).every((day) =>
      (this.#spans.get(`${technician} ${day}`) ?? []).every(
        (held) => held.to <= from || held.from >= to,
      ),
    );
  }
}

function spanOf({
  day,
  slot,
  minutes,
}: {
  readonly day: number;
  readonly slot: number;
  readonly minutes: number;
}): Span {
  const from = day * minutesOfDay + slot;
  return {from, to: from + minutes + travelMinutes};
}

function daysOf({from, to}: Span): number[] {
  const first = Math.floor(from / minutesOfDay);
  const last = Math.floor((to - 1) / minutesOfDay);
  return Array.from({length: last - first + 1}, (_, step) => first + step);
}

/** If a crew is delayed for longer, it leaves the work to others, and still comes. */
const longestDelay = 240;

/**
 * All orders of a plan, in the order of their calls. The life of an order depends only on calls
 * before it, and on visits that begin before its own. So it is the same however far the plan
 * reaches.
 */
export class Roster {
  readonly plan: BusinessPlan;
  readonly #orders: WorkOrder[];

  /** @param count - how many orders there are */
  constructor(plan: BusinessPlan, count: number) {
    this.plan = plan;
    const bookings = new Bookings();
    this.#orders = Array.from({length: count}, (_, index) => decideOrder(plan, {index, bookings}));
    this.#keepTimes();
  }

  order(index: number): WorkOrder {
    const order = this.#orders[index];
    if (order === undefined)
      throw new RangeError(`order ${index}: expected one of ${this.#orders.length}`);
    return order;
  }

  /** A visit begins when the crew has left the one before. */
  #keepTimes(): void {
    const freeAt = new Map<number, number>();
    const visits = this.#orders.filter(({life}) => life.startedAt !== null);
    const starts = new Map(visits.map(({index, life}) => [index, startOf(life) ?? '']));
    const inTime = visits.toSorted((one, other) =>
      compare(starts.get(one.index) ?? '', starts.get(other.index) ?? ''),
    );
    for (const {index, crew, life, minutes} of inTime) {
      const begins = Date.parse(life.startedAt ?? '');
      const ready = Math.max(...crew.map((technician) => freeAt.get(technician) ?? 0));
      const late = Math.ceil((ready - begins) / 60_000);
      const kept: Life = late > 0 && late <= longestDelay ? postponeOrder(life, late) : life;
      const order = this.order(index);
      this.#orders[index] = {...order, life: kept};
      const left =
        Date.parse(kept.startedAt ?? '') + (workedMinutes(kept, minutes) + travelMinutes) * 60_000;
      for (const technician of crew)
        freeAt.set(technician, Math.max(left, freeAt.get(technician) ?? 0));
    }
  }
}

const compare = (one: string, other: string) => (one < other ? -1 : one > other ? 1 : 0);
