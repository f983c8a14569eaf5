// From the bytes of some pages to rows. A record known byte for byte is never parsed:
// docs/traps.md "The XML parser".

import type pg from 'pg';
import type {Page} from '../../api/resources/pages-ahead.ts';
import {cutList, hashSlice} from '../../api/xml/quick/cut.ts';
import {shapeOf} from '../../records/rows.ts';
import type {Stream} from '../../streams/stream.ts';
import {probeKnown} from '../../warehouse/rows/known-records.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';
import type {PageFields} from './page-fields.ts';
import type {PageReader} from './page-reader.ts';
import type {BadRecord} from './read-page.ts';

/** One page of a list as it came, cut at its record tags. */
export interface CutPage {
  readonly page: number;
  readonly body: Buffer;
  readonly contentType: string | null;
  /** Hash of each record's bytes; null where the page could not be cut and must be read strictly. */
  readonly hashes: readonly Buffer[] | null;
  /** The same for two pages that hold the same records, byte for byte. */
  readonly fingerprint: Buffer;
}

/** The content of some pages, ready to be written. */
export interface ReadBatch {
  /** The numbers of all readable records, page by page; a record may come twice. */
  readonly pages: readonly {readonly page: number; readonly numbers: readonly string[]}[];
  /** Records whose bytes were known, and so were not parsed. */
  readonly known: number;
  /** Records that were not known byte for byte; of a record that came twice, the later reading. */
  readonly rowSets: readonly EncodedRowSet[];
  /** The bytes by which each of `rowSets` is known from now on. */
  readonly bytes: ReadonlyMap<string, Buffer>;
  readonly bad: readonly BadRecord[];
  /** The fields that the parsed pages sent. */
  readonly fields: readonly PageFields[];
}

interface Reading {
  readonly stream: Stream;
  readonly accountId: string;
  readonly timeZone: string;
  readonly pool: pg.Pool;
  readonly pageReader: PageReader;
}

/** Cuts a page and hashes its slices; costs about a millisecond for a megabyte. */
export function cutPage(stream: Stream, {page, body, contentType}: Page): CutPage {
  const hashes = cutList(body, stream)?.map(hashSlice) ?? null;
  const fingerprint = hashes === null ? hashSlice(body) : Buffer.concat(hashes);
  return {page, body, contentType, hashes, fingerprint};
}

/**
 * Reads the records of some pages that are not known yet.
 * @throws {RetryableError} a page that is not a whole, well-formed list
 */
export async function readBatch(reading: Reading, pages: readonly CutPage[]): Promise<ReadBatch> {
  const {stream, accountId, pool, timeZone} = reading;
  const known = await probeKnown(pool, {
    accountId,
    stream: stream.name,
    table: stream.table,
    shape: shapeOf(stream, timeZone),
    hashes: pages.flatMap((page) => page.hashes ?? []),
  });
  const parts = await Promise.all(pages.map((page) => readCutPage(reading, page, known)));
  const rowSets = new Map<string, EncodedRowSet>();
  const bytes = new Map<string, Buffer>();
  for (const {rowSet, hash} of parts.flatMap((part) => part.records)) {
    // The later reading stands in its own place: a row that many records bring is taken of the last of them.
    rowSets.delete(rowSet.number);
    rowSets.set(rowSet.number, rowSet);
    if (hash === null) bytes.delete(rowSet.number);
    else bytes.set(rowSet.number, hash);
  }
  return {
    pages: parts.map(({page, numbers}) => ({page, numbers})),
    known: parts.reduce((sum, part) => sum + part.known, 0),
    rowSets: [...rowSets.values()],
    bytes,
    bad: parts.flatMap((part) => part.bad),
    fields: parts.flatMap((part) => part.fields),
  };
}

interface Part {
  readonly page: number;
  readonly known: number;
  readonly numbers: readonly string[];
  readonly records: readonly {readonly rowSet: EncodedRowSet; readonly hash: Buffer | null}[];
  readonly bad: readonly BadRecord[];
  readonly fields: readonly PageFields[];
}

/** @param known - hash to number, of records read before */
async function readCutPage(
  reading: Reading,
  page: CutPage,
  known: ReadonlyMap<string, string>,
): Promise<Part> {
  const {stream, timeZone, pageReader} = reading;
  const found = page.hashes?.map((hash) => known.get(hash.toString('hex'))) ?? null;
  const heldNumbers = found?.filter((number) => number !== undefined) ?? [];
  if (found !== null && heldNumbers.length === found.length)
    return {page: page.page, known: found.length, numbers: heldNumbers, records: [], bad: [], fields: []};
  const {body, contentType} = page;
  const {isCutTrue, records, bad, fields} = await pageReader.read({
    page: page.page,
    body,
    contentType,
    stream: stream.name,
    timeZone,
    known: found?.map((number) => number !== undefined) ?? null,
  });
  const numbers = records.map(({rowSet}) => rowSet.number);
  return {
    page: page.page,
    known: isCutTrue ? heldNumbers.length : 0,
    numbers: isCutTrue ? [...heldNumbers, ...numbers] : numbers,
    records: records.map(({at, rowSet}) => ({rowSet, hash: isCutTrue ? (page.hashes?.[at] ?? null) : null})),
    bad,
    fields,
  };
}
