// One request and its answer, without retries and without judging the status, and how the body of
// an answer is decompressed. Undici's `request()` is not used: it reacts to an abort only once it
// is connected, and cannot report whether a byte was sent. Writes depend on exactly that.

import {promisify} from 'node:util';
import {gunzip, gunzipSync} from 'node:zlib';
import type {Agent, Dispatcher} from 'undici';
import {freeBytes, moveBytes, takeBytes} from '../core/own-bytes.ts';
import {shorten} from '../core/text.ts';

type Headers = Readonly<Record<string, string | string[] | undefined>>;

export interface Exchange {
  readonly status: number;
  readonly headers: Headers;
  /** As it came over the wire, still coded. */
  readonly body: Buffer;
}

/** Why there is no whole answer. */
export interface ExchangeFailure {
  /**
   * `aborted`: by the caller. `withheld`: at the last moment the caller did not let it start.
   * `deadline`, `too-large`, `too-many-headers`: by us. `network`: by anything below HTTP.
   */
  readonly kind: 'aborted' | 'withheld' | 'deadline' | 'too-large' | 'too-many-headers' | 'network';
  /** The code of Node or undici: `ECONNREFUSED`, `UND_ERR_SOCKET`; empty when there is none. */
  readonly code: string;
  /** False only when it is certain that no byte of the request left this machine. */
  readonly isSent: boolean;
}

export class ExchangeError extends Error implements ExchangeFailure {
  override readonly name = 'ExchangeError';
  readonly kind: ExchangeFailure['kind'];
  readonly code: string;
  readonly isSent: boolean;

  constructor({kind, code, isSent}: ExchangeFailure) {
    super(code === '' ? kind : `${kind}: ${code}`);
    this.kind = kind;
    this.code = code;
    this.isSent = isSent;
  }
}

export interface ExchangeLimits {
  /** For the whole exchange: name look-up, connection, request, answer. */
  readonly timeoutMs: number;
  readonly maxBodyBytes: number;
  readonly maxHeaders: number;
}

/** How the caller can stop a request, before the first byte and until the last. */
interface StartOptions {
  readonly signal?: AbortSignal | undefined;
  /** Called right before the first byte: false leaves the request unsent. */
  readonly mayStart?: (() => boolean) | undefined;
}

/**
 * Sends one request and gathers its answer.
 * @throws {ExchangeError} never with undici's own error inside: that can hold pieces of the answer
 * @see docs/traps.md "The HTTP client": a deadline for the whole, and caps
 */
export async function exchange(
  agent: Agent,
  request: Dispatcher.DispatchOptions,
  limits: ExchangeLimits & StartOptions,
): Promise<Exchange> {
  const collector = new Collector(limits);
  if (limits.signal?.aborted === true) throw collector.fail('aborted');
  const deadline = AbortSignal.timeout(limits.timeoutMs);
  const onDeadline = () => collector.stop('deadline');
  const onAbort = () => collector.stop('aborted');
  deadline.addEventListener('abort', onDeadline);
  limits.signal?.addEventListener('abort', onAbort);
  try {
    agent.dispatch(request, collector);
    return await collector.answer;
  } catch (error) {
    throw error instanceof ExchangeError ? error : collector.fail('network', readErrorCode(error));
  } finally {
    deadline.removeEventListener('abort', onDeadline);
    limits.signal?.removeEventListener('abort', onAbort);
  }
}

/** More than any page needs: for a longer answer, memory is reserved only as its bytes come. */
const maxReservedBytes = 16_777_216;

/**
 * The bytes of an answer. Each chunk is copied as it comes, and its memory freed when the next one
 * comes: undici no longer needs it then, and the garbage collector would free it much later.
 */
class BodyCollector {
  #chunk: Buffer | null = null;
  #buffer: Buffer = Buffer.alloc(0);
  #length = 0;

  get length(): number {
    return this.#length;
  }

  /** @param contentLength - the header, if it came */
  expect(contentLength: string | string[] | undefined): void {
    const length = Number(contentLength ?? 0);
    if (length > 0 && length <= maxReservedBytes) this.#buffer = takeBytes(length);
  }

