import {expect, test} from 'vitest';
import {freeBytes} from '../src/base/memory/free-bytes.ts';

test('bytes that have their memory for themselves are empty afterwards, and so are their views', () => {
  const bytes = Buffer.allocUnsafeSlow(100);
  const view = bytes.subarray(20, 40);
  freeBytes(bytes);
  expect([bytes.length, view.length, bytes.buffer.byteLength]).toEqual([0, 0, 0]);
});

test('so are those that take most of a larger memory', () => {
  const bytes = Buffer.allocUnsafeSlow(2 * Buffer.poolSize).subarray(0, Buffer.poolSize);
  freeBytes(bytes);
  expect(bytes.length).toBe(0);
});

test.each([1, 100, Buffer.poolSize / 2 - 1])('%i bytes of the pool stay, with their neighbours', (size) => {
  const neighbour = Buffer.from('a neighbour');
  const bytes = Buffer.concat([Buffer.alloc(size, 'x')]);
  freeBytes(bytes);
  expect([bytes.length, neighbour.toString()]).toEqual([size, 'a neighbour']);
});

test('memory that threads share stays', () => {
  const bytes = new Uint8Array(new SharedArrayBuffer(100));
  freeBytes(bytes);
  expect(bytes.length).toBe(100);
});
