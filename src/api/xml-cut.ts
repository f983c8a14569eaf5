// A page that holds only records we know byte for byte needs no parser: cutting and hashing run at
// the speed of memory, tokenising at a twentieth of it. Cutting is no parsing: it understands
// exactly the frame that the service was seen to send, and for anything else it steps aside.

import {hash} from 'node:crypto';
import type {ElementNames} from './xml-document.ts';

const LESS = 0x3c;
const SLASH = 0x2f;
const BANG = 0x21;

/**
 * Cuts a page at its record tags, `<job>`…`</job>`, without copying: the slices are views of the
 * body.
 * @returns the records' own bytes in order; null when the page is not, byte for byte, a UTF-8
 *   declaration, the list's opening tag (with or without `type="array"`), records with white space
 *   between them, and the closing tag; also when it holds a comment, CDATA or a DOCTYPE, a record
 *   tag with an attribute, or an element named like the record inside one. Null means: read it the
 *   strict way. It says nothing of what is inside the slices, which may be malformed
 * @see docs/traps.md "The XML parser"
 */
export function cutList(body: Buffer, {list, item}: ElementNames): Buffer[] | null {
  if (hasMarkup(body)) return null;
  const opening = readOpening(body, list);
  if (opening === null) return null;
  const dashed = cutRecords(body, {name: item.replaceAll('_', '-'), ...opening});
  return dashed ?? (item.includes('_') ? cutRecords(body, {name: item, ...opening}) : null);
}

/**
 * The first 16 bytes of a slice's SHA-256: enough that no two records of one warehouse ever share
 * them by chance.
 */
export function hashSlice(slice: Buffer): Buffer {
  return hash('sha256', slice, 'buffer').subarray(0, 16);
}

// "<!" is searched by its rare byte: every tag begins with the other one.
function hasMarkup(body: Buffer): boolean {
  for (let at = body.indexOf(BANG); at !== -1; at = body.indexOf(BANG, at + 1)) {
    if (body[at - 1] === LESS) return true;
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

/** @returns the place behind a UTF-8 declaration; null where the body does not begin with one */
export function skipDeclaration(body: Buffer): number | null {
  return DECLARATION.exec(body.toString('latin1', 0, 60))?.[0].length ?? null;
}

/**
 * @returns null where the body does not begin with a UTF-8 declaration and the list's opening tag
 */
export function readOpening(body: Buffer, list: string): Opening | null {
  const found = OPENING.exec(body.toString('latin1', 0, 200));
  const listName = found?.[1];
  if (found === null || listName === undefined) return null;
  return listName === list || listName === list.replaceAll('_', '-')
    ? {listName, start: found[0].length}
    : null;
}

function cutRecords(
  body: Buffer,
  {name, listName, start}: Opening & {readonly name: string},
): Buffer[] | null {
  const open = Buffer.from(`<${name}>`);
  const inner = Buffer.from(name);
  const slices: Buffer[] = [];
  let at = skipBlank(body, start);
  while (isAt(body, open, at)) {
    const end = findEnd(body, inner, at + open.length);
    if (end === -1) return null;
    slices.push(body.subarray(at, end));
    at = skipBlank(body, end);
  }
  const close = Buffer.from(`</${listName}>`);
  return isAt(body, close, at) && skipBlank(body, at + close.length) === body.length
    ? slices
    : null;
}

// Searching the bare name finds its closing tag and every tag that could nest; `<job-type>` and
// words in texts go by.
function findEnd(body: Buffer, name: Buffer, from: number): number {
  for (let at = body.indexOf(name, from); at !== -1; at = body.indexOf(name, at + name.length)) {
    const before = body[at - 1];
    const after = body[at + name.length];
    if (before === LESS && !isNameByte(after)) return -1;
    if (before === SLASH && body[at - 2] === LESS && !isNameByte(after))
      return after === 0x3e ? at + name.length + 1 : -1;
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
