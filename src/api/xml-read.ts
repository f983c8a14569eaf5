// Reads lists and records: quickly if they have the form of earlier ones of their kind
// (docs/decisions/0019-a-quick-reader-before-the-strict-one.md), strictly otherwise. Bytes that are
// not UTF-8 spoil the record that holds them, and no other. A page is cut at its record tags, which
// are ASCII. No byte of a character beyond ASCII, whole or broken, is one of theirs. If the cut
// does not understand a page, or the page's own frame is broken, the page is an error as before.
// A page that holds only records we know byte for byte needs no parser: cutting and hashing run at
// the speed of memory, tokenising at a twentieth of it. Cutting is no parsing: it understands
// exactly the frame that the service was seen to send, and for anything else it steps aside.

import {isUtf8} from 'node:buffer';
import {hash} from 'node:crypto';
import {RecordError, RetryableError} from '../core/errors.ts';
import {
  DEFAULT_LIMITS,
  declaresUtf8,
  type ElementNames,
  type FieldRecord,
  replaceForbidden,
} from './xml-document.ts';
import {readIfKnown, stepAside, type Terms} from './xml-quick.ts';
import {type BadRecord, type ReadMeta, readList, readOne} from './xml-strict.ts';

const LESS_THAN = 0x3c;
const SLASH = 0x2f;
const EXCLAMATION_MARK = 0x21;

/**
 * Cuts a page at its record tags, `<job>`…`</job>`, without copying: the slices are views of the
 * body.
 * @returns the records' own bytes in order; null when the page is not, byte for byte, a UTF-8
 *   declaration, the list's opening tag (with or without `type="array"`), records with white space
 *   between them, and the closing tag; also when it holds a comment, CDATA or a DOCTYPE, a record
 *   tag with an attribute, or an element named like the record inside one. Null means: read it the
 *   strict way. The inside of the slices is not checked, and may be malformed
 * @see docs/traps.md "The XML parser"
 */
export function cutList(body: Buffer, {list, item}: ElementNames): Buffer[] | null {
  if (hasMarkup(body)) return null;
  const opening = readOpening(body, list);
  if (opening === null) return null;
  const dashedSlices = cutRecords(body, {name: item.replaceAll('_', '-'), ...opening});
  return dashedSlices ?? (item.includes('_') ? cutRecords(body, {name: item, ...opening}) : null);
}

/**
 * The first 16 bytes of a slice's SHA-256: enough that no two records of one warehouse ever share
 * them by chance.
 */
export function hashSlice(slice: Buffer): Buffer {
  return hash('sha256', slice, 'buffer').subarray(0, 16);
}

// "<!" is found by its rare byte: every tag begins with the other one.
function hasMarkup(body: Buffer): boolean {
  for (
    let at = body.indexOf(EXCLAMATION_MARK);
    at !== -1;
    at = body.indexOf(EXCLAMATION_MARK, at + 1)
  ) {
    if (body[at - 1] === LESS_THAN) return true;
  }
  return false;
}

/** The declaration and the opening tag of a list. */
interface Opening {
  /** The list's name as this page spells it. */
  readonly listName: string;
  /** The place where the records begin. */
  readonly start: number;
}

const DECLARATION = /^<\?xml version="1\.0" encoding="(?:UTF-8|utf-8)"\?>/;
const OPENING = new RegExp(`${DECLARATION.source}[ \\t\\r\\n]*<([a-z][a-z_-]*)(?: type="array")?>`);

/** @returns the place behind a UTF-8 declaration; null if the body does not begin with one */
function skipDeclaration(body: Buffer): number | null {
  return DECLARATION.exec(body.toString('latin1', 0, 60))?.[0].length ?? null;
}

/** @returns null if the body does not begin with a UTF-8 declaration and the list's opening tag */
function readOpening(body: Buffer, list: string): Opening | null {
  const match = OPENING.exec(body.toString('latin1', 0, 200));
  const listName = match?.[1];
  if (match === null || listName === undefined) return null;
  return listName === list || listName === list.replaceAll('_', '-')
    ? {listName, start: match[0].length}
    : null;
}

