// The orders of customers and the crews that come: a technician is in one place at a time. The
// roster decides the orders one after another, because each takes time from the following ones.

import {AccountTime} from './account-time.ts';
import {findTaxId, isFirm} from './business-people.ts';
import type {BusinessPlan} from './business-plan.ts';
import {taxes} from './foundation.ts';
import {
  drawEstimate,
  drawVisit,
  type Life,
  measureWorkedMinutes,
  postponeOrder,
  readStart,
  untouched,
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
const workdayStart = 420;
const workdayEnd = 1_080;
/** An emergency is handled until then. */
const nightStart = 1_260;
const minNoticeMinutes = 60;
/** How many days ahead the office searches for a day with room. */
const searchDayCount = 21;
/** A technician who leaves gets no visits from this many days before on. */
const leaverNoticeDays = 60;

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
  const workIndex = random.weighted(
    workCatalogue.map(({months}) => months[calendar.month(day)] ?? 1),
  );
  const work = workCatalogue[workIndex] ?? workCatalogue[0];
  if (work === undefined) throw new TypeError('the catalogue is empty');
  const isEmergency = work.name === 'Emergency call';
  const created = 480 + random.integer(0, 500);
  const minutes = work.minutes + random.integer(-1, 2) * 15;
  const size = random.isTrue(0.25) ? random.integer(2, work.crew) : 1;
  const leadDays = isEmergency
    ? 0
    : random.integer(0, 3) === 0
      ? random.integer(8, 40)
      : random.integer(0, 7);
  const slot = work.minutes >= 480 ? random.integer(14, 18) * 30 : random.integer(14, 32) * 30;
  const customer = plan.customerOf(index, random);
  const taxId = findTaxId(plan, customer);
  const call = {day, created, at: calendar.at(day, created)};
  const technicians = listAble(plan, {
    place: workIndex,
    random,
    day: day + leadDays + leaverNoticeDays,
  });
  const visitRequest = {
    call,
    lead: leadDays,
    slot,
    minutes,
    isEmergency,
    able: technicians,
    size: Math.min(size, technicians.length),
  };
  const lifeRandom = plan.random('life', index);
  const decision = decideLife(plan, visitRequest, {
    chance: lifeRandom,
    isFirm: isFirm(plan, customer),
    bookings,
  });
  return {
    index,
    customer,
    work,
    minutes,
    taxId,
    ...decision,
    createdAt: call.at,
    taxRate: taxes.find(({id}) => id === taxId)?.rate ?? '0.0',
  };
}

