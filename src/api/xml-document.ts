// The common parts of all readers of XML: the text of a document, its limits, and the form in which
// every part of the product gets a record of the service: names and texts, as sent.

import {isUtf8} from 'node:buffer';
import {shorten} from '../core/text.ts';

/**
 * Why bytes are not the text of an XML document; the reader turns it into an error that names the
 * request.
 */
export class NotText extends Error {
  override readonly name: string = 'NotText';
}

/**
 * The document names an encoding that this client does not read: the next answer would name it
 * again.
 */
export class UnknownEncoding extends NotText {
  override readonly name = 'UnknownEncoding';
}

/**
 * Turns the bytes of a document into its text, by RFC 7303: by byte order mark, else by the charset
 * of the answer's `Content-Type`, else by its XML declaration, else as UTF-8. Never guesses and
 * never replaces: bytes that are invalid in the encoding are refused, because U+FFFD in a name
 * would be written back to the service one day.
 * @param contentType - the header as sent; null if there was none
 * @throws {NotText} an unknown encoding, or bytes that are invalid in it
 * @see docs/traps.md "The XML parser"
 */
export function decodeText(body: Buffer, contentType: string | null): string {
  if (startsWith(body, 0xef, 0xbb, 0xbf)) return decodeUtf8(body.subarray(3));
  if (startsWith(body, 0xff, 0xfe)) return decodeStrictly('utf-16le', body);
  if (startsWith(body, 0xfe, 0xff)) return decodeStrictly('utf-16be', body);
  if (startsWith(body, 0x3c, 0x00)) return decodeStrictly('utf-16le', body);
  if (startsWith(body, 0x00, 0x3c)) return decodeStrictly('utf-16be', body);
  const label = (findCharset(contentType) ?? findDeclaredEncoding(body) ?? 'utf-8').toLowerCase();
  return label === 'utf-8' || label === 'utf8' ? decodeUtf8(body) : decodeSingleByte(label, body);
}

function startsWith(body: Buffer, ...bytes: readonly number[]): boolean {
  return bytes.every((byte, index) => body[index] === byte);
}

function decodeUtf8(body: Buffer): string {
  if (!isUtf8(body)) throw new NotText('bytes that are not UTF-8');
  return body.toString('utf8');
}

function decodeStrictly(label: string, body: Buffer): string {
  try {
    return new TextDecoder(label, {fatal: true}).decode(body);
  } catch {
    throw new NotText(`bytes that are not ${label.toUpperCase()}`);
  }
}

// WHATWG reads "iso-8859-1" as windows-1252; Node's latin1 is the real one, byte for byte.
function decodeSingleByte(label: string, body: Buffer): string {
  if (label === 'iso-8859-1' || label === 'latin1') return body.toString('latin1');
  if (label === 'us-ascii' || label === 'ascii') return decodeAscii(body);
  if (/^(?:iso-8859-(?:[2-9]|1[0-6])|windows-125[0-8])$/.test(label))
    return decodeStrictly(label, body);
  throw new UnknownEncoding(
    `the encoding "${shorten(label, 40)}", which this client does not read`,
  );
}

function decodeAscii(body: Buffer): string {
  if (body.some((byte) => byte > 0x7f)) throw new NotText('bytes that are not US-ASCII');
  return body.toString('latin1');
}

