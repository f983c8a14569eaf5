import {expect, test} from 'vitest';
import {editAtRandom} from './random-edits.ts';

test.each([1, 2])(
  'after 300 random edits, refreshed by two sessions at random times, the star ties out: seed %i',
  async (seed) => {
    const {broken, inPart} = await editAtRandom(seed, 300);
    expect(broken).toEqual([]);
    expect(inPart).toBeGreaterThan(0);
  },
);
