// How far work has come, how fast it goes, and how long it will take: told alike by a terminal, a
// log and a page.

import {formatDuration, formatNumber} from './format.ts';

/** The state of work that has a beginning and an end. */
export interface Pace {
  readonly done: number;
  /** Null where nobody knows. */
  readonly total: number | null;
  /** Null as long as there is too little to measure by. */
  readonly perSecond: number | null;
  /** Null where rate or total are unknown, and when more is done than was expected. */
  readonly leftMs: number | null;
}

/** A rate that was measured for less is a guess. */
const measuredMs = 1_000;

/** @param elapsedMs - since the work began with nothing done */
export function paceOf({
  done,
  total,
  elapsedMs,
}: {
  readonly done: number;
  readonly total: number | null;
  readonly elapsedMs: number;
}): Pace {
  const perSecond = done === 0 || elapsedMs < measuredMs ? null : (done * 1_000) / elapsedMs;
  const isOpen = total !== null && total > done;
  return {
    done,
    total,
    perSecond,
    leftMs: isOpen && perSecond !== null ? ((total - done) * 1_000) / perSecond : null,
  };
}

/**
 * `1,500 of about 3,000 records, 310 a second, 5 s left` @param isExact - the total is known, not
 * guessed
 */
export function tellPace(
  {done, total, perSecond, leftMs}: Pace,
  {things, isExact = false}: {readonly things: string; readonly isExact?: boolean},
): string {
  const far =
    total === null
      ? `${formatNumber(done)} ${things} so far`
      : `${formatNumber(done)} of ${isExact ? '' : 'about '}${formatNumber(total)} ${things}`;
  const rate = perSecond === null ? [] : [tellRate(perSecond)];
  const left = leftMs === null ? [] : [`${formatDuration(Math.max(1_000, leftMs))} left`];
  return [far, ...rate, ...left].join(', ');
}

/** `310 a second`; of slow work `12 a minute`. */
export function tellRate(perSecond: number): string {
  if (perSecond >= 2) return `${formatNumber(Math.round(perSecond))} a second`;
  return `${formatNumber(Math.max(1, Math.round(perSecond * 60)))} a minute`;
}

/** One thing that is under way, in words. */
export interface UnderWay {
  readonly account: string;
  readonly text: string;
  readonly pace: Pace;
}
