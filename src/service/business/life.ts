// What becomes of an order: an estimate, a visit that begins late, work that takes its time, an invoice, its payment, or none of
// it. Drawn from a stream of its own, so that the order itself, its customer and its charges do not depend on it.

import {AccountTime} from '../account-time.ts';
import type {Random} from './random.ts';

/** The times that came about; null for what did not happen, or not yet. All in UTC. */
export interface Life {
  readonly estimate: {
    readonly sentAt: string;
    readonly wonAt: string | null;
    readonly lostAt: string | null;
  } | null;
  readonly canceledAt: string | null;
  readonly startedAt: string | null;
  readonly endedAt: string | null;
  readonly invoicedAt: string | null;
  readonly paidAt: string | null;
  /** The share of the total that was paid of a bill which is not paid in full. */
  readonly paidShare: number;
}

const day = 1_440;
/** Nothing has happened. */
export const untouched: Life = {
  estimate: null,
  canceledAt: null,
  startedAt: null,
  endedAt: null,
  invoicedAt: null,
  paidAt: null,
  paidShare: 0,
};

/** A number around 1 that is never negative: the half lie below, and now and then one is large. */
function around(random: Random, spread: number): number {
  const normal = Math.sqrt(-2 * Math.log(1 - random.next())) * Math.cos(2 * Math.PI * random.next());
  return Math.exp(spread * normal);
}

/** Minutes by which a crew comes later than it said; negative where it is early. */
export function drawDelay(random: Random): number {
  const place = random.weighted([8, 70, 22]);
  if (place === 0) return -random.integer(5, 20);
  return place === 1
    ? random.integer(0, 15)
    : Math.min(120, 15 + Math.round(-30 * Math.log(1 - random.next())));
}

/** The length of a visit that was planned to take so long, in minutes. */
export function drawLength(random: Random, planned: number): number {
  return Math.max(10, Math.round((planned * around(random, 0.3)) / 5) * 5);
}

/** An estimate that was sent, and how it ended; null for most jobs. Minutes count from the call. */
export function drawEstimate(
  random: Random,
): {readonly sent: number; readonly won: number | null; readonly lost: number | null} | null {
  if (!random.isTrue(0.18)) return null;
  const sent = random.integer(60, 2 * day);
  const end = random.weighted([55, 30, 15]);
  const decided = sent + Math.round(6 * day * around(random, 0.7));
  return {sent, won: end === 0 ? decided : null, lost: end === 1 ? decided : null};
}

/** Days from the work to its invoice; null where it was forgotten. */
export function drawInvoice(random: Random): number | null {
  return [0, random.integer(1, 5), random.integer(6, 40), null][random.weighted([60, 30, 9, 1])] ?? null;
}

/** Days from the invoice to its payment in full; null where it is never paid. Firms take longer. */
export function drawPayment(random: Random, isFirm: boolean): number | null {
  if (random.isTrue(0.015)) return null;
  if (random.isTrue(isFirm ? 0.1 : 0.6)) return 0;
  return Math.round((isFirm ? 24 : 16) * around(random, 0.7));
}

/** The life of a visit that was carried out, up to now. */
export function live(
  random: Random,
  visit: {
    readonly start: string;
    readonly minutes: number;
    readonly isFirm: boolean;
    readonly isDone: boolean;
    readonly estimate: Life['estimate'];
    readonly now: string;
  },
): Life {
  const {start, minutes, isFirm, isDone, estimate, now} = visit;
  const startedAt = AccountTime.addMinutes(start, drawDelay(random));
  const endedAt = AccountTime.addMinutes(startedAt, drawLength(random, minutes));
  if (!isDone || endedAt >= now)
    return {...untouched, estimate, startedAt: startedAt < now ? startedAt : null};
  const past = (at: string) => (at < now ? at : null);
  const days = drawInvoice(random);
  const invoicedAt = days === null ? null : past(AccountTime.addMinutes(endedAt, days * day));
  const wait = drawPayment(random, isFirm);
  const isInParts = random.isTrue(0.06);
  const paidAt =
    invoicedAt === null || wait === null ? null : past(AccountTime.addMinutes(invoicedAt, wait * day + 30));
  const paidShare = invoicedAt !== null && paidAt === null && isInParts ? random.integer(30, 70) / 100 : 0;
  return {estimate, canceledAt: null, startedAt, endedAt, invoicedAt, paidAt, paidShare};
}
