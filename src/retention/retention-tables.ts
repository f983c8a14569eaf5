import {sql} from 'drizzle-orm';
import {bigint, boolean, check, integer, interval, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable, instant, listed} from '../postgres/tables.ts';
import {retentionNames, rowKinds} from './retention-kinds.ts';

const least = rowKinds.map(
  ({name, leastDays}) => `WHEN '${name}' THEN interval '${leastDays} days'`,
);

const retention = sync.table(
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
      sql`${table.kept_for} >= CASE ${table.kind} ${sql.raw(least.join(' '))} END`,
    ),
    check('retention_removed_check', sql`${table.removed} >= 0`),
  ],
);

export const retentionTable = commentTable(
  retention,
  'How long each kind of thing that grows with time is kept: one row for each kind.',
  {
    kind: 'quiet_sweeps, settled_changes, versions, alerts, audit or sessions.',
    kept_for: 'How long it is kept; null: for ever.',
    pruned_to: 'What is older than this may be gone; null where nothing was ever removed.',
    removed: 'How many were removed since ever.',
  },
);

const prunings = sync.table(
  'prunings',
  {
    is_only: boolean().primaryKey().default(true),
    fence: integer().notNull().default(1),
    lease_until: instant(),
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
    fence: 'Number of the pruning; who holds an older number goes no further.',
    lease_until: 'Until when a worker prunes, unless it goes on; null while none does.',
    ended_at: 'When the last one came to its end.',
    joined_to:
      'Versions of write-backs that were replaced before this moment are joined where they hold the same; null before the first time.',
  },
);
