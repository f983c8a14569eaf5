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

/**
 * Numbers inside the known range that nobody has ever seen and that were never asked for.
 * @param limit - how many are named; the others are only counted
 */
export function findGaps({sorted, absent}: KnownRange, limit: number): {numbers: string[]; left: number} {
  const numbers: string[] = [];
  let open = 0;
  let previous = sorted[0];
  for (const number of sorted) {
    for (let gap = (previous ?? number) + 1; gap < number && numbers.length < limit; gap++) {
      if (!absent.has(gap)) numbers.push(String(gap));
    }
    open += Math.max(0, number - (previous ?? number) - 1);
    previous = number;
  }
  const first = sorted[0] ?? 0;
  const last = sorted.at(-1) ?? 0;
  const asked = [...absent].filter((number) => number > first && number < last).length;
  return {numbers, left: open - asked - numbers.length};
}
