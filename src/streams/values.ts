// Values of fields: which values a column accepts, the meaning of a value however it is written,
// and which values are secrets. A hundred instants come with every job and its children. Each is
// parsed twice: to accept the value and to hash its meaning. Date.parse costs 0.3 µs and accepts 30
// February; `epochSeconds` costs a tenth and does not.
//
// The service sends credentials in its answers: a customer's portal token, an employee's password
// hashes. A warehouse that stores every field would store them, too. So they are recognized by name
// and dropped before anything is stored.

import {hash} from 'node:crypto';
import {parseTime} from '../api/times.ts';
import {daysInMonth, isIsoInstant} from '../api/value-types.ts';
import {RecordError} from '../core/errors.ts';
import type {ColumnType} from './table.ts';

const INTEGER = /^[-+]?\d+$/;
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,17})$/;
// Length and exponent are bounded, because numeric itself has limits: it accepts 131,072 digits
// before the point, 16,383 after.
const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?$/;
const MAX_DECIMAL_LENGTH = 1_000;
const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;

/** The values that a column of each type accepts, as errors describe them. */
export const expectedByType: Readonly<Record<ColumnType, string>> = {
  text: 'a text without NUL and without half of a surrogate pair',
  integer: 'a whole number of 64 bits',
  decimal: 'a decimal number',
  float: 'a number',
  boolean: 'true or false',
  instant: 'a date and time',
  nested: 'elements',
};

/**
 * Returns a text as a column of its type stores it, or null if an empty one has no meaning;
 * undefined if the type refuses it. Texts and decimals stay as sent, whole numbers lose leading
 * zeros. Times in the specification's textual shapes get the offset that was valid in the account's
 * zone.
 * @param timeZone - IANA name
 */
export function readValue(
  type: ColumnType,
  text: string,
  timeZone: string,
): string | null | undefined {
  if (type === 'text') return isStorable(text) ? text : undefined;
  if (text === '') return null;
  switch (type) {
    case 'integer':
      return readInteger(text);
    case 'decimal':
      return text.length <= MAX_DECIMAL_LENGTH && DECIMAL.test(text) ? text : undefined;
    case 'float':
      return isFloat(text) ? text : undefined;
    case 'boolean':
      return readBoolean(text);
    case 'instant':
      return readInstant(text, timeZone);
    default:
      return undefined;
  }
}

/**
 * True for a text that Postgres can store, alone and within jsonb: no NUL, no half of a surrogate
 * pair.
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** True for an ISO instant with an offset that Postgres can store: Postgres has no year 0. */
export function isStorableInstant(text: string): boolean {
  return isIsoInstant(text) && !text.startsWith('0000');
}

function readInteger(text: string): string | undefined {
  if (PLAIN_INTEGER.test(text)) return text;
  if (!INTEGER.test(text) || text.length > MAX_DECIMAL_LENGTH) return undefined;
  const number = BigInt(text.startsWith('+') ? text.slice(1) : text);
  return number >= MIN_BIGINT && number <= MAX_BIGINT ? String(number) : undefined;
}

// Postgres refuses a float that is too large, and one that becomes zero though it is not.
function isFloat(text: string): boolean {
  if (text.length > MAX_DECIMAL_LENGTH || !DECIMAL.test(text)) return false;
  const number = Number(text);
  return Number.isFinite(number) && (number !== 0 || !/^[^eE]*[1-9]/.test(text));
}

function readBoolean(text: string): string | undefined {
  if (text === 'true' || text === '1') return 'true';
  return text === 'false' || text === '0' ? 'false' : undefined;
}

function readInstant(text: string, timeZone: string): string | undefined {
  if (!Number.isNaN(epochSeconds(text))) return text;
  if (!isIsoInstant(text)) return readTextualInstant(text, timeZone);
  return isStorableInstant(text) ? text : undefined;
}

const DATE = /^(\d{4})-(\d\d)-(\d\d)$/;

