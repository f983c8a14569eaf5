import {sql} from 'drizzle-orm';
import {bigint, check, index, integer, primaryKey, text, unique, uniqueIndex} from 'drizzle-orm/pg-core';
import {
  apiKeysTable,
  apiRequestsTable,
  authorAccountsTable,
  employeeLoginsTable,
  loginKeysTable,
} from '../accounts/access-tables.ts';
import {accounts, accountsTable, sync} from '../accounts/accounts-table.ts';
import {capturedTablesTable} from '../changes/tables/captured-tables-table.ts';
import {attemptsTable, changesTable} from '../changes/tables/change-tables.ts';
import {alterationsTable, conflictsTable} from '../changes/tables/conflict-tables.ts';
import {transitionsTable} from '../changes/tables/transitions-table.ts';
import {writeRulesTable} from '../changes/tables/write-rules-table.ts';
import {fieldEventsTable, fieldsTable} from '../fields/field-tables.ts';
import {workersTable} from '../health/workers-table.ts';
import {bigNumber, bytea, instant} from '../postgres/column-types.ts';
import {absentNumbersTable, sightingsTable, tombstonesTable} from '../sweeps/evidence-tables.ts';
import {sweeps, sweepsTable} from '../sweeps/sweeps-table.ts';
import {type CommentedTable, commentTable} from './commented-table.ts';
import {sourceTable} from './source-table.ts';

const accountId = () =>
  bigNumber()
    .notNull()
    .references(() => accounts.account_id);

const schedules = sync.table(
  'schedules',
  {
    schedule_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: accountId(),
    name: text().notNull(),
    stream: text().notNull(),
    mode: text().notNull(),
    window_name: text(),
    every_ms: bigint({mode: 'number'}).notNull(),
    next_due_at: instant().notNull(),
    last_rung_at: instant(),
  },
  (table) => [
    unique('schedules_name_key').on(table.account_id, table.name),
    check('schedules_mode_check', sql`${table.mode} IN ('full', 'window')`),
    check(
      'schedules_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check('schedules_every_ms_check', sql`${table.every_ms} > 0`),
  ],
);

const schedulesTable = commentTable(schedules, 'Sweeps that come round by themselves.', {
  schedule_id: 'Number of the schedule.',
  account_id: 'The account swept.',
  name: 'Name of the schedule, unique in its account.',
  stream: 'The kind of object swept.',
  mode: 'full or window, as in sync.sweeps.',
  window_name: 'Name of the filter of a window sweep.',
  every_ms: 'How often, in milliseconds; a whole number of days keeps the time of day, in UTC.',
  next_due_at: 'When the next sweep is due.',
  last_rung_at: 'When a sweep was last asked for.',
});

const quarantine = sync.table(
  'quarantine',
  {
    quarantine_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: accountId(),
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
    // A record whose number is known is one entry, whatever is wrong with it and wherever it was read.
    uniqueIndex('quarantine_number_key')
      .on(table.account_id, table.stream, table.number)
      .where(sql`number IS NOT NULL`),
    uniqueIndex('quarantine_xml_hash_key')
      .on(table.account_id, table.stream, table.xml_hash)
      .where(sql`number IS NULL`),
    index('quarantine_unresolved_idx')
      .on(table.account_id, table.stream, table.number)
      .where(sql`resolved_at IS NULL`),
  ],
);

const quarantineTable = commentTable(
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

// No foreign key to the account: it would be checked once for every row of a first load.
const knownRecords = sync.table(
  'known_records',
  {
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    number: bigNumber().notNull(),
    bytes_hash: bytea().notNull(),
    shape: integer().notNull(),
  },
  (table) => [
    // Number and hash come first, for they tell records apart. With the account first, a planner without
    // statistics would take either index for the other's question, and read a whole account to find one hash.
    primaryKey({name: 'known_records_pkey', columns: [table.number, table.account_id, table.stream]}),
    index('known_records_bytes_hash_idx').on(table.bytes_hash),
  ],
);

const knownRecordsTable = commentTable(
  knownRecords,
  'The bytes in which each record was last read and accepted: what comes again byte for byte is not parsed.',
  {
    account_id: 'The account that sent the record.',
    stream: 'The kind of object it is.',
    number: 'Number of the record.',
    bytes_hash: 'Hash of the bytes of the record.',
    shape: 'Fingerprint of the columns it was read into: when they change, it is read once more.',
  },
);

/** Every table of the schema `sync` that migrations make. */
export const syncTables: readonly CommentedTable[] = [
  accountsTable,
  sweepsTable,
  schedulesTable,
  quarantineTable,
  knownRecordsTable,
  sightingsTable,
  tombstonesTable,
  absentNumbersTable,
  fieldsTable,
  fieldEventsTable,
  changesTable,
  attemptsTable,
  alterationsTable,
  conflictsTable,
  capturedTablesTable,
  writeRulesTable,
  transitionsTable,
  apiKeysTable,
  apiRequestsTable,
  loginKeysTable,
  employeeLoginsTable,
  authorAccountsTable,
  sourceTable,
  workersTable,
];
