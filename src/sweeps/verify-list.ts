// The second pass over a list, and the third where the list moved: numbers and nothing else. They
// find records that moved between pages while another pass was reading.

import {fetchPages, type PageAhead} from '../api/pages-ahead.ts';
import {readListApart} from '../api/xml-read.ts';
import {NumberSet} from '../rows/number-set.ts';
import {numberOf} from '../streams/record-rows.ts';
import {PageNumbers} from './pages.ts';
import type {FirstPass} from './read-list.ts';
import {keyQueryOf} from './requests.ts';
import {ListBound, type SweepRun, transportCallOf} from './sweep-run.ts';

/** The result of the passes after the first. */
export interface SecondPass {
  readonly numbers: NumberSet;
  readonly pages: number;
  /**
   * Whether the second pass saw the first's numbers on every page: then nothing moved or was
   * missed.
   */
  readonly isQuiet: boolean;
  /** Why this pass does not prove that the list was read to its end. */
  readonly doubts: readonly string[];
}

/**
 * Passes after the first, at most. A record that moves under all of them is asked for by its
 * number. A number that was gone once is not asked for again; a third pass makes it rare that its
 * record hides from all. Where numbers tell nothing, two passes must agree.
 */
const maxPasses = {counted: 2, uncounted: 4};

/**
 * Passes over the list until two passes in a row agree, but not for ever.
 * @throws {RetryableError} the service failed in passing
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
  const most = isCountedPerAccount ? maxPasses.counted : maxPasses.uncounted;
  for (let pages = 0, passes = 1; ; passes++) {
    const light = new LightPass(run, before, bound);
    const {doubts, isQuiet} = await light.read();
    numbers = numbers.union(light.numbers);
    pages += light.asked;
    if (isQuiet || (passes === most && isCountedPerAccount))
      return {numbers, pages, isQuiet: isQuiet && passes === 1, doubts};
    if (passes === most) {
      const doubt =
        `the list moved under each of ${most} more passes, ` +
        'and its numbers do not tell what was missed';
      return {numbers, pages, isQuiet: false, doubts: [...doubts, doubt]};
    }
    before.pages = light.pages;
    before.lastPage = light.lastPage;
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
   * Reads up to an empty page, and looks at the page behind it: a hole in the middle of the list
   * would show there. While all is as it was, the empty page is known and not asked for again.
   */
  async read(): Promise<{isQuiet: boolean; doubts: readonly string[]}> {
    const {lastPage} = this.#before;
    const stop = new AbortController();
    // Asked for beside the pages before it: where the list ends as it did, nothing waits for the
    // page behind its end.
    const behind = this.#askOne(lastPage + 1, stop.signal);
    behind.catch(() => {});
    try {
      const isQuiet = await this.#readToEnd();
      const isSameEnd = this.lastPage === lastPage;
      if (this.#doubts.length === 0)
        await this.#lookBehind(
          await (isSameEnd ? behind : this.#askOne(this.lastPage + 1, stop.signal)),
        );
      return {isQuiet, doubts: this.#doubts};
    } finally {
      stop.abort();
      await behind.catch(() => {});
    }
  }

  async #readToEnd(): Promise<boolean> {
    const {lastPage} = this.#before;
    if (lastPage === 1) return true;
    let isQuiet = true;
    for await (const page of this.#askFrom(1, lastPage - 1)) {
      const fresh = this.#take(page);
      isQuiet &&= this.#isAsBefore(page.page);
      this.lastPage = page.page;
      if (this.pages.isEmpty(page.page)) return isQuiet && page.page === lastPage;
      if (isQuiet && page.page === lastPage - 1) {
        this.lastPage = lastPage;
        return true;
      }
      // Pages that moved on by a few records may bring nothing new for a while; a page that repeats
      // brings nothing new for ever.
      if (
        fresh === 0 &&
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

  /** @param behind - the page behind the empty one */
  async #lookBehind(behind: PageAhead): Promise<void> {
    if (this.#take(behind) === 0) return;
    this.#doubts.push(
      `page ${this.lastPage} of the list was empty, but page ${behind.page} was not`,
    );
    for await (const page of this.#askFrom(behind.page + 1, behind.page + 1))
      if (this.#take(page) === 0) return;
  }

  async #askOne(page: number, stop: AbortSignal): Promise<PageAhead> {
    const {account, stream} = this.#run;
    const {signal, ...call} = transportCallOf(this.#run);
    const query = {...keyQueryOf(stream), page: String(page)};
    const answer = await account.api.fetchPage(stream.path, query, {
      ...call,
      signal: AbortSignal.any([signal, stop]),
    });
    return {page, ...answer};
  }

  #askFrom(fromPage: number, knownPages: number): AsyncGenerator<PageAhead> {
    const {account, stream} = this.#run;
    const {signal, ...call} = transportCallOf(this.#run);
    const list = {path: stream.path, query: keyQueryOf(stream), fromPage, knownPages};
    return fetchPages(account.api, {...list, ...call}, signal);
  }

  /** @returns how many numbers the page brought that this pass had not seen */
  #take({page, body, contentType}: PageAhead): number {
    const {stream, account, tally} = this.#run;
    const thing = `GET ${stream.path}?page=${page} at ${account.api.transport.place}`;
    const {records, bad} = readListApart(body, stream, {thing, contentType});
    const numbers = records.flatMap((record) => numberOf(stream, record) ?? []);
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
