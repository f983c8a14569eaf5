// Encodes and decodes rows for Postgres: columns of the tables of sync, arrays, and COPY's text
// format. Our own code for COPY is several times as fast as a generic writer and distinguishes null
// from ''. @see https://www.postgresql.org/docs/current/sql-copy.html "Text Format"

import type pg from 'pg';

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name;

/**
 * Some columns of a row, in camelCase, read through `selectColumns`. Numbers beyond 2^53 are texts,
 * instants ISO 8601 in UTC.
 * @typeParam Row - `$inferSelect` of the table
 */
export type ReadRow<Row extends object, Column extends keyof Row & string> = {
  readonly [Name in Column as Camel<Name>]: Row[Name];
};

/** A name in SQL, as `pg.escapeIdentifier` writes it, for threads that do not load pg. */
export function quoteName(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

/**
 * The columns of a SELECT or RETURNING that reads a `ReadRow`.
 * @param table - the table or alias, in a query of several tables
 */
export function selectColumns(columns: readonly string[], table?: string): string {
  const qualifier = table === undefined ? '' : `${table}.`;
  return columns.map((column) => `${qualifier}${column} AS "${toCamel(column)}"`).join(', ');
}

function toCamel(column: string): string {
  return column.replace(/_(.)/g, (_all, letter: string) => letter.toUpperCase());
}

/**
 * Numbers as the text of a Postgres array. The driver would search each one for characters to
 * escape, which takes as long as all other work on a key.
 * @param numbers - digits, or several such joined by colons
 */
export function toArrayText(numbers: readonly string[]): string {
  return `{${numbers.join(',')}}`;
}

/** One row for COPY: its fields separated by tabs, ended by a line feed. */
export function encodeCopyRow(fields: readonly (string | null)[]): string {
  let line = '';
  for (let at = 0; at < fields.length; at++) {
    const field = fields[at] ?? null;
    if (at > 0) line += '\t';
    line += field === null ? '\\N' : escapeField(field);
  }
  return `${line}\n`;
}

const specialCharacter = /[\\\n\r\t]/;
const specialCharacters = /[\\\n\r\t]/g;
const escapes: Readonly<Record<string, string>> = {
  '\\': '\\\\',
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
};

function escapeField(field: string): string {
  // Nearly every field needs no escapes, and a test is cheaper than a replacement that finds
  // nothing.
  return specialCharacter.test(field)
    ? field.replaceAll(specialCharacters, (character) => escapes[character] ?? character)
    : field;
}

const escapeSequence = /\\(.)/g;
const escapedCharacters: Readonly<Record<string, string>> = {n: '\n', r: '\r', t: '\t'};

/** The fields of a line of COPY. */
export function decodeCopyRow(line: string): (string | null)[] {
  return line
    .slice(0, -1)
    .split('\t')
    .map((field) =>
      field === '\\N'
        ? null
        : field.replaceAll(
            escapeSequence,
            (_, letter: string) => escapedCharacters[letter] ?? letter,
          ),
    );
}

const defaultRowsAtOnce = 10_000;

/**
 * Yields the rows of a query in portions, so that they are never all in memory. It needs a
 * transaction, which can run only one such query at a time.
 */
export async function* readByCursor<R extends pg.QueryResultRow>(
  client: pg.ClientBase,
  query: string,
  values: readonly unknown[],
  rowsAtOnce = defaultRowsAtOnce,
): AsyncGenerator<readonly R[]> {
  await client.query(`DECLARE some_rows NO SCROLL CURSOR FOR ${query}`, [...values]);
  for (;;) {
    const {rows} = await client.query<R>(`FETCH ${rowsAtOnce} FROM some_rows`);
    yield rows;
    if (rows.length < rowsAtOnce) break;
  }
  await client.query('CLOSE some_rows');
}
