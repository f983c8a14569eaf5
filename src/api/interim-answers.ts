// A server may send interim answers before any answer, asked for or not: 100 Continue, 103 Early
// Hints (RFC 9110, 15.2). Undici 8 skips a 103, and destroys the connection at a 100. So they are
// taken out of a connection's bytes before undici reads these; a 101 is none of them, and stays.

import type {Socket} from 'node:net';
import type {buildConnector} from 'undici';

const endOfHead = '\r\n\r\n';
/** Bytes that may become an interim answer with more of them. */
const beginnings =
  /^(?:|H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.[01] ?|HTTP\/1\.[01] 1\d{0,2})$/;
const interim = /^HTTP\/1\.[01] 1(?!01)\d\d[ \r]/;
/** So many bytes tell for certain how an answer begins. */
const certainBytes = 'HTTP/1.1 100 '.length;
/**
 * As much as undici takes of a head. An interim answer beyond it goes on to undici, which ends the
 * connection.
 */
const maxHeadBytes = 16_384;

/** The same connector; on its connections no interim answer is seen. */
export function skippingInterim(connect: buildConnector.connector): buildConnector.connector {
  return (options, callback) =>
    connect(options, (...made: Parameters<buildConnector.Callback>) => {
      if (made[0] === null) skipInterim(made[1]);
      callback(...made);
    });
}

function skipInterim(socket: Socket): void {
  const read = socket.read.bind(socket);
  let written = -1;
  let isAtHead = false;
  let held: Buffer = Buffer.alloc(0);
  socket.read = (size?: number): Buffer | null => {
    for (;;) {
      const chunk: Buffer | null = read(size);
      if (chunk === null) return null;
      // An answer begins with the first bytes after a request. One request is under way on a
      // connection, never two.
      if (socket.bytesWritten !== written) isAtHead = true;
      written = socket.bytesWritten;
      if (!isAtHead) return chunk;
      held = dropInterim(held.length === 0 ? chunk : Buffer.concat([held, chunk]));
      if (isUndecided(held)) continue;
      isAtHead = false;
      const answer = held;
      held = Buffer.alloc(0);
      return answer;
    }
  };
}

function dropInterim(bytes: Buffer): Buffer {
  let rest = bytes;
  while (interim.test(headOf(rest))) {
    const end = rest.indexOf(endOfHead);
    if (end === -1) return rest;
    rest = rest.subarray(end + endOfHead.length);
  }
  return rest;
}

/**
 * True while it takes more bytes to tell whether an interim answer stands there, or where it ends.
 */
function isUndecided(bytes: Buffer): boolean {
  if (bytes.length < certainBytes) return beginnings.test(headOf(bytes));
  return bytes.length <= maxHeadBytes && interim.test(headOf(bytes));
}

function headOf(bytes: Buffer): string {
  return bytes.toString('latin1', 0, certainBytes);
}
