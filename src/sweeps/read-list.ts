// The first pass over a list. Reading and writing overlap: while Postgres writes one batch, the
// next is fetched, cut and parsed.

import type pg from 'pg';
import {freeBytes} from '../core/own-bytes.ts';
import {inSpan} from '../core/span.ts';
import {inSweepTransaction, type Queryable} from '../postgres/database.ts';
import {NumberSet} from '../rows/number-set.ts';
import {wholeList} from '../streams/stream.ts';
import {type ReadBatch, readBatch, writeBatch} from './batches.ts';
import {endsOf, type ListEnd, type Sample} from './evidence.ts';
import {
  type CutPage,
  cutPage,
  decodeNumbers,
  encodeNumbers,
  fetchPages,
  KnownPages,
  type PageAhead,
  PageNumbers,
  sizeOf,
} from './pages.ts';
import {queryOf} from './requests.ts';
import {SpotCheck} from './spot-check.ts';
import {
  boundOf,
  type ListBound,
  reportStep,
  SweepCounter,
  type SweepRun,
  transportCallOf,
} from './sweep-run.ts';
import {readLastPass, saveCheckpoint} from './sweeps.ts';

/** The result of a first pass. */
export interface FirstPass {
  readonly seen: NumberSet;
  /** The numbers on each page, as far as this process read it. */
  readonly pages: PageNumbers;
  /** The page that ended it. */
  readonly lastPage: number;
  readonly endedBy: ListEnd;
  readonly sample: Sample;
}

const defaultBatchRecords = 1_000;
/** Large records fill a batch earlier: the memory of a batch is bounded by bytes. */
const batchBytes = 8_000_000;
/**
 * How often an unchanged sweep saves a checkpoint: each checkpoint is a row version, an unchanged
 * batch writes none.
 */
const checkpointMs = 5_000;

/**
 * Reads a list from the sweep's checkpoint to its end and loads it into the warehouse, batch by
 * batch.
 * @throws {RetryableError} the service or the database failed temporarily; committed batches stay
 */
export async function readFirstPass(run: SweepRun): Promise<FirstPass> {
  const {deps, sweep, stream} = run;
  const lastPass = await readLastPass(deps.pool, sweep, sweep.windowName === wholeList);
  if (sweep.mode === 'full' && lastPass.pages === null) deps.pageReader.begin();
  // Windows do not use known pages: their content changes from day to day.
  const known =
    sweep.mode === 'full' ? new KnownPages(deps.pool, {accountId: sweep.accountId, stream}) : null;
  const bound = await boundOf(run, lastPass.records);
  const check = new SpotCheck(run, lastPass);
  const reading = new ListReading(run, {seen: await readSeen(run), check, known, bound});
  try {
    for await (const answer of requestPages(run, lastPass.pages, known)) {
      if (await reading.add(answer)) break;
    }
    return await reading.finish();
  } catch (error) {
    // The write of the batch before the failure may still run: it must end before the sweep is
    // postponed.
    await reading.settle();
    throw error;
  }
}

/** The numbers that the sweep has seen up to its checkpoint, in this process or an earlier one. */
export async function readSeen({deps, sweep}: SweepRun): Promise<NumberSet> {
  const seen = new NumberSet();
  for (const encodedNumbers of await readSightings(deps.pool, sweep.sweepId)) {
    for (const number of decodeNumbers(encodedNumbers)) seen.add(number);
  }
  return seen;
}

async function* requestPages(
  run: SweepRun,
  knownPages: number | null,
  known: KnownPages | null,
): AsyncGenerator<PageAhead> {
  const {sweep, stream, account} = run;
  const query = queryOf(stream, sweep);
  const {signal, ...call} = transportCallOf(run);
  if (!stream.isPaged) {
    const recognise = await known?.recogniserOf(1);
    yield {
      page: 1,
      ...(await account.api.fetchPage(stream.path, query, {signal, ...call, recognise})),
    };
    return;
  }
  const recogniserOf = known === null ? undefined : (page: number) => known.recogniserOf(page);
  const list = {path: stream.path, query, fromPage: sweep.nextPage, knownPages, recogniserOf};
  yield* fetchPages(account.api, {...list, ...call}, signal);
}

