import {z} from 'zod';
import {deleteClosedDay, listClosedDays, writeClosedDay} from '../accounts/settings.ts';
import type {Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName, label} from './setting-values.ts';
import {toTree} from './settings-tree.ts';

const expected = 'expected a day, such as 2026-12-25';
const day = z
  .string()
  .regex(/^\d{4}-\d\d-\d\d$/, expected)
  .refine(isDay, expected);

export const closedDaysSection: Section = {
  name: 'closed_days',
  about: [
    'Days on which nobody of an account works, and why. A day of null is one like any other.',
  ],
  schema: z.record(accountName, z.record(day, label.nullable())),
  isByAccount: true,
  read: async (db) =>
    toTree(
      (await listClosedDays(db)).map(({account, date, name}) => ({
        path: [account, date],
        value: name,
      })),
    ),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<string>(change, 2)) {
      const [account = '', date = ''] = path;
      if (after === null) await deleteClosedDay(db, {account, date});
      else await writeClosedDay(db, {account, date, name: after});
    }
  },
};

/** 2026-02-30 is none. */
function isDay(text: string): boolean {
  const moment = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(moment.getTime()) && moment.toISOString().startsWith(text);
}
