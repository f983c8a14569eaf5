import type {FieldRecord} from '../../api/xml/record.ts';
import {SeenElements} from '../../api/xml/seen-elements.ts';
import {readListApart} from '../../api/xml/undecodable.ts';
import {RecordError} from '../../base/errors.ts';
import {readRows} from '../../records/rows.ts';
import {redactXml} from '../../records/values/secrets.ts';
import {findStream} from '../../streams/all.ts';
import type {Stream} from '../../streams/stream.ts';
import {encodeRowSet} from './encoded-row-set.ts';
import type {PlacedRowSet} from './packed-rows.ts';
import {listPageFields, type PageFields} from './page-fields.ts';

/** A page to be read; plain data, because it crosses threads. */
export interface PageTask {
  readonly stream: string;
  readonly timeZone: string;
  readonly page: number;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /** Whether the bytes of each record cut from the page are known; null where the page was not cut. */
  readonly known: readonly boolean[] | null;
}

/** A record that could not be taken, its secrets already removed. */
export interface BadRecord {
  /** Null where it was asked for by its number. */
  readonly page: number | null;
  readonly number: string | null;
  readonly reason: string;
  readonly xml: string;
}

export interface PageContent {
  /** False where the parser saw other records than the cut: then no slice's hash speaks for a record. */
  readonly isCutTrue: boolean;
  /** The records whose bytes were not known, with their place in the page. */
  readonly records: readonly PlacedRowSet[];
  readonly bad: readonly BadRecord[];
  /** The fields that the page sent, with their types; fields of known and of bad records too. */
  readonly fields: readonly PageFields[];
}

/**
 * Parses a page strictly, and makes rows of the records that are not known.
 * @throws {RetryableError} the page is not a whole, well-formed list
 */
export function readPage(task: PageTask): PageContent {
  const {page, known, contentType, timeZone} = task;
  const stream = findStream(task.stream);
  const body = Buffer.from(task.body.buffer, task.body.byteOffset, task.body.byteLength);
  const seen = new SeenElements();
  const {records, bad} = readListApart(body, stream, {
    thing: `GET ${stream.path}?page=${page}`,
    contentType,
    seen,
  });
  const isCutTrue = known?.length === records.length && bad.length === 0;
  const read: PlacedRowSet[] = [];
  const refused: BadRecord[] = bad.map(({reason, xml}) => ({
    page,
    number: numberIn(xml, stream),
    reason,
    xml: redactXml(xml),
  }));
  for (const [at, record] of records.entries()) {
    if (isCutTrue && known?.[at] === true) continue;
    try {
      read.push({at, rowSet: encodeRowSet(stream, readRows(stream, record, {timeZone}), page)});
    } catch (error) {
      if (!(error instanceof RecordError)) throw error;
      refused.push({page, ...describeRefused(stream, record), reason: error.message});
    }
  }
  return {isCutTrue, records: read, bad: refused, fields: listPageFields(stream, seen)};
}

function describeRefused(stream: Stream, record: FieldRecord): {number: string | null; xml: string} {
  const number = record.values[record.names.indexOf(stream.key)];
  return {number: typeof number === 'string' ? number : null, xml: redactXml(writeXml(stream.item, record))};
}

/** The number of a record that could not be read, where its XML shows one. */
function numberIn(xml: string, {key}: Stream): string | null {
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
