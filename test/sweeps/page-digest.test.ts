import {createSecretKey, randomBytes} from 'node:crypto';
import {gzipSync} from 'node:zlib';
import {expect, test} from 'vitest';
import {digestPage} from '../../src/sweeps/pages.ts';

const key = createSecretKey(Buffer.alloc(16, 7));
const text = Buffer.from('<jobs></jobs>');
const digest = (bytes: Buffer, coding = '', by = key) =>
  digestPage(by, {bytes, coding}).toString('hex');
const flip = (bytes: Buffer, bit: number) => {
  const other = Buffer.from(bytes);
  other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
  return other;
};

test('the same bytes have the same digest', () => {
  const body = randomBytes(100_000);
  expect(digest(Buffer.from(body))).toBe(digest(body));
});

test('each single flipped bit gives another digest', () => {
  const body = randomBytes(4_099);
  const digests = new Set([digest(body)]);
  const bits = body.length * 8;
  for (let bit = 0; bit < bits; bit++) digests.add(digest(flip(body, bit)));
  expect(digests.size).toBe(bits + 1);
});

test('every bit of a gzipped page counts, except for its timestamp', () => {
  const packed = gzipSync(randomBytes(1_000));
  const same: number[] = [];
  for (let bit = 0; bit < packed.length * 8; bit++)
    if (digest(flip(packed, bit), 'gzip') === digest(packed, 'gzip')) same.push(bit);
  expect(same).toEqual(Array.from({length: 32}, (_, at) => 32 + at));
});

test.each([1, 15, 16, 17, 1_000])('with %i more zero bytes a page has another digest', (more) => {
  expect(digest(Buffer.concat([text, Buffer.alloc(more)]))).not.toBe(digest(text));
});

test('the same bytes have another digest under another encoding', () => {
  const packed = gzipSync(text);
  expect(new Set(['', 'gzip', 'x-gzip'].map((coding) => digest(packed, coding))).size).toBe(3);
});

test('another key gives another digest', () => {
  expect(digest(text, '', createSecretKey(Buffer.alloc(16, 8)))).not.toBe(digest(text));
});
