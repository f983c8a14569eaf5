// The tables of the star that are not views: the calendar, and the settings that people enter once
// because the service does not know them (every figure works without). Then the tables of `sync`:
// fields that were seen, jobs that the star is to read again, reports that were made.

import {type SQL, sql} from 'drizzle-orm';
import {
  type AnyPgColumn,
  boolean,
  check,
  date,
  index,
  integer,
  numeric,
  pgSchema,
  primaryKey,
  real,
  smallint,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {labelKinds} from '../accounts/settings.ts';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {
  bigNumber,
  type CommentedTable,
  commentTable,
  inOneLine,
  instant,
  listed,
} from '../postgres/tables.ts';

export const mart = pgSchema('mart');

const buildWeekColumn = () => numeric().array();

/** Of a `week`, for a check: seven days, each with 0 to 24 hours. */
function isWeekOfHours(column: AnyPgColumn): SQL {
  return sql`cardinality(${column}) = 7 AND 0 <= ALL (${column}) AND 24 >= ALL (${column})`;
}

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
  'One row for each state of a job: mart.job_state derives it from the status and the times of ' +
    'the job.',
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
    working_hours: buildWeekColumn(),
    repeat_visit_days: integer(),
    on_time_grace_minutes: integer(),
  },
  (table) => [
    check('settings_currency_check', sql`${table.currency} ~ '^[A-Z]{3}$'`),
    check('settings_working_hours_check', isWeekOfHours(table.working_hours)),
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
      'Within how many days another job of the same kind is a repeat visit; 30 if it is not set.',
    on_time_grace_minutes: 'How late a job may begin and still be on time; 15 if it is not set.',
  },
);

const capacityTable = mart.table(
  'capacity',
  {
    employee_key: bigNumber().primaryKey(),
    working_hours: buildWeekColumn().notNull(),
  },
  (table) => [check('capacity_working_hours_check', isWeekOfHours(table.working_hours))],
);

const capacity = commentTable(
  capacityTable,
  'Working hours of an employee, if they differ from those of the account.',
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

const closedDays = commentTable(closedDaysTable, 'Days on which no employee of an account works.', {
  account_key: 'The account: dim_account.',
  date: 'The day.',
  name: 'Why, as in New Year.',
});

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
    list: text().notNull().default(''),
  },
  (table) => [
    primaryKey({
      name: 'reported_pkey',
      columns: [table.account_key, table.metric, table.week, table.known_as_of, table.list],
    }),
  ],
);

const reported = commentTable(
  reportedTable,
  'One row for each figure of a weekly report, never changed: a comparison with it shows what ' +
    'was restated later.',
  {
    account_key: 'The account: dim_account.',
    week: 'The Monday of the week that the figure is of.',
    metric: 'Which figure: a column of ask_weeks.',
    value: 'The figure, as it was reported.',
    known_as_of: 'The time of the report: ask_weeks_as_of(known_as_of) returns the figure again.',
    list: 'The list that got the report by e-mail: sync.report_lists; empty for a file.',
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

const buildAccountIdColumn = () =>
  bigNumber()
    .notNull()
    .references(() => accounts.account_id);

export const fields = syncSchema.table(
  'fields',
  {
    account_id: buildAccountIdColumn(),
    table_name: text().notNull(),
    field: text().notNull(),
    stream: text().notNull(),
    types: text().array().notNull(),
    column_name: text(),
    filled_share: real(),
    first_seen_at: instant().notNull().defaultNow(),
    last_seen_at: instant().notNull().defaultNow(),
    last_sweep_id: bigNumber().notNull(),
    vanished_at: instant(),
    promoted_as: text(),
  },
  (table) => [
    primaryKey({name: 'fields_pkey', columns: [table.account_id, table.table_name, table.field]}),
    check('fields_filled_share_check', sql`${table.filled_share} BETWEEN 0 AND 1`),
    check(
      'fields_promoted_as_check',
      inOneLine(
        sql`${table.promoted_as} IS NULL OR (${table.column_name} IS NULL`,
        sql`AND ${table.promoted_as} ~ '^[a-z][a-z0-9_]{0,62}$')`,
      ),
    ),
    uniqueIndex('fields_promoted_as_key')
      .on(table.account_id, table.table_name, table.promoted_as)
      .where(sql`promoted_as IS NOT NULL`),
  ],
);

export const fieldsTable = commentTable(
  fields,
  'Every field that the service was ever seen to send, or that was promoted before it came.',
  {
    account_id: 'The account that sent it.',
    table_name: 'The warehouse table whose records bear it.',
    field: 'Its name, with underscores.',
    stream: 'The stream in whose records it came.',
    types:
      'The types it was sent with, in order of first appearance; text where it names none, ' +
      'empty while it was always nil.',
    column_name: 'The column that takes it; null if it is kept in extra.',
    filled_share:
      'Share of the live rows in which it is not empty, 0 to 1; as of the last full sweep that ' +
      'wrote a row.',
    first_seen_at: 'When it was first seen, or promoted before it came.',
    last_seen_at: 'When a record that contains it was last parsed.',
    last_sweep_id: 'The sweep that saw it then; 0 where none has seen it yet.',
    vanished_at: 'When it was found that no record contains it any longer.',
    promoted_as:
      'Name under which the field is a column of the view of its table in mart; ' +
      'set it to promote the field.',
  },
);

export const fieldEvents = syncSchema.table(
  'field_events',
  {
    event_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    account_id: buildAccountIdColumn(),
    table_name: text().notNull(),
    field: text().notNull(),
    kind: text().notNull(),
    detail: text().notNull(),
    sweep_id: bigNumber().notNull(),
    at: instant().notNull().defaultNow(),
  },
  (table) => [
    check(
      'field_events_kind_check',
      sql`${table.kind} IN ('new', 'vanished', 'returned', 'retyped')`,
    ),
    index('field_events_account_id_at_idx').on(table.account_id, table.at),
  ],
);

export const fieldEventsTable = commentTable(
  fieldEvents,
  'Changes in what the service sends: fields that came, went, came back or changed their type.',
  {
    event_id: 'Number of the event.',
    account_id: 'The account.',
    table_name: 'The warehouse table whose records bear the field.',
    field: 'Name of the field.',
    kind: 'new, vanished, returned or retyped.',
    detail: 'What changed, in words.',
    sweep_id: 'The sweep that found it.',
    at: 'When it was found.',
  },
);

export const staleJobsTable = commentTable(
  syncSchema.table('stale_jobs', {
    account_id: bigNumber(),
    job_numbers: bigNumber().array(),
    customer_ids: bigNumber().array(),
    noted_at: instant().notNull().defaultNow(),
    note_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  }),
  'What the next refresh of the star must process, one row per statement: jobs, ' +
    'the jobs of customers, or with neither every job.',
  {
    account_id: 'The account.',
    job_numbers: 'Numbers of the jobs.',
    customer_ids: 'The customers whose jobs these are: customers.id.',
    noted_at: 'When it was noted.',
    note_id: 'Number of the note.',
  },
);

export const weeklyReportsTable = commentTable(
  syncSchema.table(
    'weekly_reports',
    {
      account_id: bigNumber().notNull(),
      week: date({mode: 'string'}).notNull(),
      file: text().notNull(),
      made_at: instant().notNull().defaultNow(),
    },
    (table) => [primaryKey({name: 'weekly_reports_pkey', columns: [table.account_id, table.week]})],
  ),
  'One row for each weekly report that was made automatically.',
  {
    account_id: 'The account.',
    week: 'The Monday of the week that it describes.',
    file: 'The file that holds it.',
    made_at: 'When it was made.',
  },
);
