import {date, primaryKey, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';

export const weeklyReportsTable = commentTable(
  sync.table(
    'weekly_reports',
    {
      account_id: bigNumber().notNull(),
      week: date({mode: 'string'}).notNull(),
      file: text().notNull(),
      made_at: instant().notNull().defaultNow(),
    },
    (table) => [primaryKey({name: 'weekly_reports_pkey', columns: [table.account_id, table.week]})],
  ),
  'One row for each weekly report that was made by itself.',
  {
    account_id: 'The account.',
    week: 'The Monday of the week that it tells of.',
    file: 'The file that holds it.',
    made_at: 'When it was made.',
  },
);
