import type {Page} from '../../../api/resources/pages-ahead.ts';
import {cutList, hashSlice} from '../../../api/xml/quick/cut.ts';
import type {Stream} from '../../../streams/stream.ts';
import {hashBytes} from '../../../warehouse/rows/table-sql.ts';

/** One page of a list as it came, cut at its record tags. */
export interface CutPage {
  readonly page: number;
  readonly body: Buffer;
  readonly contentType: string | null;
  /** The hash of each record's bytes, end to end; null where the page could not be cut and must be read strictly. */
  readonly hashes: Buffer | null;
  /** How many records were cut from it. */
  readonly records: number;
  /** The same for two pages that hold the same records, byte for byte. */
  readonly fingerprint: Buffer;
}

/** Cuts a page and hashes its slices; costs about a millisecond for a megabyte. */
export function cutPage(stream: Stream, page: Page): CutPage {
  const slices = cutList(page.body, stream);
  return slices === null ? uncut(page) : cutAs(page, Buffer.concat(slices.map(hashSlice)));
}

/** A page as it was cut before. */
export function cutAs({page, body, contentType}: Page, hashes: Buffer): CutPage {
  const records = hashes.length / hashBytes;
  return {page, body, contentType, hashes, records, fingerprint: hashes};
}

function uncut({page, body, contentType}: Page): CutPage {
  return {page, body, contentType, hashes: null, records: 0, fingerprint: hashSlice(body)};
}

/** The hash of one record of a page. @param at - its place, from 0 */
export function hashAt(hashes: Buffer, at: number): Buffer {
  return hashes.subarray(at * hashBytes, (at + 1) * hashBytes);
}
