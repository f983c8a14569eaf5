// The tables of sweeps: the sweeps with their evidence; the numbers that they saw, found gone or
// found absent; records in quarantine; schedules.

import {sql} from 'drizzle-orm';
import {
  bigint,
  check,
  type ExtraConfigColumn,
  index,
  integer,
  jsonb,
  primaryKey,
  text,
  unique,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {bigNumber, bytea, commentTable, inOneLine, instant, listed} from '../postgres/tables.ts';
import {type Evidence, isQuiet} from './evidence.ts';

const sweepModes = ['full', 'window', 'record'] as const;
const requesters = ['schedule', 'command'] as const;
/**
 * The stage from which a sweep continues: the first pass, the second pass with its requests by
 * number, or approved tombstones.
 */
const stages = ['read', 'verify', 'approved'] as const;
const states = [
  'due',
  'running',
  'certified',
  'refreshed',
  'uncertified',
  'stopped',
  'failed',
] as const;

/** The columns that are never below zero, in the order in which their check names them. */
const counts = [
  ...['fence', 'failures', 'requests', 'pages', 'bytes', 'records', 'known', 'asked'],
  ...['inserted', 'updated', 'unchanged', 'revived', 'tombstoned', 'vanished', 'quarantined'],
] as const;

const count = () => bigint({mode: 'number'}).notNull().default(0);

const sweepColumns = {
  sweep_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  account_id: bigNumber()
    .notNull()
    .references(() => accounts.account_id),
  stream: text().notNull(),
  mode: text({enum: sweepModes}).notNull(),
  window_name: text(),
  record_number: bigNumber(),
  state: text({enum: states}).notNull().default('due'),
  requested_by: text({enum: requesters}).notNull(),
  due_at: instant().notNull().defaultNow(),
  started_at: instant(),
  ended_at: instant(),
  stage: text({enum: stages}).notNull().default('read'),
  next_page: integer().notNull().default(1),
  fence: integer().notNull().default(0),
  lease_until: instant(),
  holder: text(),
  claimed_by: text(),
  failures: integer().notNull().default(0),
  requests: count(),
  pages: count(),
  bytes: count(),
  records: count(),
  known: count(),
  asked: count(),
  inserted: count(),
  updated: count(),
  unchanged: count(),
  revived: count(),
  tombstoned: count(),
  vanished: count(),
  quarantined: count(),
  rows: integer(),
  reasons: text().array().notNull().default(sql`'{}'::text[]`),
  error: text(),
  evidence: jsonb().$type<Evidence>().notNull().default(sql`'{}'::jsonb`),
  approved_at: instant(),
  approved_by: text(),
};

/** The columns, as checks and indexes name them. */
type SweepColumns = Readonly<Record<keyof typeof sweepColumns, ExtraConfigColumn>>;

export const sweeps = syncSchema.table('sweeps', sweepColumns, (table) => [
  ...listSweepChecks(table),
  ...listSweepIndexes(table),
]);

function listSweepChecks(table: SweepColumns) {
  return [
    check('sweeps_mode_check', sql`${table.mode} IN (${listed(sweepModes)})`),
    check('sweeps_state_check', sql`${table.state} IN (${listed(states)})`),
    check('sweeps_requested_by_check', sql`${table.requested_by} IN (${listed(requesters)})`),
    check(
      'sweeps_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check(
      'sweeps_record_number_check',
      sql`(${table.record_number} IS NOT NULL) = (${table.mode} = 'record')`,
    ),
    ...listStateChecks(table),
    check('sweeps_next_page_check', sql`${table.next_page} >= 1`),
    check(
      'sweeps_counts_check',
      sql`least(${sql.join(
        counts.map((name) => table[name]),
        sql`, `,
      )}) >= 0`,
    ),
  ];
}

/** What each state and each stage requires of the other columns. */
function listStateChecks(table: SweepColumns) {
  return [
    check(
      'sweeps_ended_at_check',
      sql`(${table.ended_at} IS NULL) = (${table.state} IN ('due', 'running'))`,
    ),
    check(
      'sweeps_lease_until_check',
      sql`(${table.lease_until} IS NOT NULL) = (${table.state} = 'running')`,
    ),
    check(
      'sweeps_started_at_check',
      sql`${table.state} IN ('due', 'failed') OR ${table.started_at} IS NOT NULL`,
    ),
    check('sweeps_error_check', sql`${table.state} <> 'failed' OR ${table.error} IS NOT NULL`),
    check(
      'sweeps_reasons_check',
      inOneLine(
        sql`CASE ${table.state}`,
        sql`WHEN 'certified' THEN ${table.reasons} = '{}' AND ${table.error} IS NULL`,
        sql`WHEN 'refreshed' THEN ${table.reasons} = '{}' AND ${table.error} IS NULL`,
        sql`WHEN 'uncertified' THEN ${table.reasons} <> '{}'`,
        sql`WHEN 'stopped' THEN ${table.reasons} <> '{}' ELSE true END`,
      ),
    ),
    check('sweeps_stage_check', sql`${table.stage} IN (${listed(stages)})`),
    // A window is never certified, because it proves nothing about the other records; only a window
    // is refreshed.
    check(
      'sweeps_refreshed_check',
      inOneLine(
        sql`${table.state} NOT IN ('certified', 'refreshed')`,
        sql`OR (${table.state} = 'refreshed') = (${table.mode} = 'window')`,
      ),
    ),
    check('sweeps_stopped_check', sql`${table.state} <> 'stopped' OR ${table.mode} = 'full'`),
    check(
      'sweeps_approved_check',
      inOneLine(
        sql`(${table.approved_at} IS NOT NULL) = (${table.stage} = 'approved')`,
        sql`AND (${table.approved_at} IS NULL) = (${table.approved_by} IS NULL)`,
      ),
    ),
  ];
}

function listSweepIndexes(table: SweepColumns) {
  return [
    // Prevents two unfinished sweeps of the same target, whatever the queue does.
    uniqueIndex('sweeps_unfinished_key')
      .on(
        table.account_id,
        table.stream,
        table.mode,
        sql`coalesce(window_name, '')`,
        sql`coalesce(record_number, 0)`,
      )
      .where(sql`state IN ('due', 'running')`),
    index('sweeps_ended_at_idx').on(table.ended_at),
    // Finds quiet sweeps without reading the sweeps that stay, of which there are more every year.
    index('sweeps_quiet_idx').on(table.ended_at).where(sql.raw(isQuiet)),
    index('sweeps_latest_idx').on(table.account_id, table.stream, table.mode, table.sweep_id),
    // The last sweep of each window is found window by window.
    index('sweeps_windows_idx')
      .on(table.account_id, table.stream, table.window_name, table.sweep_id)
      .where(sql`mode = 'window'`),
  ];
}

export const sweepsTable = commentTable(
  sweeps,
  'Passes over a stream: planned, in progress and ended, with their evidence.',
  {
    sweep_id: 'Number of the sweep.',
    account_id: 'The account swept.',
    stream: 'The kind of object swept: customers, jobs, employees, tasks.',
    mode:
      'full: every record; window: what a filter lets through; ' +
      'record: one record by its number.',
    window_name: 'Name of the filter of a window sweep.',
    record_number: 'Number of the record that a record sweep requests.',
    state:
      'due, running, certified (proven complete), refreshed (a window: ' +
      'all that its filter lets through was read, nothing is proven of the rest), ' +
      'uncertified (ended, for the reasons given), stopped (a person must approve its ' +
      'tombstones) or failed.',
    requested_by: 'Who requested it: schedule or command.',
    due_at: 'From when on it may run.',
    started_at: 'When it was taken up for the first time.',
    ended_at: 'When it came to its end.',
    stage:
      'Checkpoint: read (the first pass), verify (the second, and questions by number) ' +
      'or approved (its tombstones are written).',
    next_page: 'Checkpoint: the page it continues with; all before it are in the warehouse.',
    fence: 'How often it was taken up; a worker that holds an older number may no longer write.',
    lease_until:
      'Until when its present worker owns it, unless renewed; the clock of this database decides.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    claimed_by: 'The process that took it up last: its machine and number.',
    failures: 'Tries that failed since its last saved batch.',
    requests: 'Requests sent to the service.',
    pages: 'Pages read.',
    bytes: 'Bytes of the bodies read, decompressed.',
    records: 'Different records read.',
    known: 'Records that came byte for byte as before, and so were not parsed.',
    asked: 'Records requested by their number.',
    inserted: 'Records whose row was new.',
    updated: 'Records whose row had changed.',
    unchanged: 'Records whose row needed no write.',
    revived: 'Records whose row had been marked deleted and came back.',
    tombstoned: 'Rows marked deleted because the service said that their record no longer exists.',
    vanished: 'Children marked deleted because their parent no longer lists them.',
    quarantined: 'Records that could not be read or taken.',
    rows: 'Rows of the stream that lived when a full sweep ended; null where nothing was counted.',
    reasons: 'Why the sweep is not certified.',
    error: 'What went wrong last, and the next step.',
    evidence: 'What the sweep saw and requested: its end state depends on this.',
    approved_at: 'When a person let its tombstones through.',
    approved_by: 'Database user who let them through.',
  },
);

const sweepId = () =>
  bigNumber()
    .notNull()
    .references(() => sweeps.sweep_id, {onDelete: 'cascade'});

const sightings = syncSchema.table(
  'sightings',
  {sweep_id: sweepId(), next_page: integer().notNull(), numbers: bytea().notNull()},
  (table) => [primaryKey({name: 'sightings_pkey', columns: [table.sweep_id, table.next_page]})],
);

export const sightingsTable = commentTable(
  sightings,
  'Which records the first pass of a sweep in progress has seen, by checkpoint; ' +
    'deleted when the sweep ends.',
  {
    sweep_id: 'The sweep.',
    next_page: 'The checkpoint with which they were noted.',
    numbers: 'Numbers of the records: differences of the sorted numbers, as LEB128.',
  },
);

export const tombstones = syncSchema.table(
  'tombstones',
  {
    sweep_id: sweepId(),
    number: bigNumber().notNull(),
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    status: integer(),
    message: text(),
    merged_into: bigNumber(),
    requested_at: instant(),
    written_at: instant(),
    undone_at: instant(),
  },
  (table) => [
    primaryKey({name: 'tombstones_pkey', columns: [table.sweep_id, table.number]}),
    index('tombstones_number_idx').on(table.number, table.account_id, table.stream),
    check(
      'tombstones_evidence_check',
      sql`(${table.status} IS NULL) = (${table.requested_at} IS NULL)`,
    ),
    check(
      'tombstones_written_at_check',
      sql`${table.written_at} IS NULL OR ${table.requested_at} IS NOT NULL`,
    ),
    check(
      'tombstones_undone_at_check',
      sql`${table.undone_at} IS NULL OR ${table.written_at} IS NOT NULL`,
    ),
  ],
);

export const tombstonesTable = commentTable(
  tombstones,
  'Rows whose record no longer exists, or would be marked so: each with the answer ' +
    'of the service.',
  {
    sweep_id: 'The sweep that found it out.',
    number: 'Number of the record.',
    account_id: 'The account.',
    stream: 'The kind of object.',
    status:
      'Status of the answer; null where it was not requested yet, because the breaker had tripped.',
    message: 'The message of the answer.',
    merged_into:
      'Number of the record that the service showed in its place, and into which it was merged.',
    requested_at: 'When its record was requested.',
    written_at: 'When the row was marked deleted; null where it was not.',
    undone_at: 'When the record came back.',
  },
);

const absentNumbers = syncSchema.table(
  'absent_numbers',
  {
    number: bigNumber().notNull(),
    account_id: bigNumber().notNull(),
    stream: text().notNull(),
    sweep_id: bigNumber().notNull(),
    status: integer().notNull(),
    message: text().notNull(),
    requested_at: instant().notNull().defaultNow(),
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
  'Numbers inside the known range that no list ever showed, requested once: ' +
    'the service has no such record.',
  {
    number: 'The number.',
    account_id: 'The account.',
    stream: 'The kind of object.',
    sweep_id: 'The sweep that requested it.',
    status: 'Status of the answer.',
    message: 'The message of the answer.',
    requested_at: 'When its record was requested.',
  },
);

export const quarantine = syncSchema.table(
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
    expected: text(),
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
    // If a sweep's row is deleted, Postgres finds the entries that name it by this index.
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
    page: 'The page on which it was last met.',
    reason: 'What is wrong with it.',
    expected: 'The same without the value that came; null where the reason may quote it anywhere.',
    xml: 'The record as sent, without secrets.',
    xml_hash: 'Hash of the record as sent: without a number, the same bytes are one entry.',
    first_seen_at: 'When it was first met.',
    last_seen_at: 'When it was last met.',
    resolved_at: 'When the record was read well, or proved deleted; null while it is open.',
  },
);

const scheduleModes = ['full', 'window'] as const;

export const schedules = syncSchema.table(
  'schedules',
  {
    schedule_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    name: text().notNull(),
    stream: text().notNull(),
    mode: text({enum: scheduleModes}).notNull(),
    window_name: text(),
    every_ms: bigint({mode: 'number'}).notNull(),
    next_due_at: instant().notNull(),
    last_requested_at: instant(),
  },
  (table) => [
    unique('schedules_name_key').on(table.account_id, table.name),
    check('schedules_mode_check', sql`${table.mode} IN (${listed(scheduleModes)})`),
    check(
      'schedules_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check('schedules_every_ms_check', sql`${table.every_ms} > 0`),
  ],
);

export const schedulesTable = commentTable(schedules, 'Sweeps that are repeated automatically.', {
  schedule_id: 'Number of the schedule.',
  account_id: 'The account swept.',
  name: 'Name of the schedule, unique in its account.',
  stream: 'The kind of object swept.',
  mode: 'full or window, as in sync.sweeps.',
  window_name: 'Name of the filter of a window sweep.',
  every_ms: 'How often, in milliseconds; a whole number of days keeps the time of day, in UTC.',
  next_due_at: 'When the next sweep is due.',
  last_requested_at: 'When a sweep was last requested.',
});
