// The evidence of a sweep: what it saw and requested, as its row stores it in JSON, the numbers
// that it still has to request after both passes, and whether it changed nothing. This is separate
// from the tables, so that most files of sweeps and a short command do not load their library.

import type {NumberSet} from '../rows/number-set.ts';

/**
 * How a first pass ended; only an empty page, or an answer that is the whole list, is a proper end.
 */
export type ListEnd = 'empty-page' | 'whole-answer' | 'repeated-page' | 'nothing-new';

/** The result of requesting records by their number. */
export interface AskedCounts {
  readonly asked: number;
  readonly found: number;
  readonly gone: number;
}

/** The known records that a sweep compares with their rows. */
export interface Sample {
  readonly records: number;
  /** Rows with other values, though nothing had marked them as changed. */
  readonly altered: number;
  /** Whether every known record was compared. */
  readonly isWhole: boolean;
}

/** The sightings and answers of a sweep, on which its end state is based. */
export interface Evidence {
  /**
   * When a full sweep had read the list and its verification began, by the database's clock. The
   * statement that saves the checkpoint sets it.
   */
  readonly readAt?: string;
  /** Known records that were nevertheless parsed, to compare the values of their rows. */
  readonly sample?: Sample;
  readonly firstPass?: {
    readonly lastPage: number;
    readonly endedBy: ListEnd;
    readonly numbers: number;
  };
  readonly secondPass?: {
    readonly pages: number;
    readonly numbers: number;
    /** Numbers that the first pass had not seen. */
    readonly missed: number;
    /** Whether every page held the same numbers as in the first pass. */
    readonly isQuiet: boolean;
  };
  /** Numbers that only the second pass saw. */
  readonly missed?: AskedCounts;
  /** Numbers that only the first pass saw. */
  readonly lost?: AskedCounts;
  /** Live rows that no pass saw. */
  readonly unseen?: AskedCounts;
  /** Numbers of records in quarantine that this sweep had not met. */
  readonly quarantined?: AskedCounts;
  /** Numbers that rows of other streams name, and no list has shown. */
  readonly named?: AskedCounts;
  /**
   * Numbers inside the known range that were never seen. `left` still have to be requested; of
   * `sampled`, only a sample was.
   */
  readonly gaps?: AskedCounts & {readonly left: number; readonly sampled?: number};
  /** Numbers just outside the known range. */
  readonly edges?: AskedCounts;
  /** The service's answer if it has no record of the requested number. */
  readonly absent?: {readonly status: number; readonly message: string};
  /**
   * Records that the service showed as they were before one of our changes, and that are read again
   * before the sweep ends. `pauses`: how often the sweep has paused for them.
   */
  readonly older?: {readonly numbers: readonly string[]; readonly pauses: number};
  readonly liveRows?: number;
  /** How many tombstones one sweep may write. */
  readonly tombstoneLimit?: number;
}

/** The known numbers of a stream. */
interface NumberKnowledge {
  /** Seen by the first pass. */
  readonly seen: NumberSet;
  /** Seen by the second. */
  readonly seenAgain: NumberSet;
  /** The numbers of rows that live. */
  readonly live: NumberSet;
  /** The numbers of rows marked deleted. */
  readonly deleted: NumberSet;
  /** Requested in earlier sweeps, and absent. */
  readonly absent: NumberSet;
}

/** Numbers that only the second pass saw: records that moved while the first was reading. */
export function findMissed({
  seen,
  seenAgain,
}: Pick<NumberKnowledge, 'seen' | 'seenAgain'>): NumberSet {
  return seenAgain.difference(seen);
}

/** Numbers that only the first pass saw: gone since, or moved again. */
export function findLost({
  seen,
  seenAgain,
}: Pick<NumberKnowledge, 'seen' | 'seenAgain'>): NumberSet {
  return seen.difference(seenAgain);
}

/** Live rows that neither pass saw. */
export function findUnseen({
  seen,
  seenAgain,
  live,
}: Omit<NumberKnowledge, 'deleted' | 'absent'>): NumberSet {
  return live.difference(seen).difference(seenAgain);
}

/**
 * Known numbers, between which others may exist. They are compared as JavaScript numbers: an
 * account counts far below 2^53.
 */
export interface KnownRange {
  /** Seen, stored or marked deleted. */
  readonly known: NumberSet;
  readonly absent: NumberSet;
}

