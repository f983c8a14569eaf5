import {z} from 'zod';
import {
  deleteInsightSettings,
  type InsightSettings,
  listInsightSettings,
  writeInsightSettings,
} from '../accounts/settings.ts';
import type {Section} from './section.ts';
import {listChanged} from './setting-entries.ts';
import {accountName, workingHours} from './setting-values.ts';
import {type Leaf, type Tree, toTree, type Value} from './settings-tree.ts';

interface Insight extends Tree {
  readonly currency: string;
  readonly working_hours: readonly number[];
  readonly repeat_visit_days: number;
  readonly on_time_grace_minutes: number;
}

const currency = 'expected a currency of three capital letters, such as EUR';
const days = 'expected whole days, 1 to 365';
const minutes = 'expected whole minutes, 0 to 1440';

const insight = z.strictObject({
  currency: z
    .string(currency)
    .regex(/^[A-Z]{3}$/, currency)
    .nullable()
    .exactOptional()
    .describe('Currency of the amounts of the account.'),
  working_hours: workingHours
    .nullable()
    .exactOptional()
    .describe('Hours that one technician works on Monday to Sunday.'),
  repeat_visit_days: z
    .int(days)
    .min(1, days)
    .max(365, days)
    .nullable()
    .exactOptional()
    .describe(
      'Within how many days another job of the same kind is a repeat visit. Where it is not set: 30.',
    ),
  on_time_grace_minutes: z
    .int(minutes)
    .min(0, minutes)
    .max(1440, minutes)
    .nullable()
    .exactOptional()
    .describe('How late a job may begin and still be on time. Where it is not set: 15.'),
});

export const insightSection: Section = {
  name: 'insight',
  about: [
    'What the service does not know of an account; a figure that needs what is not set is left out.',
    'Where they are not set, repeat_visit_days is 30 and on_time_grace_minutes is 15. A value of null is not set.',
  ],
  schema: z.record(accountName, insight),
  isByAccount: true,
  read: async (db) => toTree((await listInsightSettings(db)).flatMap(toLeaves)),
  apply: async (db, change) => {
    for (const {path, after} of listChanged<Insight>(change, 1)) {
      const [account = ''] = path;
      // A row in which nothing is set says no more than none.
      if (after === null || Object.keys(after).length === 0)
        await deleteInsightSettings(db, account);
      else
        await writeInsightSettings(db, account, {
          currency: after.currency ?? null,
          workingHours: after.working_hours ?? null,
          repeatVisitDays: after.repeat_visit_days ?? null,
          onTimeGraceMinutes: after.on_time_grace_minutes ?? null,
        });
    }
  },
};

function toLeaves(held: InsightSettings & {readonly account: string}): Leaf[] {
  const values: Readonly<Record<string, Value | null>> = {
    currency: held.currency,
    working_hours: held.workingHours,
    repeat_visit_days: held.repeatVisitDays,
    on_time_grace_minutes: held.onTimeGraceMinutes,
  };
  return Object.entries(values).flatMap(([key, value]) =>
    value === null ? [] : [{path: [held.account, key], value}],
  );
}
