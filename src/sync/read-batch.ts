// From the bytes of some pages to rows. What is known byte for byte is never parsed (architecture, "The pull engine" 3).

import type pg from 'pg';
import {cutList, hashSlice} from '../api/cut.ts';
import type {Page} from '../api/pages.ts';
import {readList} from '../api/reader.ts';
import type {FieldRecord} from '../api/record.ts';
import {RecordError} from '../errors.ts';
import {type RowSet, readRows, shapeOf} from '../streams/rows.ts';
import {redactXml} from '../streams/secrets.ts';
import type {Stream} from '../streams/stream.ts';
import {probeKnown} from '../warehouse/known-records.ts';

/** One page of a list as it came, cut at its record tags. */
export interface CutPage {
  readonly page: number;
  readonly body: Buffer;
  readonly contentType: string | null;
  /** Hash of each record's bytes; null where the page could not be cut and must be read strictly. */
  readonly hashes: readonly Buffer[] | null;
}

/** A record that could not be taken, its secrets already removed. */
export interface BadRecord {
  readonly page: number;
  readonly number: string | null;
  readonly reason: string;
  readonly xml: string;
}

/** What some pages hold, ready to be written. */
export interface ReadBatch {
  /** Of every readable record, in the order seen; a record may come twice. */
  readonly numbers: readonly string[];
  /** Records that were not known byte for byte; of a record that came twice, the later reading. */
  readonly rowSets: readonly RowSet[];
  /** The bytes by which each of `rowSets` is known from now on. */
  readonly bytes: ReadonlyMap<string, Buffer>;
  readonly bad: readonly BadRecord[];
}

interface Reading {
  readonly stream: Stream;
  readonly accountId: string;
  readonly timeZone: string;
  readonly pool: pg.Pool;
}

/** Cuts a page and hashes its slices; costs about a millisecond for a megabyte. */
export function cutPage(stream: Stream, {page, body, contentType}: Page): CutPage {
  const slices = cutList(body, stream);
  return {page, body, contentType, hashes: slices?.map(hashSlice) ?? null};
}

/**
 * Reads the records of some pages that are not known yet.
 * @throws {RetryableError} a page that is not a whole, well-formed list
 */
export async function readBatch(reading: Reading, pages: readonly CutPage[]): Promise<ReadBatch> {
  const {stream, accountId, pool} = reading;
  const hashes = pages.flatMap((page) => page.hashes ?? []);
  const known = await probeKnown(pool, {
    accountId,
    stream: stream.name,
    table: stream.table,
    shape: shapeOf(stream, reading.timeZone),
    hashes,
  });
  const batch = new BatchBuilder(reading);
  for (const page of pages) {
    const numbers = page.hashes?.map((hash) => known.get(hash.toString('hex')));
    if (numbers?.every((number) => number !== undefined)) batch.addKnown(numbers);
    else batch.addPage(page, numbers ?? []);
  }
  return batch.finish();
}

class BatchBuilder {
  readonly #reading: Reading;
  readonly #numbers: string[] = [];
  readonly #rowSets = new Map<string, RowSet>();
  readonly #bytes = new Map<string, Buffer>();
  readonly #bad: BadRecord[] = [];

  constructor(reading: Reading) {
    this.#reading = reading;
  }

  addKnown(numbers: readonly string[]): void {
    this.#numbers.push(...numbers);
  }

  /** @param numbers - of the slices that are known; a known slice on an unknown page is parsed, but not written */
  addPage(page: CutPage, numbers: readonly (string | undefined)[]): void {
    const {stream} = this.#reading;
    const thing = `GET ${stream.path}?page=${page.page}`;
    const {records, bad} = readList(page.body, stream, {thing, contentType: page.contentType});
    // Only when the cut and the parser saw the same records does a slice's hash speak for a record.
    const isCutTrue = page.hashes?.length === records.length && bad.length === 0;
    for (const [at, record] of records.entries()) {
      const number = isCutTrue ? numbers[at] : undefined;
      if (number === undefined) this.#addRecord(page.page, record, isCutTrue ? page.hashes?.[at] : undefined);
      else this.#numbers.push(number);
    }
    for (const {reason, xml} of bad) this.#quarantine(page.page, numberIn(xml, stream.key), {reason, xml});
  }

  finish(): ReadBatch {
    return {numbers: this.#numbers, rowSets: [...this.#rowSets.values()], bytes: this.#bytes, bad: this.#bad};
  }

  #addRecord(page: number, record: FieldRecord, bytes: Buffer | undefined): void {
    const {stream, timeZone} = this.#reading;
    try {
      const rowSet = readRows(stream, record, {timeZone});
      this.#numbers.push(rowSet.number);
      this.#rowSets.set(rowSet.number, rowSet);
      if (bytes === undefined) this.#bytes.delete(rowSet.number);
      else this.#bytes.set(rowSet.number, bytes);
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      const number = record.values[record.names.indexOf(stream.key)];
      this.#quarantine(page, typeof number === 'string' ? number : null, {
        reason: error.message,
        xml: writeXml(stream.item, record),
      });
    }
  }

  #quarantine(page: number, number: string | null, found: {reason: string; xml: string}): void {
    this.#bad.push({page, number, reason: found.reason, xml: redactXml(found.xml)});
  }
}

/** The number of a record that could not be read, where its XML shows one. */
function numberIn(xml: string, key: string): string | null {
  const name = key.replaceAll('_', '[-_]');
  return new RegExp(`<${name}[^>]*>(\\d+)</`).exec(xml)?.[1] ?? null;
}

/** The record as XML again, for the person who looks into the quarantine. */
function writeXml(name: string, value: FieldRecord | string | null): string {
  if (value === null) return `<${name} nil="true"/>`;
  if (typeof value === 'string') return `<${name}>${escapeXml(value)}</${name}>`;
  const inside = value.names.map((child, at) => writeXml(child, value.values[at] ?? null)).join('');
  return `<${name}>${inside}</${name}>`;
}

function escapeXml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
}
