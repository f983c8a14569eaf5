import {promisify} from 'node:util';
import {gunzip, gunzipSync} from 'node:zlib';
import {moveBytes} from '../core/own-bytes.ts';
import {shorten} from '../core/text.ts';

const gunzipAsync = promisify(gunzip);

export interface BodyLimits {
  /** After decompression. */
  readonly maxTextBytes: number;
  /**
   * Decompressed bytes for each compressed one; asked only beyond `RATIO_FREE_BYTES`, for short
   * repeats are normal.
   */
  readonly maxRatio: number;
}

const RATIO_FREE_BYTES = 1_048_576;
/**
 * So short an answer is unpacked where it came: another thread would cost more than the unpacking.
 */
const shortBytes = 16_384;
/**
 * Bytes of room for what a body unpacks to, at least and at most; what is more comes in several
 * pieces, and is put together.
 */
const room = {least: 1_024, most: 1_048_576};

/** A body as it came over the wire. */
export interface CodedBody {
  readonly bytes: Buffer;
  /** By its `Content-Encoding`, in lower case; empty where it is not packed. */
  readonly coding: string;
}

/** Says of a body that it is known, so that it need not be unpacked. */
export type Recognise = (body: CodedBody) => boolean;

/** Why a body cannot be unpacked; `isTooLarge` says that a cap stopped it. */
export class BadCoding extends Error {
  override readonly name = 'BadCoding';
  readonly isTooLarge: boolean;
  /** A coding that was not asked for: it would come again. */
  readonly isUnknown: boolean;

  constructor(message: string, {isTooLarge = false, isUnknown = false} = {}) {
    super(message);
    this.isTooLarge = isTooLarge;
    this.isUnknown = isUnknown;
  }
}

/** @param contentEncoding - the header, if it came */
export function toCoded(bytes: Buffer, contentEncoding: string | undefined): CodedBody {
  const names = (contentEncoding ?? '').split(',').map((name) => name.trim().toLowerCase());
  return {bytes, coding: names.filter((name) => name !== '' && name !== 'identity').join(', ')};
}

/**
 * Unpacks a body. Only gzip and none are taken; never more memory than the caps allow.
 * @throws {BadCoding}
 * @see docs/traps.md "The HTTP client"
 */
export async function decodeBody(body: CodedBody, limits: BodyLimits): Promise<Buffer> {
  const {bytes, coding} = body;
  // Nothing packed is nothing: an empty answer may still name a coding.
  if (coding === '' || bytes.length === 0) return bytes;
  if (coding !== 'gzip' && coding !== 'x-gzip')
    throw new BadCoding(`a body coded as "${shorten(coding, 40)}"`, {isUnknown: true});
  const byRatio = Math.max(RATIO_FREE_BYTES, bytes.length * limits.maxRatio);
  const maxOutputLength = Math.min(limits.maxTextBytes, byRatio);
  const options = {maxOutputLength, chunkSize: chooseRoom(body)};
  try {
    return bytes.length <= shortBytes
      ? gunzipSync(bytes, options)
      : moveBytes(await gunzipAsync(bytes, options));
  } catch (error) {
    if (error instanceof RangeError)
      throw new BadCoding(`a gzip body that unpacks to more than ${maxOutputLength} bytes`, {
        isTooLarge: true,
      });
    throw new BadCoding('a gzip body that is broken or cut short');
  }
}

/**
 * Bytes of a body when it is unpacked, as the last of a gzip file say (RFC 1952): they are not
 * checked before it is.
 */
export function tellSize({bytes, coding}: CodedBody): number {
  if (coding === '') return bytes.length;
  return bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4);
}

/** A byte more than it unpacks to: a full room is followed by another. */
function chooseRoom(body: CodedBody): number {
  return Math.min(Math.max(tellSize(body) + 1, room.least), room.most);
}
