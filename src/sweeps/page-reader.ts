// Parsing blocks the process: thirty milliseconds for a megabyte. In a separate thread it delays no
// lease, no request and no answer of Postgres, and has its own core. But starting a thread costs as
// much CPU as reading some megabytes, which is more than the sample of a usual sweep.

import {once} from 'node:events';
import {extname} from 'node:path';
import {setImmediate as immediate} from 'node:timers/promises';
import {
  isMainThread,
  parentPort,
  type ResourceLimits,
  Worker,
  workerData,
} from 'node:worker_threads';
import {SeenElements} from '../api/value-types.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import {readListInto} from '../api/xml-read.ts';
import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {freeBytes, takeBytes} from '../core/own-bytes.ts';
import {findStream} from '../streams/all.ts';
import {readRows} from '../streams/record-rows.ts';
import type {Stream} from '../streams/stream.ts';
import {redactXml} from '../streams/values.ts';
import {listPageFields, type PageFields} from './fields.ts';
import {
  buffersOf,
  type PackedRows,
  type PlacedRowSet,
  RowPacker,
  unpackRows,
} from './packed-rows.ts';
import type {QuarantinedRecord} from './quarantine.ts';

/** A page to be read; plain data, because it crosses threads. */
export interface PageTask {
  readonly stream: string;
  readonly timeZone: string;
  readonly page: number;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** Whether the bytes of each record cut from the page are known; null if the page was not cut. */
  readonly known: readonly boolean[] | null;
}

/** A page as it was read, its rows packed. */
interface PackedPage {
  /**
   * False if the parser found other records than the cut: then no slice's hash identifies a record.
   */
  readonly isCutTrue: boolean;
  /** The rows of the records whose bytes were not known. */
  readonly rows: PackedRows;
  readonly bad: readonly QuarantinedRecord[];
  /**
   * The fields that the page contained, with their types, including fields of known and of bad
   * records.
   */
  readonly fields: readonly PageFields[];
}

/** A page as it was read. */
interface PageContent extends Omit<PackedPage, 'rows'> {
  /** The records whose bytes were not known, with their place in the page. */
  readonly records: readonly PlacedRowSet[];
}

/**
 * From source, the thread loads this very file. In the built program, it loads an entry beside the
 * file that contains this module.
 */
const threadFile = new URL(`./page-reader${extname(import.meta.filename)}`, import.meta.url);

/**
 * The thread's memory limits. Measured with 30,000 jobs: without a limit the thread takes 200 MB
 * more and is a tenth faster; with half of these limits it is a tenth slower. A second thread takes
 * 80 MB more, and two cores have nothing left for it.
 */
const threadLimits = {maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 36};

/**
 * How many pages are copied for the thread at once: the one that it reads, and some more so that it
 * does not have to wait.
 */
const maxSentPages = 3;

/** How many bytes of pages a process reads without a thread: in total, and in one such page. */
const bytesWithoutThread = {all: 8_000_000, one: 1_000_000};

/**
 * Reads pages for every sweep of this process; in a thread, once one is running. If a page ends the
 * thread, only the sweep of that page loses an attempt: the next thread reads the pages after it.
 */
export class PageReader {
  readonly #limits: ResourceLimits;
  #bytesLeft: number;
  #thread: PageThread | null = null;

  /**
   * @param options.limits - the thread's memory limits
   * @param options.bytes - how many bytes are read without a thread
   */
  constructor({limits = threadLimits, bytes = bytesWithoutThread.all} = {}) {
    this.#limits = limits;
    this.#bytesLeft = bytes;
  }

  /** Starts the thread if none is running. Called before a list that was never read. */
  begin(): void {
    this.#living();
  }

