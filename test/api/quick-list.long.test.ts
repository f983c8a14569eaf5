import {expect, test} from 'vitest';
import {compareReaders, type Tally} from './compare-readers.ts';

const documents = 1_000_000;
/** As many documents as are told together. */
const part = 100_000;

test.each(['list', 'record'] as const)(
  'the quick reader of a %s never contradicts the strict one in 1,000,000 mutated documents',
  (kind) => {
    const total: Tally = {taken: 0, leftSound: 0};
    for (let from = 0; from < documents / 2; from += part / 2) {
      const seeds = Array.from({length: part / 2}, (_, at) => 1_000_000 + from + at);
      const {taken, leftSound} = compareReaders(kind, seeds);
      total.taken += taken;
      total.leftSound += leftSound;
    }
    process.stdout.write(
      `${documents} documents, each a ${kind}, ${total.taken} read quickly; ` +
        `${total.leftSound} sound ones left to the strict reader; 0 differences\n`,
    );
    expect(total.taken).toBeGreaterThan(documents / 20);
  },
  3_600_000,
);
