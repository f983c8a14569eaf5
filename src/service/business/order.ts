import {taxes} from '../store/foundation.ts';
import {taxOf} from './clients.ts';
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
  readonly minutes: number;
  readonly taxId: string | null;
  /** In percent, on parts. */
  readonly taxRate: string;
}

/** Decides the customer of a job, its work, its crew, its time and its status. */
export function decideOrder(plan: Plan, index: number, random: Random): Order {
  const {calendar} = plan;
  const day = calendar.dayAt(plan.shareOf(index));
  const place = random.weighted(catalogue.map(({months}) => months[calendar.month(day)] ?? 1));
  const work = catalogue[place] ?? catalogue[0];
  if (work === undefined) throw new TypeError('the catalogue is empty');
  const isOpen = random.isTrue(calendar.today - day < 60 ? 0.08 : 0.01);
  const lead =
    work.name === 'Emergency call'
      ? 0
      : random.integer(0, 3) === 0
        ? random.integer(8, 40)
        : random.integer(0, 7);
  const visit = calendar.workingDay(day + lead);
  const slot = random.integer(14, 32) * 30;
  const customer = plan.customerOf(index, random);
  const taxId = taxOf(plan, customer);
  return {
    id: plan.nextId(),
    customer,
    work,
    crew: isOpen
      ? []
      : chooseCrew(plan, {place, size: random.isTrue(0.25) ? random.integer(2, work.crew) : 1, random}),
    status: isOpen ? 'scheduled' : progress(visit - calendar.today, {slot, random}),
    createdAt: calendar.at(day, 480 + random.integer(0, 500)),
    start: isOpen ? null : calendar.at(visit, slot),
    minutes: work.minutes + random.integer(-1, 2) * 15,
    taxId,
    taxRate: taxes.find(({id}) => id === taxId)?.rate ?? '0.0',
  };
}

/**
 * The status of a visit that is so many days ahead: nearly all past visits are done, some never. It is early
 * in the morning of `today`: a crew that begins at seven is there.
 */
function progress(
  ahead: number,
  {slot, random}: {readonly slot: number; readonly random: Random},
): Order['status'] {
  if (ahead > 0) return 'scheduled';
  if (ahead === 0) return slot < 480 ? 'in_progress' : 'scheduled';
  const weights = ahead > -4 ? [8, 1, 1] : [97, 1, 2];
  return (['complete', 'in_progress', 'scheduled'] as const)[random.weighted(weights)] ?? 'complete';
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
