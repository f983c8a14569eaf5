import {index, integer, primaryKey, text} from 'drizzle-orm/pg-core';
import {
  accountsTable,
  apiKeysTable,
  apiRequestsTable,
  assistantScopesTable,
  auditTable,
  authorAccountsTable,
  capacityToComeTable,
  deletionLimitsTable,
  fileSettingsTable,
  forgottenTable,
  sessionsTable,
  signInCodesTable,
  sync,
  workersTable,
} from '../accounts/tables.ts';
import {
  alertDeliveriesTable,
  alertLooksTable,
  alertRulesTable,
  alertsTable,
} from '../alerts/alert-tables.ts';
import {capturedTablesTable} from '../changes/captured-tables-table.ts';
import {attemptsTable, changesTable} from '../changes/change-tables.ts';
import {alterationsTable, conflictsTable} from '../changes/conflict-tables.ts';
import {employeeLoginsTable, loginKeysTable} from '../changes/login-tables.ts';
import {transitionsTable} from '../changes/transitions-table.ts';
import {writeRulesTable} from '../changes/write-rules-table.ts';
import {feedEntriesTable, feedStartsTable, feedStateTable} from '../feed/feed-tables.ts';
import {deadLettersTable, feedHooksTable} from '../feed/hook-tables.ts';
import {heartbeatsTable} from '../health/heartbeats-table.ts';
import {installationTable} from '../health/installation-table.ts';
import {bigNumber, bytea, type CommentedTable, commentTable} from '../postgres/tables.ts';
import {pruningsTable, retentionTable, sweepDaysTable} from '../retention/tables.ts';
import {fieldEventsTable, fieldsTable, staleJobsTable, weeklyReportsTable} from '../star/tables.ts';
import {
  absentNumbersTable,
  quarantineTable,
  schedulesTable,
  sightingsTable,
  sweepsTable,
  tombstonesTable,
} from '../sweeps/tables.ts';
import {sourceTable} from './source-table.ts';

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
    // Number and hash come first, for they tell records apart. With the account first, a planner
    // without statistics would take either index for the other's question, and read a whole account
    // to find one hash.
    primaryKey({
      name: 'known_records_pkey',
      columns: [table.number, table.account_id, table.stream],
    }),
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

// Nor here: it would be checked for every page that has changed.
const knownPages = sync.table(
  'known_pages',
  {
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    page: integer().notNull(),
    digest: bytea().notNull(),
    hashes: bytea().notNull(),
  },
  (table) => [
    primaryKey({name: 'known_pages_pkey', columns: [table.account_id, table.stream, table.page]}),
  ],
);

const knownPagesTable = commentTable(
  knownPages,
  'The pages of each list as they last came: one that comes again byte for byte is not cut.',
  {
    account_id: 'The account that sent the page.',
    stream: 'The kind of object that it lists.',
    page: 'Its number, from 1.',
    digest: 'Digest of the bytes of the page, by the page_key of the account.',
    hashes: 'Hashes of the bytes of its records, end to end, as in known_records.',
  },
);

/** Every table of the schema `sync` that migrations make. */
export const syncTables: readonly CommentedTable[] = [
  accountsTable,
  sweepsTable,
  schedulesTable,
  quarantineTable,
  knownRecordsTable,
  knownPagesTable,
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
  assistantScopesTable,
  sessionsTable,
  signInCodesTable,
  auditTable,
  forgottenTable,
  sourceTable,
  staleJobsTable,
  weeklyReportsTable,
  workersTable,
  heartbeatsTable,
  alertRulesTable,
  alertsTable,
  alertDeliveriesTable,
  alertLooksTable,
  fileSettingsTable,
  capacityToComeTable,
  deletionLimitsTable,
  installationTable,
  retentionTable,
  pruningsTable,
  sweepDaysTable,
  feedEntriesTable,
  feedStateTable,
  feedStartsTable,
  feedHooksTable,
  deadLettersTable,
];
