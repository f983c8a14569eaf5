// The rows of a page in the form in which they cross threads: one text, two lists and the lines,
// however many rows there are. The cost of a message grows with the number of its values, and each
// separate row would be half a dozen values. A record is packed as soon as it is read. Otherwise
// the garbage collector would copy a whole page of live records again and again.

import type {FieldRecord} from '../api/xml-document.ts';
import {encodeCopyRow} from '../postgres/sql.ts';
import {recallRow} from '../streams/record-plan.ts';
import type {RowSet} from '../streams/record-rows.ts';
import type {Child, Stream} from '../streams/stream.ts';
import type {EncodedRow, HeldValues, MirrorTable, Row} from '../streams/table.ts';

/** A record that was read, with its place in its page. */
export interface PlacedRowSet {
  readonly at: number;
  readonly rowSet: EncodedRowSet;
}

/**
 * The rows in order: for each record its own row, then those of its children, one kind after the
 * other.
 */
export interface PackedRows {
  /**
   * For each record its place, and for each kind of children their number; -1 if their element was
   * not sent.
   */
  readonly counts: Int32Array<ArrayBuffer>;
  /** For each record its number and for each row its keys and its hash, separated by tabs. */
  readonly texts: string;
  readonly lines: Uint8Array<ArrayBuffer>;
  /** The place in `lines` where each row's line ends. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

const notSent = -1;
/**
 * A character takes three bytes of UTF-8 at most; half of a surrogate pair counts as one character.
 */
const maxBytesPerCharacter = 3;
/** The buffer to which lines are written, page after page. */
let scratch: Buffer = Buffer.allocUnsafeSlow(1 << 20);

/** Packs the rows of one page, record by record; a process may use only one packer at a time. */
export class RowPacker {
  readonly #stream: Stream;
  readonly #page: number;
  readonly #counts: number[] = [];
  readonly #texts: string[] = [];
  readonly #ends: number[] = [];
  #end = 0;

  constructor(stream: Stream, page: number) {
    this.#stream = stream;
    this.#page = page;
  }

  /** @param at - the record's place in the page */
  add(at: number, {number, row, children}: RowSet): void {
    this.#counts.push(at);
    this.#texts.push(number);
    this.#addRow(this.#stream.table, row);
    for (const {element, table} of this.#stream.children) {
      const rows = children.find((sentChildren) => sentChildren.element === element)?.rows;
      this.#counts.push(rows?.length ?? notSent);
      for (const child of rows ?? []) this.#addRow(table, child);
    }
  }

