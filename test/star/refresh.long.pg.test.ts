import {expect, test} from 'vitest';
import {editAtRandom} from './random-edits.ts';

test('after 10,000 random edits, refreshed by two sessions, the star ties out', async () => {
  const {broken, refreshes, inPart} = await editAtRandom(1, 10_000);
  expect(broken).toEqual([]);
  process.stdout.write(
    `10,000 edits, ${refreshes} refreshes, ${inPart} of them in part: every tie-out holds\n`,
  );
}, 1_800_000);
