// The questions by number that both passes leave open, group by group.

import {type HeldNumbers, readNamedNumbers} from '../rows/held-numbers.ts';
import {NumberSet} from '../rows/number-set.ts';
import {tablesThatName} from '../streams/all.ts';
import {askNumbers, type KeepGone} from './ask-numbers.ts';
import {
  edgeWidth,
  endsOf,
  findGaps,
  findLost,
  findMissed,
  findUnseen,
  type KnownRange,
  rangeOf,
} from './open-numbers.ts';
import {listUnmetNumbers} from './quarantine.ts';
import {doubtsOfCap} from './read-list.ts';
import {type SweepRun, scopeOf, usualBounds} from './sweep-run.ts';
import type {Asked, Evidence} from './tables.ts';
import {
  dropSuspects,
  keepAnswers,
  listTombstones,
  readAbsent,
  rememberAbsent,
} from './tombstones.ts';

/** The numbers that both passes saw, and those held before. */
export interface Passes {
  readonly seen: NumberSet;
  readonly seenAgain: NumberSet;
  readonly held: HeldNumbers;
}

/** The results of all questions. */
export interface Findings {
  readonly evidence: Pick<
    Evidence,
    'missed' | 'lost' | 'unseen' | 'quarantined' | 'named' | 'gaps' | 'edges'
  >;
  /** Held numbers that are gone. */
  readonly gone: NumberSet;
  /** Held numbers that were not asked for, because too many were gone already. */
  readonly suspects: NumberSet;
  readonly doubts: readonly string[];
}

/** How many numbers never seen one sweep asks for; the rest wait for the next sweep. */
const maxGaps = 5_000;
/** How many numbers that only other tables name one sweep asks for. */
const maxNamed = 5_000;

/**
 * Asks for every number that the passes leave open. Found records are loaded as they come.
 * @param limit - when more held numbers than this are gone, the breaker trips and no more are asked
 *   for
 */
export async function resolveOpenNumbers(
  run: SweepRun,
  passes: Passes,
  limit: number,
): Promise<Findings> {
  const questions = new OpenQuestions(run, passes, limit);
  return await questions.ask();
}

class OpenQuestions {
  readonly #run: SweepRun;
  readonly #passes: Passes;
  readonly #limit: number;
  readonly #live: NumberSet;
  readonly #gone = new NumberSet();
  /** Answered with a record. */
  readonly #found = new NumberSet();
  readonly #doubts: string[] = [];

  constructor(run: SweepRun, passes: Passes, limit: number) {
    this.#run = run;
    this.#passes = passes;
    this.#limit = limit;
    this.#live = passes.held.live;
  }