/**
 * A time in one of the specification's textual shapes, or a bare ISO date, as ISO with the offset
 * of the account's zone; undefined for any other text, and for a time that the zone's clock
 * skipped. A date is the day's beginning.
 * @param timeZone - IANA name
 */
function readTextualInstant(text: string, timeZone: string): string | undefined {
  const [, year, month, day] = DATE.exec(text) ?? [];
  if (day === undefined) return parse(text, timeZone);
  const date = `${month}/${day}/${year}`;
  // If clocks change at midnight, the day begins at one.
  return parse(`${date} 12:00am`, timeZone) ?? parse(`${date} 01:00am`, timeZone);
}

function parse(text: string, timeZone: string): string | undefined {
  try {
    return parseTime(text, timeZone).instant;
  } catch (error) {
    if (error instanceof RecordError) return undefined;
    throw error;
  }
}

/**
 * Seconds since 1970 of an instant in exactly the service's format, `2031-01-04T09:00:00-05:00`;
 * NaN for any other text, and for a day or a time of day that does not exist.
 * @see docs/service.md "Times"
 */
export function epochSeconds(text: string): number {
  if (text.length !== 25 || !hasSeparators(text)) return Number.NaN;
  const year = readPair(text, 0) * 100 + readPair(text, 2);
  const month = readPair(text, 5);
  const day = readPair(text, 8);
  if (!(year >= 1 && month >= 1 && month <= 12 && day >= 1 && day <= daysInMonth(year, month)))
    return Number.NaN;
  const seconds = readClock(text, 11, 23) + readPair(text, 17);
  const offset = readClock(text, 20, 14);
  if (!(readPair(text, 17) <= 59)) return Number.NaN;
  return (
    daysSinceEpoch(year, month, day) * 86_400 +
    seconds -
    (text.charCodeAt(19) === 43 ? offset : -offset)
  );
}

function hasSeparators(text: string): boolean {
  const sign = text.charCodeAt(19);
  return (
    text.charCodeAt(10) === 84 &&
    text.charCodeAt(4) === 45 &&
    text.charCodeAt(7) === 45 &&
    text.charCodeAt(13) === 58 &&
    text.charCodeAt(16) === 58 &&
    text.charCodeAt(22) === 58 &&
    (sign === 43 || sign === 45)
  );
}

function readPair(text: string, at: number): number {
  const tens = text.charCodeAt(at) - 48;
  const ones = text.charCodeAt(at + 1) - 48;
  return tens >= 0 && tens <= 9 && ones >= 0 && ones <= 9 ? tens * 10 + ones : Number.NaN;
}

/** Seconds of an `hh:mm`. */
function readClock(text: string, at: number, maxHours: number): number {
  const hours = readPair(text, at);
  const minutes = readPair(text, at + 3);
  return hours <= maxHours && minutes <= 59 ? hours * 3600 + minutes * 60 : Number.NaN;
}

/** Days from 1 January 1970, in years that begin with March, so that the leap day comes last. */
function daysSinceEpoch(year: number, month: number, day: number): number {
  const marchYear = month > 2 ? year : year - 1;
  const marchMonth = month > 2 ? month - 3 : month + 9;
  const leapDays =
    Math.floor(marchYear / 4) - Math.floor(marchYear / 100) + Math.floor(marchYear / 400);
  return marchYear * 365 + leapDays + Math.floor((marchMonth * 153 + 2) / 5) + day - 719_469;
}

const HASH_DIGITS = 32;
const DECIMAL_PARTS = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/;
const INSTANT_PARTS = /^(.{19})(?:\.(\d+))?(Z|[-+]\d\d:\d\d)$/;

/** Ends every value of a row's meaning; a null consists of nothing else. No text contains a NUL. */
export const VALUE_END = '\0';