function findDeclaredEncoding(body: Buffer): string | null {
  const head = body.toString('latin1', 0, 200);
  const declaration = /^\s*<\?xml\s[^>]*?encoding\s*=\s*["']([A-Za-z0-9._-]+)["']/.exec(head);
  return declaration?.[1] ?? null;
}

/** Whether the header lets a document be read as UTF-8 by readers that check its bytes alone. */
export function declaresUtf8(contentType: string | null): boolean {
  return /^utf-?8$/i.test(findCharset(contentType) ?? 'utf-8');
}

function findCharset(contentType: string | null): string | null {
  return /;\s*charset\s*=\s*["']?([A-Za-z0-9._-]+)/i.exec(contentType ?? '')?.[1] ?? null;
}

// The complement of XML 1.0's Char. With the u flag a lone surrogate counts as a character, and is
// caught.
const FORBIDDEN = /[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\u{10000}-\u{10ffff}]/u;
const ALL_FORBIDDEN = new RegExp(FORBIDDEN.source, 'gu');

/**
 * The first character that XML 1.0 does not have, `{name: 'U+0000', at: 7}`; null when all are
 * fine.
 */
export function findForbidden(text: string): {readonly name: string; readonly at: number} | null {
  const match = FORBIDDEN.exec(text);
  if (match === null) return null;
  const code = match[0].codePointAt(0) ?? 0;
  return {name: `U+${code.toString(16).toUpperCase().padStart(4, '0')}`, at: match.index};
}

/**
 * The text with U+FFFD for characters that XML 1.0 does not have; Postgres refuses some of them,
 * too.
 */
export function replaceForbidden(text: string): string {
  return text.replaceAll(ALL_FORBIDDEN, '\ufffd');
}

/**
 * How much of a document is accepted. Beyond `valueLength` one record is refused; beyond any other
 * limit the document is. A parsed document must fit into the thread that reads pages, whose heap is
 * 96 MB, and must not keep other accounts waiting.
 */
export interface Limits {
  readonly bytes: number;
  readonly depth: number;
  readonly records: number;
  readonly elements: number;
  /** Other than `type` and `nil`. */
  readonly attributes: number;
  readonly attributesOfElement: number;
  /** `&amp;` and the like. */
  readonly references: number;
  /**
   * Flaws that affect one record, such as a control character: each costs as much as a hundred good
   * characters.
   */
  readonly flaws: number;
  /** Characters of one value. */
  readonly valueLength: number;
}

/**
 * Measured with a heap of 96 MB: documents of any kind up to these limits are read or refused;
 * 500,000 elements of one record, 3,000,000 references or 48 MB of two-byte text are not, and one
 * string of 100 MB ends the whole process.
 */
export const DEFAULT_LIMITS: Limits = {
  bytes: 32_000_000,
  depth: 20,
  records: 10_000,
  elements: 300_000,
  attributes: 100_000,
  attributesOfElement: 32,
  references: 2_000_000,
  flaws: 10_000,
  valueLength: 1_048_576,
};

/**
 * A document exceeds a limit that a right answer might exceed one day: a person decides on a larger
 * limit.
 */
export class TooMuch extends Error {
  override readonly name = 'TooMuch';

  /** @param unit - `records` */
  constructor(limit: number, unit: string) {
    super(`more than ${limit} ${unit}`);
  }
}

/** The content of an element: its text, null if it has `nil="true"`, or the elements inside it. */
export type Value = string | null | Element;

/**
 * One element with others inside, in the order sent: `names[i]` belongs to `values[i]`. Names have
 * underscores in every dialect. A name may repeat: the items of an array do. Kept as two lists
 * because a sweep makes a hundred of these fields per record, and most are read once.
 */
export interface Element {
  readonly names: readonly string[];
  readonly values: readonly Value[];
  /** True if the service sent `type="array"`; the documented dialect never does. */
  readonly isArray: boolean;
}

/** One record of a list, or the one record of a show. */
export type FieldRecord = Element;

/**
 * The names of a list and of its records, with underscores:
 * `{list: 'time_entries', item: 'time_entry'}`.
 */
export interface ElementNames {
  readonly list: string;
  readonly item: string;
}

/**
 * Beyond this many children an element is a list, not a record: its names are kept as they come.
 */
const MAX_NAMES = 512;
/**
 * No name of a record is this long; a hostile server's name would stay in memory as long as its
 * shape.
 */
export const MAX_NAME_LENGTH = 1_000;
/**
 * A hostile server can send new names without end; then the shapes are discarded instead of
 * growing.
 */
const MAX_SHAPES = 8_192;

/**
 * The names seen so far inside one element: a step in a tree of sequences. Records of one list
 * nearly all have the same fields in the same order (docs/service.md "Names"), so they share one
 * list of names. It is made once and compared by identity, which saves a hundred pushes per record.
 */
export interface Shape {
  readonly parent: Shape | null;
  readonly name: string;
  readonly length: number;
  /** The step taken most often from here, found without hashing. */
  raw: string;
  next: Shape | null;
  others: Map<string, Shape> | null;
  names: readonly string[] | null;
}

let shapeCount = 0;
let rootShape = makeShape(null, '');

/** The shape of an element in which nothing has been seen yet. */
export function startShape(): Shape {
  if (shapeCount > MAX_SHAPES) {
    shapeCount = 0;
    rootShape = makeShape(null, '');
  }
  return rootShape;
}

/**
 * The shape after one more child; null if there are too many for a record, or a name is too long
 * for one.
 * @param raw - the name as sent, dashes and all
 */
export function extendShape(shape: Shape, raw: string): Shape | null {
  if (shape.raw === raw && shape.next !== null) return shape.next;
  return shape.others?.get(raw) ?? addShape(shape, raw);
}

/** The names of a shape, underscored: always the same list for the same shape. */
export function listChildNames(shape: Shape): readonly string[] {
  shape.names ??= collectNames(shape);
  return shape.names;
}

/**
 * The specification's spelling of a name: the service answers with dashes, the documented dialect
 * with underscores.
 */
export function toUnderscored(raw: string): string {
  return raw.replaceAll('-', '_');
}

function addShape(shape: Shape, raw: string): Shape | null {
  if (shape.length >= MAX_NAMES || raw.length > MAX_NAME_LENGTH) return null;
  const added = makeShape(shape, detach(toUnderscored(raw)));
  if (shape.next === null) {
    shape.raw = detach(raw);
    shape.next = added;
  } else {
    shape.others ??= new Map();
    shape.others.set(detach(raw), added);
  }
  return added;
}

// A slice of a page would keep the whole page alive for as long as the shape lives.
function detach(text: string): string {
  return Buffer.from(text).toString();
}

function makeShape(parent: Shape | null, name: string): Shape {
  shapeCount++;
  return {
    parent,
    name,
    length: parent === null ? 0 : parent.length + 1,
    raw: '',
    next: null,
    others: null,
    names: null,
  };
}

function collectNames(shape: Shape): readonly string[] {
  const names: string[] = [];
  for (let step: Shape = shape; step.parent !== null; step = step.parent) names.push(step.name);
  return Object.freeze(names.reverse());
}
