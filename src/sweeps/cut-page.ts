import {decodeBody, tellSize} from '../api/decompress.ts';
import {saysUtf8} from '../api/document-text.ts';
import type {Page} from '../api/pages-ahead.ts';
import {cutList, hashSlice} from '../api/quick-cut.ts';
import {DEFAULT_TRANSPORT_LIMITS} from '../api/transport.ts';
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
export function cutPage(stream: Stream, page: Page): CutPage {
  // Bytes are compared as they are only where they are UTF-8: under another charset they mean
  // another text.
  const slices = saysUtf8(page.contentType) ? cutList(page.body, stream) : null;
  return slices === null ? uncut(page) : cutAs(page, Buffer.concat(slices.map(hashSlice)));
}

/** A page as it was cut before. */
export function cutAs({page, body, coding, contentType}: Page, hashes: Buffer): CutPage {
  const records = hashes.length / hashBytes;
  return {page, body, coding, contentType, hashes, records, fingerprint: hashes};
}

function uncut({page, body, coding, contentType}: Page): CutPage {
  return {page, body, coding, contentType, hashes: null, records: 0, fingerprint: hashSlice(body)};
}

/** The bytes of a page, unpacked. */
export async function unpack({body, coding}: CutPage): Promise<Buffer> {
  return await decodeBody({bytes: body, coding}, DEFAULT_TRANSPORT_LIMITS);
}

/** Bytes of a page when it is unpacked. */
export function sizeOf({body, coding}: CutPage): number {
  return tellSize({bytes: body, coding});
}

/** The hash of one record of a page. @param at - its place, from 0 */
export function hashAt(hashes: Buffer, at: number): Buffer {
  return hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
}
