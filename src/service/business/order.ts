import {AccountTime} from '../account-time.ts';
import {taxes} from '../store/foundation.ts';
import {isFirm, taxOf} from './clients.ts';
import {drawEstimate, drawVisit, type Life, untouched} from './life.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import {catalogue, type Work} from './vocabulary/catalogue.ts';

/** A job with all that ever becomes of it. */
export interface Order {
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
const shortestNotice = 60;

/** Decides the customer of a job, its work, its crew, and what becomes of it. */
export function decideOrder(plan: Plan, index: number): Order {
  const {calendar} = plan;
  const random = plan.random('job', index);
  const day = calendar.dayAt(plan.shareOf(index));
  const place = random.weighted(catalogue.map(({months}) => months[calendar.month(day)] ?? 1));
  const work = catalogue[place] ?? catalogue[0];
  if (work === undefined) throw new TypeError('the catalogue is empty');
  const isEmergency = work.name === 'Emergency call';
  const created = 480 + random.integer(0, 500);
  const minutes = work.minutes + random.integer(-1, 2) * 15;
  const size = random.isTrue(0.25) ? random.integer(2, work.crew) : 1;
  const lead = isEmergency ? 0 : random.integer(0, 3) === 0 ? random.integer(8, 40) : random.integer(0, 7);
  const slot = work.minutes >= 480 ? random.integer(14, 18) * 30 : random.integer(14, 32) * 30;
  const customer = plan.customerOf(index, random);
  const taxId = taxOf(plan, customer);
  const call = {day, created, at: calendar.at(day, created)};
  const wish = {call, lead, slot, minutes, isEmergency};
  return {
    ...{index, customer, work, minutes, taxId},
    crew: chooseCrew(plan, {place, size, random, day: day + lead}),
    createdAt: call.at,
    life: decideLife(plan, wish, {chance: plan.random('life', index), isFirm: isFirm(plan, customer)}),
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
}

interface Visit {
  readonly day: number;
  /** Minutes after midnight. */
  readonly slot: number;
}

function decideLife(
  plan: Plan,
  wish: Wish,
  {chance, isFirm}: {readonly chance: Random; readonly isFirm: boolean},
): Life {
  const {call, minutes, isEmergency} = wish;
  const estimate = isEmergency ? null : drawEstimate(chance, call.at);
  if (estimate !== null && estimate.wonAt === null) return {...untouched, estimate};
  const agreedAt = estimate?.wonAt ?? call.at;
  const waits = isEmergency ? 0 : chance.weighted([91.7, 8, 0.3]);
  if (waits === 2) return {...untouched, estimate};
  const madeAt = waits === 1 ? AccountTime.addMinutes(agreedAt, chance.integer(1, 40) * 1_440) : agreedAt;
  const visit = chooseVisit(plan, wish, madeAt);
  const first = {madeAt, start: plan.calendar.at(visit.day, visit.slot)};
  const moved = isEmergency ? null : drawMove(plan, {chance, visit, first});
  const appointments = moved === null ? [first] : [first, moved];
  const {start} = moved ?? first;
  const canceledAt = drawCancellation(chance, appointments.at(-1)?.madeAt ?? madeAt, start);
  const planned = {...untouched, estimate, appointments};
  if (canceledAt !== null) return {...planned, canceledAt};
  return {...planned, ...drawVisit(chance, {start, minutes, isFirm})};
}

/** A time within the working day, after it was agreed. */
function chooseVisit(plan: Plan, wish: Wish, madeAt: string): Visit {
  const {calendar} = plan;
  const {call, lead, minutes, isEmergency} = wish;
  const afterwards = madeAt === call.at ? 0 : Math.ceil(Date.parse(madeAt) / 86_400_000);
  const earliest = Math.max(call.day + lead, afterwards);
  const day = isEmergency ? earliest : calendar.workingDay(earliest);
  const latest = Math.max(dayBegins, dayEnds - minutes);
  const slot = isEmergency ? wish.slot : Math.min(wish.slot, latest);
  const soonest = Math.ceil((call.created + shortestNotice) / 30) * 30;
  if (day > call.day || slot >= soonest) return {day, slot};
  if (isEmergency || soonest <= latest) return {day, slot: soonest};
  return {day: calendar.workingDay(day + 1), slot: dayBegins};
}

/** Now and then somebody moves an appointment before its time. */
function drawMove(
  plan: Plan,
  {
    chance,
    visit,
    first,
  }: {readonly chance: Random; readonly visit: Visit; readonly first: Life['appointments'][number]},
): Life['appointments'][number] | null {
  const isMoved = chance.isTrue(0.06);
  const share = chance.next();
  const day = plan.calendar.workingDay(visit.day + chance.integer(1, 10));
  const madeAt = between(first.madeAt, first.start, share);
  return isMoved && madeAt > first.madeAt ? {madeAt, start: plan.calendar.at(day, visit.slot)} : null;
}

/** A visit is called off in time, half of these on the day before; null for nearly all. */
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

/** Technicians with the skill, beginning anywhere among them; who has left comes no more. */
function chooseCrew(
  plan: Plan,
  {
    place,
    size,
    random,
    day,
  }: {readonly place: number; readonly size: number; readonly random: Random; readonly day: number},
): readonly number[] {
  const chance = random.next();
  const all = Array.from({length: plan.technicians}, (_, step) => plan.technician(step)).filter(
    (technician) => plan.isThere(technician, day),
  );
  const skilled = all.filter((technician) => plan.isSkilled(technician, place));
  const able = skilled.length === 0 ? all : skilled;
  const first = Math.floor(chance * able.length);
  return [...able.slice(first), ...able.slice(0, first)].slice(0, size);
}
