// Which numbers a sweep still has to ask for, when both passes are done.

/** What is known of the numbers of a stream. */
export interface NumberKnowledge {
  /** Seen by the first pass. */
  readonly seen: ReadonlySet<string>;
  /** Seen by the second. */
  readonly seenAgain: ReadonlySet<string>;
  /** Of rows that live. */
  readonly live: readonly string[];
  /** Of rows marked deleted. */
  readonly deleted: readonly string[];
  /** Asked for in earlier sweeps, and not there. */
  readonly absent: readonly string[];
}

/** Numbers that only the second pass saw: records that moved while the first was reading. */
export function findMissed({seen, seenAgain}: Pick<NumberKnowledge, 'seen' | 'seenAgain'>): string[] {
  return [...seenAgain].filter((number) => !seen.has(number));
}

/** Numbers that only the first pass saw: gone since, or moved again. */
export function findLost({seen, seenAgain}: Pick<NumberKnowledge, 'seen' | 'seenAgain'>): string[] {
  return [...seen].filter((number) => !seenAgain.has(number));
}

/** Live rows that neither pass saw. */
export function findUnseen({seen, seenAgain, live}: Omit<NumberKnowledge, 'deleted' | 'absent'>): string[] {
  return live.filter((number) => !seen.has(number) && !seenAgain.has(number));
}

/** Numbers in order, as numbers: those counted by an account are far below 2^53. */
export interface KnownRange {
  readonly sorted: readonly number[];
  readonly absent: ReadonlySet<number>;
}

/** Every number known of: seen, held or marked deleted, in order. */
export function rangeOf({seen, seenAgain, live, deleted, absent}: NumberKnowledge): KnownRange {
  const numbers = new Set<number>();
  for (const known of [seen, seenAgain, live, deleted]) {
    for (const number of known) numbers.add(Number(number));
  }
  return {sorted: [...numbers].sort((a, b) => a - b), absent: new Set(absent.map(Number))};
}

/** Questions about numbers inside the known range that nobody has ever seen. */
export interface GapQuestions {
  readonly numbers: readonly string[];
  /** How many more are to be asked for, by later sweeps. */
  readonly left: number;
  /** How many numbers stand in wide gaps, where a sample speaks for all. */
  readonly sampled: number;
}

/** Accounts count their records one by one: what lies further apart is an outlier, such as a number that was imported. */
export const wideGap = 10_000;
const sampledAtEachEnd = 50;
const sampledBetween = 100;

/**
 * What to ask of the numbers that nobody has ever seen: all of them, but of a wide gap a sample, so that one outlier does
 * not keep an account uncertified for thousands of sweeps. The sample of a gap is always the same; a record that it finds
 * makes two gaps of one, each with a sample of its own.
 * @param limit - how many are named
 */
export function findGaps({sorted, absent}: KnownRange, limit: number): GapQuestions {
  const gaps = gapsOf(sorted);
  const wide = gaps.filter((gap) => widthOf(gap) > wideGap);
  const numbers: string[] = [];
  for (const gap of gaps) {
    for (const number of numbersOf(gap)) {
      if (numbers.length >= limit) break;
      if (!absent.has(number)) numbers.push(String(number));
    }
  }
  const asked = [...absent].filter((number) => gapOf(wide, number) === undefined && isInside(sorted, number));
  const samples = wide.flatMap((gap) => [...numbersOf(gap)]);
  const narrow = gaps.reduce((sum, gap) => sum + (widthOf(gap) > wideGap ? 0 : widthOf(gap)), 0);
  const open = narrow - asked.length + samples.filter((number) => !absent.has(number)).length;
  const sampled = wide.reduce((sum, gap) => sum + widthOf(gap), 0);
  return {numbers, left: open - numbers.length, sampled};
}

/** Numbers from the first to the last, both included. */
interface Gap {
  readonly first: number;
  readonly last: number;
}

function gapsOf(sorted: readonly number[]): Gap[] {
  return sorted.flatMap((number, at) => {
    const previous = sorted[at - 1] ?? number;
    return number - previous > 1 ? [{first: previous + 1, last: number - 1}] : [];
  });
}

function widthOf({first, last}: Gap): number {
  return last - first + 1;
}

function gapOf(gaps: readonly Gap[], number: number): Gap | undefined {
  return gaps.find(({first, last}) => number >= first && number <= last);
}

function isInside(sorted: readonly number[], number: number): boolean {
  return number > (sorted[0] ?? 0) && number < (sorted.at(-1) ?? 0);
}

function* numbersOf(gap: Gap): Generator<number> {
  const {first, last} = gap;
  const width = widthOf(gap);
  if (width <= wideGap) {
    for (let number = first; number <= last; number++) yield number;
    return;
  }
  for (let at = 0; at < sampledAtEachEnd; at++) yield first + at;
  for (let at = 1; at <= sampledBetween; at++) yield first + Math.floor((width * at) / (sampledBetween + 1));
  for (let at = sampledAtEachEnd - 1; at >= 0; at--) yield last - at;
}