/** All known numbers. */
export function rangeOf({seen, seenAgain, live, deleted, absent}: NumberKnowledge): KnownRange {
  return {known: seen.union(seenAgain).union(live).union(deleted), absent};
}

/** Outside the known range, the sweep stops requesting after this many unknown numbers in a row. */
export const edgeWidth = 5;

/**
 * The lowest and the highest number. If none is known, they are 1 and 0, so that one step beyond
 * the highest is the first number.
 */
export function endsOf(known: NumberSet): {readonly lowest: number; readonly highest: number} {
  let [lowest, highest]: [number | null, number] = [null, 0];
  for (const number of known.asNumbers()) {
    lowest ??= number;
    highest = number;
  }
  return {lowest: lowest ?? 1, highest};
}

/** The numbers to request inside the known range that were never seen. */
interface GapNumbers {
  readonly numbers: readonly string[];
  /** How many more numbers later sweeps have to request. */
  readonly left: number;
  /** How many numbers are in wide gaps, for which only a sample is requested. */
  readonly sampled: number;
}

/**
 * A gap of more numbers than this is wide. Accounts count their records one by one: a number this
 * far from the others is an outlier, such as an imported one.
 */
export const wideGap = 10_000;
const sampledAtEachEnd = 50;
const sampledBetween = 100;
const sampledInAll = 2 * sampledAtEachEnd + sampledBetween;

/**
 * The numbers to request among those never seen: all of them, but only a sample of a wide gap.
 * Otherwise one outlier would keep an account uncertified for thousands of sweeps. The sample of a
 * gap is always the same. A record found by it splits the gap into two, each with a separate
 * sample.
 * @param limit - the maximum of numbers returned
 */
export function findGaps(range: KnownRange, limit: number): GapNumbers {
  const numbers: string[] = [];
  let [openCount, sampled] = [0, 0];
  for (const gap of gapsOf(range)) {
    if (isWide(gap)) sampled += widthOf(gap);
    openCount += countOpen(gap);
    if (numbers.length >= limit) continue;
    for (const number of openNumbersOf(gap)) {
      numbers.push(String(number));
      if (numbers.length >= limit) break;
    }
  }
  return {numbers, left: openCount - numbers.length, sampled};
}

/** Numbers that were never seen, from the first to the last, both included. */
interface Gap {
  readonly first: number;
  readonly last: number;
  /** Numbers of the gap that were requested before. */
  readonly asked: ReadonlySet<number>;
}

const none: ReadonlySet<number> = new Set();

/** The gaps in order. They are not collected, because an account may have a million. */
function* gapsOf({known, absent}: KnownRange): Generator<Gap> {
  const absentNumbers = absent.asNumbers();
  let next = absentNumbers.next();
  let previous: number | null = null;
  for (const number of known.asNumbers()) {
    if (previous !== null && number - previous > 1) {
      const inside: number[] = [];
      for (; !next.done && next.value < number; next = absentNumbers.next())
        if (next.value > previous) inside.push(next.value);
      const gap = {first: previous + 1, last: number - 1};
      yield {...gap, asked: inside.length === 0 ? none : new Set(inside)};
    }
    previous = number;
  }
}

function widthOf({first, last}: Gap): number {
  return last - first + 1;
}

function isWide(gap: Gap): boolean {
  return widthOf(gap) > wideGap;
}

/** How many numbers of a gap, or of its sample, still have to be requested. */
function countOpen(gap: Gap): number {
  if (!isWide(gap)) return widthOf(gap) - gap.asked.size;
  return gap.asked.size === 0 ? sampledInAll : [...openNumbersOf(gap)].length;
}

function* openNumbersOf(gap: Gap): Generator<number> {
  for (const number of numbersOf(gap)) if (!gap.asked.has(number)) yield number;
}

function* numbersOf(gap: Gap): Generator<number> {
  const {first, last} = gap;
  const width = widthOf(gap);
  if (!isWide(gap)) {
    for (let number = first; number <= last; number++) yield number;
    return;
  }
  for (let at = 0; at < sampledAtEachEnd; at++) yield first + at;
  for (let at = 1; at <= sampledBetween; at++)
    yield first + Math.floor((width * at) / (sampledBetween + 1));
  for (let at = sampledAtEachEnd - 1; at >= 0; at--) yield last - at;
}

/** As SQL, whether a sweep succeeded and changed nothing. */
export const isQuiet =
  "state IN ('certified', 'refreshed') AND " +
  'inserted + updated + revived + tombstoned + vanished + quarantined = 0';
