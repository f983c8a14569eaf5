// The values of one row group, column by column, as Postgres sends them in binary and as Parquet
// stores them. No value becomes a separate object, and the memory is used again for the next group.

import type {ColumnChunk, SchemaElement, Statistics} from 'hyparquet';
import type {ByteWriter} from 'hyparquet-writer';
import {
  appendBits,
  appendIndexes,
  appendWords,
  heldPages,
  indexBytes,
  pays,
  Scratch,
  writeChunk,
  writeHybrid,
} from './parquet-pages.ts';

/** The result of writing a column into `heldPages`. */
interface Encoded {
  /** How many values its dictionary has; null if there is none. */
  readonly distinct: number | null;
  readonly statistics: Pick<Statistics, 'min_value' | 'max_value'>;
}

/** Bytes as they came, and a view of the numbers in them. */
export interface Received {
  readonly bytes: Uint8Array;
  readonly view: DataView;
}

/** The values of a row group and column. */
export abstract class ColumnValues {
  /** By row: 1 if there is a value. */
  readonly #levels: Uint8Array;
  #rows = 0;
  protected count = 0;

  constructor(rows: number) {
    this.#levels = new Uint8Array(rows);
  }

  /** @param length - of the value there; negative for null */
  add(from: Received, at: number, length: number): void {
    if (length < 0) {
      this.#levels[this.#rows++] = 0;
      return;
    }
    this.#levels[this.#rows++] = 1;
    this.put(from, at, length);
    this.count++;
  }

  /** How many bytes its texts take. */
  get heldBytes(): number {
    return 0;
  }

  protected abstract put(from: Received, at: number, length: number): void;

  /** Writes its dictionary and its values into `heldPages`. */
  protected abstract encode(): Encoded;

