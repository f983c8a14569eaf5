// Employees become inactive, never deleted, and may be unlisted (docs/service.md "Deletes and
// identifiers").

import {expect, test} from 'vitest';
import {refuse, words} from '../labs/adversary-script.ts';
import {list, scriptService} from '../support/scripted-service.ts';
import {openWorld} from '../support/world.ts';

const employee = (number: number) =>
  `<employee><id type="integer">${number + 9_000}</id>` +
  `<employee-number type="integer">${number}</employee-number><name>E</name></employee>`;

test.each([
  ['half of them', [1, 2, 3]],
  ['all of them', []],
])(
  'the list may leave out the inactive: %s missing and denied by number, none is marked deleted',
  async (_, left) => {
    let listed: readonly number[] = [1, 2, 3, 4, 5, 6];
    const service = await scriptService(({url}, response) => {
      if (url?.startsWith('/employees/') === true)
        return refuse(response, 400, {body: words('Invalid employee.')});
      if (url?.startsWith('/employees.xml') === true)
        response.end(list('employees', listed.map(employee)));
      return url?.startsWith('/employees.xml');
    });
    const world = await openWorld(service);
    try {
      await world.sweep('employees');
      listed = left;
      expect(await world.sweep('employees')).toMatchObject({
        outcome: 'ended',
        counts: {tombstoned: 0},
      });
      const {rows} = await world.pool.query(
        'SELECT count(*)::integer FROM warehouse.employees WHERE _deleted_at IS NULL',
      );
      expect(rows).toEqual([{count: 6}]);
    } finally {
      await world.close();
      await service.close();
    }
  },
);
