// The statements that the pages about changes print: each runs, and gives what the page shows.

import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {type ChangesPlace, openPlace} from './changes-place.ts';

let place: ChangesPlace;
beforeAll(async () => {
  place = await openPlace();
});
afterAll(() => place?.close());

describe('the SQL that a page about changes prints', () => {
  test('runs as it is printed', async () => {
    const id = await place.edit(1, `phone_number = '1'`);
    await place.set(id, `application = 'it''s'`);
    const operator = await place.person();
    const sqlOf = async (path: string) =>
      (
        /as SQL<\/dt><dd><pre tabindex="0">([^<]*)</.exec((await operator.get(path)).text)?.[1] ??
        ''
      )
        .replaceAll('&#39;', "'")
        .replaceAll('&quot;', '"')
        .replaceAll('&gt;', '>')
        .replaceAll('&lt;', '<');
    const filters = `state=pending&table=customers&by=${encodeURIComponent("it's")}&age=1d`;
    const {rows} = await place.pool.query(await sqlOf(`/changes?${filters}`));
    expect(rows).toMatchObject([{change_id: id}]);
    for (const path of [
      `/changes/${id}`,
      `/changes/preview?c${id}=on&choice=hold`,
      '/changes?state=altered',
      '/changes?state=needy',
    ])
      await place.pool.query(await sqlOf(path));
    expect(await place.stateOf(id)).toBe('held');
  });
});
