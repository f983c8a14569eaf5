// Many numbers in few bytes, for checkpoints and for the numbers on pages: sorted, each as its
// distance from the one before (LEB128). A list in order of number takes a byte a record, and less
// once Postgres has compressed it.

/**
 * @param numbers - positive whole numbers as text, in any order; one that comes twice is kept twice
 */
export function encodeNumbers(numbers: readonly string[]): Buffer {
  const sorted = numbers.map(BigInt).sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
  const bytes: number[] = [];
  let previous = 0n;
  for (const number of sorted) {
    let rest = number - previous;
    for (; rest >= 0x80n; rest >>= 7n) bytes.push(Number(rest & 0x7fn) | 0x80);
    bytes.push(Number(rest));
    previous = number;
  }
  return Buffer.from(bytes);
}

/** The numbers again, in order. */
export function decodeNumbers(bytes: Buffer): string[] {
  const numbers: string[] = [];
  let number = 0n;
  let shift = 0n;
  for (const byte of bytes) {
    number += BigInt(byte & 0x7f) << shift;
    shift += 7n;
    if (byte >= 0x80) continue;
    numbers.push(number.toString());
    shift = 0n;
  }
  return numbers;
}
