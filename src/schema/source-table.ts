import {sql} from 'drizzle-orm';
import {check, smallint, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable, instant} from '../postgres/tables.ts';

const source = sync.table(
  'source',
  {
    only_row: smallint().primaryKey().default(1),
    version: text().notNull(),
    hash: text().notNull(),
    applied_at: instant().notNull().defaultNow(),
  },
  (table) => [check('source_only_row_check', sql`${table.only_row} = 1`)],
);

export const sourceTable = commentTable(
  source,
  'Which functions, triggers, views, grants and definitions this database has: those of one version of Fieldmirror.',
  {
    only_row: 'Always 1: there is one row.',
    version: 'The version that applied them.',
    hash: 'SHA-256 of all of them.',
    applied_at: 'When they were applied.',
  },
);
