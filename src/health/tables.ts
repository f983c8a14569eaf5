// Tables of the installation and of the background parts of its workers.

import {sql} from 'drizzle-orm';
import {boolean, check, primaryKey, text, uuid} from 'drizzle-orm/pg-core';
import {syncSchema} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant} from '../postgres/tables.ts';

// No foreign key to workers: a part may be noted before its worker first looks for work.
export const heartbeats = syncSchema.table(
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
  'How each background part of each worker fares. A part without a good round for too long ' +
    'needs a person, whatever the cause.',
  {
    worker_id: 'The worker, as in sync.workers.',
    part: 'The part: A23 in docs/alerts.md says what each one does.',
    good_at:
      'When its last good round ended, or its last good step; before the first one, ' +
      'when the worker began.',
    begun_at: 'When the current round began; null if none is running.',
    last_error: 'Why the last round failed; null after a good one.',
    noted_at: 'When the worker noted this, about every ten seconds, whatever its parts do.',
  },
);

const installation = syncSchema.table(
  'installation',
  {
    is_only: boolean().primaryKey().default(true),
    system_identifier: text().notNull(),
    database_oid: bigNumber().notNull(),
    server_started_at: instant().notNull(),
    names: text().array().notNull(),
    claimed_at: instant().notNull().defaultNow(),
    claimed_by: text().notNull().default(sql`current_user`),
  },
  (table) => [check('installation_is_only_check', sql`${table.is_only}`)],
);

export const installationTable = commentTable(
  installation,
  'The database that works for the accounts: a copy or a restored backup of it finds by this ' +
    'row that it is another one, and sends nothing.',
  {
    is_only: 'True: there is one row.',
    system_identifier: 'The cluster of Postgres, as pg_control_system() gives it.',
    database_oid: 'The database within that cluster.',
    server_started_at: 'When the server was started that workers saw last.',
    names: 'The addresses by which workers reach this database, the one added last at the end.',
    claimed_at: 'When this database began to work for the accounts, or a person said that it does.',
    claimed_by: 'The role that did.',
  },
);
