import {promisify} from 'node:util';
import {gunzip, gunzipSync} from 'node:zlib';

const gunzipAsync = promisify(gunzip);

export interface BodyLimits {
  /** After decompression. */
  readonly maxTextBytes: number;
  /** Decompressed bytes for each compressed one; asked only beyond `RATIO_FREE_BYTES`, for short repeats are normal. */
  readonly maxRatio: number;
}

const RATIO_FREE_BYTES = 1_048_576;
/** So short an answer is unpacked where it came: another thread would cost more than the unpacking. */
const shortBytes = 16_384;
/** Bytes of room for what a body unpacks to, at least and at most; what is more comes in several pieces, and is put together. */
const room = {least: 1_024, most: 1_048_576};

/** Why a body cannot be unpacked; `isTooLarge` says that a cap stopped it. */
export class BadCoding extends Error {
  override readonly name = 'BadCoding';
  readonly isTooLarge: boolean;

  constructor(message: string, isTooLarge = false) {
    super(message);
    this.isTooLarge = isTooLarge;
  }
}

/**
 * Unpacks a body by its `Content-Encoding`. Only gzip and none are taken; never more memory than the caps allow.
 * @throws {BadCoding}
 * @see docs/traps.md "The HTTP client"
 */
export async function decodeBody(body: Buffer, coding: string, limits: BodyLimits): Promise<Buffer> {
  const name = coding.trim().toLowerCase();
  if (name === '' || name === 'identity') return body;
  if (name !== 'gzip' && name !== 'x-gzip') throw new BadCoding(`a body coded as "${name.slice(0, 40)}"`);
  const byRatio = Math.max(RATIO_FREE_BYTES, body.length * limits.maxRatio);
  const maxOutputLength = Math.min(limits.maxTextBytes, byRatio);
  const options = {maxOutputLength, chunkSize: chooseRoom(body)};
  try {
    return body.length <= shortBytes ? gunzipSync(body, options) : await gunzipAsync(body, options);
  } catch (error) {
    if (error instanceof RangeError)
      throw new BadCoding(`a gzip body that unpacks to more than ${maxOutputLength} bytes`, true);
    throw new BadCoding('a gzip body that is broken or cut short');
  }
}

/** As much as the last bytes of a gzip file say that it unpacks to (RFC 1952), and a byte more: a full room is followed by another. */
function chooseRoom(body: Buffer): number {
  const told = body.length < 4 ? 0 : body.readUInt32LE(body.length - 4);
  return Math.min(Math.max(told + 1, room.least), room.most);
}
