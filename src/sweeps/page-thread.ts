// The other end of PageReader: a page is read, and its rows are packed, in a thread of its own.

import {parentPort} from 'node:worker_threads';
import {SeenElements} from '../api/value-types.ts';
import type {FieldRecord} from '../api/xml-document.ts';
import {readListInto} from '../api/xml-read.ts';
import {RecordError} from '../core/errors.ts';
import {findStream} from '../streams/all.ts';
import {readRows} from '../streams/record-rows.ts';
import {redactXml} from '../streams/secret-values.ts';
import type {Stream} from '../streams/stream.ts';
import {listPageFields, type PageFields} from './fields.ts';
import {buffersOf, type PackedRows, RowPacker} from './packed-rows.ts';
import type {QuarantinedRecord} from './quarantine.ts';

/** A page to be read; plain data, because it crosses threads. */
export interface PageTask {
  readonly stream: string;
  readonly timeZone: string;
  readonly page: number;
  readonly body: Uint8Array;
  readonly contentType: string | null;
  /**
   * Whether the bytes of each record cut from the page are known; null where the page was not cut.
   */
  readonly known: readonly boolean[] | null;
}

/** A page as it was read, its rows packed. */
export interface PackedPage {
  /**
   * False where the parser saw other records than the cut: then no slice's hash speaks for a
   * record.
   */
  readonly isCutTrue: boolean;
  /** Of the records whose bytes were not known. */
  readonly rows: PackedRows;
  readonly bad: readonly QuarantinedRecord[];
  /** The fields that the page sent, with their types; fields of known and of bad records too. */
  readonly fields: readonly PageFields[];
}

/**
 * Parses a page strictly, and makes rows of the records that are not known.
 * @throws {RetryableError} the page is not a whole, well-formed list
 */
function readPage(task: PageTask): PackedPage {
  const read = readUnknown(task);
  return read.isCutTrue || task.known === null ? read : readUnknown({...task, known: null});
}

/** Reads a page as if its cut were true; where it is not, all its records must be read. */
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
  const unread = bad.map(({reason, xml}) => ({
    page,
    number: numberIn(xml, stream),
    ...{reason, expected: null},
    xml: redactXml(xml),
  }));
  return {
    isCutTrue: known?.length === count && bad.length === 0,
    rows: rows.pack(),
    bad: [...unread, ...refused],
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

/** The answer of a thread to one task. */
export interface PageAnswer {
  readonly id: number;
  readonly content?: PackedPage;
  /** An error cannot cross threads with its class: its name and message can. */
  readonly failure?: {readonly name: string; readonly message: string};
  /** The copy that the thread was given: its memory comes back to the thread that copies pages. */
  readonly body: Uint8Array<ArrayBuffer>;
}

parentPort?.on('message', ({id, task}: {readonly id: number; readonly task: OwnedTask}) => {
  const answered = {...answer(id, task), body: task.body};
  parentPort?.postMessage(answered, [...buffersOf(answered.content?.rows), task.body.buffer]);
});

/** The thread has the body for itself, until it gives it back. */
type OwnedTask = PageTask & Pick<PageAnswer, 'body'>;

function answer(id: number, task: PageTask): Omit<PageAnswer, 'body'> {
  try {
    return {id, content: readPage(task)};
  } catch (error) {
    const {name, message} = error instanceof Error ? error : new Error(String(error));
    return {id, failure: {name, message}};
  }
}