  pack(): PackedRows {
    return {
      counts: Int32Array.from(this.#counts),
      texts: this.#texts.join('\t'),
      lines: new Uint8Array(scratch.subarray(0, this.#end)),
      ends: Uint32Array.from(this.#ends),
    };
  }

  #addRow(table: MirrorTable, row: Row): void {
    const {key, hash, line} = encodeLine(table, row, this.#page);
    this.#texts.push(...key, hash);
    const neededBytes = this.#end + line.length * maxBytesPerCharacter;
    if (neededBytes > scratch.length) scratch = grow(scratch, neededBytes);
    this.#end += scratch.write(line, this.#end);
    this.#ends.push(this.#end);
  }
}

function grow(buffer: Buffer, neededBytes: number): Buffer {
  const larger = Buffer.allocUnsafeSlow(2 * neededBytes);
  buffer.copy(larger);
  return larger;
}

/** The buffers of packed rows, if any; they are transferred to another thread without a copy. */
export function buffersOf(packed: PackedRows | undefined): ArrayBuffer[] {
  return packed === undefined
    ? []
    : [packed.counts.buffer, packed.lines.buffer, packed.ends.buffer];
}

/** Unpacks the rows; their lines are views of one buffer. */
export function unpackRows(stream: Stream, packed: PackedRows): PlacedRowSet[] {
  const reading = new PackedReading(packed);
  const records: PlacedRowSet[] = [];
  while (!reading.isAtEnd) {
    const at = reading.nextCount();
    const number = reading.nextText();
    const row = reading.nextRow(stream.table);
    const children: {element: string; rows: EncodedRow[]}[] = [];
    for (const {element, table} of stream.children) {
      const count = reading.nextCount();
      if (count !== notSent)
        children.push({element, rows: Array.from({length: count}, () => reading.nextRow(table))});
    }
    records.push({at, rowSet: {number, row, children}});
  }
  return records;
}

class PackedReading {
  readonly #counts: Int32Array;
  readonly #texts: readonly string[];
  readonly #lines: Buffer;
  readonly #ends: Uint32Array;
  #count = 0;
  #text = 0;
  #row = 0;
  #end = 0;

  constructor({counts, texts, lines, ends}: PackedRows) {
    this.#counts = counts;
    this.#texts = texts.split('\t');
    this.#lines = Buffer.from(lines.buffer);
    this.#ends = ends;
  }

  get isAtEnd(): boolean {
    return this.#count === this.#counts.length;
  }

  nextCount(): number {
    return this.#counts[this.#count++] ?? notSent;
  }

  nextText(): string {
    return this.#texts[this.#text++] ?? '';
  }

  nextRow(table: MirrorTable): EncodedRow {
    const key = table.key.map(() => this.nextText());
    const hash = this.nextText();
    const start = this.#end;
    this.#end = this.#ends[this.#row++] ?? start;
    return {key, hash, line: this.#lines.subarray(start, this.#end)};
  }
}

/** The rows that one record makes, ready for the loader. */
export interface EncodedRowSet {
  /** The record's number, as used in paths. */
  readonly number: string;
  readonly row: EncodedRow;
  /**
   * One entry for each element of children that the record contained: a missing element proves
   * nothing.
   */
  readonly children: readonly {readonly element: string; readonly rows: readonly EncodedRow[]}[];
}

/**
 * Encodes the rows of a record that was requested by its number: values that its document omits
 * stay as stored.
 */
export function encodeShown(stream: Stream, rowSet: RowSet, record: FieldRecord): EncodedRowSet {
  const {row} = rowSet;
  const recall = (storedValues: HeldValues) =>
    encodeRow(stream.table, recallRow(stream, {row, record}, storedValues));
  const encoded = encodeRowSet(stream, rowSet);
  return {...encoded, row: {...encoded.row, recall}};
}

function encodeRowSet(stream: Stream, {number, row, children}: RowSet): EncodedRowSet {
  return {
    number,
    row: encodeRow(stream.table, row),
    children: children.map(({element, rows}) => {
      const {table} = findChild(stream, element);
      return {element, rows: rows.map((child) => encodeRow(table, child))};
    }),
  };
}

function findChild(stream: Stream, element: string): Child {
  const child = stream.children.find((candidate) => candidate.element === element);
  if (child === undefined) throw new TypeError(`${stream.name} has no children in ${element}`);
  return child;
}

/** An integer with a leading zero or sign: all others are canonical already. */
const integer = /^(?:[+-]\d+|0\d+)$/;

/** A row in the format of COPY. @throws {TypeError} as `encodeLine` does */
export function encodeRow(table: MirrorTable, row: Row, page: number | null = null): EncodedRow {
  const {line, ...encoded} = encodeLine(table, row, page);
  return {...encoded, line: Buffer.from(line)};
}

/**
 * A row with its line as a text.
 * @param page - the page that contained the row's record; null if it was requested by its number
 * @throws {TypeError} the row has no key, so it would never be found again
 */
function encodeLine(
  table: MirrorTable,
  row: Row,
  page: number | null,
): Pick<EncodedRow, 'key' | 'hash'> & {readonly line: string} {
  const {values, attributes, hash} = row;
  const key = table.key.map((name) => {
    const at = table.columns.findIndex((column) => column.name === name);
    const value = values[at] ?? null;
    if (value === null)
      throw new TypeError(`${table.name}.${name}: a row from the service needs its key`);
    // `007` and `7` are two texts and one bigint.
    return integer.test(value) ? BigInt(value).toString() : value;
  });
  return {
    key,
    hash,
    line: encodeCopyRow([...values, attributes, `\\x${hash}`, page === null ? null : String(page)]),
  };
}
