// The columns of a Parquet file, by the types of Postgres: how many decimals a column of numbers
// needs, and how the binary form of each type becomes values of the file.

import type {SchemaElement} from 'hyparquet';
import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {
  ByteValues,
  type ColumnValues,
  NumberValues,
  type ReadWords,
  type ReceivedBytes,
} from './parquet-columns.ts';

/**
 * A column of numbers has at least these decimals and digits: the service sends amounts with at
 * most four decimals.
 */
export const minimumDecimal = {places: 4, digits: 18};
/**
 * No decimal of Parquet has more digits. Decimals of up to `minimumDecimal.digits` digits are whole
 * numbers of 64 bits; others take 16 bytes.
 */
const maxDigits = 38;
const wideBytes = 16;
export interface ParquetColumn {
  readonly name: string;
  readonly element: SchemaElement;
  /** The column in SQL, in a form whose bytes `values` can read. */
  readonly sql: string;
  readonly values: ColumnValues;
}

/** The name of a column's type in SQL. */
export function spellType({
  type,
  converted_type: converted,
  precision,
  scale,
}: SchemaElement): string {
  const plainTypes = {
    INT32: 'INTEGER',
    INT64: 'BIGINT',
    DOUBLE: 'DOUBLE',
    BOOLEAN: 'BOOLEAN',
  } as const;
  if (converted === 'DECIMAL') return `DECIMAL(${precision}, ${scale})`;
  if (converted === 'DATE') return 'DATE';
  if (converted === 'TIMESTAMP_MICROS') return 'TIMESTAMP WITH TIME ZONE';
  return plainTypes[type as keyof typeof plainTypes] ?? 'VARCHAR';
}

/** How many decimals a column has, and how many digits in all. */
interface Decimal {
  readonly places: number;
  readonly digits: number;
}

/** A column of exact numbers. */
interface MeasuredColumn {
  readonly decimal: Decimal;
  readonly sum: string | null;
}

/**
 * A share of a third or a length of 20 minutes has more decimals than an amount. So each column of
 * numbers has as many as its values need.
 */
export async function measureNumbers(
  client: pg.ClientBase,
  sql: string,
  fields: readonly pg.FieldDef[],
): Promise<ReadonlyMap<string, MeasuredColumn>> {
  const names = fields
    .filter(({dataTypeID}) => dataTypeID === pg.types.builtins.NUMERIC)
    .map(({name}) => name);
  if (names.length === 0) return new Map();
  const measures = names.map((name) => buildMeasureSql(pg.escapeIdentifier(name)));
  const {rows} = await client.query<(readonly [places: string, whole: string, sum: string])[]>({
    text: `SELECT ${measures.join(', ')} FROM (${sql}) AS measured`,
    rowMode: 'array',
  });
  return new Map(
    names.map((name, index) => {
      const [neededPlaces, digitsBefore, sum = null] = rows[0]?.[index] ?? [];
      const places = Math.max(Number(neededPlaces ?? 0), minimumDecimal.places);
      const isNarrow = places + Number(digitsBefore ?? 0) <= minimumDecimal.digits;
      return [name, {decimal: {places, digits: isNarrow ? minimumDecimal.digits : maxDigits}, sum}];
    }),
  );
}

/** The most decimals, the most digits before them, and the sum, as texts. */
function buildMeasureSql(column: string): string {
  const whole = `length(trunc(greatest(max(${column}), -min(${column})))::text)`;
  return `ARRAY[max(min_scale(${column}))::text, ${whole}::text, trim_scale(sum(${column}))::text]`;
}

