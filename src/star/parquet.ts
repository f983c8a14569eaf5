// Rows of a statement as a file of Parquet: row groups of bounded size, numbers exact, moments in
// UTC.

import type {SchemaElement} from 'hyparquet';
import {ByteWriter, ParquetWriter} from 'hyparquet-writer';
import pg from 'pg';
import {UsageError} from '../core/errors.ts';

/**
 * Takes bytes in their order, and is done with them when it has resolved: their memory is used
 * again.
 */
type Sink = (bytes: Uint8Array) => Promise<void>;

/**
 * A column of numbers has at least these decimals and digits: the service sends amounts with at
 * most four decimals.
 */
const least = {places: 4, digits: 18};
/**
 * No decimal of Parquet has more digits. Up to `least` they are whole numbers of 64 bits, else of
 * 16 bytes.
 */
const mostDigits = 38;
const wideBytes = 16;
/**
 * Values of a row group, whatever the width of a row. The writer keeps a kilobyte for each group
 * and column until the end.
 */
const groupValues = 500_000;
const fetchedRows = 500;

interface Column {
  readonly name: string;
  readonly element: SchemaElement;
  /** The column in SQL, in a form that `values` understand. */
  readonly sql: string;
  readonly values: HeldValues;
}

/** What a file holds. */
interface Written {
  readonly rows: number;
  readonly columns: readonly WrittenColumn[];
}

/** A column of a file. */
export interface WrittenColumn {
  readonly name: string;
  /** As SQL calls it: `BIGINT`, `DECIMAL(18, 4)`, `TIMESTAMP` (in UTC). */
  readonly type: string;
  /** The sum of its values, of an exact number; null of any other column, and where it has none. */
  readonly sum: string | null;
}

/**
 * Writes the rows of a statement. The caller has begun a transaction.
 * @throws {UsageError} a number has more digits than the file can hold exactly
 */
export async function writeParquet(
  client: pg.ClientBase,
  sql: string,
  sink: Sink,
): Promise<Written> {
  const {fields} = await client.query(`SELECT * FROM (${sql}) AS described LIMIT 0`);
  const measured = await measureNumbers(client, sql, fields);
  const groupRows = Math.max(fetchedRows, Math.floor(groupValues / fields.length));
  const columns = fields.map(({name, dataTypeID}) =>
    columnOf(name, dataTypeID, {rows: groupRows, decimal: measured.get(name)?.decimal ?? least}),
  );
  const file = new ParquetWriter({
    writer: new SinkWriter(sink),
    schema: [{name: 'root', num_children: columns.length}, ...columns.map(({element}) => element)],
    createdBy: 'fieldmirror',
  });
  const list = columns.map((column) => column.sql).join(', ');
  await client.query(
    `DECLARE exported NO SCROLL CURSOR FOR SELECT ${list} FROM (${sql}) AS exported`,
  );
  let written = 0;
  for (let count = groupRows; count === groupRows; written += count) {
    count = await readGroup(client, columns, groupRows);
    if (count > 0)
      await file.write({
        columnData: columns.map((column) => sourceOf(column, count)),
        rowGroupSize: count,
      });
  }
  await client.query('CLOSE exported');
  await file.finish();
  return {
    rows: written,
    columns: columns.map(({name, element}) => ({
      ...{name, type: spellType(element)},
      sum: measured.get(name)?.sum ?? null,
    })),
  };
}

/** The type of a column as SQL calls it. */
function spellType({type, converted_type: converted, precision, scale}: SchemaElement): string {
  const plain = {INT32: 'INTEGER', INT64: 'BIGINT', DOUBLE: 'DOUBLE', BOOLEAN: 'BOOLEAN'} as const;
  if (converted === 'DECIMAL') return `DECIMAL(${precision}, ${scale})`;
  if (converted === 'DATE') return 'DATE';
  if (converted === 'TIMESTAMP_MICROS') return 'TIMESTAMP';
  return plain[type as keyof typeof plain] ?? 'VARCHAR';
}

/** The writer reads one column after the other: there are never the values of two. */
function sourceOf({name, values}: Column, count: number) {
  return {
    name,
    offsetIndex: false,
    get data() {
      return values.take(count);
    },
  };
}

/** @returns how many rows were left, up to so many */
async function readGroup(
  client: pg.ClientBase,
  columns: readonly Column[],
  most: number,
): Promise<number> {
  let count = 0;
  while (count < most) {
    const wanted = Math.min(fetchedRows, most - count);
    const {rows} = await client.query<(string | null)[]>({
      text: `FETCH ${wanted} FROM exported`,
      rowMode: 'array',
      types: {getTypeParser: () => (value: string) => value},
    } as pg.QueryArrayConfig);
    for (const row of rows) {
      for (const [at, {values}] of columns.entries()) values.set(count, row[at] ?? null);
      count++;
    }
    if (rows.length < wanted) break;
  }
  return count;
}

/** How many decimals a column has, and how many digits in all. */
interface Decimal {
  readonly places: number;
  readonly digits: number;
}

/** A column of exact numbers. */
interface Measured {
  readonly decimal: Decimal;
  readonly sum: string | null;
}

/**
 * A share of a third or a length of 20 minutes has more decimals than an amount: each column of
 * numbers has as many as its values need.
 */