function cutRecords(
  body: Buffer,
  {name, listName, start}: Opening & {readonly name: string},
): Buffer[] | null {
  const openTag = Buffer.from(`<${name}>`);
  const nameBytes = Buffer.from(name);
  const slices: Buffer[] = [];
  let at = skipBlank(body, start);
  while (isAt(body, openTag, at)) {
    const end = findEnd(body, nameBytes, at + openTag.length);
    if (end === -1) return null;
    slices.push(body.subarray(at, end));
    at = skipBlank(body, end);
  }
  const closeTag = Buffer.from(`</${listName}>`);
  return isAt(body, closeTag, at) && skipBlank(body, at + closeTag.length) === body.length
    ? slices
    : null;
}

// A search for the bare name finds its closing tag and every tag that could nest; `<job-type>` and
// words in texts are skipped.
function findEnd(body: Buffer, name: Buffer, from: number): number {
  for (let at = body.indexOf(name, from); at !== -1; at = body.indexOf(name, at + name.length)) {
    const byteBefore = body[at - 1];
    const byteAfter = body[at + name.length];
    if (byteBefore === LESS_THAN && !isNameByte(byteAfter)) return -1;
    if (byteBefore === SLASH && body[at - 2] === LESS_THAN && !isNameByte(byteAfter))
      return byteAfter === 0x3e ? at + name.length + 1 : -1;
  }
  return -1;
}

function isNameByte(byte: number | undefined): boolean {
  return (
    byte !== undefined &&
    byte !== 0x3e &&
    byte !== SLASH &&
    byte !== 0x20 &&
    byte !== 0x09 &&
    byte !== 0x0a &&
    byte !== 0x0d
  );
}

function isAt(body: Buffer, bytes: Buffer, at: number): boolean {
  if (at + bytes.length > body.length) return false;
  for (let n = 0; n < bytes.length; n++) if (body[at + n] !== bytes[n]) return false;
  return true;
}

function skipBlank(body: Buffer, from: number): number {
  let at = from;
  for (
    let byte = body[at];
    byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
    byte = body[at]
  )
    at++;
  return at;
}

const notUtf8Reason = 'bytes that are not UTF-8';

/** Receives records as soon as they are read. */
interface RecordSink {
  take(record: FieldRecord): void;
  /** Discards all records so far: the list is read once more from its start. */
  restart(): void;
}

/**
 * Reads a list as `readList` does; records with bytes that are not UTF-8 are among the bad ones,
 * and their fields are not noted in `meta.seen`.
 * @throws {RetryableError | FatalError} as `readList` does
 */
export function readListApart(
  body: Buffer,
  names: ElementNames,
  meta: ReadMeta = {},
): {records: FieldRecord[]; bad: BadRecord[]} {
  const records: FieldRecord[] = [];
  const addRecord = (record: FieldRecord) => records.push(record);
  const restart = () => {
    records.length = 0;
  };
  const bad = readListInto(body, names, {take: addRecord, restart}, meta);
  return {records, bad};
}

/**
 * Reads the same record by record: none has to stay in memory until the last is read.
 * @returns the bad records
 * @throws {RetryableError | FatalError} as `readList` does
 */
export function readListInto(
  body: Buffer,
  names: ElementNames,
  sink: RecordSink,
  meta: ReadMeta,
): BadRecord[] {
  const {limits, seen} = meta;
  const terms = {limits: {...DEFAULT_LIMITS, ...limits}, seen};
  if (
    declaresUtf8(meta.contentType ?? null) &&
    readListQuickly(body, names, (record) => sink.take(record), terms)
  )
    return [];
  sink.restart();
  const {records, bad} = readStrictly(body, names, meta);
  for (const record of records) sink.take(record);
  return bad;
}

function readStrictly(
  body: Buffer,
  names: ElementNames,
  meta: ReadMeta,
): ReturnType<typeof readList> {
  try {
    return readList(body, names, meta);
  } catch (error) {
    const separated =
      error instanceof RetryableError && declaresUtf8(meta.contentType ?? null)
        ? separateBroken(body, names)
        : null;
    if (separated === null) throw error;
    const {records, bad} = readList(separated.rest, names, meta);
    // The parser must have found the same records as the cut.
    if (records.length + bad.length !== separated.places.length) throw error;
    const badRecords = bad.map((record) => ({
      ...record,
      index: separated.places[record.index] ?? record.index,
    }));
    return {
      records,
      bad: [...badRecords, ...separated.broken].sort((first, second) => first.index - second.index),
    };
  }
}

