// The rows of a page as they cross threads: two texts, two lists and the lines, however many rows there are. A message
// costs by the values in it, and each row for itself would be half a dozen.

import type {Stream} from '../../streams/stream.ts';
import type {EncodedRow} from '../../warehouse/rows/encoded-row.ts';
import type {MirrorTable} from '../../warehouse/rows/mirror-table.ts';
import type {EncodedRowSet} from './encoded-row-set.ts';

/** A record that was read, with its place in its page. */
export interface PlacedRowSet {
  readonly at: number;
  readonly rowSet: EncodedRowSet;
}

/** The rows in order: of each record its own, then those of its children, one kind after the other. */
export interface PackedRows {
  /** Of each record its place, and of each kind of children how many came; -1 where their element was not sent. */
  readonly counts: Int32Array<ArrayBuffer>;
  /** Of each record its number, of each row its keys and its hash, with tabs between. */
  readonly texts: string;
  readonly lines: Uint8Array<ArrayBuffer>;
  /** The place in `lines` where each row's line ends. */
  readonly ends: Uint32Array<ArrayBuffer>;
}

const notSent = -1;

export function packRows(stream: Stream, records: readonly PlacedRowSet[]): PackedRows {
  const counts: number[] = [];
  const texts: string[] = [];
  const rows: EncodedRow[] = [];
  const add = (row: EncodedRow) => {
    texts.push(...row.key, row.hash);
    rows.push(row);
  };
  for (const {at, rowSet} of records) {
    counts.push(at);
    texts.push(rowSet.number);
    add(rowSet.row);
    for (const {element} of stream.children) {
      const sent = rowSet.children.find((candidate) => candidate.element === element);
      counts.push(sent?.rows.length ?? notSent);
      for (const row of sent?.rows ?? []) add(row);
    }
  }
  return {counts: Int32Array.from(counts), texts: texts.join('\t'), ...joinLines(rows)};
}

function joinLines(rows: readonly EncodedRow[]): Pick<PackedRows, 'lines' | 'ends'> {
  const ends = new Uint32Array(rows.length);
  let end = 0;
  for (const [at, {line}] of rows.entries()) {
    end += line.length;
    ends[at] = end;
  }
  // Not of the pool of small buffers: it is given away.
  const lines = new Uint8Array(end);
  for (const [at, {line}] of rows.entries()) lines.set(line, (ends[at] ?? 0) - line.length);
  return {lines, ends};
}

/** The buffers of packed rows, if any: another thread takes them over without a copy. */
export function buffersOf(packed: PackedRows | undefined): ArrayBuffer[] {
  return packed === undefined ? [] : [packed.counts.buffer, packed.lines.buffer, packed.ends.buffer];
}

/** The rows as they were packed; their lines are views of the one buffer. */
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
