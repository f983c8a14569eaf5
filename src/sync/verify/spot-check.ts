// A record that is known byte for byte is not parsed, and a row with the same hash is not written: both trust
// the notes made when the row was written. So each full sweep parses some pages all the same, and compares
// them with the rows held. A row that holds something else is put right, and the next sweep compares all
// pages.

import {randomInt} from 'node:crypto';
import {parentColumnOf} from '../../streams/stream.ts';
import {inSweepTransaction} from '../../warehouse/postgres/database.ts';
import {findAltered, findAlteredFamilies} from '../../warehouse/rows/altered-rows.ts';
import type {EncodedRow} from '../../warehouse/rows/encoded-row.ts';
import {forgetKnown} from '../../warehouse/rows/known-records.ts';
import {loadRows} from '../../warehouse/rows/load.ts';
import type {MirrorTable} from '../../warehouse/rows/mirror-table.ts';
import type {Sample} from '../../warehouse/sweeps/evidence.ts';
import type {EncodedRowSet} from '../load/encoded-row-set.ts';
import type {CutPage} from '../load/read-batch.ts';
import {type SweepRun, scopeOf} from '../sweep/sweep-run.ts';

/**
 * The sample is one page in so many of a long list, about two of a short one. Measured: 2 % of a full parse.
 */
const sparsest = 50;

/** The rows of one table that a page sent, one per key. */
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

  /** @param last - the result of the last pass over the list */
  constructor(run: SweepRun, last: {readonly pages: number | null; readonly sample: Sample | null}) {
    this.#run = run;
    const isSuspect = last.sample !== null && last.sample.altered > 0 && !last.sample.isWhole;
    this.#every = isSuspect ? 1 : Math.min(sparsest, Math.max(1, Math.floor((last.pages ?? 1) / 2)));
    this.#offset = randomInt(this.#every);
  }

  get sample(): Sample {
    const isWhole = this.#every === 1 && this.#run.sweep.nextPage === 1;
    return {records: this.#records, altered: this.#altered, isWhole};
  }

  /** Compares the pages that are in the sample with their rows, and puts right the rows that differ. */
  async compare(pages: readonly CutPage[]): Promise<void> {
    if (this.#run.sweep.mode !== 'full') return;
    for (const page of pages) if (page.page % this.#every === this.#offset) await this.#comparePage(page);
  }

  async #comparePage({page, body, contentType}: CutPage): Promise<void> {
    const {deps, stream, account, sweep} = this.#run;
    const task = {page, body, contentType, stream: stream.name, timeZone: account.timeZone, known: null};
    const {records} = await deps.pageReader.read(task);
    const rowSets = records.map(({rowSet}) => rowSet);
    this.#records += rowSets.length;
    const altered: Sent[] = [];
    for (const {table, rows} of this.#sentBy(rowSets)) {
      const found = await findAltered(deps.pool, table, {accountId: sweep.accountId, rows});
      if (found.length > 0) altered.push({table, rows: found});
    }
    const parents = await this.#findParents(rowSets);
    if (altered.length > 0 || parents.length > 0) await this.#putRight(altered, parents);
  }

  #sentBy(rowSets: readonly EncodedRowSet[]): Sent[] {
    const {stream} = this.#run;
    // For records of the stream itself only the list counts, not their copies inside other records.
    const others = stream.children.filter(({isOfStream}) => isOfStream !== true);
    const children = others.map(({table, element}) => ({
      table,
      rows: rowSets.flatMap((rowSet) => listOf(rowSet, element) ?? []),
    }));
    return [{table: stream.table, rows: rowSets.map(({row}) => row)}, ...children].map(({table, rows}) => ({
      table,
      rows: [...new Map(rows.map((row) => [row.key.join(','), row])).values()],
    }));
  }

  /** Numbers of records with other children than they were sent with: the next sweep reads them again. */
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
      for (const number of await findAlteredFamilies(deps.pool, child.table, family)) found.add(number);
    }
    return [...found];
  }

  async #putRight(altered: readonly Sent[], parents: readonly string[]): Promise<void> {
    const {deps, sweep, stream, tally} = this.#run;
    const {accountId, sweepId, startedAt: since} = sweep;
    const written = await inSweepTransaction(deps.pool, async (client) => {
      const counts = [];
      for (const {table, rows} of altered)
        counts.push(await loadRows(client, table, rows, {accountId, sweepId, since, altered: new Set(rows)}));
      await forgetKnown(client, {...scopeOf(this.#run), numbers: parents});
      return counts.map(({updated}) => updated);
    });
    const rows = written.reduce((sum, updated) => sum + updated, 0);
    this.#altered += rows;
    if (altered[0]?.table === stream.table) tally.add({updated: written[0] ?? 0});
    if (rows > 0)
      deps.log.warn(
        {event: 'rows.repaired', account: sweep.accountName, stream: stream.name, sweep: sweepId, rows},
        'rows held something else than the service had sent, though nothing had said that they were changed: they hold it again',
      );
  }
}

function listOf(rowSet: EncodedRowSet, element: string): readonly EncodedRow[] | undefined {
  return rowSet.children.find((child) => child.element === element)?.rows;
}
