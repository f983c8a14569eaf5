// One pass over a list. Reading and writing overlap: while Postgres takes one batch, the next is fetched, cut and parsed.

import {fetchPages, type Page} from '../api/pages.ts';
import {findStream} from '../streams/all.ts';
import type {Stream} from '../streams/stream.ts';
import {inTransaction} from '../warehouse/database.ts';
import type {Sweep, SweepCounts} from '../warehouse/sweep.ts';
import {saveCheckpoint} from '../warehouse/sweeps.ts';
import {queryOf} from './query.ts';
import {type CutPage, cutPage, type ReadBatch, readBatch} from './read-batch.ts';
import type {SweepDeps} from './sweep-deps.ts';
import {writeBatch} from './write-batch.ts';

const batchRecords = 300;
/** Records with much inside fill a batch earlier: what is held in memory is bounded by bytes. */
const batchBytes = 2_000_000;
/** As many as a batch holds: while one is parsed, the next arrives. */
const pagesInFlight = 4;
/** How often an unchanged sweep notes where it stands: each note is a row version, and unchanged costs nothing. */
const checkpointMs = 5_000;

/**
 * Reads a list from the sweep's checkpoint to its end and brings it into the warehouse, batch by batch.
 * @returns the counts of the whole sweep, earlier runs included
 * @throws {RetryableError} the service or the database failed in passing; what was committed stays
 */
export async function sweepList(deps: SweepDeps, sweep: Sweep, signal: AbortSignal): Promise<SweepCounts> {
  const stream = findStream(sweep.stream);
  const pass = new Pass(deps, sweep, stream);
  try {
    for await (const answer of askFor(deps, sweep, signal)) {
      if (await pass.add(answer)) break;
    }
    return await pass.finish();
  } catch (error) {
    // What was read before the failure is still on its way; the sweep may not be given back under it.
    await pass.settle();
    throw error;
  }
}

async function* askFor(deps: SweepDeps, sweep: Sweep, signal: AbortSignal): AsyncGenerator<Page> {
  const stream = findStream(sweep.stream);
  const query = queryOf(stream, sweep);
  if (stream.isPaged) {
    yield* fetchPages(
      deps.api,
      {path: stream.path, query, fromPage: sweep.nextPage, inFlight: pagesInFlight},
      signal,
    );
  } else {
    yield {page: 1, ...(await deps.api.fetchPage(stream.path, query, {signal}))};
  }
}

/** Some pages on their way to rows. */
interface Reading {
  readonly batch: Promise<ReadBatch>;
  readonly nextPage: number;
}

/** The state of one pass: what was seen, what waits to be read, what is being written. */
class Pass {
  readonly #deps: SweepDeps;
  readonly #sweep: Sweep;
  readonly #stream: Stream;
  readonly #seen = new Set<string>();
  #counts: SweepCounts;
  #waiting: CutPage[] = [];
  #waitingRecords = 0;
  #waitingBytes = 0;
  #nextPage: number;
  #previousBody: Buffer | null = null;
  #reading: Reading | null = null;
  #writing: Promise<void> = Promise.resolve();
  #checkpointAt = performance.now();

  constructor(deps: SweepDeps, sweep: Sweep, stream: Stream) {
    this.#deps = deps;
    this.#sweep = sweep;
    this.#stream = stream;
    this.#counts = sweep.counts;
    this.#nextPage = sweep.nextPage;
  }

  /** @returns whether the list has ended: by an empty page, by a page that repeats, or by pages without a new record */
  async add(answer: Page): Promise<boolean> {
    const page = cutPage(this.#stream, answer);
    const isRepeated = this.#previousBody?.equals(page.body) ?? false;
    this.#previousBody = page.body;
    this.#count({requests: 1, pages: 1, bytes: page.body.length});
    if (isRepeated || page.hashes?.length === 0) return true;
    this.#waiting.push(page);
    this.#waitingRecords += page.hashes?.length ?? 0;
    this.#waitingBytes += page.body.length;
    const isFull = this.#waitingRecords >= batchRecords || this.#waitingBytes >= batchBytes;
    // A page that could not be cut may be the empty one; only reading it tells.
    if (page.hashes === null) return await this.#readAll();
    return isFull ? await this.#readOn() : false;
  }

  async finish(): Promise<SweepCounts> {
    await this.#readAll();
    await this.#writing;
    await inTransaction(this.#deps.pool, (client) =>
      saveCheckpoint(client, this.#sweep, {nextPage: this.#nextPage, counts: this.#counts}),
    );
    return this.#counts;
  }

  /** Waits for the write under way, however it ends. */
  async settle(): Promise<void> {
    await this.#writing.catch(() => {});
  }

  /** Starts to read what waits, and takes what was read before it. @returns whether the list has ended */
  async #readOn(): Promise<boolean> {
    const pages = this.#waiting;
    this.#waiting = [];
    this.#waitingRecords = 0;
    this.#waitingBytes = 0;
    const {pool, timeZone, pageReader} = this.#deps;
    const place = {stream: this.#stream, accountId: this.#sweep.accountId, timeZone, pool, pageReader};
    const batch = readBatch(place, pages);
    // Awaited when its turn comes; until then a failure must not count as nobody's.
    batch.catch(() => {});
    const previous = this.#reading;
    this.#reading = {batch, nextPage: (pages.at(-1)?.page ?? 0) + 1};
    return await this.#take(previous);
  }

  async #readAll(): Promise<boolean> {
    const hasEnded = this.#waiting.length > 0 ? await this.#readOn() : false;
    const last = this.#reading;
    this.#reading = null;
    return (await this.#take(last)) || hasEnded;
  }

  /** Counts what was read, and starts to write it once what came before is written. @returns whether nothing was new */
  async #take(reading: Reading | null): Promise<boolean> {
    if (reading === null) return false;
    const batch = await reading.batch;
    const seenBefore = this.#seen.size;
    for (const number of batch.numbers) this.#seen.add(number);
    const brought = this.#seen.size - seenBefore;
    this.#count({records: brought, quarantined: batch.bad.length});
    await this.#writing;
    this.#nextPage = reading.nextPage;
    this.#writing = this.#write(batch, this.#nextPage);
    this.#writing.catch(() => {});
    this.#deps.onProgress?.({stream: this.#stream.name, records: this.#counts.records});
    return brought === 0 && batch.bad.length === 0;
  }

  async #write(batch: ReadBatch, nextPage: number): Promise<void> {
    const isUnchanged = batch.rowSets.length === 0 && batch.bad.length === 0;
    if (isUnchanged && performance.now() - this.#checkpointAt < checkpointMs) return;
    this.#checkpointAt = performance.now();
    const {timeZone, pool} = this.#deps;
    const place = {stream: this.#stream, sweep: this.#sweep, timeZone};
    // Counts go on while this is written: what is saved is what was read up to here.
    const read = this.#counts;
    const written = await inTransaction(pool, async (client) => {
      const counts = isUnchanged ? {} : await writeBatch(client, place, batch);
      await saveCheckpoint(client, this.#sweep, {nextPage, counts: addCounts(read, counts)});
      return counts;
    });
    this.#count(written);
  }

  #count(more: Partial<SweepCounts>): void {
    this.#counts = addCounts(this.#counts, more);
  }
}

function addCounts(counts: SweepCounts, more: Partial<SweepCounts>): SweepCounts {
  const sum = {...counts};
  for (const [name, count] of Object.entries(more)) sum[name as keyof SweepCounts] += count;
  return {...sum, unchanged: Math.max(0, sum.records - sum.inserted - sum.updated - sum.revived)};
}
