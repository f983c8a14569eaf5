// The strict reader, and the reference for the quick one (xml-quick.ts). It accepts a document only
// if it is whole: well-formed to the closing tag of the requested root, with nothing after it.
// Anything less is an error, never a shorter list: rows would be missed silently. One flaw inside
// one record spoils that record alone, and the others are read.

import {SaxesParser} from 'saxes';
import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {shorten} from '../core/text.ts';
import {BadDocument, RefusedDocument, TreeBuilder} from './tree-builder.ts';
import type {SeenElements} from './value-types.ts';
import {
  DEFAULT_LIMITS,
  decodeText,
  type Element,
  type ElementNames,
  type FieldRecord,
  type Limits,
  NotText,
  replaceForbidden,
  TooMuch,
  toUnderscored,
  UnknownEncoding,
  type Value,
} from './xml-document.ts';

/** The source of the bytes, and the terms of their reading. */
export interface ReadMeta {
  /** Names the request in errors: `GET /jobs.xml?page=3 at app.example.com`. */
  readonly thing?: string;
  readonly contentType?: string | null;
  readonly limits?: Partial<Limits>;
  /**
   * Notes the fields of every record with the types they were sent with, those of bad records too.
   */
  readonly seen?: SeenElements;
}

/** A record that could not be accepted. */
export interface BadRecord {
  /** Its place in the list, from 0, good records counted. */
  readonly index: number;
  readonly reason: string;
  /**
   * The record's own XML; characters that XML and Postgres forbid in a text are replaced by U+FFFD.
   */
  readonly xml: string;
}

/**
 * Reads a list in either dialect: `<jobs type="array">` or `<jobs>`, dashed or underscored, empty
 * or not.
 * @returns the records in the order sent, values as text; records of one shape share one `names`.
 *   `bad` holds records that could not be accepted: a value that its own `type` or `nil`
 *   contradicts, text mixed with elements, a character that XML forbids, an unknown entity, a value
 *   too long
 * @throws {RetryableError} the bytes are not a whole list of this name: the message names what came
 *   instead
 * @throws {FatalError} more records, elements or the like than the limit: a person must raise it
 * @see docs/traps.md "The XML parser"; docs/service.md "Envelopes"
 */
export function readList(
  body: Buffer,
  names: ElementNames,
  meta: ReadMeta = {},
): {records: FieldRecord[]; bad: BadRecord[]} {
  return readDocument(`a whole <${names.list}> list`, body, meta, (text) =>
    parseList(text, names, meta),
  );
}

/**
 * Reads one record: `<job>` or, as the service answers for customers, `<customers>` with the fields
 * right inside.
 * @throws {RetryableError} the bytes are not one whole record of this name
 * @throws {RecordError} they are, but one of its values cannot be accepted
 * @see docs/service.md "Envelopes": a list has `type="array"`, a record does not
 */
export function readOne(body: Buffer, names: ElementNames, meta: ReadMeta = {}): FieldRecord {
  return readDocument(`one whole <${names.item}>`, body, meta, (text) =>
    parseRecord(text, names, meta),
  );
}

function parseList(text: string, {list, item}: ElementNames, meta: ReadMeta) {
  const records: FieldRecord[] = [];
  const bad: BadRecord[] = [];
  parse(text, {
    recordDepth: 2,
    limits: mergeLimits(meta),
    seen: meta.seen,
    checkRoot: (name) => checkName(name, [list]),
    checkRecord: (name) => checkName(name, [item]),
    take: (value, reason, slice) => {
      if (reason === null && isElement(value)) records.push(value);
      else
        bad.push({
          index: records.length + bad.length,
          reason: reason ?? 'a record without elements',
          xml: slice(),
        });
    },
  });
  return {records, bad};
}

