// Resolves the numbers that the first pass over a list leaves open. The second pass, and the third
// if the list moved, read only numbers: they find records that moved between pages during another
// pass. Then the sweep requests, group by group, the numbers that both passes leave open.

import {readListApart} from '../api/xml-read.ts';
import {readNamedNumbers, type StoredNumbers} from '../rows/held-rows.ts';
import {NumberSet} from '../rows/number-set.ts';
import {listReferencingTables} from '../streams/all.ts';
import {readRecordNumber} from '../streams/record-rows.ts';
import {requestNumbers, type SaveMissing} from './ask-numbers.ts';
import {
  type AskedCounts,
  type Evidence,
  edgeWidth,
  endsOf,
  findGaps,
  findLost,
  findMissed,
  findUnseen,
  type KnownRange,
  rangeOf,
} from './evidence.ts';
import {fetchPages, type PageAhead, PageNumbers} from './pages.ts';
import {listUnmetNumbers} from './quarantine.ts';
import {describeCapDoubts, type FirstPass} from './read-list.ts';
import {keyQueryOf} from './requests.ts';
import {ListBound, type SweepRun, scopeOf, transportCallOf, usualBounds} from './sweep-run.ts';
import {
  dropSuspects,
  listTombstones,
  readAbsent,
  rememberAbsent,
  saveAnswers,
} from './tombstones.ts';

/** The result of the passes after the first. */
export interface SecondPass {
  readonly numbers: NumberSet;
  readonly pages: number;
  /**
   * Whether the second pass saw the same numbers as the first on every page: then nothing moved or
   * was missed.
   */
  readonly isQuiet: boolean;
  /** Why this pass does not prove that the list was read to its end. */
  readonly doubts: readonly string[];
}

/**
 * The maximum of passes after the first. A record that moves during all of them is requested by its
 * number. A number that was gone once is not requested again; a third pass makes it rare that all
 * passes miss its record. If numbers are not counted per account, they prove nothing, and two
 * passes must agree.
 */
const maxPasses = {counted: 2, uncounted: 4};

/**
 * Reads the list again until two consecutive passes agree, up to a maximum of passes.
 * @throws {RetryableError} the service failed temporarily
 */
export async function verifyList(run: SweepRun, first: FirstPass): Promise<SecondPass> {
  if (!run.stream.isPaged) return {numbers: first.seen, pages: 0, isQuiet: true, doubts: []};
  let numbers = new NumberSet();
  const bound = new ListBound(run, first.seen.size);
  const before: {pages: PageNumbers; lastPage: number} = {
    pages: first.pages,
    lastPage: first.lastPage,
  };
  const {isCountedPerAccount} = run.stream;
  const passLimit = isCountedPerAccount ? maxPasses.counted : maxPasses.uncounted;
  for (let pages = 0, passes = 1; ; passes++) {
    const lightPass = new LightPass(run, before, bound);
    const {doubts, isQuiet} = await lightPass.read();
    numbers = numbers.union(lightPass.numbers);
    pages += lightPass.asked;
    if (isQuiet || (passes === passLimit && isCountedPerAccount))
      return {numbers, pages, isQuiet: isQuiet && passes === 1, doubts};
    if (passes === passLimit) {
      const doubt =
        `the list moved under each of ${passLimit} more passes, ` +
        'and its numbers do not tell what was missed';
      return {numbers, pages, isQuiet: false, doubts: [...doubts, doubt]};
    }
    before.pages = lightPass.pages;
    before.lastPage = lightPass.lastPage;
  }
}

/** One pass over the numbers of a list, compared with the pass before it. */
class LightPass {
  readonly numbers = new NumberSet();
  readonly pages = new PageNumbers();
  readonly #run: SweepRun;
  readonly #before: {readonly pages: PageNumbers; readonly lastPage: number};
  readonly #bound: ListBound;
  readonly #doubts: string[] = [];
  asked = 0;
  lastPage = 1;

  constructor(
    run: SweepRun,
    before: {readonly pages: PageNumbers; readonly lastPage: number},
    bound: ListBound,
  ) {
    this.#run = run;
    this.#bound = bound;
    this.#before = before;
  }

