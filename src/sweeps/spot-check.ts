// A record that is known byte for byte is not parsed, and a row with the same hash is not written:
// both trust the notes made when the row was written. So each full sweep parses some pages all the
// same, and compares them with the rows held. A row that holds something else is put right, and the
// next sweep compares all pages. The comparing goes on beside the reading of the pages behind, for
// it takes forty milliseconds; pages that come meanwhile are compared together afterwards. What it
// finds is found once more and put right between two batches, so that no batch writes the same rows
// meanwhile.

import {randomInt} from 'node:crypto';
import {freeBytes} from '../core/own-bytes.ts';
import {inSweepTransaction} from '../postgres/database.ts';
import {findAltered, findAlteredFamilies} from '../rows/altered-rows.ts';
import {forgetKnown} from '../rows/known-records.ts';
import {loadRows} from '../rows/load.ts';
import {parentColumnOf} from '../streams/stream.ts';
import type {EncodedRow, MirrorTable} from '../streams/table.ts';
import type {EncodedRowSet} from './packed-rows.ts';
import {type CutPage, unpack} from './pages.ts';
import {type SweepRun, scopeOf} from './sweep-run.ts';
import type {Sample} from './tables.ts';

/**
 * The sample is one page in so many of a long list, about two of a short one. Measured: 2 % of a
 * full parse.
 */
const sparsest = 50;

/** Pages that wait to be compared, at most: each takes as much memory as it has bytes. */
const mostWaiting = 4;

/** The rows of one table that some pages sent, one per key. */
interface Sent {
  readonly table: MirrorTable;
  readonly rows: readonly EncodedRow[];
}

/** The sample of one pass over a list. */
export class SpotCheck {
  readonly #run: SweepRun;
  readonly #every: number;
  readonly #offset: number;
  #records = 0;
  #altered = 0;
  #waiting: CutPage[] = [];
  /**
   * The pages that are being compared: the records that they sent, where a row differs from them.
   */
  #looking: Promise<readonly EncodedRowSet[] | null> = Promise.resolve(null);
  #isLooking = false;

  /** @param last - the result of the last pass over the list */
  constructor(
    run: SweepRun,
    last: {readonly pages: number | null; readonly sample: Sample | null},
  ) {
    this.#run = run;
    const isSuspect = last.sample !== null && last.sample.altered > 0 && !last.sample.isWhole;
    this.#every = isSuspect
      ? 1
      : Math.min(sparsest, Math.max(1, Math.floor((last.pages ?? 1) / 2)));
    this.#offset = randomInt(this.#every);
  }