  /**
   * Reads one page, after the pages requested earlier.
   * @throws {RetryableError} the page is not a complete, well-formed list, or it ended the thread
   * @throws {FatalError} the page is larger than the maximum
   */
  async read(task: PageTask): Promise<PageContent> {
    if (this.#isReadHere(task)) {
      // Other work gets a turn between two pages.
      await immediate();
      return unpackPage(task, readPage(task));
    }
    for (;;) {
      const content = await this.#living().read(task);
      if (content !== null) return content;
    }
  }

  #isReadHere({body}: PageTask): boolean {
    if (this.#thread !== null || body.length > Math.min(this.#bytesLeft, bytesWithoutThread.one))
      return false;
    this.#bytesLeft -= body.length;
    return true;
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #living(): PageThread {
    if (this.#thread?.isAlive !== true) this.#thread = new PageThread(this.#limits);
    return this.#thread;
  }
}

/** The answer of a thread to one task. */
interface PageAnswer {
  readonly id: number;
  readonly content?: PackedPage;
  /** An error cannot cross threads with its class: its name and message can. */
  readonly failure?: {readonly name: string; readonly message: string};
  /** The copy that the thread received: its memory returns to the thread that copies pages. */
  readonly body: Uint8Array<ArrayBuffer>;
}

function unpackPage({stream}: PageTask, {rows, ...content}: PackedPage): PageContent {
  return {...content, records: unpackRows(findStream(stream), rows)};
}

interface WaitingPage {
  readonly task: PageTask;
  readonly resolve: (content: PageContent | null) => void;
  readonly reject: (error: Error) => void;
}

class PageThread {
  readonly #worker: Worker;
  /**
   * The waiting pages, in the order in which the thread reads them: the first is being read, and
   * the last are not sent yet.
   */
  readonly #waiting = new Map<number, WaitingPage>();
  #lastSent = 0;
  #isAlive = true;
  #isClosing = false;
  #lastId = 0;

