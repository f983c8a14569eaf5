// The pages of Parquet: the packed bytes of a dictionary, of levels and of values, with their
// headers. Their memory is used again for each column.

import type {ColumnChunk, Encoding, SchemaElement, Statistics} from 'hyparquet';
import type {ByteWriter} from 'hyparquet-writer';
import {writePageHeader} from 'hyparquet-writer/src/datapage.js';

/** Bytes of growing length, in memory that is used again. */
export class ReusedBuffer {
  bytes = new Uint8Array(65_536);
  used = 0;

  /** Makes room for this many more bytes. */
  ensure(extraBytes: number): void {
    if (this.used + extraBytes <= this.bytes.length) return;
    const grown = new Uint8Array(Math.max(this.bytes.length * 2, this.used + extraBytes));
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
    const {bytes: target} = this;
    // A short text costs more as a view than byte by byte.
    if (to - from > 32) {
      target.set(bytes.subarray(from, to), this.used);
      this.used += to - from;
    } else for (let at = from; at < to; at++) target[this.used++] = bytes[at] ?? 0;
  }

  written(): Uint8Array {
    return this.bytes.subarray(0, this.used);
  }
}

/** One column is written after the other, and each page is handed on before the next is made. */
export const pageBuffers = {
  dictionary: new ReusedBuffer(),
  levels: new ReusedBuffer(),
  data: new ReusedBuffer(),
};

interface ChunkFacts {
  readonly distinct: number | null;
  readonly rows: number;
  readonly nulls: number;
  readonly statistics: Statistics;
}

/** Writes the content of `pageBuffers` as the chunk of one column. */
export function writeChunk(
  writer: ByteWriter,
  element: SchemaElement,
  {distinct, rows, nulls, statistics}: ChunkFacts,
): ColumnChunk {
  const start = writer.offset;
  const {dictionary, levels, data} = pageBuffers;
  let savedBytes = 0;
  if (distinct !== null) {
    const bytes = compress(dictionary);
    writePageHeader(writer, {
      type: 'DICTIONARY_PAGE',
      uncompressed_page_size: dictionary.used,
      compressed_page_size: bytes.length,
      dictionary_page_header: {num_values: distinct, encoding: 'PLAIN'},
    });
    writer.appendBytes(bytes);
    savedBytes += dictionary.used - bytes.length;
  }
  const encoding: Encoding = distinct === null ? 'PLAIN' : 'RLE_DICTIONARY';
  const dataStart = writer.offset;
  const bytes = compress(data);
  savedBytes += data.used - bytes.length;
  writePageHeader(writer, {
    type: 'DATA_PAGE_V2',
    uncompressed_page_size: levels.used + data.used,
    compressed_page_size: levels.used + bytes.length,
    data_page_header_v2: {
      num_values: rows,
      num_nulls: nulls,
      num_rows: rows,
      encoding,
      definition_levels_byte_length: levels.used,
      repetition_levels_byte_length: 0,
      is_compressed: true,
    },
  });
  writer.appendBytes(levels.written());
  writer.appendBytes(bytes);
  const size = writer.offset - start;
  return {
    file_offset: BigInt(start),
    meta_data: {
      type: element.type ?? 'BYTE_ARRAY',
      encodings: distinct === null ? ['PLAIN'] : ['PLAIN', encoding],
      path_in_schema: [element.name],
      codec: 'SNAPPY',
      num_values: BigInt(rows),
      total_compressed_size: BigInt(size),
      total_uncompressed_size: BigInt(size + savedBytes),
      data_page_offset: BigInt(dataStart),
      ...(distinct === null ? {} : {dictionary_page_offset: BigInt(start)}),
      statistics,
      encoding_stats: [
        ...(distinct === null ? [] : [describePage('DICTIONARY_PAGE', 'PLAIN')]),
        describePage('DATA_PAGE_V2', encoding),
      ],
    },
  };
}

function describePage(page_type: 'DICTIONARY_PAGE' | 'DATA_PAGE_V2', encoding: Encoding) {
  return {page_type, encoding, count: 1} as const;
}

/** Bits of an index into a dictionary of so many values. */
function countIndexBits(distinct: number): number {
  return distinct < 2 ? 0 : 32 - Math.clz32(distinct - 1);
}

export function countIndexBytes(count: number, distinct: number): number {
  return Math.ceil((count * countIndexBits(distinct)) / 8);
}

/** A dictionary with its indexes must at least halve the bytes. */
export function isWorthwhile(dictionaryBytes: number, plainBytes: number): boolean {
  return plainBytes > 0 && 2 * dictionaryBytes <= plainBytes;
}

export function appendIndexes(indexes: Int32Array, count: number, distinct: number): void {
  const width = countIndexBits(distinct);
  pageBuffers.data.ensure(1);
  pageBuffers.data.bytes[pageBuffers.data.used++] = width;
  writeHybrid(pageBuffers.data, {values: indexes, count, width});
}

