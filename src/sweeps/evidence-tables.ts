// The memory of sweeps beyond their own row: numbers seen so far, numbers that are gone, numbers
// that never were.

import {sql} from 'drizzle-orm';
import {check, index, integer, primaryKey, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/accounts-table.ts';
import {bigNumber, bytea, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {sweeps} from './sweeps-table.ts';

const sweepId = () =>
  bigNumber()
    .notNull()
    .references(() => sweeps.sweep_id, {onDelete: 'cascade'});

const sightings = sync.table(
  'sightings',
  {sweep_id: sweepId(), next_page: integer().notNull(), numbers: bytea().notNull()},
  (table) => [primaryKey({name: 'sightings_pkey', columns: [table.sweep_id, table.next_page]})],
);

export const sightingsTable = commentTable(
  sightings,
  'Which records the first pass of a sweep under way has seen, by checkpoint; deleted when the sweep ends.',
  {
    sweep_id: 'The sweep.',
    next_page: 'The checkpoint with which they were noted.',
    numbers: 'Numbers of the records: differences of the sorted numbers, as LEB128.',
  },
);

export const tombstones = sync.table(
  'tombstones',
  {
    sweep_id: sweepId(),
    number: bigNumber().notNull(),
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    status: integer(),
    words: text(),
    asked_at: instant(),
    written_at: instant(),
    undone_at: instant(),
  },
  (table) => [
    primaryKey({name: 'tombstones_pkey', columns: [table.sweep_id, table.number]}),
    index('tombstones_number_idx').on(table.number, table.account_id, table.stream),
    check(
      'tombstones_evidence_check',
      sql`(${table.status} IS NULL) = (${table.asked_at} IS NULL)`,
    ),
    check(
      'tombstones_written_at_check',
      sql`${table.written_at} IS NULL OR ${table.asked_at} IS NOT NULL`,
    ),
    check(
      'tombstones_undone_at_check',
      sql`${table.undone_at} IS NULL OR ${table.written_at} IS NOT NULL`,
    ),
  ],
);

export const tombstonesTable = commentTable(
  tombstones,
  'Rows whose record is gone, or would be marked so: each with what the service answered when it was asked.',
  {
    sweep_id: 'The sweep that found it out.',
    number: 'Number of the record.',
    account_id: 'The account asked.',
    stream: 'The kind of object.',
    status:
      'Status of the answer; null where it was not asked yet, because the breaker had tripped.',
    words: 'What the service said.',
    asked_at: 'When it was asked.',
    written_at: 'When the row was marked deleted; null where it was not.',
    undone_at: 'When the record came back.',
  },
);

const absentNumbers = sync.table(
  'absent_numbers',
  {
    number: bigNumber().notNull(),
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    sweep_id: bigNumber().notNull(),
    status: integer().notNull(),
    words: text().notNull(),
    asked_at: instant().notNull().defaultNow(),
  },
  (table) => [
    primaryKey({
      name: 'absent_numbers_pkey',
      columns: [table.number, table.account_id, table.stream],
    }),
    index('absent_numbers_account_id_stream_idx').on(table.account_id, table.stream),
  ],
);

export const absentNumbersTable = commentTable(
  absentNumbers,
  'Numbers inside the known range that no list ever showed, asked for once: the service has no such record.',
  {
    number: 'The number.',
    account_id: 'The account asked.',
    stream: 'The kind of object.',
    sweep_id: 'The sweep that asked.',
    status: 'Status of the answer.',
    words: 'What the service said.',
    asked_at: 'When it was asked.',
  },
);
