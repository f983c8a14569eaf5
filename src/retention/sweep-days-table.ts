import {sql} from 'drizzle-orm';
import {bigint, check, date, integer, text, unique} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant} from '../postgres/tables.ts';

const count = () => bigint({mode: 'number'}).notNull();

const sweepDays = sync.table(
  'sweep_days',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    stream: text().notNull(),
    mode: text().notNull(),
    window_name: text(),
    day: date().notNull(),
    sweeps: integer().notNull(),
    first_started_at: instant().notNull(),
    first_ended_at: instant().notNull(),
    last_started_at: instant().notNull(),
    last_ended_at: instant().notNull(),
    requests: count(),
    pages: count(),
    bytes: count(),
    records: count(),
    sweep_day_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  },
  (table) => [
    unique('sweep_days_key')
      .on(table.account_id, table.stream, table.mode, table.window_name, table.day)
      .nullsNotDistinct(),
    check(
      'sweep_days_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check('sweep_days_sweeps_check', sql`${table.sweeps} > 0`),
  ],
);

export const sweepDaysTable = commentTable(
  sweepDays,
  'Sweeps that succeeded and changed nothing, once they are older than sync.retention keeps them: one row for each day, stream and kind of sweep.',
  {
    account_id: 'The account swept.',
    stream: 'The kind of object swept.',
    mode: 'full (each was certified), window (each was refreshed) or record, as in sync.sweeps.',
    window_name: 'Name of the filter of window sweeps.',
    day: 'The day on which they ended, by the zone of the account.',
    sweeps: 'How many there were.',
    first_started_at: 'When the first of them was taken up.',
    first_ended_at: 'When the first of them came to its end.',
    last_started_at: 'When the last of them was taken up.',
    last_ended_at: 'When the last of them came to its end.',
    requests: 'Requests sent to the service, together.',
    pages: 'Pages read, together.',
    bytes: 'Bytes of the bodies read, decompressed, together.',
    records: 'Records read, together.',
    sweep_day_id: 'Number of the row.',
  },
);
