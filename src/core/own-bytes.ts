// Large pieces of memory that one owner needs for a while: the bytes of an answer, the copy of a
// page for a thread. The C library gives such a piece back to the system when it is freed, and
// touching a new one costs a fault for every four kilobytes: a body of 650 kB takes 0.4 ms to copy
// into new memory, and 0.03 ms into memory that was used before. So some of it is kept.

/** Smaller pieces stay with the C library anyway. */
const leastKept = 128 * 1024;
/** For each thread. */
const mostKept = 8 * 1024 * 1024;

const kept: ArrayBuffer[] = [];
let keptBytes = 0;

/**
 * Bytes that nothing else sees, with anything in them, of memory that may have been freed before.
 */
export function takeBytes(length: number): Buffer<ArrayBuffer> {
  if (length < leastKept) return Buffer.allocUnsafeSlow(length);
  const at = kept.findIndex(({byteLength}) => length <= byteLength && byteLength <= 2 * length);
  const [memory] = at === -1 ? [] : kept.splice(at, 1);
  // In steps, so that a body that is a little larger than the one before fits where that was.
  if (memory === undefined)
    return Buffer.allocUnsafeSlow(Math.ceil(length / leastKept) * leastKept).subarray(0, length);
  keptBytes -= memory.byteLength;
  return Buffer.from(memory, 0, length);
}

/**
 * The same bytes in memory that was used before; theirs is freed, and they are empty. A collector
 * that meets a new large piece with every answer looks at all that lives twice as often, which
 * costs more than copying.
 * @param bytes - that nothing else sees
 */
export function moveBytes(bytes: Buffer): Buffer {
  const {buffer, byteLength} = bytes;
  if (byteLength < leastKept || !(buffer instanceof ArrayBuffer)) return bytes;
  const own = takeBytes(byteLength);
  bytes.copy(own);
  buffer.transfer(0);
  return own;
}

/**
 * Takes the memory of bytes back at once, without waiting for a collection: hundreds of megabytes
 * can wait for one, and each then looks at all that lives. Afterwards the bytes, and all views of
 * their memory, are empty.
 * @param bytes - needed no more, nor any other view of their memory. Bytes of Node's pool, which
 *   are less than half of it,
 *   stay as they are
 */
export function freeBytes({buffer, byteLength}: Uint8Array): void {
  const mayBePooled = byteLength < buffer.byteLength && byteLength < Buffer.poolSize / 2;
  if (mayBePooled || !(buffer instanceof ArrayBuffer)) return;
  if (buffer.byteLength < leastKept || keptBytes + buffer.byteLength > mostKept) {
    buffer.transfer(0);
    return;
  }
  const memory = buffer.transfer();
  kept.push(memory);
  keptBytes += memory.byteLength;
}
