// The pages of a list: requests them ahead, cuts them at their record tags, recognizes pages that
// come again byte for byte, and keeps the numbers on them.

import {createCipheriv, createSecretKey, type KeyObject} from 'node:crypto';
import type pg from 'pg';
import type {Call, Client, RawPage} from '../api/client.ts';
import {DEFAULT_CONCURRENCY} from '../api/concurrency.ts';
import {type CodedBody, decodeBody, type Recognise, sizeOfBody} from '../api/exchange.ts';
import {DEFAULT_TRANSPORT_LIMITS} from '../api/transport.ts';
import {declaresUtf8} from '../api/xml-document.ts';
import {cutList, hashSlice} from '../api/xml-read.ts';
import {type KnownPage, pagesAtOnce, readKnownPages, rememberPages} from '../rows/held-rows.ts';
import {hashBytes} from '../rows/table-sql.ts';
import type {Stream} from '../streams/stream.ts';

/** One page of a list as received, cut at its record tags. */
export interface CutPage {
  readonly page: number;
  readonly body: Buffer;
  /**
   * The coding in which the body is still packed, because it was recognised; empty if it is not
   * packed.
   */
  readonly coding: string;
  readonly contentType: string | null;
  /**
   * The hashes of the records' bytes, concatenated; null if the page could not be cut and must be
   * read strictly.
   */
  readonly hashes: Buffer | null;
  /** How many records were cut from it. */
  readonly records: number;
  /** Equal for two pages that contain the same records, byte for byte. */
  readonly fingerprint: Buffer;
}

/** Cuts a page and hashes its slices; costs about a millisecond for a megabyte. */
export function cutPage(stream: Stream, page: PageAhead): CutPage {
  // Bytes are compared as they are only if they are UTF-8: in another charset they mean another
  // text.
  const slices = declaresUtf8(page.contentType) ? cutList(page.body, stream) : null;
  return slices === null
    ? leaveUncut(page)
    : cutByHashes(page, Buffer.concat(slices.map(hashSlice)));
}

/** A page with the hashes of an earlier cut. */
function cutByHashes({page, body, coding, contentType}: PageAhead, hashes: Buffer): CutPage {
  const records = hashes.length / hashBytes;
  return {page, body, coding, contentType, hashes, records, fingerprint: hashes};
}

function leaveUncut({page, body, coding, contentType}: PageAhead): CutPage {
  return {page, body, coding, contentType, hashes: null, records: 0, fingerprint: hashSlice(body)};
}

/** The bytes of a page, unpacked. */
export async function unpack({body, coding}: CutPage): Promise<Buffer> {
  return await decodeBody({bytes: body, coding}, DEFAULT_TRANSPORT_LIMITS);
}

/** The size of a page in bytes when it is unpacked. */
export function sizeOf({body, coding}: CutPage): number {
  return sizeOfBody({bytes: body, coding});
}

/** The hash of one record of a page. @param at - its place, from 0 */
export function hashAt(hashes: Buffer, at: number): Buffer {
  return hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
}

const noNonce = Buffer.alloc(12);
/** The bytes of a gzip file that hold the time at which it was made (RFC 1952). */
const timeStampBytes = {from: 4, to: 8};

/**
 * Returns sixteen bytes that two bodies share only if they are equal: the AES-GCM tag of a body
 * that is authenticated and not encrypted (GMAC). It runs at twenty gigabytes a second, ten times
 * as fast as SHA-256. Without the key it is impossible to make a body with the digest of another,
 * so the key and the digests are never given out. A service may pack the same page again for each
 * answer: the time stamp of the packing is left out.
 * @param key - of 16 bytes; a key object is prepared once, bytes would be prepared for each page
 */
export function digestPage(key: KeyObject, {bytes, coding}: CodedBody): Buffer {
  const cipher = createCipheriv('aes-128-gcm', key, noNonce);
  if (coding === '') {
    cipher.setAAD(bytes);
  } else {
    cipher.setAAD(bytes.subarray(0, timeStampBytes.from));
    cipher.setAAD(bytes.subarray(timeStampBytes.to));
  }
  cipher.update(coding);
  cipher.final();
  return cipher.getAuthTag();
}

// A page that comes again byte for byte contains the same records as before. Its digest shows that
// before it is unpacked, in a tenth of the time that cutting and hashing take. The sweep still
// checks whether those records are known, so that the result is correct whatever happened to their
// rows.

/** Consecutive pages of a list, as last received. */
interface Block {
  readonly key: KeyObject;
  readonly pages: ReadonlyMap<number, KnownPage>;
}

/** The digest of a received page; and its hashes, if it was received before. */
interface ReceivedPage {
  readonly digest: Buffer;
  readonly hashes: Buffer | null;
}

