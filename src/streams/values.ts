import {isIsoInstant} from '../api/iso-instant.ts';
import type {ColumnType} from './mirror-table.ts';
import {epochSeconds} from './reading-epoch.ts';
import {readTextualInstant} from './textual-instant.ts';

const INTEGER = /^[-+]?\d+$/;
const PLAIN_INTEGER = /^(?:0|-?[1-9]\d{0,17})$/;
// Without length and exponent in bounds, numeric itself refuses: it takes 131,072 digits before the
// point, 16,383 after.
const DECIMAL = /^[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d{1,4})?$/;
const MAX_DECIMAL_LENGTH = 1_000;
const MIN_BIGINT = -(2n ** 63n);
const MAX_BIGINT = 2n ** 63n - 1n;

/** The values that a column of each type takes, as errors tell them. */
export const expectedOf: Readonly<Record<ColumnType, string>> = {
  text: 'a text without NUL and without half of a surrogate pair',
  integer: 'a whole number of 64 bits',
  decimal: 'a decimal number',
  float: 'a number',
  boolean: 'true or false',
  instant: 'a date and time',
  nested: 'elements',
};

/**
 * A text as a column of its type keeps it, or null where an empty one has no meaning; undefined
 * when the type refuses it. Texts and decimals stay as sent, whole numbers lose leading zeros,
 * times of the specification's textual shapes get the offset that held in the account's zone.
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
 * True for a text that Postgres keeps, alone and within jsonb: no NUL, no half of a surrogate pair.
 */
export function isStorable(text: string): boolean {
  return !text.includes('\0') && text.isWellFormed();
}

/** True for ISO with an offset that Postgres keeps: it has no year 0. */
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
