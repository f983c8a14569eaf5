// The values of one row group, column by column, as Postgres sends them in binary and as Parquet
// stores them. No value becomes a separate object, and the memory is used again for the next group.

import type {ColumnChunk, SchemaElement, Statistics} from 'hyparquet';
import type {ByteWriter} from 'hyparquet-writer';
import {
  appendBits,
  appendIndexes,
  appendWords,
  countIndexBytes,
  isWorthwhile,
  pageBuffers,
  ReusedBuffer,
  writeChunk,
  writeHybrid,
} from './parquet-pages.ts';

/** The result of writing a column into `pageBuffers`. */
interface EncodedColumn {
  /** How many values its dictionary has; null if there is none. */
  readonly distinct: number | null;
  readonly statistics: Pick<Statistics, 'min_value' | 'max_value'>;
}

/** Bytes as they came, and a view of the numbers in them. */
export interface ReceivedBytes {
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
  add(from: ReceivedBytes, at: number, length: number): void {
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

  protected abstract put(from: ReceivedBytes, at: number, length: number): void;

  /** Writes its dictionary and its values into `pageBuffers`. */
  protected abstract encode(): EncodedColumn;

  /** Writes all values, and removes them from the column. */
  write(writer: ByteWriter, element: SchemaElement): ColumnChunk {
    for (const page of Object.values(pageBuffers)) page.used = 0;
    writeHybrid(pageBuffers.levels, {values: this.#levels, count: this.#rows, width: 1});
    const {distinct, statistics} = this.encode();
    const chunk = writeChunk(writer, element, {
      distinct,
      rows: this.#rows,
      nulls: this.#rows - this.count,
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

  protected override put({view}: ReceivedBytes, at: number): void {
    this.#read(this.#words, this.count << this.#wide, view, at);
  }

  protected override encode(): EncodedColumn {
    const words = this.#words.subarray(0, this.count << this.#wide);
    if (this.#kind === 'BOOLEAN') {
      appendBits(pageBuffers.data, words);
      return {distinct: null, statistics: this.#boundsOf(words)};
    }
    const distinctWords = this.#findDistinct(words);
    if (distinctWords === null) {
      appendWords(pageBuffers.data, words);
      return {distinct: null, statistics: this.#boundsOf(words)};
    }
    appendWords(pageBuffers.dictionary, distinctWords);
    const distinct = distinctWords.length >> this.#wide;
    appendIndexes(this.#indexes, this.count, distinct);
    return {distinct, statistics: this.#boundsOf(distinctWords)};
  }

  /** The distinct values; null if a dictionary does not pay. */
  #findDistinct(words: Int32Array): Int32Array | null {
    const count = this.count;
    const wordShift = this.#wide;
    const distinct = this.#distinct;
    const maxDistinct = count >> 1;
    distinct.clear();
    const {table, mask, firsts} = distinct;
    let size = 0;
    for (let row = 0; row < count; row++) {
      const low = words[row << wordShift] ?? 0;
      const high = wordShift === 1 ? (words[(row << 1) + 1] ?? 0) : 0;
      let slot = mixBits(low, high) & mask;
      let index = 0;
      for (; ; slot = (slot + 1) & mask) {
        index = (table[slot] ?? 0) - 1;
        if (index < 0) break;
        const first = firsts[index] ?? 0;
        if (words[first << wordShift] !== low) continue;
        if (wordShift === 0 || words[(first << 1) + 1] === high) break;
      }
      if (index < 0) {
        if (size === maxDistinct) return null;
        index = size++;
        firsts[index] = row;
        table[slot] = size;
      }
      this.#indexes[row] = index;
    }
    const bytes = (4 << wordShift) * size;
    if (!isWorthwhile(bytes + countIndexBytes(count, size), (4 << wordShift) * count)) return null;
    const values = new Int32Array(size << wordShift);
    for (let index = 0; index < size; index++) {
      const first = (firsts[index] ?? 0) << wordShift;
      values[index << wordShift] = words[first] ?? 0;
      if (wordShift === 1) values[(index << 1) + 1] = words[first + 1] ?? 0;
    }
    return values;
  }

  #boundsOf(words: Int32Array): EncodedColumn['statistics'] {
    if (words.length === 0) return {};
    switch (this.#kind) {
      case 'INT64':
        return findWholeBounds(words);
      case 'DOUBLE':
        return findDoubleBounds(new Float64Array(words.slice().buffer));
      default: {
        let [minimum = 0] = words;
        let maximum = minimum;
        for (const word of words) {
          if (word < minimum) minimum = word;
          if (word > maximum) maximum = word;
        }
        if (this.#kind === 'BOOLEAN') return {min_value: minimum === 1, max_value: maximum === 1};
        return {min_value: minimum, max_value: maximum};
      }
    }
  }
}

function findWholeBounds(words: Int32Array): EncodedColumn['statistics'] {
  let minimum = 0;
  let maximum = 0;
  for (let at = 2; at < words.length; at += 2) {
    if (isLess(words, at, minimum)) minimum = at;
    else if (isLess(words, maximum, at)) maximum = at;
  }
  const readValue = (at: number) =>
    (BigInt(words[at + 1] ?? 0) << 32n) | BigInt((words[at] ?? 0) >>> 0);
  return {min_value: readValue(minimum), max_value: readValue(maximum)};
}

function isLess(words: Int32Array, left: number, right: number): boolean {
  const [leftHigh = 0, rightHigh = 0] = [words[left + 1], words[right + 1]];
  if (leftHigh !== rightHigh) return leftHigh < rightHigh;
  return (words[left] ?? 0) >>> 0 < (words[right] ?? 0) >>> 0;
}

/** NaN is ignored, and zero has both signs. */
function findDoubleBounds(values: Float64Array): EncodedColumn['statistics'] {
  let minimum = Number.POSITIVE_INFINITY;
  let maximum = Number.NEGATIVE_INFINITY;
  for (const value of values) {
    if (value <= minimum) minimum = value;
    if (value >= maximum) maximum = value;
  }
  if (minimum > maximum) return {};
  return {min_value: minimum === 0 ? -0 : minimum, max_value: maximum === 0 ? 0 : maximum};
}

/**
 * The distinct values: a hash table with open addressing, and the row in which each value is first.
 */
class Distinct {
  readonly table: Int32Array;
  readonly mask: number;
  readonly firsts: Int32Array;

  constructor(maxValues: number) {
    const slots = 1 << (33 - Math.clz32(Math.max(1, maxValues)));
    this.table = scratchTable(slots);
    this.mask = slots - 1;
    this.firsts = scratchFirsts(maxValues);
  }

  clear(): void {
    this.table.fill(0);
  }
}

/** Memory that every column of numbers uses while it is written. */
function createSharedMemory(): (minLength: number) => Int32Array {
  let memory = new Int32Array(0);
  return (minLength) => {
    if (memory.length < minLength) memory = new Int32Array(minLength);
    return memory.subarray(0, minLength);
  };
}
const scratchTable = createSharedMemory();
const scratchFirsts = createSharedMemory();
const scratchIndexes = createSharedMemory();

/** Texts, or decimals of 16 bytes: equal values are held once for each group. */
export class ByteValues extends ColumnValues {
  readonly #isFixed: boolean;
  readonly #held = new ReusedBuffer();
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

  protected override put({bytes}: ReceivedBytes, at: number, length: number): void {
    const mask = this.#table.length - 1;
    let slot = hashBytes(bytes, at, at + length) & mask;
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
    const storedBytes = this.#held.bytes;
    for (let place = 0; place < length; place++)
      if (storedBytes[start + place] !== bytes[at + place]) return false;
    return true;
  }

  #grow(): void {
    const table = new Int32Array(this.#table.length * 2);
    const mask = table.length - 1;
    for (let index = 0; index < this.#distinct; index++) {
      let slot = hashBytes(this.#held.bytes, this.#startOf(index), this.#ends[index] ?? 0) & mask;
      while (table[slot] !== 0) slot = (slot + 1) & mask;
      table[slot] = index + 1;
    }
    this.#table = table;
  }

  protected override encode(): EncodedColumn {
    const distinct = this.#distinct;
    const statistics = this.#bounds();
    const bytes = this.#held.used + (this.#isFixed ? 0 : 4 * distinct);
    const hasDictionary = isWorthwhile(
      bytes + countIndexBytes(this.count, distinct),
      this.#plainBytes,
    );
    if (hasDictionary) {
      for (let index = 0; index < distinct; index++) this.#append(pageBuffers.dictionary, index);
      appendIndexes(this.#indexes, this.count, distinct);
    } else {
      pageBuffers.data.ensure(this.#plainBytes);
      for (let at = 0; at < this.count; at++)
        this.#append(pageBuffers.data, this.#indexes[at] ?? 0);
    }
    this.#table.fill(0);
    this.#held.used = 0;
    this.#distinct = 0;
    this.#plainBytes = 0;
    return {distinct: hasDictionary ? distinct : null, statistics};
  }

  #append(page: ReusedBuffer, index: number): void {
    const start = this.#startOf(index);
    const end = this.#ends[index] ?? 0;
    if (!this.#isFixed) page.append32(end - start);
    page.append(this.#held.bytes, start, end);
  }

  /** The least and the greatest value: bytes without a sign for texts, with one for decimals. */
  #bounds(): EncodedColumn['statistics'] {
    if (this.#distinct === 0) return {};
    const readValue = (index: number) =>
      this.#held.bytes.subarray(this.#startOf(index), this.#ends[index]);
    let minimum = readValue(0);
    let maximum = minimum;
    for (let index = 1; index < this.#distinct; index++) {
      const value = readValue(index);
      if (this.#compare(value, minimum) < 0) minimum = value;
      else if (this.#compare(value, maximum) > 0) maximum = value;
    }
    if (!this.#isFixed) return {min_value: minimum.slice(), max_value: maximum.slice()};
    return {min_value: toBigInt(minimum), max_value: toBigInt(maximum)};
  }

  #compare(left: Uint8Array, right: Uint8Array): number {
    if (this.#isFixed) {
      const signs = ((right[0] ?? 0) >> 7) - ((left[0] ?? 0) >> 7);
      if (signs !== 0) return signs;
    }
    const length = Math.min(left.length, right.length);
    for (let at = 0; at < length; at++) {
      const difference = (left[at] ?? 0) - (right[at] ?? 0);
      if (difference !== 0) return difference;
    }
    return left.length - right.length;
  }
}

/** The number that bytes hold, the highest first, with a sign. */
function toBigInt(bytes: Uint8Array): bigint {
  return BigInt.asIntN(bytes.length * 8, BigInt(`0x${Buffer.from(bytes).toString('hex')}`));
}

function hashBytes(bytes: Uint8Array, from: number, to: number): number {
  let hash = to - from;
  for (let at = from; at < to; at++) hash = Math.imul(hash ^ (bytes[at] ?? 0), 0x01000193);
  return mixBits(hash, 0);
}

function mixBits(low: number, high: number): number {
  const mixed = Math.imul(low ^ Math.imul(high, 0x85ebca6b), 0x9e3779b1);
  return mixed ^ (mixed >>> 15);
}
