// Tables of the feed, and of the subscribers that it is sent to.

import {sql} from 'drizzle-orm';
import {
  boolean,
  check,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import {accounts, isSystemName, syncSchema} from '../accounts/tables.ts';
import {defaultSystem} from '../core/names.ts';
import {bigNumber, bytea, commentTable, inOneLine, instant, listed} from '../postgres/tables.ts';
import {defaultEntries, entryOperations, maxEntries, maxStateBytes} from './terms.ts';

// No foreign key to the account: it would be checked once for every entry.
const feedEntries = syncSchema.table(
  'feed_entries',
  {
    entry_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    position: bigNumber(),
    account_id: bigNumber().notNull(),
    table_name: text().notNull(),
    row_id: bigNumber(),
    operation: text({enum: entryOperations}).notNull(),
    at: instant().notNull(),
    written_by: text(),
    application: text(),
    change_id: bigNumber(),
  },
  (table) => [
    unique('feed_entries_position_key').on(table.position),
    check('feed_entries_operation_check', sql`${table.operation} IN (${listed(entryOperations)})`),
    check(
      'feed_entries_row_id_check',
      sql`(${table.row_id} IS NOT NULL)
        = (${table.operation} IN ('created', 'changed', 'removed'))`,
    ),
    index('feed_entries_row_id_idx').on(table.row_id, table.table_name),
    index('feed_entries_waiting_idx').on(table.entry_id).where(sql`position IS NULL`),
    // Few entries name a writer or an application.
    index('feed_entries_told_idx')
      .on(table.entry_id)
      .where(sql`application IS NOT NULL OR written_by IS NOT NULL`),
  ],
);

export const feedEntriesTable = commentTable(
  feedEntries,
  'What changed in the tables of warehouse, a row for each version that began or ended; ' +
    'sync.feed returns it with the values.',
  {
    entry_id: 'Number of the entry: the same for ever.',
    position:
      'Its place in the feed, counted without gaps; null until it has been given one, ' +
      'after its commit.',
    account_id: 'The account of the row.',
    table_name: 'The table of the row; of loaded the stream.',
    row_id: 'The row; null of loaded, and of what became of a change.',
    operation:
      'created, changed, removed of a row; loaded: read the table as a whole; else the state ' +
      'that change_id came into.',
    at:
      'When the version began; of a row that was removed from the table, ' +
      'when its last version ended.',
    written_by: 'Database user who wrote it; null where it came from the service.',
    application:
      'What the connection called itself: of the HTTP API http: and the name of the key. ' +
      'An author who calls itself so is shown in quotes.',
    change_id: 'The change that caused the entry; null where none did.',
  },
);

const feedState = syncSchema.table(
  'feed_state',
  {
    is_only: boolean().primaryKey().default(true),
    feed_id: text().notNull().default(sql`left(translate(gen_random_uuid()::text, '-', ''), 12)`),
    last_position: bigNumber().notNull().default(sql`0`),
    removed_to: bigNumber().notNull().default(sql`0`),
    keep_days: integer().notNull().default(30),
  },
  (table) => [
    check('feed_state_is_only_check', sql`${table.is_only}`),
    check(
      'feed_state_positions_check',
      sql`0 <= ${table.removed_to} AND ${table.removed_to} <= ${table.last_position}`,
    ),
    check('feed_state_keep_days_check', sql`${table.keep_days} >= 1`),
  ],
);

export const feedStateTable = commentTable(feedState, 'One row: how far the feed has come.', {
  is_only: 'True: there is one row.',
  feed_id:
    'Name of this feed: each cursor begins with it, so that one of another warehouse is refused.',
  last_position: 'The last position that was given.',
  removed_to: 'The last position whose entry is no longer kept.',
  keep_days: 'For how many days entries are kept.',
});

const feedStarts = syncSchema.table(
  'feed_starts',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id, {onDelete: 'cascade'}),
    stream: text().notNull(),
    began_at: instant().notNull().defaultNow(),
  },
  (table) => [primaryKey({name: 'feed_starts_pkey', columns: [table.account_id, table.stream]})],
);

export const feedStartsTable = commentTable(
  feedStarts,
  'Streams whose new rows are in the feed: those that were read as a whole once. ' +
    'A first load is not reported row by row.',
  {
    account_id: 'The account.',
    stream: 'The stream.',
    began_at: 'When it had been read as a whole for the first time.',
  },
);

