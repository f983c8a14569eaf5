import type {SweepCounts} from './sweep.ts';

/** The counts of a sweep so far, its earlier runs included. */
export class Tally {
  #counts: SweepCounts;

  constructor(counts: SweepCounts) {
    this.#counts = counts;
  }

  get counts(): SweepCounts {
    return this.#counts;
  }

  add(more: Partial<SweepCounts>): void {
    const sum = {...this.#counts};
    for (const [name, count] of Object.entries(more)) sum[name as keyof SweepCounts] += count;
    this.#counts = {
      ...sum,
      unchanged: Math.max(0, sum.records - sum.inserted - sum.updated - sum.revived),
    };
  }

  /**
   * The counts with those of a write under way; `add` the write's counts only once it is committed.
   */
  with(more: Partial<SweepCounts>): SweepCounts {
    const next = new Tally(this.#counts);
    next.add(more);
    return next.counts;
  }
}
