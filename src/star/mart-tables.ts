// The tables of the star that are no view of something else: the calendar, and what people are
// asked once because the service does not know it. Every figure works without.

import {sql} from 'drizzle-orm';
import {
  boolean,
  check,
  date,
  integer,
  numeric,
  pgSchema,
  primaryKey,
  smallint,
  text,
} from 'drizzle-orm/pg-core';
import {bigNumber, instant, listed} from '../postgres/column-types.ts';
import {type CommentedTable, commentTable} from '../postgres/commented-table.ts';

export const mart = pgSchema('mart');

const week = () => numeric().array();

const dimDate = commentTable(
  mart.table('dim_date', {
    date: date({mode: 'string'}).primaryKey(),
    year: integer().notNull(),
    quarter: integer().notNull(),
    month: integer().notNull(),
    month_name: text().notNull(),
    day_of_month: integer().notNull(),
    weekday: integer().notNull(),
    weekday_name: text().notNull(),
    iso_year: integer().notNull(),
    iso_week: integer().notNull(),
    week: date({mode: 'string'}).notNull(),
    week_from_sunday: date({mode: 'string'}).notNull(),
    month_start: date({mode: 'string'}).notNull(),
    month_end: date({mode: 'string'}).notNull(),
    quarter_start: date({mode: 'string'}).notNull(),
    is_weekend: boolean().notNull(),
  }),
  'One row for each day from 2000 to 2049.',
  {
    date: 'The day.',
    year: 'Its year.',
    quarter: 'Its quarter, 1 to 4.',
    month: 'Its month, 1 to 12.',
    month_name: 'Name of the month, in English.',
    day_of_month: 'Its place in the month.',
    weekday: 'Its weekday: Monday is 1, Sunday 7.',
    weekday_name: 'Name of the weekday, in English.',
    iso_year: 'The year that its ISO week belongs to.',
    iso_week: 'Its ISO week, 1 to 53.',
    week: 'The Monday of its week.',
    week_from_sunday: 'The Sunday of its week, for those whose week begins then.',
    month_start: 'The first day of its month.',
    month_end: 'The last day of its month.',
    quarter_start: 'The first day of its quarter.',
    is_weekend: 'True on Saturday and Sunday.',
  },
);

const dimJobState = commentTable(
  mart.table('dim_job_state', {
    job_state: text().primaryKey(),
    place: smallint().notNull(),
    is_open: boolean().notNull(),
    label: text().notNull(),
  }),
  'One row for each state of a job: mart.job_state tells it from the status and the times of the job.',
  {
    job_state: 'The state.',
    place: 'Its place in the life of a job, from 1.',
    is_open: 'True while there is work to do.',
    label: 'Its name for a person.',
  },
);

const settingsTable = mart.table(
  'settings',
  {
    account_key: bigNumber().primaryKey(),
    currency: text(),
    working_hours: week(),
    repeat_visit_days: integer(),
    on_time_grace_minutes: integer(),
  },
  (table) => [
    check('settings_currency_check', sql`${table.currency} ~ '^[A-Z]{3}$'`),
    check(
      'settings_working_hours_check',
      sql`cardinality(${table.working_hours}) = 7 AND 0 <= ALL (${table.working_hours}) AND 24 >= ALL (${table.working_hours})`,
    ),
    check('settings_repeat_visit_days_check', sql`${table.repeat_visit_days} BETWEEN 1 AND 365`),
    check(
      'settings_on_time_grace_minutes_check',
      sql`${table.on_time_grace_minutes} BETWEEN 0 AND 1440`,
    ),
  ],
);

const settings = commentTable(
  settingsTable,
  'What the service does not know of an account; a figure that needs what is not set is left out.',
  {
    account_key: 'The account: dim_account.',
    currency: 'Currency of its amounts, as in EUR.',
    working_hours: 'Hours that one technician works on Monday to Sunday, as in {8,8,8,8,8,0,0}.',
    repeat_visit_days:
      'Within how many days another job of the same kind is a repeat visit; 30 where it is not set.',
    on_time_grace_minutes: 'How late a job may begin and still be on time; 15 where it is not set.',
  },
);

const capacityTable = mart.table(
  'capacity',
  {
    employee_key: bigNumber().primaryKey(),
    working_hours: week().notNull(),
  },
  (table) => [
    check(
      'capacity_working_hours_check',
      sql`cardinality(${table.working_hours}) = 7 AND 0 <= ALL (${table.working_hours}) AND 24 >= ALL (${table.working_hours})`,
    ),
  ],
);

const capacity = commentTable(
  capacityTable,
  'Working hours of an employee, where they differ from those of the account.',
  {
    employee_key: 'Who: dim_employee.',
    working_hours: 'Hours on Monday to Sunday.',
  },
);

const closedDaysTable = mart.table(
  'closed_days',
  {
    account_key: bigNumber().notNull(),
    date: date({mode: 'string'}).notNull(),
    name: text().notNull(),
  },
  (table) => [primaryKey({name: 'closed_days_pkey', columns: [table.account_key, table.date]})],
);

const closedDays = commentTable(closedDaysTable, 'Days on which nobody of an account works.', {
  account_key: 'The account: dim_account.',
  date: 'The day.',
  name: 'Why, as in New Year.',
});

const labelKinds = [
  'customer_type',
  'customer_source',
  'job_charge_type',
  'time_entry_type',
  'task_type',
];

const labelsTable = mart.table(
  'labels',
  {
    account_key: bigNumber().notNull(),
    kind: text().notNull(),
    id: bigNumber().notNull(),
    label: text().notNull(),
  },
  (table) => [
    primaryKey({name: 'labels_pkey', columns: [table.account_key, table.kind, table.id]}),
    check('labels_kind_check', sql`${table.kind} IN (${listed(labelKinds)})`),
  ],
);

const labels = commentTable(labelsTable, 'Names for what the service sends as a number alone.', {
  account_key: 'The account: dim_account.',
  kind: 'customer_type, customer_source, job_charge_type, time_entry_type or task_type.',
  id: 'The number that the service sends.',
  label: 'Its name.',
});

const reportedTable = mart.table(
  'reported',
  {
    account_key: bigNumber().notNull(),
    week: date({mode: 'string'}).notNull(),
    metric: text().notNull(),
    value: numeric().notNull(),
    known_as_of: instant().notNull(),
  },
  (table) => [
    primaryKey({
      name: 'reported_pkey',
      columns: [table.account_key, table.metric, table.week, table.known_as_of],
    }),
  ],
);

const reported = commentTable(
  reportedTable,
  'One row for each figure that a weekly report told, never changed: what is restated later is told by it.',
  {
    account_key: 'The account: dim_account.',
    week: 'The Monday of the week that the figure is of.',
    metric: 'Which figure: a column of ask_weeks.',
    value: 'The figure, as it was told.',
    known_as_of: 'The moment of the report: ask_weeks_as_of(known_as_of) tells the figure again.',
  },
);

/** Every table of the schema `mart`. */
export const martTables: readonly CommentedTable[] = [
  dimDate,
  dimJobState,
  settings,
  capacity,
  closedDays,
  labels,
  reported,
];