export const feedHooks = syncSchema.table(
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
    most: integer().notNull().default(defaultEntries),
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
    holder: text(),
    sent_at: instant(),
    created_at: instant().notNull().defaultNow(),
    created_by: text().notNull().default(sql`session_user`),
    system: text().notNull().default(defaultSystem),
    columns: text().array(),
  },
  (table) => [
    check('feed_hooks_system_check', isSystemName(table.system)),
    unique('feed_hooks_name_key').on(table.name),
    check('feed_hooks_tables_check', sql`${table.tables} <> '{}'`),
    check('feed_hooks_columns_check', sql`${table.columns} <> '{}'`),
    check('feed_hooks_leaves_out_check', sql`${table.leaves_out} <> '{}'`),
    check('feed_hooks_most_check', sql`${table.most} BETWEEN 1 AND ${sql.raw(String(maxEntries))}`),
    check('feed_hooks_batch_check', sql`(${table.batch_id} IS NULL) = (${table.batch_to} IS NULL)`),
    check('feed_hooks_attempts_check', sql`${table.attempts} >= 0`),
    check(
      'feed_hooks_failing_since_check',
      sql`(${table.failing_since} IS NULL) = (${table.last_error} IS NULL)`,
    ),
    check(
      'feed_hooks_stopped_at_check',
      inOneLine(
        sql`${table.stopped_at} IS NULL`,
        sql`OR ${table.last_error} IS NOT NULL AND ${table.lease_until} IS NULL`,
      ),
    ),
  ],
);

export const feedHooksTable = commentTable(
  feedHooks,
  'Subscribers of the feed that are sent its entries over HTTP, each with the place up to ' +
    'which it has taken them.',
  {
    hook_id: 'Number of the subscriber.',
    name: 'What the subscriber is called here.',
    target: 'The host of its address, as far as a person may see it.',
    sealed_access:
      'The whole address and the secret that signs, sealed with a key that is not in this ' +
      'database; empty while a subscriber of a file of settings waits for its address.',
    key_id: 'Which key sealed it; empty while it waits for its address.',
    account_id: 'The only account whose entries are sent; null for all.',
    tables: 'The only tables whose entries are sent; null for all.',
    leaves_out:
      'Writers whose entries are not sent, because they are its own echo: a login, or http: ' +
      'and the name of a key.',
    masks: 'Whether personal values are hidden.',
    most: 'The most entries in one request.',
    cursor: 'Behind the last entry that it has taken.',
    batch_id: 'The same in each try of the current batch; null between batches.',
    batch_to: 'Behind the last entry of the current batch.',
    attempts: 'Tries of the current batch that failed.',
    due_at: 'From when on it may be sent something.',
    failing_since: 'Since when it takes nothing; null while the last try went well.',
    last_error: 'Why the last try failed.',
    stopped_at: 'When its batch was given up: it is sent nothing until a person has decided.',
    fence: 'How often it was taken up; a worker that holds an older number may no longer write.',
    lease_until: 'Until when its present worker owns it; the clock of this database decides.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    sent_at: 'When it last took a batch.',
    created_at: 'When it was made.',
    created_by: 'Database user who made it.',
    system: 'The outside system whose keys of rows it is sent.',
    columns:
      'A row that changed in none of these columns is not sent; null: every row is that changed.',
  },
);

const feedAcks = syncSchema.table(
  'feed_acks',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id, {onDelete: 'cascade'}),
    reader: text().notNull(),
    cursor: text().notNull(),
    state: jsonb(),
    acked_at: instant().notNull().defaultNow(),
  },
  (table) => [
    primaryKey({name: 'feed_acks_pkey', columns: [table.account_id, table.reader]}),
    check(
      'feed_acks_state_check',
      sql`octet_length(${table.state}::text) <= ${sql.raw(String(maxStateBytes))}`,
    ),
  ],
);

export const feedAcksTable = commentTable(
  feedAcks,
  'Up to where each author has followed the feed, and its state: stored by sync.feed_ack.',
  {
    account_id: 'The account.',
    reader: 'Whose it is: a role, or http: and the name of a key. No one else is given it.',
    cursor: 'Behind the last entry that it has processed.',
    state: 'What it stored beside the cursor; null where it stored nothing.',
    acked_at: 'When it last stored either.',
  },
);

const deadLetters = syncSchema.table(
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
  'Batches that a subscriber did not take and a person skipped. They name places in the feed ' +
    'and hold no value.',
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
