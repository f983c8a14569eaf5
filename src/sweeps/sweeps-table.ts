import {sql} from 'drizzle-orm';
import {bigint, check, index, integer, jsonb, text, uniqueIndex} from 'drizzle-orm/pg-core';
import {accounts, sync} from '../accounts/accounts-table.ts';
import {bigNumber, instant, listed} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import type {Evidence} from './evidence.ts';

const modes = ['full', 'window', 'record'] as const;
const requesters = ['schedule', 'command'] as const;
/**
 * The place where a sweep goes on: the first pass, the second and its questions, or approved
 * tombstones.
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

/** As SQL, whether a sweep succeeded and changed nothing. */
const isQuiet =
  "state IN ('certified', 'refreshed') AND inserted + updated + revived + tombstoned + vanished + quarantined = 0";

const count = () => bigint({mode: 'number'}).notNull().default(0);

export const sweeps = sync.table(
  'sweeps',
  {
    sweep_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    stream: text().notNull(),
    mode: text({enum: modes}).notNull(),
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
    reasons: text().array().notNull().default(sql`'{}'::text[]`),
    error: text(),
    evidence: jsonb().$type<Evidence>().notNull().default(sql`'{}'::jsonb`),
    approved_at: instant(),
    approved_by: text(),
  },
  (table) => [
    check('sweeps_mode_check', sql`${table.mode} IN (${listed(modes)})`),
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
      sql`CASE ${table.state} WHEN 'certified' THEN ${table.reasons} = '{}' AND ${table.error} IS NULL WHEN 'refreshed' THEN ${table.reasons} = '{}' AND ${table.error} IS NULL WHEN 'uncertified' THEN ${table.reasons} <> '{}' WHEN 'stopped' THEN ${table.reasons} <> '{}' ELSE true END`,
    ),
    check('sweeps_stage_check', sql`${table.stage} IN (${listed(stages)})`),
    // A window is never certified, for it proves nothing of the rest; nothing but a window is
    // refreshed.
    check(
      'sweeps_refreshed_check',
      sql`${table.state} NOT IN ('certified', 'refreshed') OR (${table.state} = 'refreshed') = (${table.mode} = 'window')`,
    ),
    check('sweeps_stopped_check', sql`${table.state} <> 'stopped' OR ${table.mode} = 'full'`),
    check(
      'sweeps_approved_check',
      sql`(${table.approved_at} IS NOT NULL) = (${table.stage} = 'approved') AND (${table.approved_at} IS NULL) = (${table.approved_by} IS NULL)`,
    ),
    check('sweeps_next_page_check', sql`${table.next_page} >= 1`),
    check(
      'sweeps_counts_check',
      sql`least(${table.fence}, ${table.failures}, ${table.requests}, ${table.pages}, ${table.bytes}, ${table.records}, ${table.known}, ${table.asked}, ${table.inserted}, ${table.updated}, ${table.unchanged}, ${table.revived}, ${table.tombstoned}, ${table.vanished}, ${table.quarantined}) >= 0`,
    ),
    // The lock against two sweeps of the same thing: it holds whatever the queue does.
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
    // Found without a look at the sweeps that stay: these are more with every year.
    index('sweeps_quiet_idx').on(table.ended_at).where(sql.raw(isQuiet)),
    index('sweeps_latest_idx').on(table.account_id, table.stream, table.mode, table.sweep_id),
  ],
);

export const sweepsTable = commentTable(
  sweeps,
  'Passes over a stream: planned, under way and past, with their evidence.',
  {
    sweep_id: 'Number of the sweep.',
    account_id: 'The account swept.',
    stream: 'The kind of object swept: customers, jobs, employees, tasks.',
    mode: 'full: every record; window: what a filter lets through; record: one record by its number.',
    window_name: 'Name of the filter of a window sweep.',
    record_number: 'Number of the record that a record sweep asks for.',
    state:
      'due, running, certified (proven complete), refreshed (a window: all that its filter lets through was read, nothing is proven of the rest), uncertified (ended, for the reasons given), stopped (a person must approve its tombstones) or failed.',
    requested_by: 'Who asked for it: schedule or command.',
    due_at: 'From when on it may run.',
    started_at: 'When it was taken up for the first time.',
    ended_at: 'When it came to its end.',
    stage:
      'Checkpoint: read (the first pass), verify (the second, and questions by number) or approved (its tombstones are written).',
    next_page: 'Checkpoint: the page it goes on with; all before it are in the warehouse.',
    fence: 'How often it was taken up; who holds an older number may not write any more.',
    lease_until:
      'Until when its present worker owns it, unless renewed; by the clock of this database.',
    claimed_by: 'The process that took it up last: its machine and number.',
    failures: 'Tries that failed since its last saved batch.',
    requests: 'Requests sent to the service.',
    pages: 'Pages read.',
    bytes: 'Bytes of the bodies read, decompressed.',
    records: 'Different records read.',
    known: 'Records that came byte for byte as before, and so were not parsed.',
    asked: 'Records asked for by their number.',
    inserted: 'Records whose row was new.',
    updated: 'Records whose row had changed.',
    unchanged: 'Records whose row needed no write.',
    revived: 'Records whose row had been marked deleted and came back.',
    tombstoned: 'Rows marked deleted because the service said of their number that it is gone.',
    vanished: 'Children marked deleted because their parent no longer lists them.',
    quarantined: 'Records that could not be read or taken.',
    reasons: 'Why the sweep is not certified.',
    error: 'What went wrong last, and the next step.',
    evidence: 'What the sweep saw and asked: what its end state rests on.',
    approved_at: 'When a person let its tombstones through.',
    approved_by: 'Database user who let them through.',
  },
);
