// Employees become inactive, never deleted, and may be unlisted (docs/service.md "Deletes and
// identifiers").

import {expect, test} from 'vitest';
import {refuse, words} from '../labs/adversary-script.ts';
import {list, scriptService} from '../support/scripted-service.ts';
import {openWorld} from '../support/world.ts';

const all = [1, 2, 3, 4, 5, 6, 7, 8];
const employee = (number: number) =>
  `<employee><id type="integer">${number + 9_000}</id>` +
  `<employee-number type="integer">${number}</employee-number><name>E</name></employee>`;

test.each([
  {
    which: 'most of them',
    left: [1, 2, 3],
    // Each that is missing, however many they are, and the five numbers after the highest.
    ends: {state: 'certified', reasons: [], counts: {asked: 10, tombstoned: 0}},
  },
  {
    which: 'all of them',
    left: [],
    ends: {
      state: 'uncertified',
      reasons: ['the first page of the list was empty, and 8 live rows are held'],
      counts: {asked: 0, tombstoned: 0},
    },
  },
])(
  'no employee is marked deleted if the list omits $which and the service denies them',
  async ({left, ends}) => {
    let listed: readonly number[] = all;
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
      expect(await world.sweep('employees')).toMatchObject({outcome: 'ended', ...ends});
      const {rows} = await world.pool.query(
        'SELECT count(*)::integer FROM warehouse.employees WHERE _deleted_at IS NULL',
      );
      expect(rows).toEqual([{count: all.length}]);
    } finally {
      await world.close();
      await service.close();
    }
  },
);
