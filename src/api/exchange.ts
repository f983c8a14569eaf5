// The connections of one account, and one request and its answer on one of them, without retries
// and without judging the status. It also decompresses the body of an answer. Undici's `request()`
// is not used: it reacts to an abort only once it is connected, and cannot report whether a byte
// was sent. Writes depend on exactly that.

import type {LookupFunction, Socket} from 'node:net';
import {promisify} from 'node:util';
import {gunzip, gunzipSync} from 'node:zlib';
import type undici from 'undici';
import type {buildConnector, Dispatcher} from 'undici';
// The whole of undici also loads fetch, WebSocket and mocks: thirty milliseconds of every command
// that calls the service.
import makeConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import {freeBytes, moveBytes, takeBytes} from '../core/own-bytes.ts';
import {shorten} from '../core/text.ts';
import {makeRefusingConnector, refusingLookup} from './addresses.ts';

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
  agent: undici.Agent,
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

export interface AgentOptions {
  /** Certificates to trust, PEM, in place of the system's. */
  readonly ca?: string;
  readonly lookup?: LookupFunction;
  /** Whether link-local addresses and those of a cloud's metadata may be connected to. */
  readonly allowLinkLocal?: boolean | undefined;
}

/**
 * The connections of one account: pooled and kept alive for reads, a fresh one for every write. A
 * write on a connection that the server is just closing fails after it arrived: 50 of 50 in our
 * measurement. No certificate check can be switched off. HTTP/2 is not used: one dead connection
 * would fail all the requests on it.
 * @see docs/traps.md "The HTTP client"
 */
export function createAgents({ca, lookup, allowLinkLocal = false}: AgentOptions): {
  readonly reads: undici.Agent;
  readonly writes: undici.Agent;
} {
  const connection = {
    allowH2: false,
    minVersion: 'TLSv1.2' as const,
    ...(ca === undefined ? {} : {ca}),
    ...(allowLinkLocal ? (lookup === undefined ? {} : {lookup}) : {lookup: refusingLookup(lookup)}),
  };
  const connector = skipInterimAnswers(makeConnector(connection));
  const connect = allowLinkLocal ? connector : makeRefusingConnector(connector);
  // Our own deadline is for the whole; undici's are per stage.
  const agentOptions = {allowH2: false, connect, headersTimeout: 0, bodyTimeout: 0};
  return {reads: new Agent(agentOptions), writes: new Agent({...agentOptions, pipelining: 0})};
}

const endOfHead = '\r\n\r\n';
/** Bytes that may be the beginning of an interim answer. */
const possibleStart =
  /^(?:|H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.[01] ?|HTTP\/1\.[01] 1\d{0,2})$/;
const interimStart = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
/** With this many bytes it is certain how an answer begins. */
const decidingBytes = 'HTTP/1.1 100 '.length;
/**
 * The largest head that undici accepts. A larger interim answer is passed on to undici, which ends
 * the connection.
 */
const maxHeadBytes = 16_384;

/**
 * The same connector; on its connections no interim answer is seen. A server may send interim
 * answers before any answer, requested or not: 100 Continue, 103 Early Hints (RFC 9110, 15.2).
 * Undici 8 skips a 103, and destroys the connection at a 100. So interim answers are removed from a
 * connection's bytes before undici reads these; a 101 is no interim answer, and stays.
 */
function skipInterimAnswers(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...result: Parameters<buildConnector.Callback>) => {
      if (result[0] === null) patchSocketRead(result[1]);
      callback(...result);
    });
}

function patchSocketRead(socket: Socket): void {
  const read = socket.read.bind(socket);
  let writtenBytes = -1;
  let isAtHead = false;
  let buffered: Buffer = Buffer.alloc(0);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (chunk === null) return null;
      // An answer begins with the first bytes after a request. One request is in progress on a
      // connection, never two.
      if (socket.bytesWritten !== writtenBytes) isAtHead = true;
      writtenBytes = socket.bytesWritten;
      if (!isAtHead) return chunk;
      buffered = dropInterimAnswers(
        buffered.length === 0 ? chunk : Buffer.concat([buffered, chunk]),
      );
      if (isUndecided(buffered)) continue;
      isAtHead = false;
      const response = buffered;
      buffered = Buffer.alloc(0);
      return response;
    }
  };
}

function dropInterimAnswers(bytes: Buffer): Buffer {
  let remaining = bytes;
  while (interimStart.test(readStart(remaining))) {
    const end = remaining.indexOf(endOfHead);
    if (end === -1) return remaining;
    remaining = remaining.subarray(end + endOfHead.length);
  }
  return remaining;
}

/**
 * True while more bytes are needed to decide whether an interim answer is there, or where it ends.
 */
function isUndecided(bytes: Buffer): boolean {
  if (bytes.length < decidingBytes) return possibleStart.test(readStart(bytes));
  return bytes.length <= maxHeadBytes && interimStart.test(readStart(bytes));
}

function readStart(bytes: Buffer): string {
  return bytes.toString('latin1', 0, decidingBytes);
}
