import {sql} from 'drizzle-orm';
import {bigint, check, text, unique} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/accounts-table.ts';
import {bigNumber, instant, listed} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';

const modes = ['full', 'window'] as const;

export const schedules = sync.table(
  'schedules',
  {
    schedule_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    name: text().notNull(),
    stream: text().notNull(),
    mode: text({enum: modes}).notNull(),
    window_name: text(),
    every_ms: bigint({mode: 'number'}).notNull(),
    next_due_at: instant().notNull(),
    last_requested_at: instant(),
  },
  (table) => [
    unique('schedules_name_key').on(table.account_id, table.name),
    check('schedules_mode_check', sql`${table.mode} IN (${listed(modes)})`),
    check(
      'schedules_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check('schedules_every_ms_check', sql`${table.every_ms} > 0`),
  ],
);

export const schedulesTable = commentTable(schedules, 'Sweeps that come round by themselves.', {
  schedule_id: 'Number of the schedule.',
  account_id: 'The account swept.',
  name: 'Name of the schedule, unique in its account.',
  stream: 'The kind of object swept.',
  mode: 'full or window, as in sync.sweeps.',
  window_name: 'Name of the filter of a window sweep.',
  every_ms: 'How often, in milliseconds; a whole number of days keeps the time of day, in UTC.',
  next_due_at: 'When the next sweep is due.',
  last_requested_at: 'When a sweep was last asked for.',
});