  /**
   * The answer for a live row is evidence for a tombstone; the answer for any other number is
   * remembered.
   */
  readonly #keep: KeepGone = async (client, {gone, askedAt}) => {
    const about = {...scopeOf(this.#run), askedAt};
    await keepAnswers(client, {...about, gone: gone.filter(({number}) => this.#live.has(number))});
    await rememberAbsent(client, {
      ...about,
      gone: gone.filter(({number}) => !this.#live.has(number)),
    });
  };

  async ask(): Promise<Findings> {
    const {deps, stream} = this.#run;
    const {seen, seenAgain, held} = this.#passes;
    await this.#recallAnswers();
    const missed = await this.#askHeld(findMissed({seen, seenAgain}));
    const lost = await this.#askHeld(findLost({seen, seenAgain}));
    const unseen = await this.#askHeld(findUnseen({seen, seenAgain, live: held.live}));
    const unmet = await this.#listQuarantined();
    const quarantined = await this.#askHeld(unmet);
    if (this.#hasTripped() || !stream.isCountedPerAccount)
      return this.#tell({missed, lost, unseen, quarantined});
    // A number is asked for once in a sweep, and the unmet numbers were asked for above.
    const before = (await readAbsent(deps.pool, scopeOf(this.#run))).union(unmet);
    const listed = rangeOf({seen, seenAgain, ...held, absent: before});
    const {named, asked} = await this.#askNamed(listed);
    const absent = before.union(asked).difference(this.#found);
    const range = {known: listed.known.union(this.#found), absent};
    const gaps = await this.#askGaps(range);
    // Always: a list that ends at a cap stands still as well as one that is whole.
    const edges = await this.#askEdges(range);
    const lives = held.live.union(this.#found).difference(this.#gone);
    if (stream.isDeletable) this.#doubts.push(...doubtsOfCap({seen, seenAgain, lives}));
    return this.#tell({missed, lost, unseen, quarantined, named, gaps, edges});
  }

  /**
   * Numbers that rows of other streams name, and no list has shown: a list may have ended before
   * them.
   */
  async #askNamed({known, absent}: KnownRange): Promise<{named: Asked; asked: NumberSet}> {
    const {deps, sweep, stream} = this.#run;
    const open = (
      await readNamedNumbers(deps.pool, sweep.accountId, {
        table: stream.table,
        tables: tablesThatName(stream),
      })
    )
      .difference(known)
      .difference(absent);
    const asked = new NumberSet(Array.from(open).slice(0, maxNamed));
    const left = open.size - asked.size;
    if (left > 0)
      this.#doubts.push(
        `${left} numbers that other records name were in no list and are still to be asked for`,
      );
    return {named: await this.#askAll(asked, this.#keep), asked};
  }

  /** Records that could not be read once, and that no list shows any more: they may be gone. */
  async #listQuarantined(): Promise<NumberSet> {
    const {seen, seenAgain} = this.#passes;
    const unmet = await listUnmetNumbers(this.#run.deps.pool, scopeOf(this.#run));
    return new NumberSet(unmet).difference(seen).difference(seenAgain).difference(this.#live);
  }

  /** After a restart earlier answers are reused, unless a list has shown the number since. */
  async #recallAnswers(): Promise<void> {
    const {deps, sweep} = this.#run;
    const answered = (await listTombstones(deps.pool, sweep.sweepId)).map(({number}) => number);
    const back = answered.filter((number) => this.#passes.seenAgain.has(number));
    if (back.length > 0) await dropSuspects(deps.pool, sweep.sweepId, back);
    for (const number of answered) if (!this.#passes.seenAgain.has(number)) this.#gone.add(number);
  }

  #tell(evidence: Findings['evidence']): Findings {
    const suspects = this.#hasTripped()
      ? this.#live.difference(this.#passes.seenAgain).difference(this.#gone)
      : new NumberSet();
    return {evidence, gone: this.#gone, suspects, doubts: this.#doubts};
  }

  #hasTripped(): boolean {
    return this.#gone.size > this.#limit;
  }

  /** Asks for numbers of which most are held, until the breaker trips. */
  async #askHeld(numbers: NumberSet): Promise<Asked> {
    return await this.#askAll(numbers.difference(this.#gone), this.#keep);
  }

  async #askGaps(
    range: KnownRange,
  ): Promise<Asked & {readonly left: number; readonly sampled: number}> {
    const {numbers, left, sampled} = findGaps(range, maxGaps);
    const asked = await this.#askAll(numbers, this.#keep);
    if (left > 0)
      this.#doubts.push(
        `${left} numbers inside the known range were never seen and are still to be asked for`,
      );
    return {...asked, left, sampled};
  }

  /** Steps outward from both ends of the known range, until a few in a row are unknown. */
  async #askEdges({known, absent}: KnownRange): Promise<Asked> {
    const sum = {asked: 0, found: 0, gone: 0};
    const {lowest, highest} = endsOf(known);
    const {beyond} = this.#run.deps.listBounds ?? usualBounds;
    const directions = [
      {from: highest, step: 1},
      {from: lowest, step: -1},
    ];
    for (const {from, step} of directions) {
      for (let edge: number | null = from; edge !== null; ) {
        if (sum.found >= beyond) {
          const where = step > 0 ? 'above' : 'below';
          this.#doubts.push(
            `the numbers ${where} ${edge} are still to be asked for: ` +
              `${sum.found} before them had records`,
          );
          break;
        }
        const {asked, furthest} = await this.#askBeside(edge, step, absent);
        sum.asked += asked.asked;
        sum.found += asked.found;
        sum.gone += asked.gone;
        edge = furthest;
      }
    }
    return sum;
  }

  /** @returns the furthest number that was found: the new edge; null when none was */
  async #askBeside(
    edge: number,
    step: number,
    absent: NumberSet,
  ): Promise<{asked: Asked; furthest: number | null}> {
    const beside = Array.from({length: edgeWidth}, (_, at) => edge + step * (at + 1));
    const numbers = beside
      .filter((number) => number > 0)
      .map(String)
      .filter((number) => !absent.has(number));
    const found: number[] = [];
    // A record above the known range may be created any moment, so its absence is not remembered.
    const keep: KeepGone = step < 0 ? this.#keep : async () => {};
    const asked = await this.#askAll(numbers, keep, (number) => found.push(Number(number)));
    return {
      asked,
      furthest: found.length === 0 ? null : step > 0 ? Math.max(...found) : Math.min(...found),
    };
  }

  async #askAll(
    numbers: Iterable<string>,
    keepGone: KeepGone,
    onFound: (number: string) => void = () => {},
  ): Promise<Asked> {
    let [asked, found, gone] = [0, 0, 0];
    for await (const answers of askNumbers(this.#run, numbers, keepGone)) {
      asked += answers.found.length + answers.gone.length + answers.unclear.length;
      found += answers.found.length;
      gone += answers.gone.length;
      this.#doubts.push(...answers.unclear);
      for (const number of answers.found) {
        this.#found.add(number);
        onFound(number);
      }
      for (const {number} of answers.gone) if (this.#live.has(number)) this.#gone.add(number);
      if (this.#hasTripped()) break;
    }
    return {asked, found, gone};
  }
}
