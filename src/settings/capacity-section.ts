import {z} from 'zod';
import {
  deleteCapacity,
  listCapacity,
  listEmployeeNumbers,
  writeCapacity,
} from '../accounts/settings.ts';
import {nearest} from '../core/names.ts';
import type {Problem, Section} from './section.ts';
import {type Entry, listChanged} from './setting-entries.ts';
import {accountName, recordNumber, workingHours} from './setting-values.ts';
import {toTree} from './settings-tree.ts';

type Hours = readonly number[];

export const capacitySection: Section = {
  name: 'capacity',
  about: [
    'Working hours of an employee by number, Monday to Sunday, where they differ from those of the account.',
    'An employee of null works those of the account again.',
  ],
  schema: z.record(accountName, z.record(recordNumber, workingHours.nullable())),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listCapacity(db)).map(({account, employeeNumber, workingHours: value}) => ({
        path: [account, employeeNumber],
        value,
      })),
    ),
  check: async (db, change) => {
    const known = await listEmployeeNumbers(db);
    return listChanged<Hours>(change, 2).flatMap((entry) => findProblem(entry, known));
  },
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Hours>(change, 2)) {
      const [account = '', employeeNumber = ''] = path;
      if (after === null) await deleteCapacity(db, {account, employeeNumber});
      else await writeCapacity(db, {account, employeeNumber, workingHours: after});
    }
  },
};

/** Where no employee is mirrored yet, the hours wait for theirs. */
function findProblem({path, after}: Entry<Hours>, known: ReadonlyMap<string, string[]>): Problem[] {
  const [account = '', number = ''] = path;
  const numbers = known.get(account);
  if (after === null || numbers === undefined || numbers.includes(number)) return [];
  const expected = `expected the number of an employee of ${account}`;
  return [
    {
      path,
      text: `${expected}, got ${number}${nearest(number, numbers)}; warehouse.employees has them`,
    },
  ];
}
