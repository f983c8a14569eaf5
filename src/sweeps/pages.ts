// The pages of a list: cut at their record tags, recognized when they come again byte for byte, and
// the numbers on them.

import {createCipheriv, createSecretKey, type KeyObject} from 'node:crypto';
import type pg from 'pg';
import {type CodedBody, decodeBody, type Recognise, sizeOfBody} from '../api/exchange.ts';
import type {PageAhead} from '../api/pages-ahead.ts';
import {DEFAULT_TRANSPORT_LIMITS} from '../api/transport.ts';
import {saysUtf8} from '../api/xml-document.ts';
import {cutList, hashSlice} from '../api/xml-read.ts';
import {type KnownPage, pagesAtOnce, readKnownPages, rememberPages} from '../rows/known-records.ts';
import {hashBytes} from '../rows/table-sql.ts';
import type {Stream} from '../streams/stream.ts';

/** One page of a list as it came, cut at its record tags. */
export interface CutPage {
  readonly page: number;
  readonly body: Buffer;
  /**
   * The way in which the body is still packed, because it was recognised; empty where it is not.
   */
  readonly coding: string;
  readonly contentType: string | null;
  /**
   * The hash of each record's bytes, end to end; null where the page could not be cut and must be
   * read strictly.
   */
  readonly hashes: Buffer | null;
  /** How many records were cut from it. */
  readonly records: number;
  /** The same for two pages that hold the same records, byte for byte. */
  readonly fingerprint: Buffer;
}

/** Cuts a page and hashes its slices; costs about a millisecond for a megabyte. */
export function cutPage(stream: Stream, page: PageAhead): CutPage {
  // Bytes are compared as they are only where they are UTF-8: under another charset they mean
  // another text.
  const slices = saysUtf8(page.contentType) ? cutList(page.body, stream) : null;
  return slices === null ? uncut(page) : cutAs(page, Buffer.concat(slices.map(hashSlice)));
}

/** A page as it was cut before. */
function cutAs({page, body, coding, contentType}: PageAhead, hashes: Buffer): CutPage {
  const records = hashes.length / hashBytes;
  return {page, body, coding, contentType, hashes, records, fingerprint: hashes};
}

function uncut({page, body, coding, contentType}: PageAhead): CutPage {
  return {page, body, coding, contentType, hashes: null, records: 0, fingerprint: hashSlice(body)};
}

/** The bytes of a page, unpacked. */
export async function unpack({body, coding}: CutPage): Promise<Buffer> {
  return await decodeBody({bytes: body, coding}, DEFAULT_TRANSPORT_LIMITS);
}

/** Bytes of a page when it is unpacked. */
export function sizeOf({body, coding}: CutPage): number {
  return sizeOfBody({bytes: body, coding});
}

/** The hash of one record of a page. @param at - its place, from 0 */
export function hashAt(hashes: Buffer, at: number): Buffer {
  return hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
}

const noNonce = Buffer.alloc(12);
/** The bytes of a gzip file that hold the time at which it was made (RFC 1952). */
const stamp = {from: 4, to: 8};

/**
 * Sixteen bytes that two bodies share only if they are the same: the tag of AES-GCM over a body
 * that is signed and not encrypted (GMAC). It runs at twenty gigabytes a second, ten times as fast
 * as SHA-256. Without the key no body can be made that has the digest of another, so the key, and
 * the digests, stay with us. A service may pack the same page anew for each answer: the time of
 * that is left out.
 * @param key - of 16 bytes; as an object it is made ready once, where bytes would be for each page
 */
export function digestPage(key: KeyObject, {bytes, coding}: CodedBody): Buffer {
  const cipher = createCipheriv('aes-128-gcm', key, noNonce);
  if (coding === '') {
    cipher.setAAD(bytes);
  } else {
    cipher.setAAD(bytes.subarray(0, stamp.from));
    cipher.setAAD(bytes.subarray(stamp.to));
  }
  cipher.update(coding);
  cipher.final();
  return cipher.getAuthTag();
}

// A page that comes again byte for byte holds the records that it held before: its digest tells,
// before it is even unpacked, at a tenth of the time that cutting and hashing take. Whether those
// records are known is asked all the same, so that nothing here is ever wrong, whatever becomes of
// their rows.

/** Pages of a list that follow each other, as they last came. */
interface Block {
  readonly key: KeyObject;
  readonly pages: ReadonlyMap<number, KnownPage>;
}

/** A page that came, by its digest; and its hashes, where it came before. */
interface Came {
  readonly digest: Buffer;
  readonly hashes: Buffer | null;
}

