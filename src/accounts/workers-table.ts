import {sql} from 'drizzle-orm';
import {boolean, check, integer, text, uuid} from 'drizzle-orm/pg-core';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {sync} from './accounts-table.ts';

// No foreign keys to accounts: a worker that serves one must not keep it from being removed.
export const workers = sync.table(
  'workers',
  {
    worker_id: uuid().primaryKey(),
    host: text().notNull(),
    pid: integer().notNull(),
    version: text().notNull(),
    started_at: instant().notNull().defaultNow(),
    seen_at: instant().notNull().defaultNow(),
    account_ids: bigNumber().array().notNull(),
    key_ids: text().array().notNull(),
    given_account_id: bigNumber(),
    given_token_mark: text(),
    console_url: text(),
    sends_mail: boolean().notNull().default(true),
  },
  (table) => [
    check(
      'workers_given_token_mark_check',
      sql`(${table.given_account_id} IS NULL) = (${table.given_token_mark} IS NULL)`,
    ),
  ],
);

export const workersTable = commentTable(
  workers,
  'Processes that work by schedules: `start` without --once.',
  {
    worker_id: 'Made up by the process when it starts.',
    host: 'Name of the machine it runs on.',
    pid: 'Number of the process there.',
    version: 'Its version of Fieldmirror.',
    started_at: 'When it began, by the clock of this database.',
    seen_at: 'When it last looked for work, to about a quarter of a minute.',
    account_ids: 'The accounts that it serves.',
    key_ids: 'The keys that it can open sealed tokens with, as in sync.accounts.key_id.',
    given_account_id: 'The account whose token it has from its environment.',
    given_token_mark:
      'Tells whether another process has the same token from its environment: a short keyed hash, which gives nothing of it away.',
    console_url: 'Where its console listens; null where it has none.',
    sends_mail: 'Whether its environment names a server of e-mail, in FIELDMIRROR_SMTP_URL.',
  },
);
