// The tables of deliveries. The targets of the star, with the snapshots that each of them holds.
// The weekly report by e-mail: the lists of addresses, with the mails to each of them.

import {sql} from 'drizzle-orm';
import {
  bigint,
  check,
  date,
  index,
  integer,
  primaryKey,
  smallint,
  text,
  time,
  unique,
  uuid,
} from 'drizzle-orm/pg-core';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant, listed} from '../postgres/tables.ts';
import {defaultKeep} from './store.ts';

export const deliveryTargets = syncSchema.table(
  'delivery_targets',
  {
    name: text().primaryKey(),
    place: text().notNull(),
    endpoint: text(),
    region: text(),
    keep: integer().notNull().default(defaultKeep),
    added_at: instant().notNull().defaultNow(),
    fence: integer().notNull().default(0),
    lease_until: instant(),
    holder: text(),
    begun_at: instant(),
    step: text(),
    attempts: integer().notNull().default(0),
    due_at: instant().notNull().defaultNow(),
    failing_since: instant(),
    last_error: text(),
  },
  (table) => [
    check('delivery_targets_keep_check', sql`${table.keep} >= 1`),
    check('delivery_targets_attempts_check', sql`${table.attempts} >= 0`),
  ],
);

export const deliveryTargetsTable = commentTable(
  deliveryTargets,
  'Where snapshots of the star are delivered: a folder, or a bucket of S3-compatible storage.',
  {
    name: 'Its name in the file of settings.',
    place: 'The path of a folder, or s3://BUCKET/PREFIX.',
    endpoint: 'Address of the S3-compatible service; null for that of AWS, and for a folder.',
    region: 'Region that requests are signed for; null for the usual one, and for a folder.',
    keep: 'How many snapshots stay there: the newest ones.',
    added_at: 'When it was added, or got another place.',
    fence: 'Number of the delivery; a worker that holds an older number stops.',
    lease_until: 'Until when a worker delivers, unless it renews; null while none does.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    begun_at: 'When the delivery in progress began; null while none runs.',
    step: 'What the delivery in progress does; null while none runs.',
    attempts: 'How many deliveries in a row have failed.',
    due_at: 'When the next one may begin; later than now after one that failed.',
    failing_since: 'When the first of them failed; null if the last delivery succeeded.',
    last_error:
      'Why the last one failed; if failing_since is null, why old snapshots could not be removed.',
  },
);

export const snapshots = syncSchema.table(
  'snapshots',
  {
    target: text()
      .notNull()
      .references(() => deliveryTargets.name, {onDelete: 'cascade'}),
    name: text().notNull(),
    known_as_of: instant().notNull(),
    delivered_at: instant().notNull().defaultNow(),
    sweep_ids: bigNumber().array().notNull(),
    files: integer().notNull(),
    rows: bigint({mode: 'number'}).notNull(),
    bytes: bigint({mode: 'number'}).notNull(),
    manifest_sha256: text().notNull(),
    broken_ties: text().array().notNull(),
  },
  (table) => [primaryKey({name: 'snapshots_pkey', columns: [table.target, table.name]})],
);

export const snapshotsTable = commentTable(
  snapshots,
  'The snapshots of the star that a target holds: a row is deleted with its snapshot.',
  {
    target: 'The target: sync.delivery_targets.',
    name: 'Name of its folder: the moment that it is as of, in UTC.',
    known_as_of: 'The moment whose rows it holds.',
    delivered_at: 'When all of it was there.',
    sweep_ids: 'The certified sweeps that its rows come from: the last one of each stream.',
    files: 'How many files it has, without its manifest.',
    rows: 'Rows of all tables.',
    bytes: 'Bytes of all files.',
    manifest_sha256: 'SHA-256 of its manifest, in hex.',
    broken_ties: 'The tie-outs that did not hold; empty if all did.',
  },
);