  /**
   * Reads up to an empty page, and checks the page after it: a hole in the middle of the list would
   * show there. While nothing has changed, the empty page is known and not requested again.
   */
  async read(): Promise<{isQuiet: boolean; doubts: readonly string[]}> {
    const {lastPage} = this.#before;
    const stopping = new AbortController();
    // Requested in parallel with the pages before it: if the list ends at the same page, nothing
    // waits for the page after its end.
    const pageAfterEnd = this.#requestOne(lastPage + 1, stopping.signal);
    pageAfterEnd.catch(() => {});
    try {
      const isQuiet = await this.#readToEnd();
      const isSameEnd = this.lastPage === lastPage;
      if (this.#doubts.length === 0)
        await this.#readBehind(
          await (isSameEnd ? pageAfterEnd : this.#requestOne(this.lastPage + 1, stopping.signal)),
        );
      return {isQuiet, doubts: this.#doubts};
    } finally {
      stopping.abort();
      await pageAfterEnd.catch(() => {});
    }
  }

  async #readToEnd(): Promise<boolean> {
    const {lastPage} = this.#before;
    if (lastPage === 1) return true;
    let isQuiet = true;
    for await (const page of this.#requestFrom(1, lastPage - 1)) {
      const newNumbers = this.#take(page);
      isQuiet &&= this.#isAsBefore(page.page);
      this.lastPage = page.page;
      if (this.pages.isEmpty(page.page)) return isQuiet && page.page === lastPage;
      if (isQuiet && page.page === lastPage - 1) {
        this.lastPage = lastPage;
        return true;
      }
      // If records have moved by a few places, pages may show nothing new for a while; a page that
      // repeats never shows anything new.
      if (
        newNumbers === 0 &&
        page.page >= lastPage &&
        (this.#isRepeated(page.page) || page.page > 2 * lastPage)
      ) {
        this.#doubts.push(
          `the second pass had no end: page ${page.page} brought nothing new and was not empty`,
        );
        return false;
      }
    }
    return false;
  }

  /** @param pageAfterEnd - the page after the empty one */
  async #readBehind(pageAfterEnd: PageAhead): Promise<void> {
    if (this.#take(pageAfterEnd) === 0) return;
    this.#doubts.push(
      `page ${this.lastPage} of the list was empty, but page ${pageAfterEnd.page} was not`,
    );
    for await (const page of this.#requestFrom(pageAfterEnd.page + 1, pageAfterEnd.page + 1))
      if (this.#take(page) === 0) return;
  }

  async #requestOne(page: number, stopSignal: AbortSignal): Promise<PageAhead> {
    const {account, stream} = this.#run;
    const {signal, ...call} = transportCallOf(this.#run);
    const query = {...keyQueryOf(stream), page: String(page)};
    const answer = await account.api.fetchPage(stream.path, query, {
      ...call,
      signal: AbortSignal.any([signal, stopSignal]),
    });
    return {page, ...answer};
  }

  #requestFrom(fromPage: number, knownPages: number): AsyncGenerator<PageAhead> {
    const {account, stream} = this.#run;
    const {signal, ...call} = transportCallOf(this.#run);
    const list = {path: stream.path, query: keyQueryOf(stream), fromPage, knownPages};
    return fetchPages(account.api, {...list, ...call}, signal);
  }

  /** @returns how many numbers the page contained that this pass had not seen */
  #take({page, body, contentType}: PageAhead): number {
    const {stream, account, tally} = this.#run;
    const thing = `GET ${stream.path}?page=${page} at ${account.api.transport.place}`;
    const {records, bad} = readListApart(body, stream, {thing, contentType});
    const numbers = records.flatMap((record) => readRecordNumber(stream, record) ?? []);
    const unread = records.length + bad.length - numbers.length;
    if (unread > 0)
      this.#doubts.push(`page ${page} of the second pass: ${unread} records without a number`);
    const before = this.numbers.size;
    for (const number of numbers) this.numbers.add(number);
    this.#bound.check(this.numbers.size, page);
    this.pages.note(page, numbers);
    this.asked++;
    tally.add({bytes: body.length});
    return this.numbers.size - before;
  }

  #isAsBefore(page: number): boolean {
    return this.pages.holdsSame(page, this.#before.pages, page);
  }

  #isRepeated(page: number): boolean {
    return this.pages.holdsSame(page, this.pages, page - 1);
  }
}

