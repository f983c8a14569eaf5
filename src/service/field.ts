// A list of fields is written as one text, in the order of the columns on the wire, because that is
// how a person compares it with a recording: `name` is a text, `name:integer` carries its type.

/**
 * How a value is written and read. Every value is kept as text, so that `275.10` and `01234` stay
 * what they are; instants are kept in UTC, `2031-01-04T14:00:00Z`.
 */
export type FieldType =
  | 'text'
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'dateTime'
  | 'array'
  | 'allocations';

/** One field of a resource, under its name with underscores. */
export interface ServiceField {
  readonly name: string;
  readonly type: FieldType;
}

/**
 * A record's values by field name. A field that is absent is nil; an empty text is an empty text.
 */
export type ServiceFields = Readonly<Record<string, string | null>>;

const types: Readonly<Record<string, FieldType>> = {
  text: 'text',
  integer: 'integer',
  decimal: 'decimal',
  float: 'float',
  boolean: 'boolean',
  dateTime: 'dateTime',
  array: 'array',
  allocations: 'allocations',
};

/** Reads `id:integer name created_at:dateTime`; a type that does not exist is a bug and throws. */
export function readServiceFields(text: string): readonly ServiceField[] {
  return text
    .trim()
    .split(/\s+/)
    .map((word) => {
      const [name = '', typeName = 'text'] = word.split(':');
      const type = types[typeName];
      if (type === undefined) throw new TypeError(`field ${name}: no type ${typeName}`);
      return {name, type};
    });
}

/** The custom fields 1 to 10, in triples, as they stand on customers, jobs and employees. */
export const customTriples = numbered(
  1,
  10,
  (n) => `custom_text${n} custom_number${n}:decimal custom_datetime${n}:dateTime`,
);

/** The custom texts 11 to 20 of customers and jobs. */
export const customTexts = numbered(11, 20, (n) => `custom_text${n}`);

function numbered(from: number, to: number, write: (n: number) => string): string {
  return Array.from({length: to - from + 1}, (_, index) => write(from + index)).join(' ');
}
