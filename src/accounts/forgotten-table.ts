import {sql} from 'drizzle-orm';
import {index, jsonb, text} from 'drizzle-orm/pg-core';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {accounts, sync} from './accounts-table.ts';

const forgotten = sync.table(
  'forgotten',
  {
    forgotten_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    customer_number: bigNumber().notNull(),
    forgotten_at: instant().notNull().defaultNow(),
    forgotten_by: text().notNull().default(sql`session_user`),
    removed: jsonb().notNull(),
  },
  (table) => [index('forgotten_customer_number_idx').on(table.customer_number, table.account_id)],
);

export const forgottenTable = commentTable(
  forgotten,
  'The customers that were forgotten: a receipt for each time, without their data. What the service sends of their personal data is kept out from then on.',
  {
    forgotten_id: 'Number of the receipt.',
    account_id: 'The account of the customer.',
    customer_number: 'Number of the customer.',
    forgotten_at: 'When it was.',
    forgotten_by: 'The role that did.',
    removed: 'How many rows of each table were emptied, or how many went.',
  },
);