/** Parquet has the lowest byte first, as every machine that Node runs on. */
export function appendWords(page: ReusedBuffer, words: Int32Array): void {
  page.append(
    new Uint8Array(words.buffer, words.byteOffset, words.byteLength),
    0,
    words.byteLength,
  );
}

export function appendBits(page: ReusedBuffer, words: Int32Array): void {
  page.ensure((words.length >> 3) + 1);
  for (let at = 0; at < words.length; at += 8) {
    let bits = 0;
    for (let bit = 0; bit < 8; bit++) bits |= (words[at + bit] ?? 0) << bit;
    page.bytes[page.used++] = bits;
  }
}

interface NumberList {
  readonly values: Int32Array | Uint8Array;
  readonly count: number;
  /** Bits of each, at most 24. */
  readonly width: number;
}

/**
 * Writes each run of eight or more equal numbers as one run, and the numbers between runs as packed
 * bits.
 */
export function writeHybrid(page: ReusedBuffer, {values, count, width}: NumberList): void {
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
function packBits(page: ReusedBuffer, {values, count, width}: NumberList): void {
  const groups = (count + 7) >> 3;
  page.ensure(5 + groups * width);
  appendVarint(page, groups * 2 + 1);
  const {bytes} = page;
  let {used} = page;
  let pending = 0;
  let pendingBits = 0;
  for (let at = 0; at < groups * 8; at++) {
    pending |= (at < count ? (values[at] ?? 0) : 0) << pendingBits;
    for (pendingBits += width; pendingBits >= 8; pendingBits -= 8) {
      bytes[used++] = pending;
      pending >>>= 8;
    }
  }
  page.used = used;
}

function appendVarint(page: ReusedBuffer, value: number): void {
  let remaining = value;
  for (; remaining > 0x7f; remaining >>>= 7) page.bytes[page.used++] = remaining | 0x80;
  page.bytes[page.used++] = remaining;
}

/** Repeated texts are searched for within this many bytes, as all readers of Snappy expect. */
const blockBytes = 65_536;
const positions = new Uint16Array(1 << 14);
const packedBuffer = new ReusedBuffer();

/** @returns the bytes as Snappy, in memory that the next call uses again */
function compress(page: ReusedBuffer): Uint8Array {
  packedBuffer.used = 0;
  packedBuffer.ensure(32 + page.used + Math.ceil(page.used / 6));
  appendVarint(packedBuffer, page.used);
  for (let from = 0; from < page.used; from += blockBytes)
    packBlock(page.bytes, from, Math.min(page.used, from + blockBytes));
  return packedBuffer.written();
}

/** Writes bytes that repeat within the block as a copy, and all others as they are. */
function packBlock(bytes: Uint8Array, from: number, to: number): void {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const bits = Math.min(14, Math.max(8, 32 - Math.clz32(to - from)));
  positions.fill(0, 0, 1 << bits);
  let literalStart = from;
  let at = from + 1;
  // Bytes that do not repeat are skipped in steps that grow.
  for (let missCount = 32; at + 4 <= to; ) {
    const word = view.getInt32(at, true);
    const slot = Math.imul(word, 0x1e35a7bd) >>> (32 - bits);
    const candidate = from + (positions[slot] ?? 0);
    positions[slot] = at - from;
    if (view.getInt32(candidate, true) !== word) {
      at += missCount++ >> 5;
      continue;
    }
    appendLiteral(bytes, literalStart, at);
    let end = at + 4;
    while (end < to && bytes[end] === bytes[end - at + candidate]) end++;
    appendCopy(at - candidate, end - at);
    at = end;
    literalStart = end;
    missCount = 32;
  }
  appendLiteral(bytes, literalStart, to);
}

function appendLiteral(bytes: Uint8Array, from: number, to: number): void {
  const last = to - from - 1;
  if (last < 0) return;
  const target = packedBuffer.bytes;
  if (last < 60) target[packedBuffer.used++] = last << 2;
  else {
    const size = last < 0x100 ? 1 : 2;
    target[packedBuffer.used++] = (59 + size) << 2;
    target[packedBuffer.used++] = last;
    if (size === 2) target[packedBuffer.used++] = last >> 8;
  }
  packedBuffer.append(bytes, from, to);
}

function appendCopy(distance: number, length: number): void {
  const target = packedBuffer.bytes;
  let remaining = length;
  while (remaining > 0) {
    // No copy of fewer than four bytes is left over.
    const size = remaining >= 68 ? 64 : remaining > 64 ? 60 : remaining;
    remaining -= size;
    if (size < 12 && distance < 2048) {
      target[packedBuffer.used++] = 1 | ((size - 4) << 2) | ((distance >> 8) << 5);
      target[packedBuffer.used++] = distance;
    } else {
      target[packedBuffer.used++] = 2 | ((size - 1) << 2);
      target[packedBuffer.used++] = distance;
      target[packedBuffer.used++] = distance >> 8;
    }
  }
}