/** The numbers that both passes saw, and those that were stored before. */
interface Passes {
  readonly seen: NumberSet;
  readonly seenAgain: NumberSet;
  readonly held: StoredNumbers;
}

/** The results of all requests by number. */
export interface Findings {
  readonly evidence: Pick<
    Evidence,
    'missed' | 'lost' | 'unseen' | 'quarantined' | 'named' | 'gaps' | 'edges'
  >;
  /** Numbers of live rows whose records are gone. */
  readonly gone: NumberSet;
  /** Numbers of live rows that were not requested, because too many were gone already. */
  readonly suspects: NumberSet;
  readonly doubts: readonly string[];
}

/** How many never seen numbers one sweep requests; the rest wait for the next sweep. */
const maxGaps = 5_000;
/** How many numbers one sweep requests that only other tables name. */
const maxNamed = 5_000;

/**
 * Requests every number that the passes leave open. Found records are loaded as they come.
 * @param limit - if more live rows than this are gone, the breaker trips and no more numbers are
 *   requested
 */
export async function resolveOpenNumbers(
  run: SweepRun,
  passes: Passes,
  limit: number,
): Promise<Findings> {
  const openNumbers = new OpenNumbers(run, passes, limit);
  return await openNumbers.ask();
}

class OpenNumbers {
  readonly #run: SweepRun;
  readonly #passes: Passes;
  readonly #limit: number;
  readonly #live: NumberSet;
  readonly #gone = new NumberSet();
  /** Numbers that were answered with a record. */
  readonly #found = new NumberSet();
  readonly #doubts: string[] = [];

  constructor(run: SweepRun, passes: Passes, limit: number) {
    this.#run = run;
    this.#passes = passes;
    this.#limit = limit;
    this.#live = passes.held.live;
  }

