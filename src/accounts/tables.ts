// Tables of accounts and of what belongs to each: the workers that serve it, its limits, the roles
// that may write it, the links of its rows, its customers that were forgotten.

import {type SQLWrapper, sql} from 'drizzle-orm';
import {
  boolean,
  check,
  index,
  integer,
  jsonb,
  numeric,
  pgSchema,
  primaryKey,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import {defaultSystem, shortName} from '../core/names.ts';
import {bigNumber, bytea, commentTable, inOneLine, instant, listed} from '../postgres/tables.ts';

/** A check that a column has the name of a system, as a key or a rule has it. */
export const isSystemName = (column: SQLWrapper) =>
  sql`${column} ~ ${sql.raw(`'${shortName.source}'`)}`;

export const syncSchema = pgSchema('sync');

const states = ['active', 'paused', 'stopped'] as const;

export const accounts = syncSchema.table(
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
      'The API token, sealed with a key that is not in this database; ' +
      'null where the environment gives it.',
    key_id: 'Which key sealed the token.',
    employee_id:
      'Whose token is in use: employees.id, learned from the first record made with it; ' +
      'null before.',
    state: 'active, paused (by a person) or stopped (the service refuses its token).',
    state_reason: 'Why it is paused or stopped, and the next step.',
    state_since: 'When it came into this state.',
    page_key: 'Key of the digests of its pages, by which a page that comes again is known.',
  },
);

// No foreign keys to accounts: a worker that serves one must not keep it from being removed.
export const workers = syncSchema.table(
  'workers',
  {
    worker_id: uuid().primaryKey(),
    host: text().notNull(),
    pid: integer().notNull(),
    version: text().notNull(),
    started_at: instant().notNull().defaultNow(),
    seen_at: instant().notNull().defaultNow(),
    account_ids: bigNumber().array().notNull(),
    key_ids: text().array().notNull(),
    given_account_id: bigNumber(),
    given_token_mark: text(),
    console_url: text(),
    sends_mail: boolean().notNull().default(true),
  },
  (table) => [
    check(
      'workers_given_token_mark_check',
      sql`(${table.given_account_id} IS NULL) = (${table.given_token_mark} IS NULL)`,
    ),
  ],
);

export const workersTable = commentTable(
  workers,
  'Processes that work by schedules: `start` without --once.',
  {
    worker_id: 'Made up by the process when it starts.',
    host: 'Name of the machine it runs on.',
    pid: 'Number of the process there.',
    version: 'Its version of Fieldmirror.',
    started_at: "When it began, by this database's clock.",
    seen_at: 'When it last checked for work, to about a quarter of a minute.',
    account_ids: 'The accounts that it serves.',
    key_ids: 'The keys that it can open sealed tokens with, as in sync.accounts.key_id.',
    given_account_id: 'The account whose token it has from its environment.',
    given_token_mark:
      'Shows whether another process has the same token from its environment: ' +
      'a short keyed hash, which gives nothing of it away.',
    console_url: 'Where its console listens; null where it has none.',
    sends_mail: 'Whether its environment names a server of e-mail, in FIELDMIRROR_SMTP_URL.',
  },
);

export const deletionLimitsTable = commentTable(
  syncSchema.table(
    'deletion_limits',
    {
      account_id: bigNumber()
        .notNull()
        .references(() => accounts.account_id),
      stream: text().notNull(),
      most_rows: integer(),
      most_percent: numeric(),
    },
    (table) => [
      primaryKey({name: 'deletion_limits_pkey', columns: [table.account_id, table.stream]}),
      check(
        'deletion_limits_one_check',
        sql`(${table.most_rows} IS NULL) <> (${table.most_percent} IS NULL)`,
      ),
      check(
        'deletion_limits_range_check',
        inOneLine(
          sql`${table.most_rows} >= 0`,
          sql`OR (${table.most_percent} >= 0 AND ${table.most_percent} <= 100)`,
        ),
      ),
    ],
  ),
  'How many rows one sweep of a stream may mark as deleted before a person approves it, ' +
    'where that is not the default.',
  {
    account_id: 'The account.',
    stream: 'The kind of object.',
    most_rows: 'At most so many rows; null where the limit is a share.',
    most_percent:
      'At most so many percent of the live rows; null where the limit is a number of rows.',
  },
);