/**
 * The meaning of a value that its column accepted: the same text for `275.10` and `275.1`, for one
 * moment under two offsets, for CRLF and LF; never empty. Otherwise every sync would write the same
 * row again.
 * @see docs/service.md "Text and white space"
 */
export function meaningOf(type: ColumnType, value: string): string {
  switch (type) {
    case 'text':
      return normaliseText(value);
    case 'decimal':
      return normaliseDecimal(value);
    case 'float':
      return String(Number(value));
    case 'instant':
      return normaliseInstant(value);
    case 'nested':
      return normaliseJson(value);
    default:
      return value;
  }
}

/**
 * Sixteen bytes of SHA-256 of a row, in hex: the meanings of its columns, each with its
 * `VALUE_END`, and its attributes.
 */
export function hashRow(meanings: string, attributes: string): string {
  return hash('sha256', meanings + normaliseJson(attributes), 'hex').slice(0, HASH_DIGITS);
}

// An empty text must differ from null, and from the text `=`.
function normaliseText(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines === '' || lines.startsWith('=') ? `=${lines}` : lines;
}

/** A decimal as its digits without outer zeros, and an exponent. */
function normaliseDecimal(text: string): string {
  const [, sign = '', integerDigits = '', fraction = '', exponent = '0'] =
    DECIMAL_PARTS.exec(text) ?? [];
  const digits = integerDigits + fraction;
  let end = digits.length;
  while (end > 0 && digits.charCodeAt(end - 1) === 48) end--;
  if (end === 0) return '0';
  let start = 0;
  while (digits.charCodeAt(start) === 48) start++;
  const scale = Number(exponent) - fraction.length + digits.length - end;
  return `${sign === '-' ? '-' : ''}${digits.slice(start, end)}e${scale}`;
}

function normaliseInstant(text: string): string {
  const seconds = epochSeconds(text);
  if (!Number.isNaN(seconds)) return String(seconds);
  const [, local = '', fraction = '', offset = ''] = INSTANT_PARTS.exec(text) ?? [];
  const wholeSeconds = epochSeconds(`${local}${offset === 'Z' ? '+00:00' : offset}`);
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? String(wholeSeconds) : `${wholeSeconds}.${digits}`;
}

/**
 * JSON text with the line breaks inside its texts normalised: `\r` is an escape there, unless its
 * backslash is escaped.
 */
function normaliseJson(json: string): string {
  if (!json.includes('\\r')) return json;
  return json.replace(/\\r\\n|\\r|\\./g, (pair) => (pair.startsWith('\\r') ? '\\n' : pair));
}