interface VisitRequest {
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

type Decision = Pick<WorkOrder, 'life' | 'crew'>;

function decideLife(
  plan: BusinessPlan,
  visitRequest: VisitRequest,
  {
    chance,
    isFirm,
    bookings,
  }: {readonly chance: Random; readonly isFirm: boolean; readonly bookings: Bookings},
): Decision {
  const {call, minutes, isEmergency, able, size} = visitRequest;
  const defaultCrew = able.slice(0, size);
  const estimate = isEmergency ? null : drawEstimate(chance, call.at);
  const unplannedOrder = {crew: defaultCrew, life: {...untouched, estimate}};
  if (estimate !== null && estimate.wonAt === null) return unplannedOrder;
  const agreedAt = estimate?.wonAt ?? call.at;
  const waitKind = isEmergency ? 0 : chance.weighted([91.7, 8, 0.3]);
  if (waitKind === 2) return unplannedOrder;
  const madeAt =
    waitKind === 1 ? AccountTime.addMinutes(agreedAt, chance.integer(1, 40) * 1_440) : agreedAt;
  const visit = chooseVisit(plan, visitRequest, {madeAt, bookings});
  const {crew} = visit;
  const firstAppointment = {madeAt, start: plan.calendar.at(visit.day, visit.slot)};
  const move = isEmergency
    ? null
    : drawMove(plan, visitRequest, {chance, visit, first: firstAppointment, bookings});
  const appointments = move === null ? [firstAppointment] : [firstAppointment, move.appointment];
  const {start} = move?.appointment ?? firstAppointment;
  const canceledAt = drawCancellation(chance, appointments.at(-1)?.madeAt ?? madeAt, start);
  const plannedLife = {...untouched, estimate, appointments};
  if (canceledAt !== null) return {crew, life: {...plannedLife, canceledAt}};
  bookings.book(move?.visit ?? visit, minutes);
  return {crew, life: {...plannedLife, ...drawVisit(chance, {start, minutes, isFirm})}};
}

/**
 * A time within the working day, after it was agreed, at which a crew is free. If there is no such
 * time, a technician has to be in two places.
 */
function chooseVisit(
  plan: BusinessPlan,
  visitRequest: VisitRequest,
  {madeAt, bookings}: {readonly madeAt: string; readonly bookings: Bookings},
): Booking {
  const {calendar} = plan;
  const {call, lead, minutes, isEmergency, able, size} = visitRequest;
  const agreementDay = madeAt === call.at ? 0 : Math.ceil(Date.parse(madeAt) / 86_400_000);
  const earliest = Math.max(call.day + lead, agreementDay);
  const soonestMinute = Math.ceil((call.created + minNoticeMinutes) / 30) * 30;
  const latestMinute = isEmergency ? nightStart : Math.max(workdayStart, workdayEnd - minutes);
  const slotsOf = (day: number) =>
    listSlots(visitRequest.slot, latestMinute).filter(
      (slot) => day > call.day || slot >= soonestMinute,
    );
  const days = isEmergency ? [earliest] : listWorkingDays(plan, earliest);
  const booking = bookings.find({days, slotsOf, minutes, able, size});
  if (booking !== null) return booking;
  const crew = able.slice(0, size);
  if (isEmergency) return {day: earliest, slot: Math.max(visitRequest.slot, soonestMinute), crew};
  return {
    day: calendar.workingDay(earliest + 1),
    slot: Math.min(visitRequest.slot, latestMinute),
    crew,
  };
}

/** Working days, from a given day on. */
function listWorkingDays({calendar}: BusinessPlan, first: number): number[] {
  const days = Array.from({length: searchDayCount}, (_, step) => calendar.workingDay(first + step));
  return [...new Set(days)];
}

/** Each half hour of a working day, those from the wanted time on first. */
function listSlots(wantedSlot: number, latest: number): number[] {
  const slots = Array.from(
    {length: Math.floor((latest - workdayStart) / 30) + 1},
    (_, step) => workdayStart + step * 30,
  );
  return [
    ...slots.filter((slot) => slot >= wantedSlot),
    ...slots.filter((slot) => slot < wantedSlot).toReversed(),
  ];
}

/** A few appointments are moved before their time. */
function drawMove(
  plan: BusinessPlan,
  {minutes}: VisitRequest,
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
  const days = listWorkingDays(plan, visit.day + chance.integer(1, 10));
  const madeAt = pickBetween(first.madeAt, first.start, share);
  if (!isMoved || madeAt <= first.madeAt) return null;
  const {crew, slot} = visit;
  const booking = bookings.find({
    days,
    slotsOf: () => [slot],
    minutes,
    able: crew,
    size: crew.length,
  });
  if (booking === null) return null;
  return {
    visit: booking,
    appointment: {madeAt, start: plan.calendar.at(booking.day, booking.slot)},
  };
}

/** A visit that is cancelled in time, half of these on the day before; null for nearly all. */
function drawCancellation(chance: Random, madeAt: string, start: string): string | null {
  const isCanceled = chance.isTrue(0.05);
  const isLate = chance.isTrue(0.5);
  const share = chance.next();
  if (!isCanceled) return null;
  const dayBefore = AccountTime.addMinutes(start, -1_080);
  const at = isLate && dayBefore > madeAt ? dayBefore : pickBetween(madeAt, start, share);
  return at > madeAt && at < start ? at : null;
}

/** A whole minute between two moments. */
function pickBetween(from: string, to: string, share: number): string {
  const minutes = (Date.parse(to) - Date.parse(from)) / 60_000;
  return AccountTime.addMinutes(from, Math.floor(minutes * share));
}

/**
 * Technicians with the skill, in order from a random one on; those who have left are not listed.
 */
function listAble(
  plan: BusinessPlan,
  {
    place: workIndex,
    random,
    day,
  }: {readonly place: number; readonly random: Random; readonly day: number},
): readonly number[] {
  const startShare = random.next();
  const presentTechnicians = Array.from({length: plan.technicians}, (_, step) =>
    plan.technician(step),
  ).filter((technician) => plan.isThere(technician, day));
  const skilledTechnicians = presentTechnicians.filter((technician) =>
    plan.isSkilled(technician, workIndex),
  );
  const technicians = skilledTechnicians.length === 0 ? presentTechnicians : skilledTechnicians;
  const firstIndex = Math.floor(startShare * technicians.length);
  return [...technicians.slice(firstIndex), ...technicians.slice(0, firstIndex)];
}

const minutesOfDay = 1_440;
/** Travel time between two customers. */
const travelMinutes = 30;

interface Span {
  readonly from: number;
  readonly to: number;
}

/** A wanted visit: minutes are counted from local midnight. */
interface WantedVisit {
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
  find({days, slotsOf, minutes, able, size}: WantedVisit): Booking | null {
    for (const day of days) {
      for (const slot of slotsOf(day)) {
        const free = able.filter((technician) => this.#isFree(technician, {day, slot, minutes}));
        if (free.length >= size) return {day, slot, crew: free.slice(0, size)};
      }
    }
    return null;
  }

  book({day, slot, crew}: Booking, minutes: number): void {
    const span = makeSpan({day, slot, minutes});
    for (const technician of crew)
      for (const spanDay of listDays(span)) {
        const key = `${technician} ${spanDay}`;
        this.#spans.set(key, [...(this.#spans.get(key) ?? []), span]);
      }
  }

  #isFree(technician: number, visit: Parameters<typeof makeSpan>[0]): boolean {
    const {from, to} = makeSpan(visit);
    return listDays({from, to}).every((day) =>
      (this.#spans.get(`${technician} ${day}`) ?? []).every(
        (booked) => booked.to <= from || booked.from >= to,
      ),
    );
  }
}

function makeSpan({
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

function listDays({from, to}: Span): number[] {
  const first = Math.floor(from / minutesOfDay);
  const last = Math.floor((to - 1) / minutesOfDay);
  return Array.from({length: last - first + 1}, (_, step) => first + step);
}

/** If a crew is delayed for longer, it leaves the work to others, and still comes. */
const maxDelayMinutes = 240;

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
    const starts = new Map(visits.map(({index, life}) => [index, readStart(life) ?? '']));
    const visitsByStart = visits.toSorted((first, second) =>
      compareTexts(starts.get(first.index) ?? '', starts.get(second.index) ?? ''),
    );
    for (const {index, crew, life, minutes} of visitsByStart) {
      const plannedStart = Date.parse(life.startedAt ?? '');
      const crewFreeAt = Math.max(...crew.map((technician) => freeAt.get(technician) ?? 0));
      const delayMinutes = Math.ceil((crewFreeAt - plannedStart) / 60_000);
      const actualLife: Life =
        delayMinutes > 0 && delayMinutes <= maxDelayMinutes
          ? postponeOrder(life, delayMinutes)
          : life;
      const order = this.order(index);
      this.#orders[index] = {...order, life: actualLife};
      const crewLeavesAt =
        Date.parse(actualLife.startedAt ?? '') +
        (measureWorkedMinutes(actualLife, minutes) + travelMinutes) * 60_000;
      for (const technician of crew)
        freeAt.set(technician, Math.max(crewLeavesAt, freeAt.get(technician) ?? 0));
    }
  }
}

export const compareTexts = (first: string, second: string) =>
  first < second ? -1 : first > second ? 1 : 0;