  add(chunk: Buffer): void {
    // Pieces of one chunk of the connection are views of the same memory.
    if (this.#chunk !== null && this.#chunk.buffer !== chunk.buffer) freeBytes(this.#chunk);
    this.#chunk = chunk;
    const neededLength = this.#length + chunk.length;
    if (neededLength > this.#buffer.length) {
      const largerBuffer = takeBytes(Math.max(neededLength, 2 * this.#buffer.length));
      this.#buffer.copy(largerBuffer, 0, 0, this.#length);
      freeBytes(this.#buffer);
      this.#buffer = largerBuffer;
    }
    chunk.copy(this.#buffer, this.#length);
    this.#length = neededLength;
  }

  whole(): Buffer {
    return this.#buffer.subarray(0, this.#length);
  }
}

class Collector implements Dispatcher.DispatchHandler {
  readonly #limits: ExchangeLimits;
  readonly #mayStart: () => boolean;
  readonly #done = Promise.withResolvers<Exchange>();
  readonly #body = new BodyCollector();
  #controller: Dispatcher.DispatchController | null = null;
  #stopped: ExchangeError | null = null;
  #isSent = false;
  #status = 0;
  #headers: Headers = {};

  constructor(limits: ExchangeLimits & StartOptions) {
    this.#limits = limits;
    this.#mayStart = limits.mayStart ?? (() => true);
    this.#done.promise.catch(() => {});
  }

  get answer(): Promise<Exchange> {
    return this.#done.promise;
  }

  fail(kind: ExchangeFailure['kind'], code = ''): ExchangeError {
    return new ExchangeError({kind, code, isSent: this.#isSent});
  }

  /** Gives up: a connected request is cut off, and one that is not yet connected is never sent. */
  stop(kind: ExchangeFailure['kind']): void {
    this.#stopped ??= this.fail(kind);
    this.#done.reject(this.#stopped);
    this.#controller?.abort(this.#stopped);
  }

  // Undici calls this on the live connection, right before it writes; an abort here writes nothing.
  onRequestStart(controller: Dispatcher.DispatchController): void {
    if (this.#stopped === null && !this.#mayStart()) this.stop('withheld');
    if (this.#stopped !== null) {
      controller.abort(this.#stopped);
      return;
    }
    this.#controller = controller;
    this.#isSent = true;
  }

  onResponseStart(
    controller: Dispatcher.DispatchController,
    status: number,
    headers: Headers,
  ): void {
    if (status < 200) return;
    this.#status = status;
    this.#headers = headers;
    this.#body.expect(headers['content-length']);
    const count = Array.isArray(controller.rawHeaders)
      ? controller.rawHeaders.length / 2
      : Object.keys(headers).length;
    if (count > this.#limits.maxHeaders) this.stop('too-many-headers');
  }

  onResponseData(_controller: Dispatcher.DispatchController, chunk: Buffer): void {
    if (this.#body.length + chunk.length > this.#limits.maxBodyBytes) this.stop('too-large');
    else this.#body.add(chunk);
  }

  onResponseEnd(): void {
    this.#done.resolve({status: this.#status, headers: this.#headers, body: this.#body.whole()});
  }

  onResponseError(_controller: Dispatcher.DispatchController, error: Error): void {
    this.#done.reject(this.#stopped ?? this.fail('network', readErrorCode(error)));
  }
}

function readErrorCode(error: unknown): string {
  const code = error instanceof Error && 'code' in error ? error.code : '';
  if (typeof code === 'string') return code;
  // An answer that does not even begin as HTTP has no code.
  return error instanceof Error && error.name === 'HTTPParserError' ? 'HPE_INVALID' : '';
}

const gunzipAsync = promisify(gunzip);

export interface BodyLimits {
  /** After decompression. */
  readonly maxTextBytes: number;
  /**
   * Decompressed bytes for each compressed one; checked only beyond `RATIO_FREE_BYTES`, because
   * short repeats are normal.
   */
  readonly maxRatio: number;
}

const RATIO_FREE_BYTES = 1_048_576;
/**
 * An answer up to this size is decompressed in this thread: another thread would cost more than
 * that.
 */
const maxSyncBytes = 16_384;
/**
 * Bytes of the buffer for a decompressed body, at least and at most; a larger body comes in several
 * pieces, which are joined.
 */
const bufferBytes = {least: 1_024, most: 1_048_576};

/** A body as it came over the wire. */
export interface CodedBody {
  readonly bytes: Buffer;
  /** By its `Content-Encoding`, in lower case; empty if it is not compressed. */
  readonly coding: string;
}

/** Whether a body is known, so that it need not be decompressed. */
export type Recognise = (body: CodedBody) => boolean;

/** Why a body cannot be decompressed; `isTooLarge`: a cap stopped it. */
export class BadCoding extends Error {
  override readonly name = 'BadCoding';
  readonly isTooLarge: boolean;
  /** A coding that was not requested: the next answer would have it again. */
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
 * Decompresses a body. Only gzip and no coding are accepted; it never takes more memory than the
 * caps allow.
 * @throws {BadCoding}
 * @see docs/traps.md "The HTTP client"
 */
export async function decodeBody(body: CodedBody, limits: BodyLimits): Promise<Buffer> {
  const {bytes, coding} = body;
  // An empty body stays empty: an empty answer may still name a coding.
  if (coding === '' || bytes.length === 0) return bytes;
  if (coding !== 'gzip' && coding !== 'x-gzip')
    throw new BadCoding(`a body coded as "${shorten(coding, 40)}"`, {isUnknown: true});
  const maxByRatio = Math.max(RATIO_FREE_BYTES, bytes.length * limits.maxRatio);
  const maxOutputLength = Math.min(limits.maxTextBytes, maxByRatio);
  const options = {maxOutputLength, chunkSize: chooseBufferSize(body)};
  try {
    return bytes.length <= maxSyncBytes
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
 * Bytes of a body when it is decompressed, by the last bytes of a gzip file (RFC 1952). They are
 * not checked before then.
 */
export function sizeOfBody({bytes, coding}: CodedBody): number {
  if (coding === '') return bytes.length;
  return bytes.length < 4 ? 0 : bytes.readUInt32LE(bytes.length - 4);
}

/** One byte more than the decompressed body: after a full buffer comes another. */
function chooseBufferSize(body: CodedBody): number {
  return Math.min(Math.max(sizeOfBody(body) + 1, bufferBytes.least), bufferBytes.most);
}
