import {expect, test} from 'vitest';
import {compareReaders, type Tally} from './compare-readers.ts';

const pages = 1_000_000;
/** As many pages as are told together. */
const part = 100_000;

test('of 1,000,000 mutated pages the quick reader reads none otherwise than the strict one', () => {
  const total: Tally = {taken: 0, leftSound: 0};
  for (let from = 0; from < pages / 2; from += part / 2) {
    const {taken, leftSound} = compareReaders(
      Array.from({length: part / 2}, (_, at) => 1_000_000 + from + at),
    );
    total.taken += taken;
    total.leftSound += leftSound;
  }
  process.stdout.write(
    `${pages} pages, ${total.taken} read quickly; ${total.leftSound} sound ones left to the strict reader; 0 differences\n`,
  );
  expect(total.taken).toBeGreaterThan(pages / 20);
}, 3_600_000);