/** Some pages that are being read into rows. */
interface Reading {
  readonly batch: Promise<ReadBatch>;
  readonly pages: readonly CutPage[];
}

/**
 * The state of a first pass: the numbers seen, the pages that wait to be read, the batch being
 * written.
 */
class ListReading {
  readonly #run: SweepRun;
  readonly #seen: NumberSet;
  readonly #check: SpotCheck;
  readonly #pages = new PageNumbers();
  readonly #known: KnownPages | null;
  readonly #bound: ListBound;
  /** Seen since the last checkpoint. */
  #unsaved: string[] = [];
  #waiting: CutPage[] = [];
  #waitingRecords = 0;
  #waitingBytes = 0;
  #last: CutPage | null = null;
  #endedBy: ListEnd;
  #reading: Reading | null = null;
  #writing: Promise<void> = Promise.resolve();
  #checkpointAt = performance.now();

  constructor(
    run: SweepRun,
    {
      seen,
      check,
      known,
      bound,
    }: {
      readonly seen: NumberSet;
      readonly check: SpotCheck;
      readonly known: KnownPages | null;
      readonly bound: ListBound;
    },
  ) {
    this.#run = run;
    this.#seen = seen;
    this.#check = check;
    this.#known = known;
    this.#bound = bound;
    this.#endedBy = run.stream.isPaged ? 'nothing-new' : 'whole-answer';
  }

