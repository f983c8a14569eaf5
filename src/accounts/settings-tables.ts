import {sql} from 'drizzle-orm';
import {check, integer, jsonb, numeric, primaryKey, text} from 'drizzle-orm/pg-core';
import {bigNumber, instant} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {accounts, sync} from './accounts-table.ts';

export const fileSettingsTable = commentTable(
  sync.table(
    'file_settings',
    {
      section: text().notNull(),
      path: text().array().notNull(),
      value: jsonb().notNull(),
      file: text().notNull(),
      applied_at: instant().notNull().defaultNow(),
      applied_by: text().notNull().default(sql`current_user`),
    },
    (table) => [primaryKey({name: 'file_settings_pkey', columns: [table.section, table.path]})],
  ),
  'One row for each value that a file of settings gave: by it doctor tells which values in force come from a file.',
  {
    section: 'Section of the file.',
    path: 'Where in the section the value stands: the keys on the way to it.',
    value:
      'The value, as the file has it. The rows of the setting itself may have been changed since.',
    file: 'Name of the file.',
    applied_at: 'When the value was applied, or confirmed after it had been another.',
    applied_by: 'The role that applied it.',
  },
);

export const capacityToComeTable = commentTable(
  sync.table(
    'capacity_to_come',
    {
      account_id: bigNumber()
        .notNull()
        .references(() => accounts.account_id),
      employee_number: bigNumber().notNull(),
      working_hours: numeric().array().notNull(),
    },
    (table) => [
      primaryKey({
        name: 'capacity_to_come_pkey',
        columns: [table.account_id, table.employee_number],
      }),
      check(
        'capacity_to_come_working_hours_check',
        sql`cardinality(${table.working_hours}) = 7 AND 0 <= ALL (${table.working_hours}) AND 24 >= ALL (${table.working_hours})`,
      ),
    ],
  ),
  'Working hours of employees that are not mirrored yet: each moves to mart.capacity when its employee comes.',
  {
    account_id: 'The account.',
    employee_number: 'Number the service gave the employee.',
    working_hours: 'Hours on Monday to Sunday.',
  },
);

export const deletionLimitsTable = commentTable(
  sync.table(
    'deletion_limits',
    {
      account_id: bigNumber()
        .notNull()
        .references(() => accounts.account_id),
      stream: text().notNull(),
      most_rows: integer(),
      most_percent: numeric(),
    },
    (table) => [
      primaryKey({name: 'deletion_limits_pkey', columns: [table.account_id, table.stream]}),
      check(
        'deletion_limits_one_check',
        sql`(${table.most_rows} IS NULL) <> (${table.most_percent} IS NULL)`,
      ),
      check(
        'deletion_limits_range_check',
        sql`${table.most_rows} >= 0 OR (${table.most_percent} >= 0 AND ${table.most_percent} <= 100)`,
      ),
    ],
  ),
  'How many rows one sweep of a stream may mark as deleted before a person approves it, where that is not the default.',
  {
    account_id: 'The account.',
    stream: 'The kind of object.',
    most_rows: 'At most so many rows; null where the limit is a share.',
    most_percent:
      'At most so many percent of the live rows; null where the limit is a number of rows.',
  },
);
