// All tables as drizzle definitions: ours, and the warehouse's. Only migrations need them. Loading
// drizzle takes a third of a second and a hundred megabytes, so no module that runs every day
// imports this one.

import {sql} from 'drizzle-orm';
import {
  boolean,
  check,
  doublePrecision,
  index,
  integer,
  jsonb,
  numeric,
  type PgColumn,
  type PgColumnBuilderBase,
  type PgTable,
  pgSchema,
  primaryKey,
  smallint,
  text,
  unique,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {
  apiKeysTable,
  apiRequestsTable,
  auditTable,
  sessionsTable,
  signInCodesTable,
} from '../accounts/access-tables.ts';
import {
  accountsTable,
  assistantScopesTable,
  authorAccountsTable,
  deletionLimitsTable,
  editLimitsTable,
  forgottenTable,
  linksTable,
  syncSchema,
  workersTable,
} from '../accounts/tables.ts';
import {
  alertChecksTable,
  alertDeliveriesTable,
  alertRulesTable,
  alertsTable,
} from '../alerts/tables.ts';
import {
  alterationsTable,
  attemptsTable,
  capturedTablesTable,
  changesTable,
  conflictsTable,
  transitionsTable,
  writeRulesTable,
} from '../changes/tables.ts';
import {
  deliveryTargetsTable,
  reportListsTable,
  reportMailsTable,
  snapshotsTable,
} from '../delivery/tables.ts';
import {
  deadLettersTable,
  feedAcksTable,
  feedEntriesTable,
  feedHooksTable,
  feedStartsTable,
  feedStateTable,
} from '../feed/tables.ts';
import {heartbeatsTable, installationTable} from '../health/tables.ts';
import {bigNumber, bytea, type CommentedTable, commentTable, instant} from '../postgres/tables.ts';
import {pruningsTable, retentionTable, sweepDaysTable} from '../retention/tables.ts';
import {searchedWords} from '../rows/find-rows.ts';
import {fieldEventsTable, fieldsTable, staleJobsTable, weeklyReportsTable} from '../star/tables.ts';
import type {Column, ColumnType, MirrorTable, WarehouseTable} from '../streams/table.ts';
import {
  absentNumbersTable,
  quarantineTable,
  schedulesTable,
  sightingsTable,
  sweepsTable,
  tombstonesTable,
} from '../sweeps/tables.ts';

const source = syncSchema.table(
  'source',
  {
    only_row: smallint().primaryKey().default(1),
    version: text().notNull(),
    hash: text().notNull(),
    applied_at: instant().notNull().defaultNow(),
  },
  (table) => [check('source_only_row_check', sql`${table.only_row} = 1`)],
);

const sourceTable = commentTable(
  source,
  'Which functions, triggers, views, grants and definitions this database has: ' +
    'those of one version of Fieldmirror.',
  {
    only_row: 'Always 1: there is one row.',
    version: 'The version that applied them.',
    hash: 'SHA-256 of all of them.',
    applied_at: 'When they were applied.',
  },
);

export const warehouse = pgSchema('warehouse');

const columnBuilders: Readonly<Record<ColumnType, () => PgColumnBuilderBase>> = {
  text: () => text(),
  integer: bigNumber,
  decimal: () => numeric(),
  float: () => doublePrecision(),
  boolean: () => boolean(),
  instant,
  nested: () => jsonb(),
};

/**
 * The table with its keys and indexes. Nulls are distinct in its unique constraint: a row may have
 * no number yet.
 */
export function toDrizzle(
  mirrorTable: MirrorTable & Partial<Pick<WarehouseTable, 'capture'>>,
): PgTable {
  const {name, key, columns, indexes, searched, capture} = mirrorTable;
  return warehouse.table(name, buildColumns(columns), (table) => [
    unique(`${name}_key`).on(...pickColumns(table, ['account_id', ...key])),
    // This index covers every row: an upsert cannot name a partial index without its condition.
    uniqueIndex(`${name}_external_key`).on(...pickColumns(table, ['account_id', 'external_key'])),
    ...indexes.map((names) =>
      index(`${name}_${names.join('_')}_idx`).on(...pickColumns(table, ['account_id', ...names])),
    ),
    // Only rows that an author made refer to their parent by this column.
    ...(capture === undefined || capture.parent === null
      ? []
      : [
          index(`${name}_parent_row_id_idx`)
            .on(...pickColumns(table, ['parent_row_id']))
            .where(sql.raw('parent_row_id IS NOT NULL')),
        ]),
    ...(searched === null
      ? []
      : [index(`${name}_search_idx`).using('gin', sql.raw(`(${searchedWords(searched)})`))]),
  ]);
}

function buildColumns(columns: readonly Column[]): Record<string, PgColumnBuilderBase> {
  return {
    row_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber().notNull(),
    external_key: text(),
    ...Object.fromEntries(columns.map((column) => [column.name, columnBuilders[column.type]()])),
    extra: jsonb().notNull().default(sql`'{}'::jsonb`),
    _hash: bytea(),
    _first_seen_at: instant().notNull().defaultNow(),
    _changed_at: instant().notNull().defaultNow(),
    _deleted_at: instant(),
    _sweep_id: bigNumber(),
    _page: integer(),
    parent_row_id: bigNumber(),
    _change_id: bigNumber(),
    _pending: boolean(),
  };
}

function pickColumns(
  table: Record<string, PgColumn>,
  names: readonly string[],
): [PgColumn, ...PgColumn[]] {
  const [first, ...rest] = names.map((name) => {
    const column = table[name];
    if (column === undefined) throw new TypeError(`no column "${name}"`);
    return column;
  });
  if (first === undefined) throw new TypeError('no columns named');
  return [first, ...rest];
}

// No foreign key to the account: it would be checked once for every row of a first load.
const knownRecords = syncSchema.table(
  'known_records',
  {
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    number: bigNumber().notNull(),
    bytes_hash: bytea().notNull(),
    shape: integer().notNull(),
  },
  (table) => [
    // Number and hash come first, because they distinguish records. With the account first, a
    // planner without statistics would use either index for the other's query, and read a whole
    // account to find one hash.
    primaryKey({
      name: 'known_records_pkey',
      columns: [table.number, table.account_id, table.stream],
    }),
    index('known_records_bytes_hash_idx').on(table.bytes_hash),
  ],
);

const knownRecordsTable = commentTable(
  knownRecords,
  'The bytes in which each record was last read and accepted: what comes again byte for byte ' +
    'is not parsed.',
  {
    account_id: 'The account that sent the record.',
    stream: 'The kind of object it is.',
    number: 'Number of the record.',
    bytes_hash: 'Hash of the bytes of the record.',
    shape: 'Fingerprint of the columns it was read into: when they change, it is read again.',
  },
);

// No foreign key here either: it would be checked for every page that has changed.
const knownPages = syncSchema.table(
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
  authorAccountsTable,
  linksTable,
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
  alertChecksTable,
  deletionLimitsTable,
  deliveryTargetsTable,
  snapshotsTable,
  reportListsTable,
  reportMailsTable,
  editLimitsTable,
  installationTable,
  retentionTable,
  pruningsTable,
  sweepDaysTable,
  feedEntriesTable,
  feedStateTable,
  feedStartsTable,
  feedHooksTable,
  feedAcksTable,
  deadLettersTable,
];
