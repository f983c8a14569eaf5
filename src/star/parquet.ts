// Rows of a statement as a file of Parquet: row groups of bounded size, numbers exact, moments in
// UTC. Postgres sends the rows in binary, so that no value passes through a text.

import {ByteWriter, ParquetWriter} from 'hyparquet-writer';
import type pg from 'pg';
import {readCopy} from './format-answer.ts';
import type {ColumnValues} from './parquet-columns.ts';
import {
  buildColumn,
  measureNumbers,
  minimumDecimal,
  type ParquetColumn,
  spellType,
} from './parquet-types.ts';

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