const SECRET = /pass|token|secret|salt|digest|api[-_. ]?key|stripe[-_]customer[-_]id/i;
const MASK = '[secret]';
const TAG_NAME = /^<\s*(\/?)\s*([^\s<>/"'=]+)/;
// The repetitions are bounded: an endless name in broken XML must not cost quadratic time.
const ATTRIBUTE = /([^\s<>/"'=]{1,100})(\s{0,9}=\s{0,9})("[^"]*"|'[^']*'|[^\s>"']+)/g;
/** Attributes that describe the kind of an element, not its content. */
const HARMLESS_ATTRIBUTES = new Set(['type', 'nil']);

interface Tag {
  readonly name: string;
  readonly isClosing: boolean;
  readonly isEmpty: boolean;
  /** False if no `>` comes before the next `<`. */
  readonly isWhole: boolean;
  readonly end: number;
}

/**
 * True for the name of an element that contains a credential, or may contain one: it is better to
 * lose a field than to leak one.
 * @param name - dashed or underscored
 * @see docs/service.md "Fields"
 */
export function isSecret(name: string): boolean {
  return SECRET.test(name);
}

/**
 * Returns the XML with `[secret]` in place of the contents of secret elements and attributes, which
 * are recognized by name. It accepts both dialects, and XML that is broken, cut or mismatched: it
 * may then hide more than the secret, never less.
 */
export function redactXml(xml: string): string {
  // No parser is used, because the XML may be broken in any way. The loop goes from `<` to `<` and
  // assumes as little as possible. If the end of a secret cannot be found, the rest of the text
  // counts as secret.
  let redacted = '';
  let position = 0;
  while (position < xml.length) {
    const tagStart = findNextMarkup(xml, position);
    const tag = readTag(xml, tagStart);
    redacted +=
      redactText(xml.slice(position, tagStart), tag) + redactTag(xml.slice(tagStart, tag.end), tag);
    position = tag.end;
    if (isSecret(tag.name) && !tag.isClosing && !tag.isEmpty) {
      position = findSecretEnd(xml, tag.end, tag.name);
      if (position > tag.end) redacted += MASK;
    }
  }
  return redacted;
}

// Hides the text before a secret's closing tag: it is found only if the opening tag was cut off.
function redactText(text: string, next: Tag): string {
  return next.isClosing && isSecret(next.name) && text.trim() !== '' ? MASK : text;
}

function redactTag(text: string, tag: Tag): string {
  if (!isSecret(text)) return text;
  if (!tag.isWhole) return `<${tag.isClosing ? '/' : ''}${tag.name} ${MASK}`;
  return text.replace(ATTRIBUTE, (attribute, name: string, equals: string) => {
    if (HARMLESS_ATTRIBUTES.has(name)) return attribute;
    return isSecret(name) || isSecret(tag.name) ? `${name}${equals}"${MASK}"` : attribute;
  });
}

/**
 * The place at which a secret element's own closing tag begins; the end of the text if it has none.
 */
function findSecretEnd(xml: string, from: number, name: string): number {
  let depth = 1;
  let position = from;
  while (position < xml.length) {
    const start = findNextMarkup(xml, skipCommentsAndCdata(xml, position));
    const tag = readTag(xml, start);
    if (isSameName(tag.name, name) && !tag.isEmpty) depth += tag.isClosing ? -1 : 1;
    if (depth === 0) return start;
    position = tag.end;
  }
  return xml.length;
}

/**
 * The place after the comments and CDATA sections before the next tag: what seems a tag inside them
 * is not one.
 */
function skipCommentsAndCdata(xml: string, from: number): number {
  let position = from;
  for (;;) {
    const start = findNextMarkup(xml, position);
    const closing = xml.startsWith('<![CDATA[', start)
      ? ']]>'
      : xml.startsWith('<!--', start)
        ? '-->'
        : null;
    if (closing === null) return start;
    const end = xml.indexOf(closing, start);
    if (end === -1) return xml.length;
    position = end + closing.length;
  }
}

function findNextMarkup(xml: string, from: number): number {
  const index = xml.indexOf('<', from);
  return index === -1 ? xml.length : index;
}

function readTag(xml: string, start: number): Tag {
  const {end, isWhole} = findTagEnd(xml, start);
  const [, slash = '', name = ''] = TAG_NAME.exec(xml.slice(start, end)) ?? [];
  return {name, isClosing: slash !== '', isEmpty: isWhole && xml[end - 2] === '/', isWhole, end};
}

/**
 * The place after the `>` that ends a tag, quoted ones skipped. Without one, the place of the next
 * `<`, which no tag can contain.
 */
function findTagEnd(xml: string, start: number): {end: number; isWhole: boolean} {
  let quote = '';
  for (let at = start + 1; at < xml.length; at++) {
    const char = xml[at] ?? '';
    if (char === '<') return {end: at, isWhole: false};
    if (char === '>' && quote === '') return {end: at + 1, isWhole: true};
    if (char === quote) quote = '';
    else if (quote === '' && (char === '"' || char === "'")) quote = char;
  }
  return {end: xml.length, isWhole: false};
}

function isSameName(first: string, second: string): boolean {
  return first.replaceAll('-', '_').toLowerCase() === second.replaceAll('-', '_').toLowerCase();
}
