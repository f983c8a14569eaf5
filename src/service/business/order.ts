import {AccountTime} from '../account-time.ts';
import {taxes} from '../store/foundation.ts';
import {isFirm, taxOf} from './clients.ts';
import {drawEstimate, type Life, live, untouched} from './life.ts';
import type {Plan} from './plan.ts';
import type {Random} from './random.ts';
import {catalogue, type Work} from './vocabulary/catalogue.ts';

/** A job as far as it is decided. */
export interface Order {
  readonly id: string;
  readonly customer: number;
  readonly work: Work;
  readonly crew: readonly number[];
  readonly status: 'scheduled' | 'in_progress' | 'complete';
  readonly createdAt: string;
  readonly start: string | null;
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

/** Decides the customer of a job, its work, its crew, its time, and what became of it. */
export function decideOrder(plan: Plan, index: number, random: Random): Order {
  const {calendar} = plan;
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
  const isUnscheduled = random.isTrue(calendar.today - day < 60 ? 0.08 : 0.003);
  const customer = plan.customerOf(index, random);
  const taxId = taxOf(plan, customer);
  const call = {day, created, at: calendar.at(day, created)};
  const chance = plan.random('life', index);
  const estimate = isEmergency ? null : readEstimate(plan, {call, drawn: drawEstimate(chance)});
  const visit =
    isUnscheduled || (estimate !== null && estimate.wonAt === null)
      ? null
      : chooseVisit(plan, {call, lead, slot, minutes, isEmergency, wonAt: estimate?.wonAt ?? null});
  const life = decideLife(plan, {chance, call, visit, minutes, estimate, isFirm: isFirm(plan, customer)});
  return {
    id: plan.nextId(),
    customer,
    work,
    crew: visit === null ? [] : chooseCrew(plan, {place, size, random}),
    status: life.endedAt !== null ? 'complete' : life.startedAt !== null ? 'in_progress' : 'scheduled',
    createdAt: call.at,
    start: visit === null ? null : calendar.at(visit.day, visit.slot),
    minutes,
    life,
    taxId,
    taxRate: taxes.find(({id}) => id === taxId)?.rate ?? '0.0',
  };
}

interface Call {
  readonly day: number;
  /** Minutes after midnight. */
  readonly created: number;
  readonly at: string;
}

interface Visit {
  readonly day: number;
  /** Minutes after midnight. */
  readonly slot: number;
}

/** An estimate as far as it has come by today. */
function readEstimate(
  plan: Plan,
  {call, drawn}: {readonly call: Call; readonly drawn: ReturnType<typeof drawEstimate>},
): Life['estimate'] {
  if (drawn === null) return null;
  const past = (minutes: number | null) => {
    const at = minutes === null ? null : AccountTime.addMinutes(call.at, minutes);
    return at !== null && at < plan.now ? at : null;
  };
  const sentAt = past(drawn.sent);
  return sentAt === null ? null : {sentAt, wonAt: past(drawn.won), lostAt: past(drawn.lost)};
}

/** A time within the working day, not before the call has been taken nor before the estimate was won. */
function chooseVisit(plan: Plan, wish: Visitor): Visit {
  const {calendar} = plan;
  const {call, lead, minutes, isEmergency, wonAt} = wish;
  const afterWon = wonAt === null ? 0 : Math.ceil(Date.parse(wonAt) / 86_400_000);
  const earliest = Math.max(call.day + lead, afterWon);
  const day = isEmergency ? earliest : calendar.workingDay(earliest);
  const latest = Math.max(dayBegins, dayEnds - minutes);
  const slot = isEmergency ? wish.slot : Math.min(wish.slot, latest);
  const soonest = Math.ceil((call.created + shortestNotice) / 30) * 30;
  if (day > call.day || slot >= soonest) return {day, slot};
  if (isEmergency || soonest <= latest) return {day, slot: soonest};
  return {day: calendar.workingDay(day + 1), slot: dayBegins};
}

interface Visitor {
  readonly call: Call;
  readonly lead: number;
  readonly slot: number;
  readonly minutes: number;
  readonly isEmergency: boolean;
  readonly wonAt: string | null;
}

function decideLife(
  plan: Plan,
  given: {
    readonly chance: Random;
    readonly call: Call;
    readonly visit: Visit | null;
    readonly minutes: number;
    readonly estimate: Life['estimate'];
    readonly isFirm: boolean;
  },
): Life {
  const {chance, call, visit, minutes, estimate, isFirm} = given;
  const {calendar, now} = plan;
  if (visit === null) return {...untouched, estimate};
  const start = calendar.at(visit.day, visit.slot);
  if (chance.isTrue(0.05)) {
    const dayBefore = calendar.at(visit.day - 1, 900);
    const between = AccountTime.addMinutes(call.at, chance.integer(30, 2_880));
    const at = chance.isTrue(0.5) && dayBefore > call.at ? dayBefore : between;
    if (at < start && at < now) return {...untouched, estimate, canceledAt: at};
  }
  const progress = progressOf(visit.day - calendar.today, chance);
  if (progress === 'waiting' || start >= now) return {...untouched, estimate};
  return live(chance, {start, minutes, isFirm, isDone: progress === 'done', estimate, now});
}

/** Nearly all past visits are done. What was forgotten is cleared up within two months, but for a rest. */
function progressOf(ahead: number, chance: Random): 'done' | 'begun' | 'waiting' {
  const weights = ahead > -4 ? [8, 1, 1] : ahead > -60 ? [97, 1, 2] : [99.3, 0.2, 0.5];
  return (['done', 'begun', 'waiting'] as const)[chance.weighted(weights)] ?? 'done';
}

/** Technicians with the skill, beginning anywhere among them. */
function chooseCrew(
  plan: Plan,
  {place, size, random}: {readonly place: number; readonly size: number; readonly random: Random},
): readonly number[] {
  const first = random.integer(0, plan.technicians - 1);
  const all = Array.from({length: plan.technicians}, (_, step) => plan.technician(first + step));
  const skilled = all.filter((technician) => plan.isSkilled(technician, place));
  return (skilled.length === 0 ? all : skilled).slice(0, size);
}
