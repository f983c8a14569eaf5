// The pages of Parquet: the packed bytes of a dictionary, of levels and of values, with their
// headers. Their memory is used again for each column.

import type {ColumnChunk, Encoding, SchemaElement, Statistics} from 'hyparquet';
import type {ByteWriter} from 'hyparquet-writer';
import {writePageHeader} from 'hyparquet-writer/src/datapage.js';

/** Bytes of growing length, in memory that is used again. */
export class Scratch {
  bytes = new Uint8Array(65_536);
  used = 0;

  /** Makes room for this many more bytes. */
  ensure(more: number): void {
    if (this.used + more <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.used + more));
    grown.set(this.bytes.subarray(0, this.used));
    this.bytes = grown;
  }

  /** A number of four bytes, the lowest first. */
  append32(value: number): void {
    this.ensure(4);
    for (let shift = 0; shift < 32; shift += 8) this.bytes[this.used++] = value >>> shift;
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    this.ensure(to - from);
    const {bytes: own} = this;
    // A short text costs more as a view than byte by byte.
    if (to - from > 32) {
      own.set(bytes.subarray(from, to), this.used);
      this.used += to - from;
    } else for (let at = from; at < to; at++) own[this.used++] = bytes[at] ?? 0;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.used);
  }
}

/** One column is written after the other, and each page is handed on before the next is made. */
export const heldPages = {dictionary: new Scratch(), levels: new Scratch(), data: new Scratch()};

interface ChunkFacts {
  readonly distinct: number | null;
  readonly rows: number;
  readonly nulls: number;
  readonly statistics: Statistics;
}

/** Writes the content of `heldPages` as the chunk of one column. */
export function writeChunk(
  writer: ByteWriter,
  element: SchemaElement,
  {distinct, rows, nulls, statistics}: ChunkFacts,
): ColumnChunk {
  const start = writer.offset;
  const {dictionary, levels, data} = heldPages;
  let saved = 0;
  if (distinct !== null) {
    const bytes = pack(dictionary);
    writePageHeader(writer, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: dictionary.used,
      compressed_page_size: bytes.length,
      dictionary_page_header: {num_values: distinct, encoding: 'PLAIN'},
    });
    writer.appendBytes(bytes);
    saved += dictionary.used - bytes.length;
  }
  const encoding: Encoding = distinct === null ? 'PLAIN' : 'RLE_DICTIONARY';
  const dataStart = writer.offset;
  const bytes = pack(data);
  saved += data.used - bytes.length;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levels.used + data.used,
    compressed_page_size: levels.used + bytes.length,
    data_page_header_v2: {
      ...{num_values: rows, num_nulls: nulls, num_rows: rows, encoding},
      ...{definition_levels_byte_length: levels.used, repetition_levels_byte_length: 0},
      is_compressed: true,
    },
  });
  writer.appendBytes(levels.written());
  writer.appendBytes(bytes);
  const size = writer.offset - start;
  const pageOf = (page_type: 'DICTIONARY_PAGE' | 'DATA_PAGE_V2', held: Encoding) =>
    ({page_type, encoding: held, count: 1}) as const;
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type ?? 'BYTE_ARRAY',
      encodings: distinct === null ? ['PLAIN'] : ['PLAIN', encoding],
      path_in_schema: [element.name],
      codec: 'SNAPPY',
      num_values: BigInt(rows),
      total_compressed_size: BigInt(size),
      total_uncompressed_size: BigInt(size + saved),
      data_page_offset: BigInt(dataStart),
      ...(distinct === null ? {} : {dictionary_page_offset: BigInt(start)}),
      statistics,
      encoding_stats: [
        ...(distinct === null ? [] : [pageOf('DICTIONARY_PAGE', 'PLAIN')]),
        pageOf('DATA_PAGE_V2', encoding),
      ],
    },
  };
}

/** Bits of an index into a dictionary of so many values. */
function widthOf(distinct: number): number {
  return distinct < 2 ? 0 : 32 - Math.clz32(distinct - 1);
}

export function indexBytes(count: number, distinct: number): number {
  return Math.ceil((count * widthOf(distinct)) / 8);
}

/** A dictionary with its indexes must at least halve the bytes. */
export function pays(listed: number, plain: number): boolean {
  return plain > 0 && 2 * listed <= plain;
}

export function appendIndexes(indexes: Int32Array, count: number, distinct: number): void {
  const width = widthOf(distinct);
  heldPages.data.ensure(1);
  heldPages.data.bytes[heldPages.data.used++] = width;
  writeHybrid(heldPages.data, {values: indexes, count, width});
}

/** Parquet has the lowest byte first, as every machine that Node runs on. */
export function appendWords(page: Scratch, words: Int32Array): void {
  page.append(
    new Uint8Array(words.buffer, words.byteOffset, words.byteLength),
    0,
    words.byteLength,
  );
}

