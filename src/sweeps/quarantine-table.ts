import {sql} from 'drizzle-orm';
import {index, integer, text, uniqueIndex} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/accounts-table.ts';
import {bigNumber, bytea, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {sweeps} from './sweeps-table.ts';

export const quarantine = sync.table(
  'quarantine',
  {
    quarantine_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    stream: text().notNull(),
    number: bigNumber(),
    sweep_id: bigNumber().references(() => sweeps.sweep_id, {onDelete: 'set null'}),
    page: integer(),
    reason: text().notNull(),
    xml: text().notNull(),
    xml_hash: bytea().notNull(),
    first_seen_at: instant().notNull().defaultNow(),
    last_seen_at: instant().notNull().defaultNow(),
    resolved_at: instant(),
  },
  (table) => [
    // A record whose number is known is one entry, whatever is wrong with it and wherever it was
    // read.
    uniqueIndex('quarantine_number_key')
      .on(table.account_id, table.stream, table.number)
      .where(sql`number IS NOT NULL`),
    uniqueIndex('quarantine_xml_hash_key')
      .on(table.account_id, table.stream, table.xml_hash)
      .where(sql`number IS NULL`),
    index('quarantine_unresolved_idx')
      .on(table.account_id, table.stream, table.number)
      .where(sql`resolved_at IS NULL`),
    // The end of a sweep's row is told to the entries that name it.
    index('quarantine_sweep_id_idx').on(table.sweep_id).where(sql`sweep_id IS NOT NULL`),
  ],
);

export const quarantineTable = commentTable(
  quarantine,
  'Records that could not be read or taken, as the service sent them.',
  {
    quarantine_id: 'Number of the entry.',
    account_id: 'The account that sent the record.',
    stream: 'The kind of object it should have been.',
    number: 'Number of the record, where it could be read: then the record is one entry.',
    sweep_id: 'The sweep that met it last.',
    page: 'The page it last stood on.',
    reason: 'What is wrong with it.',
    xml: 'The record as sent, without secrets.',
    xml_hash: 'Hash of the record as sent: without a number, the same bytes are one entry.',
    first_seen_at: 'When it was first met.',
    last_seen_at: 'When it was last met.',
    resolved_at: 'When the record was read well, or proved gone; null while it is open.',
  },
);