function parseRecord(text: string, {list, item}: ElementNames, meta: ReadMeta): FieldRecord {
  const records: FieldRecord[] = [];
  parse(text, {
    recordDepth: 1,
    limits: mergeLimits(meta),
    seen: meta.seen,
    checkRoot: (name, isArray) => {
      if (isArray) throw new BadDocument(`a list <${shorten(name, 60)} type="array">`);
      checkName(name, [item, list]);
    },
    checkRecord: () => {},
    take: (value, reason) => {
      if (reason !== null)
        throw new RecordError(`${meta.thing ?? 'the answer'}: <${item}>: ${reason}`);
      if (isElement(value)) records.push(value);
    },
  });
  return checkSingle(records[0], {list, item});
}

// The documented dialect has no type="array": there a list is recognised by the records under the
// plural.
function checkSingle(record: FieldRecord | undefined, {list, item}: ElementNames): FieldRecord {
  if (record === undefined) throw new BadDocument('an element without fields');
  const isList = record.names.every(
    (name, index) => name === item && isElement(record.values[index] ?? null),
  );
  if (isList) throw new BadDocument(`a list <${list}>`);
  return record;
}

interface ParseOptions {
  readonly recordDepth: 1 | 2;
  readonly limits: Limits;
  readonly seen: SeenElements | undefined;
  checkRoot(name: string, isArray: boolean): void;
  checkRecord(name: string): void;
  take(value: Value, reason: string | null, slice: () => string): void;
}

// Written as closures over one parser: this is the hot path, and saxes calls its handlers with the
// parser as `this`.
function parse(text: string, options: ParseOptions): void {
  refuseDoctype(text);
  checkReferences(text, options.limits.references);
  // Errors have no line and column; version 1.0 is forced so that no declaration lets control
  // characters in.
  const parser = new SaxesParser({
    position: false,
    forceXMLVersion: true,
    defaultXMLVersion: '1.0',
  });
  let openedAt = 0;
  const builder = new TreeBuilder(options.recordDepth, options.limits, {
    seen: options.seen,
    root: options.checkRoot,
    startRecord: (name) => {
      options.checkRecord(name);
      openedAt = parser.position;
    },
    record: (value, reason) =>
      options.take(value, reason, () => sliceRecord(text, openedAt, parser.position)),
  });
  const judgeFlaw = makeFlawJudge(text);
  let flaws = 0;
  parser.on('error', ({message}) => {
    const reason = builder.isInRecord ? judgeFlaw(message) : null;
    if (reason === null) throw new BadDocument(`broken XML: ${shorten(message, 120)}`);
    if (++flaws > options.limits.flaws)
      throw new RefusedDocument(`more than ${options.limits.flaws} flaws`);
    builder.spoil(reason);
  });
  parser.on('attribute', (attribute) => builder.attribute(attribute.name, attribute.value));
  parser.on('opentag', (tag) => builder.open(tag.name));
  parser.on('text', (piece) => builder.text(piece));
  parser.on('cdata', (piece) => builder.text(piece));
  parser.on('closetag', (tag) => builder.close(tag.name));
  parser.write(text).close();
}

function mergeLimits({limits}: ReadMeta): Limits {
  return {...DEFAULT_LIMITS, ...limits};
}

// Saxes collects a text reference by reference, and reports it when it is whole.
function checkReferences(text: string, limit: number): void {
  let count = 0;
  for (let at = text.indexOf('&'); at !== -1; at = text.indexOf('&', at + 1)) {
    if (++count > limit) throw new TooMuch(limit, 'references');
  }
}

// Only the part before the root is scanned, so a DOCTYPE quoted in a value does no harm.
function refuseDoctype(text: string): void {
  const [blanks = ''] = /^[ \t\r\n]+(?=<\?xml\s)/.exec(text) ?? [];
  if (blanks !== '')
    throw new RefusedDocument(
      `${blanks.length} blanks or line ends before <?xml, which must be the first characters ` +
        'of a document',
    );
  let at = 0;
  for (;;) {
    at = skipBlank(text, at);
    if (text.startsWith('<?', at)) at = skipPast(text, '?>', at);
    else if (text.startsWith('<!--', at)) at = skipPast(text, '-->', at);
    else break;
  }
  if (/^<!doctype/i.test(text.slice(at, at + 9)))
    throw /^<!doctype\s+html/i.test(text.slice(at, at + 40))
      ? new BadDocument('an HTML page')
      : new RefusedDocument('a DOCTYPE, which is never taken');
  if (at >= text.length) throw new BadDocument('no element at all');
  if (text[at] !== '<') throw new BadDocument('plain text');
}

