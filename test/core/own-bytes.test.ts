import {expect, test, vi} from 'vitest';

// Memory that other tests of this process have freed must not be taken here.
vi.resetModules();
const {freeBytes, moveBytes, takeBytes} = await import('../../src/core/own-bytes.ts');

test('freeBytes empties bytes with separate memory, and their views', () => {
  const bytes = Buffer.allocUnsafeSlow(100);
  const view = bytes.subarray(20, 40);
  freeBytes(bytes);
  expect([bytes.length, view.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
});

test('freeBytes empties bytes that fill half of their memory', () => {
  const bytes = Buffer.allocUnsafeSlow(2 * Buffer.poolSize).subarray(0, Buffer.poolSize);
  freeBytes(bytes);
  expect(bytes.length).toBe(0);
});

test.each([1, 100, Buffer.poolSize / 2 - 1])(
  'freeBytes keeps %i bytes of the pool, and their neighbours',
  (size) => {
    const neighbour = Buffer.from('a neighbour');
    const bytes = Buffer.concat([Buffer.alloc(size, 'x')]);
    freeBytes(bytes);
    expect([bytes.length, neighbour.toString()]).toEqual([size, 'a neighbour']);
  },
);

test('freeBytes keeps memory that is shared between threads', () => {
  const bytes = new Uint8Array(new SharedArrayBuffer(100));
  freeBytes(bytes);
  expect(bytes.length).toBe(100);
});

test('takeBytes reuses large freed memory, and the old bytes are empty', () => {
  const before = takeBytes(300_000);
  before.fill('a page');
  freeBytes(before);
  const after = takeBytes(299_000);
  expect([before.length, after.length, after.toString('latin1', 0, 6)]).toEqual([
    0,
    299_000,
    'a page',
  ]);
  freeBytes(after);
});

test('takeBytes never gives the same memory to two owners', () => {
  freeBytes(takeBytes(300_000));
  const [one, other] = [takeBytes(300_000), takeBytes(300_000)];
  one.fill(1);
  other.fill(2);
  expect([one[0], other[0]]).toEqual([1, 2]);
});

test('takeBytes does not reuse memory much larger than requested', () => {
  freeBytes(takeBytes(1_000_000));
  expect(takeBytes(200_000).buffer.byteLength).toBeLessThan(400_000);
});

test('at most eight megabytes of freed memory are kept', () => {
  const taken = Array.from({length: 20}, () => takeBytes(1_000_000));
  for (const bytes of taken) bytes[0] = 7;
  for (const bytes of taken) freeBytes(bytes);
  // The C library has the memory that was not kept, and would give it back with its bytes.
  const others = taken.map(() => Buffer.alloc(1_000_000));
  const again = taken.map(() => takeBytes(1_000_000));
  expect(again.filter(([first]) => first === 7).length).toBeLessThanOrEqual(8);
  expect(others).toHaveLength(20);
});

test('moveBytes moves large bytes into used memory, and empties the original', () => {
  const [former, bytes] = [takeBytes(300_000), Buffer.alloc(300_000, 'a page')];
  const {buffer} = former;
  former.fill('another');
  freeBytes(former);
  const moved = moveBytes(bytes);
  expect([moved.equals(Buffer.alloc(300_000, 'a page')), bytes.length, buffer.byteLength]).toEqual([
    true,
    0,
    0,
  ]);
});

test.each([1, 100, 20_000, 100_000])('moveBytes leaves %i bytes in place', (size) => {
  const neighbour = Buffer.from('a neighbour');
  const bytes = Buffer.concat([Buffer.alloc(size, 'x')]);
  expect([moveBytes(bytes) === bytes, bytes.length, neighbour.toString()]).toEqual([
    true,
    size,
    'a neighbour',
  ]);
});
