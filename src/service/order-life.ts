// The life of an order: an estimate, an appointment that may move, a visit that may begin late or
// take longer, an invoice, its payment, or none of these. All of it is chosen once, from a separate
// stream of chance. The state of the business at a moment is everything that has happened by then.

import {AccountTime} from './account-time.ts';
import type {Random} from './vocabulary.ts';

/** A null value never happens. All times in UTC. */
export interface Life {
  readonly estimate: {
    readonly sentAt: string;
    readonly wonAt: string | null;
    readonly lostAt: string | null;
  } | null;
  /** In the order in which they were made: the last one counts. */
  readonly appointments: readonly {readonly madeAt: string; readonly start: string}[];
  readonly canceledAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  /** When the hours were written down. */
  readonly enteredAt: string | null;
  readonly invoicedAt: string | null;
  readonly sentAt: string | null;
  readonly viewedAt: string | null;
  /** When a part was taken off the bill. */
  readonly correctedAt: string | null;
  readonly partPaidAt: string | null;
  readonly paidAt: string | null;
  /** The share of the total that is paid first, if a bill is paid in two parts. */
  readonly paidShare: number;
}

const dayMinutes = 1_440;
export const untouched: Life = {
  estimate: null,
  appointments: [],
  canceledAt: null,
  startedAt: null,
  endedAt: null,
  enteredAt: null,
  invoicedAt: null,
  sentAt: null,
  viewedAt: null,
  correctedAt: null,
  partPaidAt: null,
  paidAt: null,
  paidShare: 0,
};

/** The part of a life that has happened before a moment. */
export function readLifeAt(life: Life, now: string): Life {
  const keepPast = (at: string | null) => (at !== null && at < now ? at : null);
  const {estimate, appointments} = life;
  return {
    estimate:
      estimate === null || estimate.sentAt >= now
        ? null
        : {
            sentAt: estimate.sentAt,
            wonAt: keepPast(estimate.wonAt),
            lostAt: keepPast(estimate.lostAt),
          },
    // Anything that is decided with the call is known from then on.
    appointments: appointments.filter(({madeAt}) => madeAt < now),
    canceledAt: keepPast(life.canceledAt),
    startedAt: keepPast(life.startedAt),
    endedAt: keepPast(life.endedAt),
    enteredAt: keepPast(life.enteredAt),
    invoicedAt: keepPast(life.invoicedAt),
    sentAt: keepPast(life.sentAt),
    viewedAt: keepPast(life.viewedAt),
    correctedAt: keepPast(life.correctedAt),
    partPaidAt: keepPast(life.partPaidAt),
    paidAt: keepPast(life.paidAt),
    paidShare: life.paidShare,
  };
}

/** Every moment at which an event of a life happens. */
export function listTimes({estimate, appointments, paidShare: _, ...single}: Life): string[] {
  const times = [
    ...Object.values(single),
    ...appointments.map(({madeAt}) => madeAt),
    ...[estimate?.sentAt, estimate?.wonAt, estimate?.lostAt],
  ];
  return times.filter((at) => at !== null && at !== undefined).toSorted();
}

export function readStatus({startedAt, endedAt}: Life): 'scheduled' | 'in_progress' | 'complete' {
  if (endedAt !== null) return 'complete';
  return startedAt === null ? 'scheduled' : 'in_progress';
}

/** The appointment that counts; null if there is none. */
export const readStart = ({appointments}: Life) => appointments.at(-1)?.start ?? null;

/**
 * The length of a visit by the clock. If its end was forgotten, people enter a day at most; if
 * there is no end, the planned length counts.
 */
export function measureWorkedMinutes({startedAt, endedAt}: Life, planned: number): number {
  if (startedAt === null || endedAt === null) return planned;
  return Math.min(480, (Date.parse(endedAt) - Date.parse(startedAt)) / 60_000);
}

/** A visit that begins some minutes later, with all that follows it. */
export function postponeOrder(life: Life, minutes: number): Life {
  const postpone = (at: string | null) =>
    at === null ? null : AccountTime.addMinutes(at, minutes);
  return {
    ...life,
    startedAt: postpone(life.startedAt),
    endedAt: postpone(life.endedAt),
    enteredAt: postpone(life.enteredAt),
    invoicedAt: postpone(life.invoicedAt),
    sentAt: postpone(life.sentAt),
    viewedAt: postpone(life.viewedAt),
    correctedAt: postpone(life.correctedAt),
    partPaidAt: postpone(life.partPaidAt),
    paidAt: postpone(life.paidAt),
  };
}

/**
 * A number around 1 that is never negative: half of the values are below 1, and a few are large.
 */
function drawFactor(random: Random, spread: number): number {
  const normal =
    Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.exp(spread * normal);
}

