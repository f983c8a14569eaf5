// From the bytes of some pages to rows. A record known byte for byte is never parsed:
// docs/traps.md "The XML parser".

import type pg from 'pg';
import {freeBytes} from '../core/own-bytes.ts';
import {probeKnown} from '../rows/known-records.ts';
import {shapeOf} from '../streams/record-rows.ts';
import type {Stream} from '../streams/stream.ts';
import {type CutPage, hashAt, unpack} from './cut-page.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';
import type {PageFields} from './page-fields.ts';
import type {PageReader} from './page-reader.ts';
import type {BadRecord} from './read-page.ts';

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
    hashes: Buffer.concat(pages.flatMap((page) => page.hashes ?? [])),
  });
  let from = 0;
  const ofPages = pages.map((page) => {
    const to = from + page.records;
    const ofPage = known.slice(from, to);
    from = to;
    return readCutPage(reading, page, ofPage);
  });
  const parts = await Promise.all(ofPages);
  const rowSets = new Map<string, EncodedRowSet>();
  const bytes = new Map<string, Buffer>();
  for (const {rowSet, hash} of parts.flatMap((part) => part.records)) {
    // The later reading stands in its own place: a row that many records bring is taken of the last
    // of them.
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

/** @param known - for each record that was cut its number, where it was read before */
async function readCutPage(
  reading: Reading,
  page: CutPage,
  known: readonly (string | null)[],
): Promise<Part> {
  const {stream, timeZone, pageReader} = reading;
  const {hashes} = page;
  const heldNumbers = known.filter((number) => number !== null);
  if (hashes !== null && heldNumbers.length === known.length)
    return {
      page: page.page,
      known: known.length,
      numbers: heldNumbers,
      records: [],
      bad: [],
      fields: [],
    };
  const {contentType} = page;
  const text = await unpack(page);
  const {isCutTrue, records, bad, fields} = await pageReader.read({
    page: page.page,
    body: text,
    contentType,
    stream: stream.name,
    timeZone,
    known: hashes === null ? null : known.map((number) => number !== null),
  });
  if (text !== page.body) freeBytes(text);
  const numbers = records.map(({rowSet}) => rowSet.number);
  return {
    page: page.page,
    known: isCutTrue ? heldNumbers.length : 0,
    numbers: isCutTrue ? [...heldNumbers, ...numbers] : numbers,
    records: records.map(({at, rowSet}) => ({
      rowSet,
      hash: isCutTrue && hashes !== null ? hashAt(hashes, at) : null,
    })),
    bad,
    fields,
  };
}