export function buildColumn(
  name: string,
  typeId: number,
  {rows, decimal}: {readonly rows: number; readonly decimal: Decimal},
): ParquetColumn {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, DATE, TIMESTAMPTZ} = pg.types.builtins;
  const columnSql = pg.escapeIdentifier(name);
  const optional = {name, repetition_type: 'OPTIONAL'} as const;
  const buildNumberColumn = (
    type: 'BOOLEAN' | 'INT32' | 'INT64' | 'DOUBLE',
    read: ReadWords,
    attributes: Partial<SchemaElement> = {},
  ): ParquetColumn => ({
    name,
    sql: columnSql,
    element: {...optional, type, ...attributes},
    values: new NumberValues(rows, type, read),
  });
  switch (typeId) {
    case INT2:
      return buildNumberColumn('INT32', (words, to, view, at) => {
        words[to] = view.getInt16(at);
      });
    case INT4:
      return buildNumberColumn('INT32', readWord);
    case INT8:
      return buildNumberColumn('INT64', readWords);
    case FLOAT8:
      return buildNumberColumn('DOUBLE', readWords);
    case BOOL:
      return buildNumberColumn('BOOLEAN', (words, to, view, at) => {
        words[to] = view.getUint8(at);
      });
    case DATE:
      return {
        ...buildNumberColumn('INT32', readWord, {converted_type: 'DATE'}),
        sql: `${columnSql} - DATE '1970-01-01' AS ${columnSql}`,
      };
    case TIMESTAMPTZ:
      return buildNumberColumn('INT64', readMoment(name), {
        converted_type: 'TIMESTAMP_MICROS',
        logical_type: {type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS'},
      });
    case NUMERIC:
      return decimal.digits <= minimumDecimal.digits
        ? buildNumberColumn('INT64', readAmount(name, decimal), toDecimalType(decimal))
        : buildWideColumn(name, rows, decimal);
    default:
      return {
        name,
        sql: `${columnSql}::text AS ${columnSql}`,
        values: new ByteValues(rows),
        element: {...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8'},
      };
  }
}

/** A column of decimals with more digits than 64 bits hold. */
function buildWideColumn(name: string, rows: number, decimal: Decimal): ParquetColumn {
  return {
    name,
    sql: pg.escapeIdentifier(name),
    values: new WideValues(rows, name, decimal),
    element: {
      name,
      ...toDecimalType(decimal),
      repetition_type: 'OPTIONAL',
      type: 'FIXED_LEN_BYTE_ARRAY',
      type_length: wideBytes,
    },
  };
}

function toDecimalType({places: scale, digits: precision}: Decimal) {
  return {converted_type: 'DECIMAL', scale, precision} as const;
}

const readWord: ReadWords = (words, to, view, at) => {
  words[to] = view.getInt32(at);
};

const readWords: ReadWords = (words, to, view, at) => {
  words[to + 1] = view.getInt32(at);
  words[to] = view.getInt32(at + 4);
};

function setWhole(words: Int32Array, to: number, value: bigint): void {
  words[to] = Number(BigInt.asIntN(32, value));
  words[to + 1] = Number(BigInt.asIntN(32, value >> 32n));
}

const wordValues = 2 ** 32;
/**
 * The microseconds from the beginning of 1970, from which Parquet counts, to that of 2000, from
 * which Postgres counts.
 */
const epochMicroseconds = 946_684_800_000_000;
const epochWords = {
  low: epochMicroseconds % wordValues,
  high: Math.floor(epochMicroseconds / wordValues),
};

/** Microseconds since 1970. */
function readMoment(column: string): ReadWords {
  return (words, to, view, at) => {
    const high = view.getInt32(at);
    if (high === 0x7fffffff || high === -0x80000000)
      throw new UsageError(`${column}: expected a time, got infinity; take it as CSV`);
    const low = view.getUint32(at + 4) + epochWords.low;
    words[to] = low;
    words[to + 1] = high + epochWords.high + (low >= wordValues ? 1 : 0);
  };
}

/** The powers of ten that are safe integers. */
const powersOfTen = Array.from({length: 16}, (_, places) => 10 ** places);

/** A decimal of up to 18 digits. A BigInt is used only if a number would not be exact. */
function readAmount(column: string, decimal: Decimal): ReadWords {
  const {places} = decimal;
  return (words, to, view, at) => {
    const digits = view.getInt16(at);
    const sign = view.getUint16(at + 4);
    let value = 0;
    for (let group = 0; group < digits && group < 4; group++)
      value = value * 10_000 + view.getInt16(at + 8 + 2 * group);
    const shift = 4 * (view.getInt16(at + 2) - digits + 1) + places;
    const factor = powersOfTen[Math.abs(shift)] ?? Number.NaN;
    const scaled = digits === 0 ? 0 : shift < 0 ? value / factor : value * factor;
    // A quotient that is a whole number is exact if its dividend is.
    const isExact = digits <= 3 || (digits === 4 && Number.isSafeInteger(value));
    if (isExact && Number.isSafeInteger(scaled) && (sign === plusSign || sign === minusSign)) {
      const signed = sign === minusSign ? -scaled : scaled;
      const high = Math.floor(signed / wordValues);
      words[to] = signed - high * wordValues;
      words[to + 1] = high;
    } else setWhole(words, to, readDecimal(spellNumber(view, at), column, decimal));
  };
}

/** Decimals of more than 18 digits. */
class WideValues extends ByteValues {
  readonly #column: string;
  readonly #decimal: Decimal;
  readonly #view = new DataView(new ArrayBuffer(wideBytes));
  readonly #output = {bytes: new Uint8Array(this.#view.buffer), view: this.#view};

  constructor(rows: number, column: string, decimal: Decimal) {
    super(rows, true);
    this.#column = column;
    this.#decimal = decimal;
  }

  protected override put({view}: ReceivedBytes, at: number): void {
    const value = readDecimal(spellNumber(view, at), this.#column, this.#decimal);
    this.#view.setBigInt64(0, value >> 64n);
    this.#view.setBigUint64(8, BigInt.asUintN(64, value));
    super.put(this.#output, 0, wideBytes);
  }
}

const plusSign = 0x0000;
const minusSign = 0x4000;

/**
 * The text of a number that Postgres sends in binary. The bytes give how many groups of four digits
 * there are, and how many of them follow the first before the point. Then they give its sign, its
 * places, and the groups.
 */
function spellNumber(view: DataView, at: number): string {
  const sign = view.getUint16(at + 4);
  if (sign !== plusSign && sign !== minusSign)
    return sign === 0xc000 ? 'NaN' : sign === 0xd000 ? 'Infinity' : '-Infinity';
  const weight = view.getInt16(at + 2);
  const groups = Array.from({length: view.getInt16(at)}, (_, group) =>
    String(view.getInt16(at + 8 + 2 * group)).padStart(4, '0'),
  );
  const wholeGroups = Math.max(0, weight + 1);
  const whole = groups
    .slice(0, wholeGroups)
    .join('')
    .padEnd(4 * wholeGroups, '0');
  const fraction = '0000'.repeat(Math.max(0, -weight - 1)) + groups.slice(wholeGroups).join('');
  const text = `${whole.replace(/^0+(?=.)/, '') || '0'}.${fraction.padEnd(1, '0')}`;
  return (sign === minusSign ? '-' : '') + text.replace(/\.?0+$/, '');
}

/** The number in units of its last place, as the file holds it. */
function readDecimal(text: string, column: string, {places, digits}: Decimal): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+?))?0*$/.exec(text) ?? [];
  if (sign === undefined || fraction.length > places || whole.length > digits - places)
    throw new UsageError(
      `${column}: expected a number of at most ${maxDigits} digits, which Parquet can hold, ` +
        `got ${text}; take it as CSV`,
    );
  return BigInt(`${sign}${whole}${fraction.padEnd(places, '0')}`);
}
