// Rows of a statement as a file of Parquet: row groups of bounded size, numbers exact, moments in
// UTC. Postgres sends the rows in binary, so that no value passes through a text. A column of
// numbers has as many decimals as its values need.

import type {SchemaElement} from 'hyparquet';
import {ByteWriter, ParquetWriter} from 'hyparquet-writer';
import pg from 'pg';
import {UsageError} from '../core/errors.ts';
import {readCopy} from './format-answer.ts';
import {
  ByteValues,
  type ColumnValues,
  NumberValues,
  type ReadWords,
  type ReceivedBytes,
} from './parquet-columns.ts';

/**
 * Receives bytes in their order. When its promise has resolved, it no longer needs them: their
 * memory is used again.
 */
type Sink = (bytes: Uint8Array) => Promise<void>;

/**
 * A row group ends at this many values, whatever the width of a row, at this many rows, or if its
 * texts take this many bytes. The writer keeps a kilobyte for each group and column until the end.
 */
const groupLimits = {values: 1_500_000, rows: 200_000, bytes: 8_000_000};

/** The content of a file. */
interface WrittenFile {
  readonly rows: number;
  readonly columns: readonly WrittenColumn[];
}

/** A column of a file. */
export interface WrittenColumn {
  readonly name: string;
  /** The name of its type in SQL: `BIGINT`, `DECIMAL(18, 4)`, `VARCHAR`. */
  readonly type: string;
  /**
   * The sum of its values, for exact numbers; null for any other column, and if it has no value.
   */
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
): Promise<WrittenFile> {
  const {fields} = await client.query(`SELECT * FROM (${sql}) AS described LIMIT 0`);
  const measuredColumns = await measureNumbers(client, sql, fields);
  const groupRows = Math.min(groupLimits.rows, Math.ceil(groupLimits.values / fields.length));
  const columns = fields.map(({name, dataTypeID}) =>
    buildColumn(name, dataTypeID, {
      rows: groupRows,
      decimal: measuredColumns.get(name)?.decimal ?? minimumDecimal,
    }),
  );
  const columnList = columns.map((column) => column.sql).join(', ');
  const file = new GroupedFile(columns, sink);
  const reader = new RowReader(columns.map(({values}) => values));
  await readCopy(
    client,
    `COPY (SELECT ${columnList} FROM (${sql}) AS exported) TO STDOUT (FORMAT binary)`,
    async (part) => {
      reader.take(part);
      while (reader.read(groupRows)) await file.writeGroup(reader);
    },
  );
  await file.writeGroup(reader);
  return {
    rows: await file.finish(),
    columns: columns.map(({name, element}) => ({
      name,
      type: spellType(element),
      sum: measuredColumns.get(name)?.sum ?? null,
    })),
  };
}

/** A file that is written group by group. */
class GroupedFile {
  readonly #columns: readonly ParquetColumn[];
  readonly #writer: SinkWriter;
  readonly #file: ParquetWriter;

  constructor(columns: readonly ParquetColumn[], sink: Sink) {
    this.#columns = columns;
    this.#writer = new SinkWriter(sink);
    this.#file = new ParquetWriter({
      writer: this.#writer,
      schema: [
        {name: 'root', num_children: columns.length},
        ...columns.map(({element}) => element),
      ],
      createdBy: 'fieldmirror',
    });
  }

  /** Writes the rows that the columns hold. */
  async writeGroup(reader: RowReader): Promise<void> {
    const rows = BigInt(reader.takeRows());
    if (rows === 0n) return;
    const start = this.#writer.offset;
    const columns = this.#columns.map(({values, element}) => values.write(this.#writer, element));
    this.#file.row_groups.push({
      columns,
      total_byte_size: columns.reduce(
        (total, {meta_data: metadata}) => total + (metadata?.total_uncompressed_size ?? 0n),
        0n,
      ),
      num_rows: rows,
      total_compressed_size: BigInt(this.#writer.offset - start),
    });
    this.#file.num_rows += rows;
    await this.#writer.flush();
  }

  /** @returns how many rows it has */
  async finish(): Promise<number> {
    await this.#file.finish();
    return Number(this.#file.num_rows);
  }
}

/** Before the first row: a mark of eleven bytes, flags, and the length of what follows them. */
const copyHeadBytes = 19;

/** Puts the rows of a COPY in binary into columns. */
class RowReader {
  readonly #columns: readonly ColumnValues[];
  #bytes: Buffer = Buffer.alloc(0);
  #at = 0;
  #rows = 0;
  #isBegun = false;

  constructor(columns: readonly ColumnValues[]) {
    this.#columns = columns;
  }

  /** Receives the next bytes, which may end inside a row. */
  take(chunk: Buffer): void {
    const unreadBytes = this.#bytes.subarray(this.#at);
    this.#bytes = unreadBytes.length === 0 ? chunk : Buffer.concat([unreadBytes, chunk]);
    this.#at = 0;
  }

  /** @returns whether the columns hold a group; otherwise there is no further whole row yet */
  read(groupRows: number): boolean {
    const {buffer, byteOffset, length} = this.#bytes;
    const view = new DataView(buffer, byteOffset, length);
    const from = {bytes: this.#bytes, view};
    if (!this.#isBegun && length >= copyHeadBytes) {
      this.#at = copyHeadBytes;
      this.#isBegun = true;
    }
    const columns = this.#columns;
    while (this.#isBegun && this.#isWhole(view)) {
      let at = this.#at + 2;
      for (const column of columns) {
        const size = view.getInt32(at);
        at += 4;
        column.add(from, at, size);
        if (size > 0) at += size;
      }
      this.#at = at;
      this.#rows++;
      if (this.#rows === groupRows) return true;
      if (this.#rows % 64 === 0 && this.#heldBytes() > groupLimits.bytes) return true;
    }
    return false;
  }

  /** Whether the next row has arrived whole; false after the last row. */
  #isWhole(view: DataView): boolean {
    const end = view.byteLength;
    let at = this.#at + 2;
    if (at > end || view.getInt16(this.#at) < 0) return false;
    for (let columnsLeft = this.#columns.length; columnsLeft > 0; columnsLeft--) {
      if (at + 4 > end) return false;
      at += 4 + Math.max(0, view.getInt32(at));
    }
    return at <= end;
  }

  #heldBytes(): number {
    return this.#columns.reduce((total, {heldBytes}) => total + heldBytes, 0);
  }

  /** The number of rows that the columns hold; the count begins again at 0. */
  takeRows(): number {
    const rows = this.#rows;
    this.#rows = 0;
    return rows;
  }
}

/** Passes its bytes on after each row group, and keeps none. */
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

/**
 * A column of numbers has at least these decimals and digits: the service sends amounts with at
 * most four decimals.
 */
const minimumDecimal = {places: 4, digits: 18};
/**
 * No decimal of Parquet has more digits. Decimals of up to `minimumDecimal.digits` digits are whole
 * numbers of 64 bits; others take 16 bytes.
 */
const maxDigits = 38;
const wideBytes = 16;
interface ParquetColumn {
  readonly name: string;
  readonly element: SchemaElement;
  /** The column in SQL, in a form whose bytes `values` can read. */
  readonly sql: string;
  readonly values: ColumnValues;
}

/** The name of a column's type in SQL. */
function spellType({type, converted_type: converted, precision, scale}: SchemaElement): string {
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
async function measureNumbers(
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

function buildColumn(
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