  get sample(): Sample {
    const isWhole = this.#every === 1 && this.#run.sweep.nextPage === 1;
    return {records: this.#records, altered: this.#altered, isWhole};
  }

  /** The sample takes these of some pages. */
  choose(pages: readonly CutPage[]): CutPage[] {
    if (this.#run.sweep.mode !== 'full') return [];
    return pages.filter(({page}) => page % this.#every === this.#offset);
  }

  /**
   * Begins to compare a page with its rows, or leaves it for the next comparison while one is under
   * way.
   * @param page - the caller gives it away: its body is freed when it is read
   */
  async compare(page: CutPage): Promise<void> {
    this.#waiting.push(page);
    if (this.#isLooking && this.#waiting.length < mostWaiting) return;
    await this.#putRightLast();
    this.#begin();
  }

  /** Waits until all pages are compared, and puts right the rows that differ from them. */
  async putRight(): Promise<void> {
    await this.#putRightLast();
    if (this.#waiting.length > 0) this.#begin();
    await this.#putRightLast();
  }

  /** Waits for the pages that are being compared, however that ends. */
  async settle(): Promise<void> {
    await this.#looking.catch(() => {});
  }

  #begin(): void {
    const pages = this.#waiting;
    this.#waiting = [];
    this.#isLooking = true;
    this.#looking = this.#look(pages).finally(() => {
      this.#isLooking = false;
    });
    // It is awaited when its turn comes; until then its failure must not count as unhandled.
    this.#looking.catch(() => {});
  }

  async #putRightLast(): Promise<void> {
    const rowSets = await this.#looking;
    this.#looking = Promise.resolve(null);
    if (rowSets === null) return;
    const {altered, parents} = await this.#find(rowSets);
    if (altered.length > 0 || parents.length > 0) await this.#write(altered, parents);
  }

  async #look(pages: readonly CutPage[]): Promise<readonly EncodedRowSet[] | null> {
    const rowSets = (await Promise.all(pages.map((page) => this.#read(page)))).flat();
    this.#records += rowSets.length;
    const {altered, parents} = await this.#find(rowSets);
    return altered.length > 0 || parents.length > 0 ? rowSets : null;
  }

  async #read(cut: CutPage): Promise<EncodedRowSet[]> {
    const {deps, stream, account} = this.#run;
    const body = await unpack(cut);
    const {page, contentType} = cut;
    const task = {
      page,
      body,
      contentType,
      stream: stream.name,
      timeZone: account.timeZone,
      known: null,
    };
    const {records} = await deps.pageReader.read(task);
    freeBytes(body);
    return records.map(({rowSet}) => rowSet);
  }

  async #find(rowSets: readonly EncodedRowSet[]): Promise<{altered: Sent[]; parents: string[]}> {
    const {deps, sweep} = this.#run;
    const altered: Sent[] = [];
    for (const {table, rows} of this.#sentBy(rowSets)) {
      const found = await findAltered(deps.pool, table, {accountId: sweep.accountId, rows});
      if (found.length > 0) altered.push({table, rows: found});
    }
    return {altered, parents: await this.#findParents(rowSets)};
  }

  #sentBy(rowSets: readonly EncodedRowSet[]): Sent[] {
    const {stream} = this.#run;
    // For records of the stream itself only the list counts, not their copies inside other records.
    const others = stream.children.filter(({isOfStream}) => isOfStream !== true);
    const children = others.map(({table, element}) => ({
      table,
      rows: rowSets.flatMap((rowSet) => listOf(rowSet, element) ?? []),
    }));
    return [{table: stream.table, rows: rowSets.map(({row}) => row)}, ...children].map(
      ({table, rows}) => ({
        table,
        rows: [...new Map(rows.map((row) => [row.key.join(','), row])).values()],
      }),
    );
  }

  /**
   * Numbers of records with other children than they were sent with: the next sweep reads them
   * again.
   */
  async #findParents(rowSets: readonly EncodedRowSet[]): Promise<string[]> {
    const {deps, stream, sweep} = this.#run;
    const found = new Set<string>();
    for (const child of stream.children.filter(({isOwned}) => isOwned)) {
      const lists = new Map<string, readonly EncodedRow[]>();
      for (const rowSet of rowSets) {
        const rows = listOf(rowSet, child.element);
        if (rows !== undefined) lists.set(rowSet.number, rows);
      }
      const family = {accountId: sweep.accountId, parentColumn: parentColumnOf(child), lists};
      for (const number of await findAlteredFamilies(deps.pool, child.table, family))
        found.add(number);
    }
    return [...found];
  }

  async #write(altered: readonly Sent[], parents: readonly string[]): Promise<void> {
    const {deps, sweep, stream, tally} = this.#run;
    const {accountId, sweepId, startedAt: since} = sweep;
    const written = await inSweepTransaction(deps.pool, async (client) => {
      const counts = [];
      for (const {table, rows} of altered)
        counts.push(
          await loadRows(client, table, rows, {accountId, sweepId, since, altered: new Set(rows)}),
        );
      await forgetKnown(client, {...scopeOf(this.#run), numbers: parents});
      return counts.map(({updated}) => updated);
    });
    const rows = written.reduce((sum, updated) => sum + updated, 0);
    this.#altered += rows;
    if (altered[0]?.table === stream.table) tally.add({updated: written[0] ?? 0});
    if (rows > 0)
      deps.log.warn(
        {
          event: 'rows.repaired',
          account: sweep.accountName,
          stream: stream.name,
          sweep: sweepId,
          rows,
        },
        'rows held something else than the service had sent, though nothing had said that they were changed: they hold it again',
      );
  }
}

function listOf(rowSet: EncodedRowSet, element: string): readonly EncodedRow[] | undefined {
  return rowSet.children.find((child) => child.element === element)?.rows;
}
