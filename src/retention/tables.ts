// The tables of retention: how long things are kept, the state of the pruning, and the daily sums
// of quiet sweeps that were removed.

import {sql} from 'drizzle-orm';
import {bigint, boolean, check, date, integer, interval, text, unique} from 'drizzle-orm/pg-core';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant, listed} from '../postgres/tables.ts';
import {retentionNames, rowKinds} from './retention.ts';

const leastDaysCases = rowKinds.map(
  ({name, leastDays}) => `WHEN '${name}' THEN interval '${leastDays} days'`,
);

const retention = syncSchema.table(
  'retention',
  {
    kind: text({enum: retentionNames}).primaryKey(),
    kept_for: interval(),
    pruned_to: instant(),
    removed: bigint({mode: 'number'}).notNull().default(0),
  },
  (table) => [
    check('retention_kind_check', sql`${table.kind} IN (${listed(retentionNames)})`),
    check(
      'retention_kept_for_check',
      sql`${table.kept_for} >= CASE ${table.kind} ${sql.raw(leastDaysCases.join(' '))} END`,
    ),
    check('retention_removed_check', sql`${table.removed} >= 0`),
  ],
);

export const retentionTable = commentTable(
  retention,
  'How long each kind of thing that grows with time is kept: one row for each kind.',
  {
    kind: 'quiet_sweeps, settled_changes, versions, alerts, audit, sessions or reports.',
    kept_for: 'How long it is kept; null: for ever.',
    pruned_to: 'What is older than this may be removed; null where nothing was ever removed.',
    removed: 'How many were removed since ever.',
  },
);

const prunings = syncSchema.table(
  'prunings',
  {
    is_only: boolean().primaryKey().default(true),
    fence: integer().notNull().default(1),
    lease_until: instant(),
    holder: text(),
    ended_at: instant(),
    joined_to: instant(),
  },
  (table) => [check('prunings_is_only_check', sql`${table.is_only}`)],
);

export const pruningsTable = commentTable(
  prunings,
  'One row: when what is no longer kept was last removed, so that one worker of many does it.',
  {
    is_only: 'True: there is one row.',
    fence: 'Number of the pruning; a worker that holds an older number stops.',
    lease_until: 'Until when a worker prunes, unless it continues; null while none does.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    ended_at: 'When the last one came to its end.',
    joined_to:
      'Versions of write-backs that were replaced before this moment are joined where they ' +
      'hold the same; null before the first time.',
  },
);

const countColumn = () => bigint({mode: 'number'}).notNull();

const sweepDays = syncSchema.table(
  'sweep_days',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    stream: text().notNull(),
    mode: text().notNull(),
    window_name: text(),
    day: date().notNull(),
    sweeps: integer().notNull(),
    first_started_at: instant().notNull(),
    first_ended_at: instant().notNull(),
    last_started_at: instant().notNull(),
    last_ended_at: instant().notNull(),
    requests: countColumn(),
    pages: countColumn(),
    bytes: countColumn(),
    records: countColumn(),
    sweep_day_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  },
  (table) => [
    unique('sweep_days_key')
      .on(table.account_id, table.stream, table.mode, table.window_name, table.day)
      .nullsNotDistinct(),
    check(
      'sweep_days_window_name_check',
      sql`(${table.window_name} IS NOT NULL) = (${table.mode} = 'window')`,
    ),
    check('sweep_days_sweeps_check', sql`${table.sweeps} > 0`),
  ],
);

export const sweepDaysTable = commentTable(
  sweepDays,
  'Sweeps that succeeded and changed nothing, once they are older than sync.retention keeps ' +
    'them: one row for each day, stream and kind of sweep.',
  {
    account_id: 'The account swept.',
    stream: 'The kind of object swept.',
    mode: 'full (each was certified), window (each was refreshed) or record, as in sync.sweeps.',
    window_name: 'Name of the filter of window sweeps.',
    day: 'The day on which they ended, by the zone of the account.',
    sweeps: 'How many there were.',
    first_started_at: 'When the first of them was taken up.',
    first_ended_at: 'When the first of them came to its end.',
    last_started_at: 'When the last of them was taken up.',
    last_ended_at: 'When the last of them came to its end.',
    requests: 'Requests sent to the service, together.',
    pages: 'Pages read, together.',
    bytes: 'Bytes of the bodies read, decompressed, together.',
    records: 'Records read, together.',
    sweep_day_id: 'Number of the row.',
  },
);