  /** Writes all values, and removes them from the column. */
  write(writer: ByteWriter, element: SchemaElement): ColumnChunk {
    for (const page of Object.values(heldPages)) page.used = 0;
    writeHybrid(heldPages.levels, {values: this.#levels, count: this.#rows, width: 1});
    const {distinct, statistics} = this.encode();
    const chunk = writeChunk(writer, element, {
      ...{distinct, rows: this.#rows, nulls: this.#rows - this.count},
      statistics: {...statistics, null_count: BigInt(this.#rows - this.count)},
    });
    this.#rows = 0;
    this.count = 0;
    return chunk;
  }
}

/** Puts the value at a place of the bytes into the words of a number, the lowest first. */
export type ReadWords = (words: Int32Array, to: number, view: DataView, at: number) => void;

/** Numbers and booleans: one word of 32 bits for each, or two. */
export class NumberValues extends ColumnValues {
  readonly #kind: 'BOOLEAN' | 'INT32' | 'INT64' | 'DOUBLE';
  readonly #wide: 0 | 1;
  readonly #read: ReadWords;
  readonly #words: Int32Array;
  readonly #distinct: Distinct;
  readonly #indexes: Int32Array;

  constructor(rows: number, kind: 'BOOLEAN' | 'INT32' | 'INT64' | 'DOUBLE', read: ReadWords) {
    super(rows);
    this.#kind = kind;
    this.#wide = kind === 'INT64' || kind === 'DOUBLE' ? 1 : 0;
    this.#read = read;
    this.#words = new Int32Array(rows << this.#wide);
    this.#distinct = new Distinct(rows >> 1);
    this.#indexes = scratchIndexes(rows);
  }

  protected override put({view}: Received, at: number): void {
    this.#read(this.#words, this.count << this.#wide, view, at);
  }

  protected override encode(): Encoded {
    const words = this.#words.subarray(0, this.count << this.#wide);
    if (this.#kind === 'BOOLEAN') {
      appendBits(heldPages.data, words);
      return {distinct: null, statistics: this.#boundsOf(words)};
    }
    const found = this.#findDistinct(words);
    if (found === null) {
      appendWords(heldPages.data, words);
      return {distinct: null, statistics: this.#boundsOf(words)};
    }
    appendWords(heldPages.dictionary, found);
    const distinct = found.length >> this.#wide;
    appendIndexes(this.#indexes, this.count, distinct);
    return {distinct, statistics: this.#boundsOf(found)};
  }

  /** The distinct values; null if a dictionary does not pay. */
  #findDistinct(words: Int32Array): Int32Array | null {
    const count = this.count;
    const wide = this.#wide;
    const found = this.#distinct;
    const most = count >> 1;
    found.clear();
    const {table, mask, firsts} = found;
    let size = 0;
    for (let row = 0; row < count; row++) {
      const low = words[row << wide] ?? 0;
      const high = wide === 1 ? (words[(row << 1) + 1] ?? 0) : 0;
      let slot = mix(low, high) & mask;
      let index = 0;
      for (; ; slot = (slot + 1) & mask) {
        index = (table[slot] ?? 0) - 1;
        if (index < 0) break;
        const first = firsts[index] ?? 0;
        if (words[first << wide] !== low) continue;
        if (wide === 0 || words[(first << 1) + 1] === high) break;
      }
      if (index < 0) {
        if (size === most) return null;
        index = size++;
        firsts[index] = row;
        table[slot] = size;
      }
      this.#indexes[row] = index;
    }
    const bytes = (4 << wide) * size;
    if (!pays(bytes + indexBytes(count, size), (4 << wide) * count)) return null;
    const values = new Int32Array(size << wide);
    for (let index = 0; index < size; index++) {
      const first = (firsts[index] ?? 0) << wide;
      values[index << wide] = words[first] ?? 0;
      if (wide === 1) values[(index << 1) + 1] = words[first + 1] ?? 0;
    }
    return values;
  }

  #boundsOf(words: Int32Array): Encoded['statistics'] {
    if (words.length === 0) return {};
    switch (this.#kind) {
      case 'INT64':
        return boundsOfWhole(words);
      case 'DOUBLE':
        return boundsOfDoubles(new Float64Array(words.slice().buffer));
      default: {
        let [least = 0] = words;
        let most = least;
        for (const word of words) {
          if (word < least) least = word;
          if (word > most) most = word;
        }
        if (this.#kind === 'BOOLEAN') return {min_value: least === 1, max_value: most === 1};
        return {min_value: least, max_value: most};
      }
    }
  }
}

function boundsOfWhole(words: Int32Array): Encoded['statistics'] {
  let least = 0;
  let most = 0;
  for (let at = 2; at < words.length; at += 2) {
    if (isLess(words, at, least)) least = at;
    else if (isLess(words, most, at)) most = at;
  }
  const valueAt = (at: number) =>
    (BigInt(words[at + 1] ?? 0) << 32n) | BigInt((words[at] ?? 0) >>> 0);
  return {min_value: valueAt(least), max_value: valueAt(most)};
}

function isLess(words: Int32Array, one: number, other: number): boolean {
  const [high = 0, otherHigh = 0] = [words[one + 1], words[other + 1]];
  if (high !== otherHigh) return high < otherHigh;
  return (words[one] ?? 0) >>> 0 < (words[other] ?? 0) >>> 0;
}

/** NaN is ignored, and zero has both signs. */
function boundsOfDoubles(values: Float64Array): Encoded['statistics'] {
  let least = Number.POSITIVE_INFINITY;
  let most = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value <= least) least = value;
    if (value >= most) most = value;
  }
  if (least > most) return {};
  return {min_value: least === 0 ? -0 : least, max_value: most === 0 ? 0 : most};
}

/**
 * The distinct values: a hash table with open addressing, and the row in which each value is first.
 */
class Distinct {
  readonly table: Int32Array;
  readonly mask: number;
  readonly firsts: Int32Array;

  constructor(most: number) {
    const places = 1 << (33 - Math.clz32(Math.max(1, most)));
    this.table = scratchTable(places);
    this.mask = places - 1;
    this.firsts = scratchFirsts(most);
  }

  clear(): void {
    this.table.fill(0);
  }
}

/** Memory that every column of numbers uses while it is written. */
function shared(): (least: number) => Int32Array {
  let held = new Int32Array(0);
  return (least) => {
    if (held.length < least) held = new Int32Array(least);
    return held.subarray(0, least);
  };
}
const scratchTable = shared();
const scratchFirsts = shared();
const scratchIndexes = shared();

/** Texts, or decimals of 16 bytes: equal values are held once for each group. */
export class ByteValues extends ColumnValues {
  readonly #isFixed: boolean;
  readonly #held = new Scratch();
  #table = new Int32Array(1024);
  /** By value: its end in `#held`. */
  readonly #ends: Int32Array;
  readonly #indexes: Int32Array;
  #distinct = 0;
  #plainBytes = 0;

  /** @param isFixed - whether all values have one length */
  constructor(rows: number, isFixed = false) {
    super(rows);
    this.#isFixed = isFixed;
    this.#ends = new Int32Array(rows);
    this.#indexes = new Int32Array(rows);
  }

  override get heldBytes(): number {
    return this.#held.used;
  }

  protected override put({bytes}: Received, at: number, length: number): void {
    const mask = this.#table.length - 1;
    let slot = hashOf(bytes, at, at + length) & mask;
    let index = 0;
    for (; ; slot = (slot + 1) & mask) {
      index = (this.#table[slot] ?? 0) - 1;
      if (index < 0 || this.#isHeld(index, bytes, at, length)) break;
    }
    if (index < 0) {
      index = this.#distinct++;
      this.#held.append(bytes, at, at + length);
      this.#ends[index] = this.#held.used;
      this.#table[slot] = this.#distinct;
      if (this.#distinct * 2 > mask) this.#grow();
    }
    this.#indexes[this.count] = index;
    this.#plainBytes += length + (this.#isFixed ? 0 : 4);
  }

  #startOf(index: number): number {
    return index === 0 ? 0 : (this.#ends[index - 1] ?? 0);
  }

  #isHeld(index: number, bytes: Uint8Array, at: number, length: number): boolean {
    const start = this.#startOf(index);
    if ((this.#ends[index] ?? 0) - start !== length) return false;
    const held = this.#held.bytes;
    for (let place = 0; place < length; place++)
      if (held[start + place] !== bytes[at + place]) return false;
    return true;
  }

  #grow(): void {
    const table = new Int32Array(this.#table.length * 2);
    const mask = table.length - 1;
    for (let index = 0; index < this.#distinct; index++) {
      let slot = hashOf(this.#held.bytes, this.#startOf(index), this.#ends[index] ?? 0) & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = index + 1;
    }
    this.#table = table;
  }

  protected override encode(): Encoded {
    const distinct = this.#distinct;
    const statistics = this.#bounds();
    const bytes = this.#held.used + (this.#isFixed ? 0 : 4 * distinct);
    const isListed = pays(bytes + indexBytes(this.count, distinct), this.#plainBytes);
    if (isListed) {
      for (let index = 0; index < distinct; index++) this.#append(heldPages.dictionary, index);
      appendIndexes(this.#indexes, this.count, distinct);
    } else {
      heldPages.data.ensure(this.#plainBytes);
      for (let at = 0; at < this.count; at++) this.#append(heldPages.data, this.#indexes[at] ?? 0);
    }
    this.#table.fill(0);
    this.#held.used = 0;
    this.#distinct = 0;
    this.#plainBytes = 0;
    return {distinct: isListed ? distinct : null, statistics};
  }

  #append(page: Scratch, index: number): void {
    const start = this.#startOf(index);
    const end = this.#ends[index] ?? 0;
    if (!this.#isFixed) page.append32(end - start);
    page.append(this.#held.bytes, start, end);
  }

  /** The least and the greatest value: bytes without a sign for texts, with one for decimals. */
  #bounds(): Encoded['statistics'] {
    if (this.#distinct === 0) return {};
    const valueAt = (index: number) =>
      this.#held.bytes.subarray(this.#startOf(index), this.#ends[index]);
    let least = valueAt(0);
    let most = least;
    for (let index = 1; index < this.#distinct; index++) {
      const value = valueAt(index);
      if (this.#compare(value, least) < 0) least = value;
      else if (this.#compare(value, most) > 0) most = value;
    }
    if (!this.#isFixed) return {min_value: least.slice(), max_value: most.slice()};
    return {min_value: numberOf(least), max_value: numberOf(most)};
  }

  #compare(one: Uint8Array, other: Uint8Array): number {
    if (this.#isFixed) {
      const signs = ((other[0] ?? 0) >> 7) - ((one[0] ?? 0) >> 7);
      if (signs !== 0) return signs;
    }
    const length = Math.min(one.length, other.length);
    for (let at = 0; at < length; at++) {
      const difference = (one[at] ?? 0) - (other[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return one.length - other.length;
  }
}

/** The number that bytes hold, the highest first, with a sign. */
function numberOf(bytes: Uint8Array): bigint {
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

function hashOf(bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return mix(hash, 0);
}

function mix(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
