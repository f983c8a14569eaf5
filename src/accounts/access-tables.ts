import {sql} from 'drizzle-orm';
import {boolean, check, index, jsonb, primaryKey, text, unique} from 'drizzle-orm/pg-core';
import {bigNumber, bytea, instant, listed} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {roles} from './access-roles.ts';
import {accounts, sync} from './accounts-table.ts';

export const apiKeys = sync.table(
  'api_keys',
  {
    api_key_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    account_id: bigNumber().references(() => accounts.account_id),
    key_hash: bytea().notNull(),
    role: text({enum: roles}).notNull(),
    masks: boolean().notNull().default(false),
    created_at: instant().notNull().defaultNow(),
    created_by: text().notNull().default(sql`session_user`),
    last_used_at: instant(),
    revoked_at: instant(),
  },
  (table) => [
    unique('api_keys_key_hash_key').on(table.key_hash),
    unique('api_keys_name_key').on(table.name),
    check('api_keys_key_hash_check', sql`length(${table.key_hash}) = 32`),
    check('api_keys_role_check', sql`${table.role} IN (${listed(roles)})`),
    check('api_keys_admin_check', sql`${table.role} <> 'admin' OR ${table.account_id} IS NULL`),
  ],
);

export const apiKeysTable = commentTable(
  apiKeys,
  'Keys of systems and people that come in over HTTP.',
  {
    api_key_id: 'Number of the key.',
    name: 'What the key is called here: changes that come with it name it.',
    account_id: 'The account it opens; null: the console for all of them.',
    key_hash: 'SHA-256 of the key, which itself is nowhere.',
    role: 'viewer (reads), operator (makes changes and decides) or admin (looks after accounts and keys as well).',
    masks: 'Whether the console hides names, phones, addresses and notes from it.',
    created_at: 'When it was made.',
    created_by: 'Database user who made it.',
    last_used_at: 'When it was last used, to the minute.',
    revoked_at: 'When it was revoked; null while it opens.',
  },
);

const apiRequests = sync.table(
  'api_requests',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    idempotency_key: text().notNull(),
    body_hash: bytea().notNull(),
    results: jsonb().notNull().default(sql`'[]'::jsonb`),
    requested_at: instant().notNull().defaultNow(),
  },
  (table) => [
    primaryKey({name: 'api_requests_pkey', columns: [table.account_id, table.idempotency_key]}),
    index('api_requests_requested_at_idx').on(table.account_id, table.requested_at),
  ],
);

export const apiRequestsTable = commentTable(
  apiRequests,
  'Requests that came over HTTP with a key of their own: the same key is the same request.',
  {
    account_id: 'The account of the request.',
    idempotency_key: 'What the caller calls the request.',
    body_hash: 'SHA-256 of what was asked for.',
    results: 'What each change of it came to: its change_id, or the row that said so already.',
    requested_at: 'When it came; 30 days later its key is free again.',
  },
);

const authorAccounts = sync.table(
  'author_accounts',
  {
    role_name: text().notNull(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    granted_at: instant().notNull().defaultNow(),
    granted_by: text().notNull().default(sql`session_user`),
  },
  (table) => [
    primaryKey({name: 'author_accounts_pkey', columns: [table.role_name, table.account_id]}),
  ],
);

export const authorAccountsTable = commentTable(
  authorAccounts,
  'Which accounts an author may write, and sees of the warehouse; sync.grant_account adds to it.',
  {
    role_name: 'The role: an author, or a role that authors are members of.',
    account_id: 'An account of it.',
    granted_at: 'When it was given.',
    granted_by: 'Database user who gave it.',
  },
);

// No foreign key to the account: it would lock the account's row for as long as a statement runs.
export const assistantScopesTable = commentTable(
  sync.table('assistant_scopes', {
    transaction_id: bigNumber().primaryKey(),
    account_id: bigNumber().notNull(),
    names: boolean().notNull(),
  }),
  'The account that the statements of an assistant are bound to, for as long as their transaction lasts: nothing is committed here.',
  {
    transaction_id: 'Number of the transaction that is bound.',
    account_id: 'The account whose rows the views of masked show in it.',
    names: 'Whether they show the names of people.',
  },
);