async function measureNumbers(
  client: pg.ClientBase,
  sql: string,
  fields: readonly pg.FieldDef[],
): Promise<ReadonlyMap<string, Measured>> {
  const names = fields
    .filter(({dataTypeID}) => dataTypeID === pg.types.builtins.NUMERIC)
    .map(({name}) => name);
  if (names.length === 0) return new Map();
  const measures = names.map((name) => measureOf(pg.escapeIdentifier(name)));
  const {rows} = await client.query<(readonly [places: string, whole: string, sum: string])[]>({
    text: `SELECT ${measures.join(', ')} FROM (${sql}) AS measured`,
    rowMode: 'array',
  });
  return new Map(
    names.map((name, at) => {
      const [held, digitsBefore, sum = null] = rows[0]?.[at] ?? [];
      const places = Math.max(Number(held ?? 0), least.places);
      const fits = places + Number(digitsBefore ?? 0) <= least.digits;
      return [name, {decimal: {places, digits: fits ? least.digits : mostDigits}, sum}];
    }),
  );
}

/** The most decimals, the most digits before them, and the sum, as texts. */
function measureOf(column: string): string {
  const places = `max(scale(trim_scale(${column})))`;
  const whole = `max(length(trunc(abs(${column}))::text))`;
  return `ARRAY[${places}::text, ${whole}::text, trim_scale(sum(${column}))::text]`;
}

function columnOf(
  name: string,
  typeId: number,
  {rows, decimal}: {readonly rows: number; readonly decimal: Decimal},
): Column {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, DATE, TIMESTAMPTZ} = pg.types.builtins;
  const own = pg.escapeIdentifier(name);
  const optional = {name, repetition_type: 'OPTIONAL'} as const;
  switch (typeId) {
    case INT2:
    case INT4:
      return {name, sql: own, element: {...optional, type: 'INT32'}, values: holdSmall(Number)};
    case INT8:
      return {
        name,
        sql: own,
        element: {...optional, type: 'INT64'},
        values: holdWhole(rows, BigInt),
      };
    case NUMERIC: {
      const read = (text: string) => readDecimal(text, name, decimal);
      const {places: scale, digits: precision} = decimal;
      const told = {...optional, converted_type: 'DECIMAL', scale, precision} as const;
      if (precision > least.digits)
        return {
          ...{name, sql: own, values: holdTexts(read)},
          element: {...told, type: 'FIXED_LEN_BYTE_ARRAY', type_length: wideBytes},
        };
      return {name, sql: own, values: holdWhole(rows, read), element: {...told, type: 'INT64'}};
    }
    case FLOAT8:
      return {name, sql: own, element: {...optional, type: 'DOUBLE'}, values: holdSmall(Number)};
    case BOOL:
      return {
        name,
        sql: own,
        element: {...optional, type: 'BOOLEAN'},
        values: holdSmall((text) => text === 't'),
      };
    case DATE:
      return {
        ...{name, sql: `${own} - DATE '1970-01-01' AS ${own}`, values: holdSmall(Number)},
        element: {...optional, type: 'INT32', converted_type: 'DATE'},
      };
    case TIMESTAMPTZ:
      return {
        ...{
          name,
          sql: `(extract(epoch FROM ${own}) * 1000000)::bigint AS ${own}`,
          values: holdWhole(rows, BigInt),
        },
        element: {
          ...{...optional, type: 'INT64', converted_type: 'TIMESTAMP_MICROS'},
          logical_type: {type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS'},
        },
      };
    default:
      return {
        ...{name, sql: `${own}::text AS ${own}`, values: holdTexts()},
        element: {...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8'},
      };
  }
}

/** The number in units of its last place, as the file holds it. */
function readDecimal(text: string, column: string, {places, digits}: Decimal): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+?))?0*$/.exec(text) ?? [];
  if (sign === undefined || fraction.length > places || whole.length > digits - places)
    throw new UsageError(
      `${column}: expected a number of at most ${mostDigits} digits, which Parquet can hold, ` +
        `got ${text}; take it as CSV`,
    );
  return BigInt(`${sign}${whole}${fraction.padEnd(places, '0')}`);
}

/** Hands its bytes on after each row group, and keeps none. */
class SinkWriter extends ByteWriter {
  readonly #sink: Sink;

  constructor(sink: Sink) {
    super();
    this.#sink = sink;
  }

  async flush(): Promise<void> {
    await this.#sink(new Uint8Array(this.buffer, 0, this.index));
    this.index = 0;
  }

  override async finish(): Promise<void> {
    await this.flush();
  }
}

// The values of one row group and column, in little memory that is used again for the next group.
// As values of their own they would be millions of objects that die together, and the memory of the
// process would grow to several groups of them.

/**
 * Takes the texts of Postgres row by row, and gives them as the values of the file, made when they
 * are asked for.
 */
interface HeldValues {
  set(row: number, text: string | null): void;
  /** The first so many. */
  take(count: number): unknown[];
}

/** Values that need no memory beside their place: small numbers and truths. */
function holdSmall(read: (text: string) => unknown): HeldValues {
  const held: unknown[] = [];
  return {
    set: (row, text) => {
      held[row] = text === null ? null : read(text);
    },
    take: (count) => held.slice(0, count),
  };
}

/** Whole numbers of 64 bits: eight bytes each, and four times as many as a value of its own. */
function holdWhole(rows: number, read: (text: string) => bigint): HeldValues {
  const held = new BigInt64Array(rows);
  const isNull = new Uint8Array(rows);
  return {
    set: (row, text) => {
      isNull[row] = text === null ? 1 : 0;
      if (text !== null) held[row] = read(text);
    },
    take: (count) =>
      Array.from({length: count}, (_, row) => (isNull[row] === 1 ? null : held[row])),
  };
}

/** Texts: those that are equal are held once for each group. */
function holdTexts(read: (text: string) => unknown = (text) => text): HeldValues {
  const held: (string | null)[] = [];
  const known = new Map<string, string>();
  return {
    set: (row, text) => {
      if (row === 0) known.clear();
      if (text !== null && !known.has(text)) known.set(text, text);
      held[row] = text === null ? null : (known.get(text) ?? text);
    },
    take: (count) => held.slice(0, count).map((text) => (text === null ? null : read(text))),
  };
}