/**
 * Reads one record as `readOne` does.
 * @throws {RecordError} also if it is one whole record except for bytes that are not UTF-8
 */
export function readOneApart(body: Buffer, names: ElementNames, meta: ReadMeta = {}): FieldRecord {
  try {
    return readRecord(body, names, meta);
  } catch (error) {
    if (
      !(error instanceof RetryableError) ||
      isUtf8(body) ||
      !declaresUtf8(meta.contentType ?? null)
    )
      throw error;
    readOne(Buffer.from(body.toString('utf8')), names, meta);
    throw new RecordError(`${meta.thing ?? 'the answer'}: <${names.item}>: ${notUtf8Reason}`);
  }
}

interface SeparatedPage {
  /** The page without the broken records. */
  readonly rest: Buffer;
  /** The places of its records on the page. */
  readonly places: readonly number[];
  readonly broken: readonly BadRecord[];
}

function separateBroken(body: Buffer, names: ElementNames): SeparatedPage | null {
  const slices = isUtf8(body) ? null : cutList(body, names);
  if (slices === null) return null;
  const goodParts: Buffer[] = [];
  const places: number[] = [];
  const broken: BadRecord[] = [];
  let from = 0;
  for (const [index, slice] of slices.entries()) {
    if (isUtf8(slice)) {
      places.push(index);
      continue;
    }
    broken.push({index, reason: notUtf8Reason, xml: replaceForbidden(slice.toString('utf8'))});
    const offset = slice.byteOffset - body.byteOffset;
    goodParts.push(body.subarray(from, offset));
    from = offset + slice.length;
  }
  return {rest: Buffer.concat([...goodParts, body.subarray(from)]), places, broken};
}

/**
 * Reads a list as the strict reader does.
 * @returns null if the strict reader must read it: that means nothing about the document
 */
export function readQuickly(body: Buffer, names: ElementNames, terms: Terms): FieldRecord[] | null {
  const records: FieldRecord[] = [];
  return readListQuickly(body, names, (record) => records.push(record), terms) ? records : null;
}

/**
 * Reads the same record by record.
 * @returns false if the strict reader must read it: then the records so far must be discarded
 */
function readListQuickly(
  body: Buffer,
  {list, item}: ElementNames,
  onRecord: (record: FieldRecord) => void,
  terms: Terms,
): boolean {
  const isRead = readIfKnown(body, `${list} of ${item}`, {
    ...terms,
    read: (document) => {
      const {listName, start} = readOpening(body, list) ?? stepAside();
      let count = 0;
      for (const {name, record} of document.readRecords(start)) {
        if (name !== item || count++ === terms.limits.records) stepAside();
        onRecord(record);
      }
      document.end(`</${listName}>`);
      return true;
    },
  });
  return isRead ?? false;
}

/**
 * Reads one record, quickly if possible.
 * @throws {RetryableError | RecordError | FatalError} as `readOne` does
 */
export function readRecord(body: Buffer, names: ElementNames, meta: ReadMeta = {}): FieldRecord {
  const {limits, seen} = meta;
  const terms = {limits: {...DEFAULT_LIMITS, ...limits}, seen};
  const record = declaresUtf8(meta.contentType ?? null)
    ? readRecordQuickly(body, names, terms)
    : null;
  return record ?? readOne(body, names, meta);
}

/**
 * Reads one record as the strict reader does.
 * @returns null if the strict reader must read it: that means nothing about the document
 */
export function readRecordQuickly(
  body: Buffer,
  {list, item}: ElementNames,
  terms: Terms,
): FieldRecord | null {
  return readIfKnown(body, item, {
    ...terms,
    read: (document) => {
      const start = skipDeclaration(body) ?? stepAside();
      const {name, record} = document.readRecords(start).next().value ?? stepAside();
      if (name !== item && name !== list) stepAside();
      // A list without a type is recognised by its records.
      if (record.names.every((name) => name === item)) stepAside();
      document.end('');
      return record;
    },
  });
}