  constructor(resourceLimits: ResourceLimits) {
    this.#worker = new Worker(threadFile, {resourceLimits, workerData: {readsPages: true}});
    this.#worker.unref();
    this.#worker.on('message', (answer: PageAnswer) => this.#settle(answer));
    this.#worker.on('error', (cause) => this.#abandon(cause));
    this.#worker.on('exit', () => this.#abandon(new Error('it was closed')));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** @returns null if the thread ended before it reached this page */
  async read(task: PageTask): Promise<PageContent | null> {
    const deferred = Promise.withResolvers<PageContent | null>();
    this.#waiting.set(++this.#lastId, {...deferred, task});
    if (this.#waiting.size <= maxSentPages) this.#send(this.#lastId, task);
    return await deferred.promise;
  }

  #send(id: number, task: PageTask): void {
    this.#lastSent = id;
    // Sends a copy, because the transfer gives it away: the page itself is compared with its rows
    // later.
    const body = takeBytes(task.body.length);
    body.set(task.body);
    this.#worker.postMessage({id, task: {...task, body}}, [body.buffer]);
  }

  async close(): Promise<void> {
    if (!this.#isAlive) return;
    this.#isClosing = true;
    const ended = once(this.#worker, 'exit');
    await this.#worker.terminate();
    await ended;
  }

  #settle({id, content, failure, body}: PageAnswer): void {
    freeBytes(body);
    const waiting = this.#waiting.get(id);
    this.#waiting.delete(id);
    const next = this.#waiting.get(this.#lastSent + 1);
    if (next !== undefined) this.#send(this.#lastSent + 1, next.task);
    if (waiting === undefined) return;
    if (content === undefined) {
      waiting.reject(toError(failure ?? {name: 'Error', message: 'no answer'}));
      return;
    }
    waiting.resolve(unpackPage(waiting.task, content));
  }

  #abandon(cause: Error): void {
    this.#isAlive = false;
    let isReading = true;
    for (const {task, resolve, reject} of this.#waiting.values()) {
      if (this.#isClosing)
        reject(new RetryableError('the thread that reads pages was closed', {cause}));
      else if (!isReading) resolve(null);
      else
        reject(
          new RetryableError(
            `page ${task.page} of ${task.stream}: ` +
              `the thread that was reading it ended: ${cause.message}`,
            {cause},
          ),
        );
      isReading = false;
    }
    this.#waiting.clear();
  }
}

function toError({name, message}: {readonly name: string; readonly message: string}): Error {
  if (name === 'RetryableError') return new RetryableError(message, {kind: 'service'});
  if (name === 'FatalError') return new FatalError(message, {kind: 'service'});
  return name === 'RecordError' ? new RecordError(message) : new Error(message);
}

/**
 * Parses a page strictly, and makes rows from the records that are not known.
 * @throws {RetryableError} the page is not a complete, well-formed list
 */
function readPage(task: PageTask): PackedPage {
  const content = readUnknown(task);
  return content.isCutTrue || task.known === null ? content : readUnknown({...task, known: null});
}

/**
 * Reads a page on the assumption that its cut is correct; if it is not, all its records must be
 * read.
 */
function readUnknown({page, known, contentType, timeZone, ...task}: PageTask): PackedPage {
  const stream = findStream(task.stream);
  const body = Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength);
  const seen = new SeenElements();
  let rows = new RowPacker(stream, page);
  let refused: QuarantinedRecord[] = [];
  let count = 0;
  const take = (record: FieldRecord) => {
    const at = count++;
    if (known?.[at] === true) return;
    try {
      rows.add(at, readRows(stream, record, {timeZone}));
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      refused.push({
        page,
        ...describeRefused(stream, record),
        reason: error.message,
        expected: error.expected,
      });
    }
  };
  const restart = () => {
    rows = new RowPacker(stream, page);
    refused = [];
    count = 0;
  };
  const thing = `GET ${stream.path}?page=${page}`;
  const bad = readListInto(body, stream, {take, restart}, {thing, contentType, seen});
  const unreadable = bad.map(({reason, xml}) => ({
    page,
    number: numberIn(xml, stream),
    reason,
    expected: null,
    xml: redactXml(xml),
  }));
  return {
    isCutTrue: known?.length === count && bad.length === 0,
    rows: rows.pack(),
    bad: [...unreadable, ...refused],
    fields: listPageFields(stream, seen),
  };
}

function describeRefused(
  stream: Stream,
  record: FieldRecord,
): {number: string | null; xml: string} {
  const number = record.values[record.names.indexOf(stream.key)];
  return {
    number: typeof number === 'string' ? number : null,
    xml: redactXml(writeXml(stream.item, record)),
  };
}

/** The number of a record that could not be read; null if its XML does not show one. */
function numberIn(xml: string, {key}: Stream): string | null {
  const name = key.replaceAll('_', '[-_]');
  return new RegExp(`<${name}[^>]*>(\\d+)</`).exec(xml)?.[1] ?? null;
}

/** Writes the record as XML again, for a person who inspects the quarantine. */
function writeXml(name: string, value: FieldRecord | string | null): string {
  if (value === null) return `<${name} nil="true"/>`;
  if (typeof value === 'string') return `<${name}>${escapeXml(value)}</${name}>`;
  const children = value.names
    .map((child, at) => writeXml(child, value.values[at] ?? null))
    .join('');
  return `<${name}>${children}</${name}>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}

/** In the thread: reads pages and packs their rows, in parallel with the main thread. */
function answerTasks(): void {
  parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: OwnedTask}) => {
    const message = {...readTask(id, task), body: task.body};
    parentPort?.postMessage(message, [...buffersOf(message.content?.rows), task.body.buffer]);
  });
}

/** The thread owns the body until it returns it. */
type OwnedTask = PageTask & Pick<PageAnswer, 'body'>;

function readTask(id: number, task: PageTask): Omit<PageAnswer, 'body'> {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  }
}

// Other code may load this module in its threads, too.
if (!isMainThread && workerData?.readsPages === true) answerTasks();