/** The pages of one list, as last received. */
export class KnownPages {
  readonly #pool: pg.Pool;
  readonly #list: {readonly accountId: string; readonly stream: string};
  readonly #stream: Stream;
  /**
   * Blocks by their place. Pages are requested some way ahead, so that two blocks can be needed at
   * once.
   */
  readonly #blocks = new Map<number, Promise<Block>>();
  /** Received pages that were not cut yet, by number. */
  readonly #came = new Map<number, ReceivedPage>();
  #fresh: KnownPage[] = [];

  constructor(
    pool: pg.Pool,
    {accountId, stream}: {readonly accountId: string; readonly stream: Stream},
  ) {
    this.#pool = pool;
    this.#list = {accountId, stream: stream.name};
    this.#stream = stream;
  }

  /**
   * Looks up a page before it is requested. The returned function checks whether its body equals
   * the one last received.
   */
  async recogniserOf(page: number): Promise<Recognise> {
    const {key, pages} = await this.#blockOf(page);
    const knownPage = pages.get(page);
    return (body) => {
      const digest = digestPage(key, body);
      const isSame = knownPage?.digest.equals(digest) === true;
      this.#came.set(page, {digest, hashes: isSame ? knownPage.hashes : null});
      return isSame;
    };
  }

  /** Cuts a received page; if it is unchanged, the earlier cut is used. */
  async cut(page: PageAhead): Promise<CutPage> {
    const received = this.#came.get(page.page);
    if (received === undefined)
      throw new TypeError(`page ${page.page}: expected its digest, got none`);
    this.#came.delete(page.page);
    if (received.hashes !== null) return cutByHashes(page, received.hashes);
    const cut = cutPage(this.#stream, page);
    if (cut.hashes !== null && cut.records > 0) {
      this.#fresh.push({page: page.page, digest: received.digest, hashes: cut.hashes});
      if (this.#fresh.length === pagesAtOnce) await this.save();
    }
    return cut;
  }

  /** Writes the pages that are not written yet. */
  async save(): Promise<void> {
    const newPages = this.#fresh;
    this.#fresh = [];
    await rememberPages(this.#pool, {...this.#list, pages: newPages});
  }

  async #blockOf(page: number): Promise<Block> {
    const at = Math.floor(page / pagesAtOnce);
    const block = this.#blocks.get(at) ?? this.#readBlock(at);
    this.#blocks.set(at, block);
    this.#blocks.delete(at - 2);
    return await block;
  }

  async #readBlock(at: number): Promise<Block> {
    const {key, pages} = await readKnownPages(this.#pool, {...this.#list, from: at * pagesAtOnce});
    return {key: createSecretKey(key), pages: new Map(pages.map((page) => [page.page, page]))};
  }
}

/** The numbers on each page of a list, as far as it was read. */
export class PageNumbers {
  /**
   * The encoded numbers of each page, one byte per character: a short separate buffer takes 200
   * bytes more than a short text.
   */
  readonly #pages = new Map<number, string>();

  /** @param numbers - positive whole numbers, in any order */
  note(page: number, numbers: readonly string[]): void {
    this.#pages.set(page, encodeNumbers(numbers).toString('latin1'));
  }

  /** True for a page that was read and contained no number. */
  isEmpty(page: number): boolean {
    return this.#pages.get(page) === '';
  }

  /**
   * Whether a page contained the same numbers as a page of another pass, in any order; an unread
   * page contained none.
   */
  holdsSame(page: number, other: PageNumbers, otherPage: number): boolean {
    const [bytes = '', otherBytes = ''] = [this.#pages.get(page), other.#pages.get(otherPage)];
    if (bytes === otherBytes) return true;
    const [numbers, otherNumbers] = [
      decodeNumbers(toBuffer(bytes)),
      decodeNumbers(toBuffer(otherBytes)),
    ];
    const otherNumberSet = new Set(otherNumbers);
    return (
      numbers.length === otherNumbers.length &&
      numbers.every((number) => otherNumberSet.has(number))
    );
  }
}

function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

// Encodes many numbers in few bytes, for checkpoints and for the numbers on pages. They are sorted,
// and each is stored as its difference from the previous one (LEB128). A list in order of number
// takes a byte per record, and less once Postgres has compressed it.

/**
 * @param numbers - positive whole numbers as text, in any order; a number given twice is stored
 *   twice
 */
export function encodeNumbers(numbers: readonly string[]): Buffer {
  const sorted = numbers
    .map(BigInt)
    .sort((first, second) => (first < second ? -1 : first > second ? 1 : 0));
  const bytes: number[] = [];
  let previous = 0n;
  for (const number of sorted) {
    let difference = number - previous;
    for (; difference >= 0x80n; difference >>= 7n) bytes.push(Number(difference & 0x7fn) | 0x80);
    bytes.push(Number(difference));
    previous = number;
  }
  return Buffer.from(bytes);
}

/** Decodes the numbers, in order. */
export function decodeNumbers(bytes: Buffer): string[] {
  const numbers: string[] = [];
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    number += BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    numbers.push(number.toString());
    shift = 0n;
  }
  return numbers;
}

export interface PageAhead extends RawPage {
  /** Its number, from 1. */
  readonly page: number;
}

export interface PagesOptions extends Omit<Call, 'signal'> {
  readonly path: string;
  /** Filters and includes; `page` is added. */
  readonly query: Readonly<Record<string, string>>;
  /** 1-based; the checkpoint of an interrupted sweep. */
  readonly fromPage: number;
  /**
   * How many pages are known to exist. Beyond them one is requested at a time, and only when the
   * consumer wants it, so that a list whose length is known costs no request past its end. null or
   * absent: unknown, and all are requested ahead.
   */
  readonly knownPages?: number | null;
  /** Called for a page before it is requested: the result checks whether its body is known. */
  readonly recogniserOf?: ((page: number) => Promise<Recognise>) | undefined;
  /** Milliseconds on a clock that never goes back. */
  readonly clock?: () => number;
}

/**
 * The fewest pages in progress, the awaited one included, and the most. The limiter decides how
 * many the account allows.
 */
const minPages = 4;
const maxPages = DEFAULT_CONCURRENCY.max;
/**
 * While the end of a list is unknown, at most this share of the pages read so far is requested
 * ahead, because those requests may be in vain.
 */
const maxWastedShare = 0.5;

/**
 * Yields the pages of a list in order of number, without end. A page past the end is an empty list,
 * and the consumer decides where the end is (for a sweep: src/sweeps/read-list.ts). As many are
 * requested ahead as it takes for each to be there when it is wanted. When the consumer returns,
 * throws or is aborted, outstanding requests are cut off and waited for.
 * @throws the error of the first page that fails, when its turn comes; the signal's reason if it is
 *   aborted
 * @see docs/traps.md "Pages without a cursor"; docs/service.md "Page size";
 *   docs/decisions/0023-pages-ahead-by-need.md
 */
export async function* fetchPages(
  client: Pick<Client, 'fetchPage'>,
  {
    path,
    query,
    fromPage,
    knownPages,
    recogniserOf,
    clock = () => performance.now(),
    ...call
  }: PagesOptions,
  signal?: AbortSignal,
): AsyncGenerator<PageAhead, never, undefined> {
  const stop = new AbortController();
  const combinedSignal =
    signal === undefined ? stop.signal : AbortSignal.any([stop.signal, signal]);
  const queue: Promise<PageAhead>[] = [];
  const requestPage = async (page: number): Promise<PageAhead> => {
    const recognise = await recogniserOf?.(page);
    const pageQuery = {...query, page: String(page)};
    return {
      page,
      ...(await client.fetchPage(path, pageQuery, {...call, recognise, signal: combinedSignal})),
    };
  };
  const lastAhead = knownPages ?? Number.POSITIVE_INFINITY;
  const demand = new PageDemand(knownPages == null);
  let nextPage = fromPage;
  try {
    for (;;) {
      while (queue.length === 0 || (queue.length < demand.pages && nextPage <= lastAhead)) {
        const pendingPage = requestPage(nextPage++);
        // A page beyond the end may fail after the consumer has returned, with no handler left for
        // its error.
        pendingPage.catch(() => {});
        queue.push(pendingPage);
      }
      const page = await queue.shift();
      if (page === undefined) continue;
      const yieldedAt = clock();
      yield page;
      demand.note(page.ms, clock() - yieldedAt);
    }
  } finally {
    stop.abort();
    await Promise.allSettled(queue);
  }
}

/**
 * How many pages must be in progress so that the consumer waits for none: the time of an answer
 * over the time that the consumer takes for a page. The fastest answer counts, because it waited in
 * no queue at the service. A service that is near and busy answers no faster if more is requested
 * at once.
 */
class PageDemand {
  readonly #isEndUnknown: boolean;
  #fastestMs = Number.POSITIVE_INFINITY;
  #consumerMs = 0;
  #read = 0;

  constructor(isEndUnknown: boolean) {
    this.#isEndUnknown = isEndUnknown;
  }

  /** From `minPages` to `maxPages`: as many as possible at first, if none can be in vain. */
  get pages(): number {
    if (this.#read === 0) return this.#isEndUnknown ? minPages : maxPages;
    const needed = Math.ceil((this.#fastestMs * this.#read) / Math.max(this.#consumerMs, 1)) + 1;
    const allowed = this.#isEndUnknown ? Math.floor(this.#read * maxWastedShare) : maxPages;
    return Math.max(minPages, Math.min(needed, allowed, maxPages));
  }

  /** Records a page: the time of its answer, and the time that the consumer took for it. */
  note(answerMs: number, consumerMs: number): void {
    this.#fastestMs = Math.min(this.#fastestMs, answerMs);
    this.#consumerMs += consumerMs;
    this.#read++;
  }
}
