// Ten thousand changes of one request, line by line; how long they took is printed.

import {afterAll, beforeAll, expect, test} from 'vitest';
import {expectThreeRefused, upserts} from './change-lines.ts';
import {openPlace, type Place} from './place.ts';

let place: Place;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

test('of ten thousand lines three are refused, and the others are captured', async () => {
  const lines = upserts(10_000).map((one) => JSON.stringify(one));
  const before = process.memoryUsage().rss;
  const began = performance.now();
  await expectThreeRefused(place, lines);
  const seconds = ((performance.now() - began) / 1_000).toFixed(1);
  const grown = Math.round((process.memoryUsage().rss - before) / 1_048_576);
  process.stderr.write(`10,000 lines: ${seconds} s, ${grown} MB more\n`);
  expect(lines).toHaveLength(10_000);
}, 900_000);
