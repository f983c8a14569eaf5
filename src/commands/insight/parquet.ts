// Rows of a statement as a file of Parquet: row groups of bounded size, amounts exact, moments in UTC.

import type {SchemaElement} from 'hyparquet';
import {ByteWriter, ParquetWriter} from 'hyparquet-writer';
import pg from 'pg';
import {UsageError} from '../../base/errors.ts';

/** Takes bytes in their order. */
export type Sink = (bytes: Uint8Array) => Promise<void>;

/** Decimals of an amount: the service sends at most four. */
const places = 4;
const digits = 18;
/** Values that are held at once, whatever the width of a row. */
const heldValues = 100_000;
const fetchedRows = 1_000;

interface Column {
  readonly name: string;
  readonly element: SchemaElement;
  /** The column in SQL, in a form that `read` understands. */
  readonly sql: string;
  readonly read: (text: string) => unknown;
}

/**
 * Writes the rows of a statement. The caller has begun a transaction.
 * @returns how many rows
 * @throws {UsageError} an amount has more decimals, or more digits, than the file can hold exactly
 */
export async function writeParquet(client: pg.ClientBase, sql: string, sink: Sink): Promise<number> {
  const columns = await describe(client, sql);
  const writer = new SinkWriter(sink);
  const file = new ParquetWriter({
    writer,
    schema: [{name: 'root', num_children: columns.length}, ...columns.map(({element}) => element)],
    createdBy: 'fieldmirror',
  });
  const list = columns.map((column) => column.sql).join(', ');
  await client.query(`DECLARE exported NO SCROLL CURSOR FOR SELECT ${list} FROM (${sql}) AS exported`);
  const groupRows = Math.max(fetchedRows, Math.floor(heldValues / columns.length));
  let written = 0;
  for (
    let group = await readGroup(client, columns, groupRows);
    ;
    group = await readGroup(client, columns, groupRows)
  ) {
    const count = group[0]?.length ?? 0;
    if (count === 0) break;
    const columnData = columns.map(({name}, at) => ({name, data: group[at] ?? [], offsetIndex: false}));
    await file.write({columnData, rowGroupSize: count});
    written += count;
  }
  await client.query('CLOSE exported');
  await file.finish();
  return written;
}

/** Values by column. */
async function readGroup(
  client: pg.ClientBase,
  columns: readonly Column[],
  most: number,
): Promise<unknown[][]> {
  const held: unknown[][] = columns.map(() => []);
  for (let rows = 0; rows < most; rows += fetchedRows) {
    const fetched = await client.query<(string | null)[]>({
      text: `FETCH ${fetchedRows} FROM exported`,
      rowMode: 'array',
      types: {getTypeParser: () => (value: string) => value},
    } as pg.QueryArrayConfig);
    for (const row of fetched.rows)
      for (const [at, {read}] of columns.entries()) {
        const text = row[at] ?? null;
        held[at]?.push(text === null ? null : read(text));
      }
    if (fetched.rows.length < fetchedRows) break;
  }
  return held;
}

async function describe(client: pg.ClientBase, sql: string): Promise<Column[]> {
  const {fields} = await client.query(`SELECT * FROM (${sql}) AS described LIMIT 0`);
  return fields.map(({name, dataTypeID}) => columnOf(name, dataTypeID));
}

function columnOf(name: string, typeId: number): Column {
  const {INT2, INT4, INT8, NUMERIC, FLOAT8, BOOL, DATE, TIMESTAMPTZ} = pg.types.builtins;
  const own = pg.escapeIdentifier(name);
  const optional = {name, repetition_type: 'OPTIONAL'} as const;
  switch (typeId) {
    case INT2:
    case INT4:
      return {name, sql: own, element: {...optional, type: 'INT32'}, read: Number};
    case INT8:
      return {name, sql: own, element: {...optional, type: 'INT64'}, read: BigInt};
    case NUMERIC:
      return {
        ...{name, sql: own, read: (text) => readDecimal(text, name)},
        element: {...optional, type: 'INT64', converted_type: 'DECIMAL', scale: places, precision: digits},
      };
    case FLOAT8:
      return {name, sql: own, element: {...optional, type: 'DOUBLE'}, read: Number};
    case BOOL:
      return {name, sql: own, element: {...optional, type: 'BOOLEAN'}, read: (text) => text === 't'};
    case DATE:
      return {
        ...{name, sql: `${own} - DATE '1970-01-01' AS ${own}`, read: Number},
        element: {...optional, type: 'INT32', converted_type: 'DATE'},
      };
    case TIMESTAMPTZ:
      return {
        ...{name, sql: `(extract(epoch FROM ${own}) * 1000000)::bigint AS ${own}`, read: BigInt},
        element: {
          ...{...optional, type: 'INT64', converted_type: 'TIMESTAMP_MICROS'},
          logical_type: {type: 'TIMESTAMP', isAdjustedToUTC: true, unit: 'MICROS'},
        },
      };
    default:
      return {
        ...{name, sql: `${own}::text AS ${own}`, read: (text: string) => text},
        element: {...optional, type: 'BYTE_ARRAY', converted_type: 'UTF8'},
      };
  }
}

/** The amount in units of its last place, as the file holds it. */
function readDecimal(text: string, column: string): bigint {
  const [, sign, whole = '', fraction = ''] = /^(-?)(\d+)(?:\.(\d+?))?0*$/.exec(text) ?? [];
  if (sign === undefined || fraction.length > places || whole.length > digits - places)
    throw new UsageError(
      `${column}: expected an amount of at most ${digits - places} digits and ${places} decimals, which Parquet is given here, got ${text}; take it as CSV`,
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
    const bytes = new Uint8Array(this.buffer, 0, this.index).slice();
    this.index = 0;
    await this.#sink(bytes);
  }

  override async finish(): Promise<void> {
    await this.flush();
  }
}