function skipBlank(text: string, from: number): number {
  let at = from;
  while (at < text.length && ' \t\r\n'.includes(text.charAt(at))) at++;
  return at;
}

function skipPast(text: string, end: string, from: number): number {
  const index = text.indexOf(end, from);
  return index === -1 ? text.length : index + end.length;
}

function checkName(name: string, expected: readonly string[]): void {
  if (expected.includes(toUnderscored(name))) return;
  throw new BadDocument(
    name.toLowerCase() === 'html' ? 'an HTML page' : `an element <${shorten(name, 60)}>`,
  );
}

// A tag holds no "<" (saxes refuses it in attributes), so the last one before its end begins it.
function sliceRecord(text: string, openedAt: number, closedAt: number): string {
  return replaceForbidden(text.slice(text.lastIndexOf('<', openedAt - 1), closedAt));
}

function isElement(value: Value): value is Element {
  return typeof value === 'object' && value !== null;
}

function readDocument<T>(
  expected: string,
  body: Buffer,
  meta: ReadMeta,
  read: (text: string) => T,
): T {
  const request = meta.thing ?? 'the answer';
  try {
    if (body.length === 0) throw new BadDocument('an empty body');
    const {bytes} = mergeLimits(meta);
    if (body.length > bytes) throw new TooMuch(bytes, 'bytes');
    return read(decodeText(body, meta.contentType ?? null));
  } catch (error) {
    if (error instanceof TooMuch)
      throw new FatalError(
        `${request}: expected ${expected}, got ${error.message}; nothing of it was taken`,
        {
          kind: 'service',
        },
      );
    if (!(error instanceof BadDocument || error instanceof NotText)) throw error;
    const problem = `${error.message} (${body.length} bytes)`;
    // The same answer would come again: more tries would only hide the reason from the person who
    // can fix it.
    if (error instanceof RefusedDocument || error instanceof UnknownEncoding)
      throw new FatalError(
        `${request}: expected ${expected}, got ${problem}; nothing of it was taken: the operator ` +
          'of the service, or of a proxy before it, must fix that',
        {kind: 'service'},
      );
    throw new RetryableError(
      `${request}: expected ${expected}, got ${problem}; nothing of it was taken`,
      {
        kind: 'service',
      },
    );
  }
}

/**
 * Separates the flaws of a document that affect one record from those that end the reading. After
 * such a local flaw the parser continues at the same place, so the end of the record is still
 * found. After any other it may have skipped tags.
 * @returns for a message of saxes: why the record cannot be accepted, or null if the document
 *   cannot
 */
function makeFlawJudge(text: string): (message: string) => string | null {
  let hasWholeReferences: boolean | null = null;
  return (message) => {
    if (message === 'disallowed character.') return 'a character that XML forbids';
    if (message === 'undefined entity.') return 'an unknown entity';
    if (message !== 'malformed character entity.') return null;
    // Saxes has the same message for `&#0;` and for `&#12</name><name>;`, which it reads up to the
    // next semicolon.
    hasWholeReferences ??= !BROKEN_REFERENCE.test(text);
    return hasWholeReferences ? 'a reference to a character that XML forbids' : null;
  };
}

// Stricter than needed: a raw ampersand in CDATA or a comment counts. It is applied only to
// documents that have a flaw.
const BROKEN_REFERENCE = /&(?!(?:#\d+|#x[0-9a-fA-F]+|[A-Za-z_:][\w:.-]*);)/;