const reportLists = syncSchema.table(
  'report_lists',
  {
    name: text().primaryKey(),
    addresses: text().array().notNull(),
    account_id: bigNumber().references(() => accounts.account_id, {onDelete: 'cascade'}),
    weekday: smallint().notNull(),
    at: time().notNull(),
    added_at: instant().notNull().defaultNow(),
  },
  (table) => [
    check('report_lists_addresses_check', sql`cardinality(${table.addresses}) >= 1`),
    check('report_lists_weekday_check', sql`${table.weekday} BETWEEN 1 AND 7`),
  ],
);

export const reportListsTable = commentTable(
  reportLists,
  'Who gets the weekly report by e-mail, and when.',
  {
    name: 'Its name in the file of settings.',
    addresses: 'The addresses of e-mail; each gets a separate mail.',
    account_id: 'The account that is reported; null for every account, each in its own mail.',
    weekday: 'The day on which the report of the week before is due: Monday is 1, Sunday 7.',
    at: 'The time of that day, in the zone of the account.',
    added_at: 'When it was added.',
  },
);

const mailStates = ['due', 'sending', 'sent', 'failed'] as const;

const reportMails = syncSchema.table(
  'report_mails',
  {
    mail_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    list: text()
      .notNull()
      .references(() => reportLists.name, {onDelete: 'cascade'}),
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id, {onDelete: 'cascade'}),
    week: date({mode: 'string'}).notNull(),
    address: text().notNull(),
    message_id: uuid().notNull().defaultRandom(),
    state: text({enum: mailStates}).notNull().default('due'),
    subject: text(),
    body_text: text(),
    body_html: text(),
    attempts: integer().notNull().default(0),
    repeats: integer().notNull().default(0),
    fence: integer().notNull().default(0),
    due_at: instant().notNull().defaultNow(),
    lease_until: instant(),
    holder: text(),
    last_error: text(),
    made_at: instant().notNull().defaultNow(),
    sent_at: instant(),
  },
  (table) => [
    // The lock against a second mail of one report to one address.
    unique('report_mails_key').on(table.list, table.account_id, table.week, table.address),
    unique('report_mails_message_id_key').on(table.message_id),
    check('report_mails_state_check', sql`${table.state} IN (${listed(mailStates)})`),
    check(
      'report_mails_lease_until_check',
      sql`(${table.lease_until} IS NOT NULL) = (${table.state} = 'sending')`,
    ),
    check(
      'report_mails_sent_at_check',
      sql`(${table.sent_at} IS NOT NULL) = (${table.state} = 'sent')`,
    ),
    check(
      'report_mails_last_error_check',
      sql`${table.state} <> 'failed' OR ${table.last_error} IS NOT NULL`,
    ),
    index('report_mails_due_at_idx').on(table.due_at).where(sql`state IN ('due', 'sending')`),
  ],
);

export const reportMailsTable = commentTable(
  reportMails,
  'Each mail of a weekly report to one address, from when it was made to when it was taken.',
  {
    mail_id: 'Number of the mail.',
    list: 'The list that the address is on: sync.report_lists.',
    account_id: 'The account that is reported.',
    week: 'The Monday of the week that it describes.',
    address: 'The address that it is sent to.',
    message_id: 'Its Message-ID, the same in each try: a program of mail may drop a repeat.',
    state: 'due, sending, sent, or failed (given up after about a week).',
    subject: 'Its subject.',
    body_text: 'The report as text; null when it was sent or given up.',
    body_html: 'The report as HTML; null when it was sent or given up.',
    attempts: 'Tries so far.',
    repeats:
      'How often a worker was lost while it sent: the address may have the report as often again.',
    fence: 'How often it was taken up; a worker that holds an older number may no longer write.',
    due_at: 'When it may be sent; later than now after a try that failed.',
    lease_until: 'Until when its present worker owns it; the clock of this database decides.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    last_error: 'Why the last try failed.',
    made_at: 'When it was made: its figures are of that moment.',
    sent_at: 'When the mail server took it.',
  },
);