export const editLimitsTable = commentTable(
  syncSchema.table(
    'edit_limits',
    {
      account_id: bigNumber()
        .notNull()
        .references(() => accounts.account_id),
      table_name: text().notNull(),
      most_rows: integer(),
      most_percent: numeric(),
    },
    (table) => [
      primaryKey({name: 'edit_limits_pkey', columns: [table.account_id, table.table_name]}),
      check(
        'edit_limits_one_check',
        sql`(${table.most_rows} IS NULL) <> (${table.most_percent} IS NULL)`,
      ),
      check('edit_limits_range_check', sql`least(${table.most_rows}, ${table.most_percent}) >= 0`),
      check('edit_limits_percent_check', sql`${table.most_percent} <= 100`),
    ],
  ),
  'How many rows of a table one transaction may edit before a person releases its changes.',
  {
    account_id: 'The account.',
    table_name: 'The warehouse table.',
    most_rows: 'At most so many rows; null where the limit is a share.',
    most_percent:
      'At most so many percent of the live rows; null where the limit is a number of rows.',
  },
);

const authorAccounts = syncSchema.table(
  'author_accounts',
  {
    role_name: text().notNull(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    granted_at: instant().notNull().defaultNow(),
    granted_by: text().notNull().default(sql`session_user`),
    system: text().notNull().default(defaultSystem),
    holds_deletes: boolean().notNull().default(false),
  },
  (table) => [
    primaryKey({name: 'author_accounts_pkey', columns: [table.role_name, table.account_id]}),
    check('author_accounts_system_check', isSystemName(table.system)),
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
    system: 'The outside system for which the role writes that account.',
    holds_deletes:
      'Whether the deletes of the role and its members are held until a person releases them.',
  },
);

const links = syncSchema.table(
  'links',
  {
    link_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    system: text().notNull(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    table_name: text().notNull(),
    key: text().notNull(),
    row_id: bigNumber().notNull(),
    since: instant().notNull().defaultNow(),
    linked_by: text().notNull(),
    until: instant(),
  },
  (table) => [
    uniqueIndex('links_key')
      .on(table.account_id, table.table_name, table.key, table.system)
      .where(sql`until IS NULL`),
    uniqueIndex('links_row_id')
      .on(table.row_id, table.table_name, table.system)
      .where(sql`until IS NULL`),
    index('links_ended_row_id_idx')
      .on(table.row_id, table.table_name, table.system)
      .where(sql`until IS NOT NULL`),
    check(
      'links_system_check',
      sql`${isSystemName(table.system)} AND ${table.system} <> ${sql.raw(`'${defaultSystem}'`)}`,
    ),
    check('links_key_check', sql`length(${table.key}) BETWEEN 1 AND 200`),
    check('links_until_check', sql`${table.until} >= ${table.since}`),
  ],
);

export const linksTable = commentTable(
  links,
  'Keys of rows in outside systems; those of the system default are the column external_key.',
  {
    link_id: 'Number of the link.',
    system: 'The outside system.',
    account_id: 'The account of the row.',
    table_name: 'The table of the row.',
    key: 'What the system calls the row.',
    row_id: 'The row.',
    since: 'From when on it was so called.',
    linked_by: 'Who said so: a database user, or http: and the name of a key.',
    until: 'Until when; null while it is so called.',
  },
);

// No foreign key to the account: it would lock the account's row for as long as a statement runs.
export const assistantScopesTable = commentTable(
  syncSchema.table('assistant_scopes', {
    transaction_id: bigNumber().primaryKey(),
    account_id: bigNumber().notNull(),
    names: boolean().notNull(),
  }),
  'The account that the statements of an assistant are bound to, ' +
    'for as long as their transaction lasts: nothing is committed here.',
  {
    transaction_id: 'Number of the transaction that is bound.',
    account_id: 'The account whose rows the views of masked show in it.',
    names: 'Whether they show the names of people.',
  },
);

const forgottenCustomers = syncSchema.table(
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
  forgottenCustomers,
  'The customers that were forgotten: a receipt for each time, without their data. ' +
    'What the service sends of their personal data is kept out from then on.',
  {
    forgotten_id: 'Number of the receipt.',
    account_id: 'The account of the customer.',
    customer_number: 'Number of the customer.',
    forgotten_at: 'When it was.',
    forgotten_by: 'The role that did.',
    removed: 'How many rows of each table were emptied, or how many went.',
  },
);