/** The pages of one list, as they last came. */
export class KnownPages {
  readonly #pool: pg.Pool;
  readonly #list: {readonly accountId: string; readonly stream: string};
  readonly #stream: Stream;
  /**
   * Blocks by their place: pages are asked for some way ahead, so that two can be needed at once.
   */
  readonly #blocks = new Map<number, Promise<Block>>();
  /** Pages that came and were not cut yet, by number. */
  readonly #came = new Map<number, Came>();
  #fresh: KnownPage[] = [];

  constructor(
    pool: pg.Pool,
    {accountId, stream}: {readonly accountId: string; readonly stream: Stream},
  ) {
    this.#pool = pool;
    this.#list = {accountId, stream: stream.name};
    this.#stream = stream;
  }

  /** Looks a page up, before it is asked for: the result tells whether it comes as it last came. */
  async recogniserOf(page: number): Promise<Recognise> {
    const {key, pages} = await this.#blockOf(page);
    const held = pages.get(page);
    return (body) => {
      const digest = digestPage(key, body);
      const isSame = held?.digest.equals(digest) === true;
      this.#came.set(page, {digest, hashes: isSame ? held.hashes : null});
      return isSame;
    };
  }

  /** Cuts a page that came: as it was cut before, where it is the same. */
  async cut(page: PageAhead): Promise<CutPage> {
    const came = this.#came.get(page.page);
    if (came === undefined)
      throw new TypeError(`page ${page.page}: expected its digest, got a page not looked up`);
    this.#came.delete(page.page);
    if (came.hashes !== null) return cutAs(page, came.hashes);
    const cut = cutPage(this.#stream, page);
    if (cut.hashes !== null && cut.records > 0) {
      this.#fresh.push({page: page.page, digest: came.digest, hashes: cut.hashes});
      if (this.#fresh.length === pagesAtOnce) await this.save();
    }
    return cut;
  }

  /** Writes what is not written yet. */
  async save(): Promise<void> {
    const fresh = this.#fresh;
    this.#fresh = [];
    await rememberPages(this.#pool, {...this.#list, pages: fresh});
  }

  async #blockOf(page: number): Promise<Block> {
    const at = Math.floor(page / pagesAtOnce);
    const held = this.#blocks.get(at) ?? this.#readBlock(at);
    this.#blocks.set(at, held);
    this.#blocks.delete(at - 2);
    return await held;
  }

  async #readBlock(at: number): Promise<Block> {
    const {key, pages} = await readKnownPages(this.#pool, {...this.#list, from: at * pagesAtOnce});
    return {key: createSecretKey(key), pages: new Map(pages.map((page) => [page.page, page]))};
  }
}

/** The numbers on each page of a list, as far as it was read. */
export class PageNumbers {
  /**
   * The bytes of each page, one a character: a short buffer of its own takes 200 bytes more than a
   * short text.
   */
  readonly #pages = new Map<number, string>();

  /** @param numbers - positive whole numbers, in any order */
  note(page: number, numbers: readonly string[]): void {
    this.#pages.set(page, encodeNumbers(numbers).toString('latin1'));
  }

  /** True of a page that was read, and held no number. */
  isEmpty(page: number): boolean {
    return this.#pages.get(page) === '';
  }

  /**
   * Whether a page held the numbers of a page of another pass, in any order; an unread page held
   * none.
   */
  holdsSame(page: number, other: PageNumbers, otherPage: number): boolean {
    const [bytes = '', otherBytes = ''] = [this.#pages.get(page), other.#pages.get(otherPage)];
    if (bytes === otherBytes) return true;
    const [numbers, others] = [decodeNumbers(toBuffer(bytes)), decodeNumbers(toBuffer(otherBytes))];
    const held = new Set(others);
    return numbers.length === others.length && numbers.every((number) => held.has(number));
  }
}

function toBuffer(bytes: string): Buffer {
  return Buffer.from(bytes, 'latin1');
}

// Many numbers in few bytes, for checkpoints and for the numbers on pages: sorted, each as its
// distance from the one before (LEB128). A list in order of number takes a byte a record, and less
// once Postgres has compressed it.

/**
 * @param numbers - positive whole numbers as text, in any order; one that comes twice is kept twice
 */
export function encodeNumbers(numbers: readonly string[]): Buffer {
  const sorted = numbers.map(BigInt).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const bytes: number[] = [];
  let previous = 0n;
  for (const number of sorted) {
    let rest = number - previous;
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    previous = number;
  }
  return Buffer.from(bytes);
}

/** The numbers again, in order. */
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
