// Parsing blocks: thirty milliseconds for a megabyte. In a thread of its own it keeps no lease, no
// request and no answer of Postgres waiting, and has a core to itself.

import {once} from 'node:events';
import {extname} from 'node:path';
import {type ResourceLimits, Worker} from 'node:worker_threads';
import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {freeBytes, takeBytes} from '../core/own-bytes.ts';
import {findStream} from '../streams/all.ts';
import {type PlacedRowSet, unpackRows} from './packed-rows.ts';
import type {PackedPage, PageAnswer, PageTask} from './page-thread.ts';

/** A page as it was read. */
interface PageContent extends Omit<PackedPage, 'rows'> {
  /** The records whose bytes were not known, with their place in the page. */
  readonly records: readonly PlacedRowSet[];
}

/**
 * From source, a file of its own; in the built program, an entry beside the file that holds this
 * module.
 */
const threadFile = new URL(`./page-thread${extname(import.meta.filename)}`, import.meta.url);

/**
 * The thread's memory limits. Measured with 30,000 jobs: without a limit the thread takes 200 MB
 * more and is a tenth faster; with half of these limits it is a tenth slower. A second thread takes
 * 80 MB more, and two cores have nothing left for it.
 */
const threadLimits = {maxOldGenerationSizeMb: 96, maxYoungGenerationSizeMb: 36};

/**
 * Pages copied for the thread at once: the one that it reads, and some so that it need not wait.
 */
const mostSent = 3;

/**
 * A thread that reads pages, for every sweep of this process; started by the first. A page that
 * ends the thread costs only its own sweep an attempt: the next thread reads the pages behind it.
 */
export class PageReader {
  readonly #limits: ResourceLimits;
  #thread: PageThread | null = null;

  /** @param limits - the thread's memory limits */
  constructor(limits: ResourceLimits = threadLimits) {
    this.#limits = limits;
  }

  /** Starts the thread, if it is not there: it takes as long as a hundred pages take to come. */
  begin(): void {
    this.#living();
  }

  /**
   * Reads one page, after the pages asked for earlier.
   * @throws {RetryableError} the page is not a whole, well-formed list, or it ended the thread
   * @throws {FatalError} the page is larger than any that is taken
   */
  async read(task: PageTask): Promise<PageContent> {
    for (;;) {
      const content = await this.#living().read(task);
      if (content !== null) return content;
    }
  }

  async close(): Promise<void> {
    await this.#thread?.close();
  }

  #living(): PageThread {
    if (this.#thread?.isAlive !== true) this.#thread = new PageThread(this.#limits);
    return this.#thread;
  }
}

interface Waiting {
  readonly task: PageTask;
  readonly resolve: (content: PageContent | null) => void;
  readonly reject: (error: Error) => void;
}

class PageThread {
  readonly #worker: Worker;
  /**
   * In the order in which the thread reads the pages: the first is being read, and the last are not
   * sent yet.
   */
  readonly #waiting = new Map<number, Waiting>();
  #lastSent = 0;
  #isAlive = true;
  #isClosing = false;
  #lastId = 0;

  constructor(resourceLimits: ResourceLimits) {
    this.#worker = new Worker(threadFile, {resourceLimits});
    this.#worker.unref();
    this.#worker.on('message', (answer: PageAnswer) => this.#settle(answer));
    this.#worker.on('error', (cause) => this.#abandon(cause));
    this.#worker.on('exit', () => this.#abandon(new Error('it was closed')));
  }

  get isAlive(): boolean {
    return this.#isAlive;
  }

  /** @returns null where the thread ended before it came to this page */
  async read(task: PageTask): Promise<PageContent | null> {
    const answer = Promise.withResolvers<PageContent | null>();
    this.#waiting.set(++this.#lastId, {...answer, task});
    if (this.#waiting.size <= mostSent) this.#send(this.#lastId, task);
    return await answer.promise;
  }

  #send(id: number, task: PageTask): void {
    this.#lastSent = id;
    // A copy that can be given away: the page itself is compared with its rows later.
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
    const {rows, ...rest} = content;
    waiting.resolve({...rest, records: unpackRows(findStream(waiting.task.stream), rows)});
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
  if (name === 'RetryableError') return new RetryableError(message);
  if (name === 'FatalError') return new FatalError(message, {kind: 'service'});
  return name === 'RecordError' ? new RecordError(message) : new Error(message);
}