export function appendBits(page: Scratch, words: Int32Array): void {
  page.ensure((words.length >> 3) + 1);
  for (let at = 0; at < words.length; at += 8) {
    let bits = 0;
    for (let bit = 0; bit < 8; bit++) bits |= (words[at + bit] ?? 0) << bit;
    page.bytes[page.used++] = bits;
  }
}

interface Numbers {
  readonly values: Int32Array | Uint8Array;
  readonly count: number;
  /** Bits of each, at most 24. */
  readonly width: number;
}

/**
 * Writes each run of eight or more equal numbers as one run, and the numbers between runs as packed
 * bits.
 */
export function writeHybrid(page: Scratch, {values, count, width}: Numbers): void {
  let from = 0;
  for (let at = 0; at < count; ) {
    const first = values[at] ?? 0;
    let end = at + 1;
    while (end < count && values[end] === first) end++;
    if (end - at < 8) {
      at += 8;
      continue;
    }
    if (at > from) packBits(page, {values: values.subarray(from, at), count: at - from, width});
    page.ensure(9);
    appendVarint(page, (end - at) * 2);
    for (let shift = 0; shift < width; shift += 8) page.bytes[page.used++] = first >>> shift;
    at = end;
    from = end;
  }
  if (count > from)
    packBits(page, {values: values.subarray(from, count), count: count - from, width});
}

/** Packs numbers in groups of eight; the last group is filled up with zeros. */
function packBits(page: Scratch, {values, count, width}: Numbers): void {
  const groups = (count + 7) >> 3;
  page.ensure(5 + groups * width);
  appendVarint(page, groups * 2 + 1);
  const {bytes} = page;
  let {used} = page;
  let held = 0;
  let bits = 0;
  for (let at = 0; at < groups * 8; at++) {
    held |= (at < count ? (values[at] ?? 0) : 0) << bits;
    for (bits += width; bits >= 8; bits -= 8) {
      bytes[used++] = held;
      held >>>= 8;
    }
  }
  page.used = used;
}

function appendVarint(page: Scratch, value: number): void {
  let left = value;
  for (; left > 0x7f; left >>>= 7) page.bytes[page.used++] = left | 0x80;
  page.bytes[page.used++] = left;
}

/** Repeated texts are searched for within this many bytes, as all readers of Snappy expect. */
const blockBytes = 65_536;
const seen = new Uint16Array(1 << 14);
const packed = new Scratch();

/** @returns the bytes as Snappy, in memory that the next call uses again */
function pack(page: Scratch): Uint8Array {
  packed.used = 0;
  packed.ensure(32 + page.used + Math.ceil(page.used / 6));
  appendVarint(packed, page.used);
  for (let from = 0; from < page.used; from += blockBytes)
    packBlock(page.bytes, from, Math.min(page.used, from + blockBytes));
  return packed.written();
}

/** Writes bytes that repeat within the block as a copy, and all others as they are. */
function packBlock(bytes: Uint8Array, from: number, to: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const bits = Math.min(14, Math.max(8, 32 - Math.clz32(to - from)));
  seen.fill(0, 0, 1 << bits);
  let literal = from;
  let at = from + 1;
  // Bytes that do not repeat are skipped in steps that grow.
  for (let missed = 32; at + 4 <= to; ) {
    const word = view.getInt32(at, true);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - bits);
    const found = from + (seen[slot] ?? 0);
    seen[slot] = at - from;
    if (view.getInt32(found, true) !== word) {
      at += missed++ >> 5;
      continue;
    }
    appendLiteral(bytes, literal, at);
    let end = at + 4;
    while (end < to && bytes[end] === bytes[end - at + found]) end++;
    appendCopy(at - found, end - at);
    at = end;
    literal = end;
    missed = 32;
  }
  appendLiteral(bytes, literal, to);
}

function appendLiteral(bytes: Uint8Array, from: number, to: number): void {
  const last = to - from - 1;
  if (last < 0) return;
  const own = packed.bytes;
  if (last < 60) own[packed.used++] = last << 2;
  else {
    const size = last < 0x100 ? 1 : 2;
    own[packed.used++] = (59 + size) << 2;
    own[packed.used++] = last;
    if (size === 2) own[packed.used++] = last >> 8;
  }
  packed.append(bytes, from, to);
}

function appendCopy(distance: number, length: number): void {
  const own = packed.bytes;
  let left = length;
  while (left > 0) {
    // No copy of fewer than four bytes is left over.
    const size = left >= 68 ? 64 : left > 64 ? 60 : left;
    left -= size;
    if (size < 12 && distance < 2048) {
      own[packed.used++] = 1 | ((size - 4) << 2) | ((distance >> 8) << 5);
      own[packed.used++] = distance;
    } else {
      own[packed.used++] = 2 | ((size - 1) << 2);
      own[packed.used++] = distance;
      own[packed.used++] = distance >> 8;
    }
  }
}
