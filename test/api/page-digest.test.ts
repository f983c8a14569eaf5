import {randomBytes} from 'node:crypto';
import {expect, test} from 'vitest';
import {digestPage} from '../../src/api/xml/quick/page-digest.ts';

const key = Buffer.alloc(16, 7);

test('a page has the same digest whenever it comes', () => {
  const body = randomBytes(100_000);
  expect(digestPage(key, Buffer.from(body))).toEqual(digestPage(key, body));
});

test('one bit more or less, anywhere, is another digest', () => {
  const body = randomBytes(4_099);
  const digests = new Set([digestPage(key, body).toString('hex')]);
  const bits = body.length * 8;
  for (let bit = 0; bit < bits; bit++) {
    const other = Buffer.from(body);
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    digests.add(digestPage(key, other).toString('hex'));
  }
  expect(digests.size).toBe(bits + 1);
});

test.each([1, 15, 16, 17, 1_000])('a page that ends %i zeros later is another', (more) => {
  const body = Buffer.from('<jobs></jobs>');
  expect(digestPage(key, Buffer.concat([body, Buffer.alloc(more)]))).not.toEqual(digestPage(key, body));
});

test('another key gives another digest', () => {
  const body = Buffer.from('<jobs></jobs>');
  expect(digestPage(Buffer.alloc(16, 8), body)).not.toEqual(digestPage(key, body));
});
