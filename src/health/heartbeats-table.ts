import {primaryKey, text, uuid} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable, instant} from '../postgres/tables.ts';

// No foreign key to workers: a part is noted although the worker has not yet looked for work once.
export const heartbeats = sync.table(
  'heartbeats',
  {
    worker_id: uuid().notNull(),
    part: text().notNull(),
    good_at: instant().notNull(),
    begun_at: instant(),
    last_error: text(),
    noted_at: instant().notNull().defaultNow(),
  },
  (table) => [primaryKey({name: 'heartbeats_pkey', columns: [table.worker_id, table.part]})],
);

export const heartbeatsTable = commentTable(
  heartbeats,
  'How each background part of each worker fares. A part without a good round for too long needs a person, whatever the cause.',
  {
    worker_id: 'The worker, as in sync.workers.',
    part: 'The part: docs/alerts/A23.md says what each one does.',
    good_at:
      'When its last good round ended, or its last good step; before the first one, when the worker began.',
    begun_at: 'When the round under way began; null where none is.',
    last_error: 'Why the last round failed; null after a good one.',
    noted_at: 'When the worker noted this, about every ten seconds, whatever its parts do.',
  },
);