  /**
   * @returns whether the list has ended: by an empty page, by a page that repeats, or by pages
   * without a new record
   */
  async add(answer: PageAhead): Promise<boolean> {
    const page = (await this.#known?.cut(answer)) ?? cutPage(this.#run.stream, answer);
    const isRepeated = this.#last?.fingerprint.equals(page.fingerprint) ?? false;
    this.#last = page;
    if (isRepeated || page.hashes?.length === 0) {
      this.#run.tally.add({pages: 1, bytes: sizeOf(page)});
      if (this.#run.stream.isPaged) this.#endedBy = isRepeated ? 'repeated-page' : 'empty-page';
      return true;
    }
    this.#waiting.push(page);
    this.#waitingRecords += page.records;
    this.#waitingBytes += sizeOf(page);
    const {batchRecords = defaultBatchRecords} = this.#run.deps;
    const isFull = this.#waitingRecords >= batchRecords || this.#waitingBytes >= batchBytes;
    // A page that could not be cut may be the empty one; only reading it shows that.
    if (page.hashes === null) return await this.#readAll();
    return isFull ? await this.#readOn() : false;
  }

  /** Writes the rest, and notes that the first pass is done. */
  async finish(): Promise<FirstPass> {
    await this.#readAll();
    await this.#writing;
    await this.#check.putRight();
    await this.#known?.save();
    const {deps, sweep, tally} = this.#run;
    const lastPage = this.#last?.page ?? 1;
    const firstPass = {lastPage, endedBy: this.#endedBy, numbers: this.#seen.size};
    const {sample} = this.#check;
    await inSweepTransaction(deps.pool, async (client) => {
      await this.#noteSightings(client, this.#unsaved, lastPage + 1);
      const checkpoint = {nextPage: lastPage, counts: tally.counts, evidence: {firstPass, sample}};
      await saveCheckpoint(
        client,
        sweep,
        sweep.mode === 'full' ? {...checkpoint, stage: 'verify'} : checkpoint,
      );
    });
    await reportStep(this.#run, 'list-read');
    return {seen: this.#seen, pages: this.#pages, lastPage, endedBy: this.#endedBy, sample};
  }

  /** Waits for the running write and comparison, even if they fail. */
  async settle(): Promise<void> {
    await this.#writing.catch(() => {});
    await this.#check.settle();
  }

  /**
   * Starts to read the waiting pages, and processes the batch read before them.
   * @returns whether the list has ended
   */
  async #readOn(): Promise<boolean> {
    const pages = this.#waiting;
    this.#waiting = [];
    this.#waitingRecords = 0;
    this.#waitingBytes = 0;
    const {deps, sweep, stream, account} = this.#run;
    const {pool, pageReader} = deps;
    const context = {
      stream,
      accountId: sweep.accountId,
      timeZone: account.timeZone,
      pool,
      pageReader,
    };
    const batch = readBatch(context, pages);
    // The batch is awaited when its turn comes; until then its failure must not count as unhandled.
    batch.catch(() => {});
    const previous = this.#reading;
    this.#reading = {batch, pages};
    return await this.#take(previous);
  }

  async #readAll(): Promise<boolean> {
    const hasEnded = this.#waiting.length > 0 ? await this.#readOn() : false;
    const last = this.#reading;
    this.#reading = null;
    return (await this.#take(last)) || hasEnded;
  }

  /**
   * Counts a batch, and starts to write it once the batch before it is written.
   * @returns whether the list has ended
   */
  async #take(reading: Reading | null): Promise<boolean> {
    if (reading === null) return false;
    const batch = await reading.batch;
    await reportStep(this.#run, 'batch-read');
    const newRecords = this.#note(batch);
    this.#bound.check(this.#seen.size, reading.pages.at(-1)?.page ?? 1);
    const {tally, deps, sweep, stream} = this.#run;
    tally.add({
      pages: reading.pages.length,
      bytes: reading.pages.reduce((sum, page) => sum + sizeOf(page), 0),
      records: newRecords,
      known: batch.known,
    });
    await this.#writing;
    this.#writing = this.#write(batch, reading.pages);
    this.#writing.catch(() => {});
    deps.onProgress?.({
      accountId: sweep.accountId,
      stream: stream.name,
      records: tally.counts.records,
    });
    if (this.#endsEmpty(batch)) return true;
    return newRecords === 0 && batch.bad.length === 0;
  }

  /** Whether strict reading found that a page that could not be cut is empty. */
  #endsEmpty({pages, bad}: ReadBatch): boolean {
    const last = pages.at(-1);
    const isEmpty = last?.numbers.length === 0 && !bad.some(({page}) => page === last.page);
    if (isEmpty && this.#run.stream.isPaged) this.#endedBy = 'empty-page';
    return isEmpty;
  }

  /** @returns how many of the records had not been seen before in this sweep */
  #note(batch: ReadBatch): number {
    const before = this.#unsaved.length;
    for (const {page, numbers} of batch.pages) {
      this.#pages.note(page, numbers);
      for (const number of numbers) {
        if (this.#seen.has(number)) continue;
        this.#seen.add(number);
        this.#unsaved.push(number);
      }
    }
    return this.#unsaved.length - before;
  }

  async #write(batch: ReadBatch, pages: readonly CutPage[]): Promise<void> {
    // Rows that were parsed just now hold what the service sent: only known records need the check.
    const sample = batch.known > 0 ? this.#check.choose(pages) : [];
    for (const page of pages) if (!sample.includes(page)) freeBytes(page.body);
    await this.#writeBatch(batch, (pages.at(-1)?.page ?? 0) + 1);
    for (const page of sample) await this.#check.compare(page);
  }

  async #writeBatch(batch: ReadBatch, nextPage: number): Promise<void> {
    const isUnchanged = batch.rowSets.length === 0 && batch.bad.length === 0;
    if (isUnchanged && performance.now() - this.#checkpointAt < checkpointMs) return;
    this.#checkpointAt = performance.now();
    const {deps, sweep, tally} = this.#run;
    const sightings = this.#unsaved;
    this.#unsaved = [];
    const fields = this.#run.fields.take(batch.fields);
    // Reading continues during the write: the checkpoint saves the counts up to here.
    const counterSoFar = new SweepCounter(tally.counts);
    const attributes = {
      'fieldmirror.records': batch.rowSets.length,
      'fieldmirror.next_page': nextPage,
    };
    const write = async (client: pg.ClientBase) => {
      const counts = isUnchanged ? {} : await writeBatch(client, this.#run, {...batch, fields});
      await this.#noteSightings(client, sightings, nextPage);
      await saveCheckpoint(client, sweep, {nextPage, counts: counterSoFar.with(counts)});
      await reportStep(this.#run, 'batch-written');
      return counts;
    };
    const written = await inSpan('batch', attributes, () =>
      inSweepTransaction(deps.pool, write, sweep),
    );
    tally.add(written);
    await reportStep(this.#run, 'batch-committed');
  }

  /**
   * Stores the numbers that a full sweep saw. The numbers of a window prove nothing, so they are
   * not stored.
   */
  async #noteSightings(
    client: pg.ClientBase,
    numbers: readonly string[],
    nextPage: number,
  ): Promise<void> {
    const {sweepId, mode} = this.#run.sweep;
    if (mode !== 'full' || numbers.length === 0) return;
    await insertSightings(client, {sweepId, nextPage, numbers: encodeNumbers(numbers)});
  }
}

/**
 * The reasons why a list does not count as completely read: its end is not known, rows differed
 * from it, or records in it were refused.
 */
export function describeListDoubts(
  {tally, stream}: Pick<SweepRun, 'tally' | 'stream'>,
  {endedBy, lastPage, sample}: Pick<FirstPass, 'endedBy' | 'lastPage' | 'sample'>,
): string[] {
  const {quarantined} = tally.counts;
  return [
    ...(endedBy === 'repeated-page'
      ? [`page ${lastPage} repeated the page before it: the end of the list is not known`]
      : []),
    ...(endedBy === 'nothing-new'
      ? [`the list continued, up to page ${lastPage}, with records that were known already`]
      : []),
    ...(sample.altered > 0 && !sample.isWhole
      ? [
          `${sample.altered} rows of a sample of ${sample.records} records held something else ` +
            'than the service had sent, though nothing had said that they were changed: ' +
            'they hold it again, and the next sweep compares all',
        ]
      : []),
    ...(quarantined > 0
      ? [
          `${quarantined} records of ${stream.name} could not be read or taken: ` +
            'fieldmirror quarantine list',
        ]
      : []),
  ];
}

/**
 * How many records beyond the ends of a list are no sign of a cap: new records, or records of a
 * kind that the list leaves out.
 */
const usualBeyond = {least: 5, share: 0.1};

/**
 * The reason to assume that the service ends a list early, at a cap: more records exist outside of
 * the listed numbers than new records or records of another kind explain. They were read by their
 * number; records further out are not proven.
 */
export function describeCapDoubts({
  seen,
  seenAgain,
  lives,
}: Readonly<Record<'seen' | 'seenAgain' | 'lives', NumberSet>>): string[] {
  const listedNumbers = seen.union(seenAgain);
  const {lowest, highest} = endsOf(listedNumbers);
  let beyond = 0;
  for (const number of lives.asNumbers()) if (number > highest || number < lowest) beyond++;
  if (beyond <= Math.max(usualBeyond.least, listedNumbers.size * usualBeyond.share)) return [];
  return [
    `the list showed ${listedNumbers.size} records, from ${lowest} to ${highest}, ` +
      `and ${beyond} more live outside of these numbers: the service seems to end the list at a ` +
      'cap. Those were read by their number, others may be missing: ask who runs the service how ' +
      'long a list may be',
  ];
}

/**
 * Notes which numbers a sweep has seen since its last checkpoint, in the transaction that saves the
 * next one.
 */
async function insertSightings(
  client: pg.ClientBase,
  sighting: {readonly sweepId: string; readonly nextPage: number; readonly numbers: Buffer},
): Promise<void> {
  await client.query(
    `INSERT INTO sync.sightings AS held (sweep_id, next_page, numbers) VALUES ($1, $2, $3)
         ON CONFLICT (sweep_id, next_page) DO UPDATE SET numbers = EXCLUDED.numbers`,
    [sighting.sweepId, sighting.nextPage, sighting.numbers],
  );
}

/**
 * The numbers that a sweep has seen up to its checkpoint, one entry for each time they were noted.
 */
async function readSightings(db: Queryable, sweepId: string): Promise<Buffer[]> {
  const {rows} = await db.query<{numbers: Buffer}>(
    'SELECT numbers FROM sync.sightings WHERE sweep_id = $1 ORDER BY next_page',
    [sweepId],
  );
  return rows.map((row) => row.numbers);
}
