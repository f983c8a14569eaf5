import {sql} from 'drizzle-orm';
import {boolean, check, index, integer, primaryKey, text, unique} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant, listed} from '../postgres/tables.ts';
import {entryOperations} from './entry-operations.ts';

// No foreign key to the account: it would be checked once for every entry.
const feedEntries = sync.table(
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
      sql`(${table.row_id} IS NULL) = (${table.operation} = 'loaded')`,
    ),
    index('feed_entries_waiting_idx').on(table.entry_id).where(sql`position IS NULL`),
  ],
);

export const feedEntriesTable = commentTable(
  feedEntries,
  'What changed in the tables of warehouse, a row for each version that began or ended; sync.feed tells it with the values.',
  {
    entry_id: 'Number of the entry: the same for ever.',
    position:
      'Its place in the feed, counted without gaps; null until it has been given one, after its commit.',
    account_id: 'The account of the row.',
    table_name: 'The table of the row; of loaded the stream.',
    row_id: 'The row; null of loaded.',
    operation:
      'created, changed, removed; or loaded: the stream was read as a whole for the first time, and its rows are to be read from the tables.',
    at: 'When the version began; of a row that was removed from the table, when its last version ended.',
    written_by: 'Database user who wrote it; null where it came from the service.',
    application:
      'What the connection called itself: of the HTTP API http: and the name of the key. An author who calls itself so stands in quotes.',
    change_id: 'The change that caused the entry; null where none did.',
  },
);

const feedState = sync.table(
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

const feedStarts = sync.table(
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
  'Streams whose new rows are in the feed: those that were read as a whole once. A first load is not told row by row.',
  {
    account_id: 'The account.',
    stream: 'The stream.',
    began_at: 'When it had been read as a whole for the first time.',
  },
);
