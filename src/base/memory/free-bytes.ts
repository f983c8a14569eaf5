/**
 * Gives the memory of bytes back at once, without waiting for a collection: hundreds of megabytes can wait for one, and
 * each then looks at all that lives. Afterwards the bytes, and all views of their memory, are empty.
 * @param bytes - needed no more, nor any other view of their memory. Bytes of Node's pool, which are less than half of it,
 *   stay as they are
 */
export function freeBytes({buffer, byteLength}: Uint8Array): void {
  const mayBePooled = byteLength < buffer.byteLength && byteLength < Buffer.poolSize / 2;
  if (!mayBePooled && buffer instanceof ArrayBuffer) buffer.transfer(0);
}
