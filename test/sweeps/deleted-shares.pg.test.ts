// Lists of many lengths, of which some or all records were deleted. A sweep never marks more rows
// as deleted than its limit allows: then it stops, and lists them for a person.

import {afterEach, describe, expect, test} from 'vitest';
import {writeRowLimit} from '../../src/accounts/settings.ts';
import {inPages, openScript, range, type ScriptPlace} from '../labs/adversary-place.ts';

let place: ScriptPlace;
afterEach(() => place?.close());

const shares = [1, 2, 3, 5, 10, 11, 25, 50, 99, 100];

function leave(numbers: readonly number[]): void {
  place.script.pages = inPages(numbers, 100);
  place.script.known = numbers;
}

/** The numbers that a stopped sweep has listed for a person. */
async function listed(): Promise<number[]> {
  const {rows} = await place.world.pool.query<{number: number}>(
    `SELECT number::integer FROM sync.tombstones WHERE written_at IS NULL
        AND sweep_id = (SELECT max(sweep_id) FROM sync.sweeps) ORDER BY 1`,
  );
  return rows.map(({number}) => number);
}

describe.each([5, 20, 40, 120, 600, 5_000])('a sweep of a list of %i records', (count) => {
  test.each<[string, number | null, number]>([
    // The larger of 50 and 2 %, and of 3 and 10 %: the smaller of both.
    [
      'by default',
      null,
      Math.min(Math.max(50, Math.floor(count * 0.02)), Math.max(3, Math.floor(count * 0.1))),
    ],
    ['where 5 % are set', 5, Math.floor(count * 0.05)],
  ])('marks no more rows deleted than the limit allows, %s', async (_, percent, most) => {
    place = await openScript(inPages(range(1, count), 100));
    if (percent !== null)
      await writeRowLimit(place.world.pool, 'deletions', {
        account: place.world.account.name,
        of: 'jobs',
        limit: {percent},
      });
    for (const share of shares) {
      leave(range(1, count));
      expect(await place.sweep(), `before ${share} %`).toMatchObject({state: 'certified'});
      expect(await place.deleted()).toEqual([]);
      const gone = Math.max(1, Math.round((count * share) / 100));
      leave(range(gone + 1, count));
      const isMarked = gone <= most && gone < count;
      expect(await place.sweep(), `${share} %`).toMatchObject({
        state: isMarked ? 'certified' : 'stopped',
        counts: {tombstoned: isMarked ? gone : 0},
      });
      expect(await place.deleted()).toEqual(isMarked ? range(1, gone) : []);
      if (isMarked) continue;
      expect(await place.reasons()).not.toEqual([]);
      expect(await listed()).toEqual(range(1, gone));
    }
  });
});