  /**
   * Stores the answer for a live row as evidence for a tombstone, and any other number as absent.
   */
  readonly #keep: SaveMissing = async (client, {gone, requestedAt}) => {
    const scope = {...scopeOf(this.#run), requestedAt};
    await saveAnswers(client, {...scope, gone: gone.filter(({number}) => this.#live.has(number))});
    await rememberAbsent(client, {
      ...scope,
      gone: gone.filter(({number}) => !this.#live.has(number)),
    });
  };

  async ask(): Promise<Findings> {
    const {deps, stream} = this.#run;
    const {seen, seenAgain, held} = this.#passes;
    await this.#recallAnswers();
    const missed = await this.#requestHeld(findMissed({seen, seenAgain}));
    const lost = await this.#requestHeld(findLost({seen, seenAgain}));
    const unseen = await this.#requestHeld(findUnseen({seen, seenAgain, live: held.live}));
    const unmet = await this.#listQuarantined();
    const quarantined = await this.#requestHeld(unmet);
    if (this.#hasTripped() || !stream.isCountedPerAccount)
      return this.#report({missed, lost, unseen, quarantined});
    // A number is requested once in a sweep, and the unmet numbers were requested above.
    const requestedBefore = (await readAbsent(deps.pool, scopeOf(this.#run))).union(unmet);
    const listedRange = rangeOf({seen, seenAgain, ...held, absent: requestedBefore});
    const {named, asked: requested} = await this.#requestNamed(listedRange);
    const absent = requestedBefore.union(requested).difference(this.#found);
    const range = {known: listedRange.known.union(this.#found), absent};
    const gaps = await this.#requestGaps(range);
    // The edges are always checked: a list that ends at a cap is as stable as a complete one.
    const edges = await this.#requestEdges(range);
    const lives = held.live.union(this.#found).difference(this.#gone);
    if (stream.isDeletable) this.#doubts.push(...describeCapDoubts({seen, seenAgain, lives}));
    return this.#report({missed, lost, unseen, quarantined, named, gaps, edges});
  }

  /**
   * Requests numbers that rows of other streams name and no list has shown: a list may have ended
   * before them.
   */
  async #requestNamed({
    known,
    absent,
  }: KnownRange): Promise<{named: AskedCounts; asked: NumberSet}> {
    const {deps, sweep, stream} = this.#run;
    const openNumbers = (
      await readNamedNumbers(deps.pool, sweep.accountId, {
        table: stream.table,
        tables: listReferencingTables(stream),
      })
    )
      .difference(known)
      .difference(absent);
    const requested = new NumberSet(Array.from(openNumbers).slice(0, maxNamed));
    const left = openNumbers.size - requested.size;
    if (left > 0)
      this.#doubts.push(
        `${left} numbers that other records name were in no list and are still to be requested`,
      );
    return {named: await this.#requestAll(requested, this.#keep), asked: requested};
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
    const answeredNumbers = (await listTombstones(deps.pool, sweep.sweepId)).map(
      ({number}) => number,
    );
    const listedAgain = answeredNumbers.filter((number) => this.#passes.seenAgain.has(number));
    if (listedAgain.length > 0) await dropSuspects(deps.pool, sweep.sweepId, listedAgain);
    for (const number of answeredNumbers)
      if (!this.#passes.seenAgain.has(number)) this.#gone.add(number);
  }

  #report(evidence: Findings['evidence']): Findings {
    const suspects = this.#hasTripped()
      ? this.#live.difference(this.#passes.seenAgain).difference(this.#gone)
      : new NumberSet();
    return {evidence, gone: this.#gone, suspects, doubts: this.#doubts};
  }

  #hasTripped(): boolean {
    return this.#gone.size > this.#limit;
  }

  /** Requests numbers, most of which belong to stored rows, until the breaker trips. */
  async #requestHeld(numbers: NumberSet): Promise<AskedCounts> {
    return await this.#requestAll(numbers.difference(this.#gone), this.#keep);
  }

  async #requestGaps(
    range: KnownRange,
  ): Promise<AskedCounts & {readonly left: number; readonly sampled: number}> {
    const {numbers, left, sampled} = findGaps(range, maxGaps);
    const counts = await this.#requestAll(numbers, this.#keep);
    if (left > 0)
      this.#doubts.push(
        `${left} numbers inside the known range were never seen and are still to be requested`,
      );
    return {...counts, left, sampled};
  }

  /**
   * Requests numbers outward from both ends of the known range, until a few in a row are unknown.
   */
  async #requestEdges({known, absent}: KnownRange): Promise<AskedCounts> {
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
          const direction = step > 0 ? 'above' : 'below';
          this.#doubts.push(
            `the numbers ${direction} ${edge} are still to be requested: ` +
              `${sum.found} before them had records`,
          );
          break;
        }
        const {asked: counts, furthest} = await this.#requestBeside(edge, step, absent);
        sum.asked += counts.asked;
        sum.found += counts.found;
        sum.gone += counts.gone;
        edge = furthest;
      }
    }
    return sum;
  }

  /** @returns the furthest number that was found: the new edge; null when none was */
  async #requestBeside(
    edge: number,
    step: number,
    absent: NumberSet,
  ): Promise<{asked: AskedCounts; furthest: number | null}> {
    const candidates = Array.from({length: edgeWidth}, (_, at) => edge + step * (at + 1));
    const numbers = candidates
      .filter((number) => number > 0)
      .map(String)
      .filter((number) => !absent.has(number));
    const foundNumbers: number[] = [];
    // A record above the known range may be created at any moment, so its absence is not stored.
    const saveMissing: SaveMissing = step < 0 ? this.#keep : async () => {};
    const counts = await this.#requestAll(numbers, saveMissing, (number) =>
      foundNumbers.push(Number(number)),
    );
    return {
      asked: counts,
      furthest:
        foundNumbers.length === 0
          ? null
          : step > 0
            ? Math.max(...foundNumbers)
            : Math.min(...foundNumbers),
    };
  }

  async #requestAll(
    numbers: Iterable<string>,
    saveMissing: SaveMissing,
    onFound: (number: string) => void = () => {},
  ): Promise<AskedCounts> {
    let [asked, found, gone] = [0, 0, 0];
    for await (const answers of requestNumbers(this.#run, numbers, saveMissing)) {
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
