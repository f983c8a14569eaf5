// Large pieces of memory that one owner needs for a while: the bytes of an answer, the copy of a
// page for a thread. The C library gives such a piece back to the system when it is freed, and
// touching a new one costs a fault for every four kilobytes: a body of 650 kB takes 0.4 ms to copy
// into new memory, and 0.03 ms into memory that was used before. So some of it is kept.

/** Smaller pieces stay with the C library anyway. */
const leastKeptBytes = 128 * 1024;
/** The most bytes that each thread keeps. */
const mostKeptBytes = 8 * 1024 * 1024;

const keptBuffers: ArrayBuffer[] = [];
let keptBytes = 0;

/**
 * Bytes that no other code sees, with undefined content: their memory may have been used before.
 */
export function takeBytes(length: number): Buffer<ArrayBuffer> {
  if (length < leastKeptBytes) return Buffer.allocUnsafeSlow(length);
  const at = keptBuffers.findIndex(
    ({byteLength}) => length <= byteLength && byteLength <= 2 * length,
  );
  const [memory] = at === -1 ? [] : keptBuffers.splice(at, 1);
  // The size is rounded up, so that a slightly larger body fits into the same memory later.
  if (memory === undefined)
    return Buffer.allocUnsafeSlow(Math.ceil(length / leastKeptBytes) * leastKeptBytes).subarray(
      0,
      length,
    );
  keptBytes -= memory.byteLength;
  return Buffer.from(memory, 0, length);
}

/**
 * Copies the bytes into memory that was used before, and frees their own memory: the given bytes
 * are empty then. If every answer brings a new large piece, the garbage collector scans all live
 * objects twice as often, which costs more than copying.
 * @param bytes - that no other code sees
 */
export function moveBytes(bytes: Buffer): Buffer {
  const {buffer, byteLength} = bytes;
  if (byteLength < leastKeptBytes || !(buffer instanceof ArrayBuffer)) return bytes;
  const copy = takeBytes(byteLength);
  bytes.copy(copy);
  buffer.transfer(0);
  return copy;
}

/**
 * Takes back the memory of bytes at once, to keep or to free it, without waiting for a garbage
 * collection: hundreds of megabytes can wait for one, and each scans all live objects. Afterwards
 * the bytes, and all views of their memory, are empty.
 * @param bytes - neither they nor any other view of their memory may be needed any more. Bytes of
 *   Node's pool, which are less than half of it, stay as they are
 */
export function freeBytes({buffer, byteLength}: Uint8Array): void {
  const mayBePooled = byteLength < buffer.byteLength && byteLength < Buffer.poolSize / 2;
  if (mayBePooled || !(buffer instanceof ArrayBuffer)) return;
  if (buffer.byteLength < leastKeptBytes || keptBytes + buffer.byteLength > mostKeptBytes) {
    buffer.transfer(0);
    return;
  }
  const memory = buffer.transfer();
  keptBuffers.push(memory);
  keptBytes += memory.byteLength;
}
