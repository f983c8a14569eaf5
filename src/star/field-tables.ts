import {sql} from 'drizzle-orm';
import {check, index, primaryKey, real, text, uniqueIndex} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/tables.ts';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';

const accountId = () =>
  bigNumber()
    .notNull()
    .references(() => accounts.account_id);

export const fields = sync.table(
  'fields',
  {
    account_id: accountId(),
    table_name: text().notNull(),
    field: text().notNull(),
    stream: text().notNull(),
    types: text().array().notNull(),
    column_name: text(),
    filled_share: real(),
    first_seen_at: instant().notNull().defaultNow(),
    last_seen_at: instant().notNull().defaultNow(),
    last_sweep_id: bigNumber().notNull(),
    vanished_at: instant(),
    promoted_as: text(),
  },
  (table) => [
    primaryKey({name: 'fields_pkey', columns: [table.account_id, table.table_name, table.field]}),
    check('fields_filled_share_check', sql`${table.filled_share} BETWEEN 0 AND 1`),
    check(
      'fields_promoted_as_check',
      sql`${table.promoted_as} IS NULL OR (${table.column_name} IS NULL AND ${table.promoted_as} ~ '^[a-z][a-z0-9_]{0,62}$')`,
    ),
    uniqueIndex('fields_promoted_as_key')
      .on(table.account_id, table.table_name, table.promoted_as)
      .where(sql`promoted_as IS NOT NULL`),
  ],
);

export const fieldsTable = commentTable(
  fields,
  'Every field that the service was ever seen to send, or that was promoted before it came.',
  {
    account_id: 'The account that sent it.',
    table_name: 'The warehouse table whose records bear it.',
    field: 'Its name, with underscores.',
    stream: 'The stream in whose records it came.',
    types:
      'The types it was sent with, in order of first appearance; text where it names none, empty while it was always nil.',
    column_name: 'The column that takes it; null where it is kept in extra.',
    filled_share:
      'Share of the live rows in which it is not empty, 0 to 1; as of the last full sweep that wrote a row.',
    first_seen_at: 'When it was first seen, or promoted before it came.',
    last_seen_at: 'When a record that bears it was last parsed.',
    last_sweep_id: 'The sweep that saw it then; 0 where none has seen it yet.',
    vanished_at: 'When it was found that no record bears it any more.',
    promoted_as:
      'Name under which the field is a column of the view of its table in mart; set it to promote the field.',
  },
);

export const fieldEvents = sync.table(
  'field_events',
  {
    event_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: accountId(),
    table_name: text().notNull(),
    field: text().notNull(),
    kind: text().notNull(),
    detail: text().notNull(),
    sweep_id: bigNumber().notNull(),
    at: instant().notNull().defaultNow(),
  },
  (table) => [
    check(
      'field_events_kind_check',
      sql`${table.kind} IN ('new', 'vanished', 'returned', 'retyped')`,
    ),
    index('field_events_account_id_at_idx').on(table.account_id, table.at),
  ],
);

export const fieldEventsTable = commentTable(
  fieldEvents,
  'Changes in what the service sends: fields that came, went, came back or changed their type.',
  {
    event_id: 'Number of the event.',
    account_id: 'The account.',
    table_name: 'The warehouse table whose records bear the field.',
    field: 'Name of the field.',
    kind: 'new, vanished, returned or retyped.',
    detail: 'What changed, in words.',
    sweep_id: 'The sweep that found it.',
    at: 'When it was found.',
  },
);
