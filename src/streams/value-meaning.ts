import {hash} from 'node:crypto';
import type {ColumnType} from './mirror-table.ts';
import {epochSeconds} from './reading-epoch.ts';

const HASH_DIGITS = 32;
const DECIMAL = /^([-+]?)(\d*)\.?(\d*)(?:[eE]([-+]?\d+))?$/;
const INSTANT = /^(.{19})(?:\.(\d+))?(Z|[-+]\d\d:\d\d)$/;

/** Ends every value of a row's meaning, and is all there is of a null: no text has a NUL. */
export const END = '\0';

/**
 * The meaning of a value that its column took: the same text for `275.10` and `275.1`, for one
 * moment under two offsets, for CRLF and LF; never empty. Without that a sync would write the same
 * row for ever.
 * @see docs/service.md "Text and white space"
 */
export function meaningOf(type: ColumnType, value: string): string {
  switch (type) {
    case 'text':
      return textMeaning(value);
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
 * Sixteen bytes of SHA-256 of a row, in hex: the meanings of its columns, each with its `END`, and
 * its attributes.
 */
export function hashRow(meanings: string, attributes: string): string {
  return hash('sha256', meanings + normaliseJson(attributes), 'hex').slice(0, HASH_DIGITS);
}

// An empty text must not look like null, nor like a text that is `=`.
function textMeaning(text: string): string {
  const lines = text.includes('\r') ? text.replace(/\r\n?/g, '\n') : text;
  return lines === '' || lines.startsWith('=') ? `=${lines}` : lines;
}

/** A decimal as its digits without outer zeros, and an exponent. */
function normaliseDecimal(text: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = DECIMAL.exec(text) ?? [];
  const digits = whole + fraction;
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
  const [, local = '', fraction = '', offset = ''] = INSTANT.exec(text) ?? [];
  const whole = epochSeconds(`${local}${offset === 'Z' ? '+00:00' : offset}`);
  const digits = fraction.replace(/0+$/, '');
  return digits === '' ? String(whole) : `${whole}.${digits}`;
}

/**
 * JSON text with the line breaks inside its texts normalised: `\r` is an escape there, unless its
 * backslash is escaped.
 */
function normaliseJson(json: string): string {
  if (!json.includes('\\r')) return json;
  return json.replace(/\\r\\n|\\r|\\./g, (pair) => (pair.startsWith('\\r') ? '\\n' : pair));
}
