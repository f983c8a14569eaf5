import {isIsoInstant} from './iso-instant.ts';

export type TypeName =
  | 'array'
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'dateTime'
  | 'date'
  | 'text';

/** The promise of a `type` attribute about the text; `text` promises nothing. */
export interface ValueType {
  readonly name: TypeName;
  /**
   * A bit of its own in a byte, so that the types of one field over many records are one number.
   */
  readonly bit: number;
}

export const TEXT: ValueType = {name: 'text', bit: 1};
export const ARRAY: ValueType = {name: 'array', bit: 128};

/** Every type. */
export const valueTypes: readonly ValueType[] = [
  TEXT,
  {name: 'integer', bit: 2},
  {name: 'decimal', bit: 4},
  {name: 'float', bit: 8},
  {name: 'boolean', bit: 16},
  {name: 'dateTime', bit: 32},
  {name: 'date', bit: 64},
  ARRAY,
];

const byAttribute = new Map(valueTypes.map((type) => [type.name as string, type]));
for (const type of valueTypes) if (type.name === 'dateTime') byAttribute.set('datetime', type);

/**
 * Reads a `type` attribute. A type that starts with a capital is a class name (`type="Customer"`),
 * no type of data; one that we do not know promises nothing.
 * @see docs/service.md "Types and nil"; docs/service.md "Nested records"
 */
export function readValueType(attribute: string): ValueType {
  return byAttribute.get(attribute) ?? TEXT;
}

const INTEGER = /^[+-]?\d+$/;
const DECIMAL = /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d{1,4})?$/;
const FLOAT_WORD = /^(?:NaN|[+-]?Infinity)$/;
const DATE = /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])$/;

/**
 * True when the text is what its type promises. The text itself is kept as sent: `275.10` stays
 * `275.10`.
 */
export function isOfType(type: ValueType, text: string): boolean {
  switch (type.name) {
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
