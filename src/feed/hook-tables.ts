import {sql} from 'drizzle-orm';
import {boolean, check, index, integer, text, unique, uuid} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/tables.ts';
import {bigNumber, bytea, commentTable, instant} from '../postgres/tables.ts';

/** The most entries that one request may have. */
export const mostEntries = 1_000;

/** The most entries of one request, where nothing else was asked for. */
export const usualMost = 100;

export const feedHooks = sync.table(
  'feed_hooks',
  {
    hook_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    target: text().notNull(),
    sealed_access: bytea().notNull(),
    key_id: text().notNull(),
    account_id: bigNumber().references(() => accounts.account_id, {onDelete: 'cascade'}),
    tables: text().array(),
    leaves_out: text().array(),
    masks: boolean().notNull().default(false),
    most: integer().notNull().default(usualMost),
    cursor: text().notNull(),
    batch_id: uuid(),
    batch_to: text(),
    attempts: integer().notNull().default(0),
    due_at: instant().notNull().defaultNow(),
    failing_since: instant(),
    last_error: text(),
    stopped_at: instant(),
    fence: integer().notNull().default(0),
    lease_until: instant(),
    sent_at: instant(),
    created_at: instant().notNull().defaultNow(),
    created_by: text().notNull().default(sql`session_user`),
  },
  (table) => [
    unique('feed_hooks_name_key').on(table.name),
    check('feed_hooks_tables_check', sql`${table.tables} <> '{}'`),
    check('feed_hooks_leaves_out_check', sql`${table.leaves_out} <> '{}'`),
    check(
      'feed_hooks_most_check',
      sql`${table.most} BETWEEN 1 AND ${sql.raw(String(mostEntries))}`,
    ),
    check('feed_hooks_batch_check', sql`(${table.batch_id} IS NULL) = (${table.batch_to} IS NULL)`),
    check('feed_hooks_attempts_check', sql`${table.attempts} >= 0`),
    check(
      'feed_hooks_failing_since_check',
      sql`(${table.failing_since} IS NULL) = (${table.last_error} IS NULL)`,
    ),
    check(
      'feed_hooks_stopped_at_check',
      sql`${table.stopped_at} IS NULL OR ${table.last_error} IS NOT NULL AND ${table.lease_until} IS NULL`,
    ),
  ],
);

export const feedHooksTable = commentTable(
  feedHooks,
  'Subscribers of the feed that are sent its entries over HTTP, each with the place up to which it has taken them.',
  {
    hook_id: 'Number of the subscriber.',
    name: 'What the subscriber is called here.',
    target: 'The host of its address, as far as a person may see it.',
    sealed_access:
      'The whole address and the secret that signs, sealed with a key that is not in this database; empty while a subscriber of a file of settings waits for its address.',
    key_id: 'Which key sealed it; empty while it waits for its address.',
    account_id: 'The only account whose entries are sent; null for all.',
    tables: 'The only tables whose entries are sent; null for all.',
    leaves_out:
      'Writers whose entries are not sent, because they are its own echo: a login, or http: and the name of a key.',
    masks: 'Whether personal values are hidden.',
    most: 'The most entries in one request.',
    cursor: 'Behind the last entry that it has taken.',
    batch_id: 'The same in each try of the batch under way; null while there is none.',
    batch_to: 'Behind the last entry of the batch under way.',
    attempts: 'Tries of the batch under way that failed.',
    due_at: 'From when on it may be sent something.',
    failing_since: 'Since when it takes nothing; null while the last try went well.',
    last_error: 'Why the last try failed.',
    stopped_at: 'When its batch was given up: it is sent nothing until a person has decided.',
    fence: 'How often it was taken up; who holds an older number may not write any more.',
    lease_until: 'Until when its present worker owns it; by the clock of this database.',
    sent_at: 'When it last took a batch.',
    created_at: 'When it was made.',
    created_by: 'Database user who made it.',
  },
);

export const deadLetters = sync.table(
  'feed_dead_letters',
  {
    letter_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    hook_id: bigNumber()
      .notNull()
      .references(() => feedHooks.hook_id, {onDelete: 'cascade'}),
    batch_id: uuid().notNull(),
    after_cursor: text().notNull(),
    to_cursor: text().notNull(),
    attempts: integer().notNull(),
    reason: text().notNull(),
    failing_since: instant().notNull(),
    skipped_at: instant().notNull().defaultNow(),
    skipped_by: text().notNull().default(sql`session_user`),
  },
  (table) => [
    unique('feed_dead_letters_batch_id_key').on(table.batch_id),
    index('feed_dead_letters_hook_id_idx').on(table.hook_id),
  ],
);

export const deadLettersTable = commentTable(
  deadLetters,
  'Batches that a subscriber did not take and a person skipped. They name places in the feed and hold no value.',
  {
    letter_id: 'Number of the dead letter.',
    hook_id: 'The subscriber.',
    batch_id: 'The id under which it was sent, and is sent again.',
    after_cursor: 'The place before its first entry.',
    to_cursor: 'The place behind its last entry.',
    attempts: 'Tries that failed.',
    reason: 'Why the last of them failed.',
    failing_since: 'Since when it was not taken.',
    skipped_at: 'When it was skipped.',
    skipped_by: 'Database user, or person of the console, who skipped it.',
  },
);