/** The minutes by which a crew is late; negative if it is early. */
function drawDelay(random: Random): number {
  const choice = random.weighted([8, 70, 22]);
  if (choice === 0) return -random.integer(5, 20);
  return choice === 1
    ? random.integer(0, 15)
    : Math.min(120, 15 + Math.round(-30 * Math.log(1 - random.next())));
}

/** The real length of a visit, from its planned length, in minutes. */
function drawLength(random: Random, planned: number): number {
  return Math.max(10, Math.round((planned * drawFactor(random, 0.3)) / 5) * 5);
}

/** An estimate that is sent after a call, and how it ends; null for most jobs. */
export function drawEstimate(random: Random, calledAt: string): Life['estimate'] {
  if (!random.isTrue(0.18)) return null;
  const addMinutes = (minutes: number) => AccountTime.addMinutes(calledAt, minutes);
  const sentAfter = random.integer(60, 2 * dayMinutes);
  const outcome = random.weighted([55, 30, 15]);
  const decidedAt = addMinutes(sentAfter + Math.round(6 * dayMinutes * drawFactor(random, 0.7)));
  return {
    sentAt: addMinutes(sentAfter),
    wonAt: outcome === 0 ? decidedAt : null,
    lostAt: outcome === 1 ? decidedAt : null,
  };
}

/** Days from the work to its invoice; null if it is forgotten. */
function drawInvoice(random: Random): number | null {
  return (
    [0, random.integer(1, 5), random.integer(6, 40), null][random.weighted([60, 30, 9, 1])] ?? null
  );
}

/** Days from the invoice to its payment in full; null if it is never paid. Firms take longer. */
function drawPayment(random: Random, isFirm: boolean): number | null {
  if (random.isTrue(0.015)) return null;
  if (random.isTrue(isFirm ? 0.1 : 0.6)) return 0;
  return Math.round((isFirm ? 24 : 16) * drawFactor(random, 0.7));
}

/** A visit, from its beginning to its payment. */
export function drawVisit(
  random: Random,
  visit: {readonly start: string; readonly minutes: number; readonly isFirm: boolean},
): Partial<Life> {
  const {start, minutes, isFirm} = visit;
  const addMinutes = (from: string, amount: number) => AccountTime.addMinutes(from, amount);
  // No crew came; the office found out later, or never.
  const missedKind = random.weighted([98, 1.7, 0.3]);
  if (missedKind > 0)
    return {
      canceledAt: missedKind === 1 ? addMinutes(start, random.integer(3, 50) * dayMinutes) : null,
    };
  const startedAt = addMinutes(start, drawDelay(random));
  // If the crew did not press the button at the end, the office presses it later, or never.
  const forgottenEnd = random.weighted([97.2, 2, 0.8]);
  const length =
    drawLength(random, minutes) + (forgottenEnd === 1 ? random.integer(1, 50) * dayMinutes : 0);
  if (forgottenEnd === 2) return {startedAt};
  const endedAt = addMinutes(startedAt, length);
  const entryDelayDays = [0, 0, 0, 1, 2, 3][random.integer(0, 5)] ?? 0;
  const enteredAt = random.isTrue(0.02)
    ? null
    : addMinutes(endedAt, entryDelayDays * dayMinutes + 5);
  const invoiceDays = drawInvoice(random);
  const workEvents = {startedAt, endedAt, enteredAt};
  return invoiceDays === null
    ? workEvents
    : {
        ...workEvents,
        ...drawBilling(
          random,
          addMinutes(endedAt, invoiceDays * dayMinutes),
          drawPayment(random, isFirm),
        ),
      };
}

function drawBilling(
  random: Random,
  invoicedAt: string,
  paymentDays: number | null,
): Partial<Life> {
  const addMinutes = (minutes: number) => AccountTime.addMinutes(invoicedAt, minutes);
  const sentAt = random.isTrue(0.9) ? addMinutes(random.integer(0, 1) * dayMinutes + 10) : null;
  const viewedAt = sentAt !== null && random.isTrue(0.4) ? addMinutes(2 * dayMinutes) : null;
  const paidAt = paymentDays === null ? null : addMinutes(paymentDays * dayMinutes + 30);
  const possibleCorrection = random.isTrue(0.03)
    ? addMinutes(random.integer(1, 20) * dayMinutes)
    : null;
  const isInParts = random.isTrue(0.06);
  const paidShare = random.integer(30, 70) / 100;
  return {
    invoicedAt,
    sentAt,
    viewedAt,
    paidAt,
    paidShare,
    // A bill that is paid is not corrected.
    correctedAt:
      possibleCorrection !== null && (paidAt === null || possibleCorrection < paidAt)
        ? possibleCorrection
        : null,
    partPaidAt:
      isInParts && paymentDays !== null && paymentDays > 3
        ? addMinutes(Math.floor(paymentDays / 2) * dayMinutes)
        : null,
  };
}
