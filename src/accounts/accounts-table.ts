import {sql} from 'drizzle-orm';
import {check, pgSchema, text, unique, uuid} from 'drizzle-orm/pg-core';
import {bigNumber, bytea, instant, listed} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';

export const sync = pgSchema('sync');

const states = ['active', 'paused', 'stopped'] as const;

export const accounts = sync.table(
  'accounts',
  {
    account_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    api_url: text().notNull(),
    time_zone: text().notNull(),
    created_at: instant().notNull().defaultNow(),
    sealed_token: bytea(),
    key_id: text(),
    employee_id: bigNumber(),
    state: text({enum: states}).notNull().default('active'),
    state_reason: text(),
    state_since: instant().notNull().defaultNow(),
    page_key: uuid().notNull().defaultRandom(),
  },
  (table) => [
    unique('accounts_name_key').on(table.name),
    check('accounts_state_check', sql`${table.state} IN (${listed(states)})`),
    check(
      'accounts_state_reason_check',
      sql`${table.state} <> 'stopped' OR ${table.state_reason} IS NOT NULL`,
    ),
    check(
      'accounts_sealed_token_check',
      sql`(${table.sealed_token} IS NULL) = (${table.key_id} IS NULL)`,
    ),
  ],
);

export const accountsTable = commentTable(
  accounts,
  'Accounts at the field service that are mirrored here.',
  {
    account_id: 'Number of the account in this warehouse; every warehouse row bears it.',
    name: 'Short name of the account, as commands and schedules call it.',
    api_url: 'Base address of the account at the service.',
    time_zone: 'IANA zone in which the account writes times without an offset.',
    created_at: 'When the account was added here.',
    sealed_token:
      'The API token, sealed with a key that is not in this database; null where the environment gives it.',
    key_id: 'Which key sealed the token.',
    employee_id:
      'Whose token is in use: employees.id, learned from the first record made with it; null before.',
    state: 'active, paused (by a person) or stopped (the service refuses its token).',
    state_reason: 'Why it is paused or stopped, and the next step.',
    state_since: 'When it came into this state.',
    page_key: 'Key of the digests of its pages, by which a page that comes again is known.',
  },
);
