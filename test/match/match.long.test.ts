// The matching on many more made-up customers than npm test has time for.

import {expect, test} from 'vitest';
import {judgeMatching} from './judge.ts';

test.each(Array.from({length: 40}, (_, at) => [at + 101]))(
  'no sure pair of 10,000 customers on each side is wrong, and 95 % are found: seed %i',
  (seed) => {
    const {wrong, inSureOrSeveral} = judgeMatching(10_000, seed);
    expect(wrong.map(({ours, theirs}) => [ours.party, theirs.party])).toEqual([]);
    expect(inSureOrSeveral).toBeGreaterThan(0.95);
  },
);
