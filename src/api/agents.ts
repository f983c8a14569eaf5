// The connections of one account. A server may send interim answers before any answer, requested or
// not: 100 Continue, 103 Early Hints (RFC 9110, 15.2). Undici 8 skips a 103, and destroys the
// connection at a 100. So interim answers are removed from a connection's bytes before undici reads
// these; a 101 is no interim answer, and stays.

import type {LookupFunction, Socket} from 'node:net';
import type undici from 'undici';
import type {buildConnector} from 'undici';
// The whole of undici also loads fetch, WebSocket and mocks: thirty milliseconds of every command
// that calls the service.
import makeConnector from 'undici/lib/core/connect.js';
import Agent from 'undici/lib/dispatcher/agent.js';
import {makeRefusingConnector, refusingLookup} from './addresses.ts';

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

/** The same connector; on its connections no interim answer is seen. */
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
