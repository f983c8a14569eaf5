import {isIsoInstant} from './iso-instant.ts';

/** What a `type` attribute promises of the text; `text` promises nothing. */
export type ValueType = 'array' | 'integer' | 'decimal' | 'float' | 'boolean' | 'dateTime' | 'date' | 'text';

/**
 * Reads a `type` attribute. A type that starts with a capital is a class name (`type="Customer"`), no type of data;
 * one that we do not know promises nothing.
 * @see wire-facts 1.3, 1.6
 */
export function readValueType(attribute: string): ValueType {
  switch (attribute) {
    case 'integer':
    case 'decimal':
    case 'float':
    case 'boolean':
    case 'dateTime':
    case 'date':
    case 'array':
      return attribute;
    case 'datetime':
      return 'dateTime';
    default:
      return 'text';
  }
}

const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/;
const FLOAT_WORD = /^(?:NaN|[+-]?Infinity)$/;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

/** True when the text is what its type promises. The text itself is kept as sent: `275.10` stays `275.10`. */
export function isOfType(type: ValueType, text: string): boolean {
  switch (type) {
    case 'text':
      return true;
    case 'integer':
      return INTEGER.test(text);
    case 'decimal':
      return DECIMAL.test(text);
    case 'float':
      return DECIMAL.test(text) || FLOAT_WORD.test(text);
    case 'boolean':
      return text === 'true' || text === 'false';
    case 'dateTime':
      return isIsoInstant(text);
    case 'date':
      return DATE.test(text);
    case 'array':
      return false;
  }
}
