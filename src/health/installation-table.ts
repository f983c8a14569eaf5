import {sql} from 'drizzle-orm';
import {boolean, check, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant} from '../postgres/tables.ts';

const installation = sync.table(
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
  'The database that works for the accounts: a copy or a restored backup of it finds by this row that it is another one, and sends nothing.',
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
