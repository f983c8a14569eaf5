import {bigint, pgSchema, text, timestamp, unique} from 'drizzle-orm/pg-core';
import {commentTable} from './commented-table.ts';

export const sync = pgSchema('sync');

export const accounts = sync.table(
  'accounts',
  {
    account_id: bigint({mode: 'bigint'}).primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    api_url: text().notNull(),
    time_zone: text().notNull(),
    created_at: timestamp({withTimezone: true, mode: 'string'}).notNull().defaultNow(),
  },
  (table) => [unique('accounts_name_key').on(table.name)],
);

export const accountsTable = commentTable(accounts, 'Accounts at the field service that are mirrored here.', {
  account_id: 'Number of the account in this warehouse; every warehouse row bears it.',
  name: 'Short name of the account, as commands and schedules call it.',
  api_url: 'Base address of the account at the service.',
  time_zone: 'IANA zone in which the account writes times without an offset.',
  created_at: 'When the account was added here.',
});
