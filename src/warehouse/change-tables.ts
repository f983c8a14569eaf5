import {sql} from 'drizzle-orm';
import {
  bigint,
  boolean,
  check,
  index,
  integer,
  jsonb,
  numeric,
  primaryKey,
  text,
  timestamp,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {accounts, sync} from './accounts-table.ts';
import {bytea} from './bytea.ts';
import {commentTable} from './commented-table.ts';

const instant = () => timestamp({withTimezone: true, mode: 'string'});
const number = () => bigint({mode: 'bigint'});

/** The states in which a change is not over; the partial indexes and the capture triggers say the same. */
const open = sql`state IN ('held', 'pending', 'sending', 'in_doubt', 'conflict')`;

export const changes = sync.table(
  'changes',
  {
    change_id: number().primaryKey().generatedAlwaysAsIdentity(),
    account_id: number()
      .notNull()
      .references(() => accounts.account_id),
    table_name: text().notNull(),
    row_id: number().notNull(),
    operation: text().notNull(),
    number: number(),
    parent_row_id: number(),
    external_key: text(),
    fields: jsonb().notNull(),
    base: jsonb().notNull(),
    state: text().notNull().default('pending'),
    reason: text(),
    waits_for: number(),
    held_for: text(),
    fingerprint: bytea(),
    requested_at: instant().notNull().defaultNow(),
    requested_by: text().notNull().default(sql`session_user`),
    application: text(),
    due_at: instant().notNull().defaultNow(),
    fence: integer().notNull().default(0),
    lease_until: instant(),
    failures: integer().notNull().default(0),
    sends: integer().notNull().default(0),
    sent_at: instant(),
    looks: integer().notNull().default(0),
    result: jsonb(),
    settled_at: instant(),
  },
  (table) => [
    check('changes_operation_check', sql`${table.operation} IN ('create', 'update', 'delete')`),
    check(
      'changes_state_check',
      sql`${table.state} IN ('held', 'pending', 'sending', 'in_doubt', 'conflict', 'done', 'rejected', 'cancelled')`,
    ),
    check(
      'changes_fields_check',
      sql`CASE ${table.operation} WHEN 'update' THEN ${table.fields} <> '{}' WHEN 'delete' THEN ${table.fields} = '{}' ELSE true END`,
    ),
    check(
      'changes_number_check',
      sql`${table.operation} = 'create' OR ${table.number} IS NOT NULL OR ${table.waits_for} IS NOT NULL OR ${table.state} IN ('rejected', 'cancelled')`,
    ),
    check('changes_done_check', sql`${table.state} <> 'done' OR ${table.number} IS NOT NULL`),
    check(
      'changes_settled_at_check',
      sql`(${table.settled_at} IS NOT NULL) = (${table.state} IN ('done', 'rejected', 'cancelled'))`,
    ),
    check(
      'changes_reason_check',
      sql`${table.state} NOT IN ('in_doubt', 'conflict', 'rejected', 'cancelled') OR ${table.reason} IS NOT NULL`,
    ),
    // Only what was sent can be in doubt, and nothing is sent without a worker whose lease says so.
    check(
      'changes_sent_at_check',
      sql`${table.state} NOT IN ('sending', 'in_doubt') OR (${table.sent_at} IS NOT NULL AND ${table.sends} > 0)`,
    ),
    check('changes_lease_until_check', sql`${table.state} <> 'sending' OR ${table.lease_until} IS NOT NULL`),
    check(
      'changes_waits_for_check',
      sql`${table.waits_for} IS NULL OR ${table.state} IN ('held', 'pending', 'conflict', 'rejected', 'cancelled')`,
    ),
    // A create is sent once, and once more at the most.
    check('changes_sends_check', sql`${table.operation} <> 'create' OR ${table.sends} <= 2`),
    check(
      'changes_counts_check',
      sql`least(${table.fence}, ${table.failures}, ${table.sends}, ${table.looks}) >= 0`,
    ),
    // One change of a record at a time is on its way.
    uniqueIndex('changes_on_its_way_key')
      .on(table.table_name, table.row_id)
      .where(sql`state IN ('sending', 'in_doubt')`),
    // Of two creates with the same content under the same parent, one.
    uniqueIndex('changes_create_on_its_way_key')
      .on(table.fingerprint)
      .where(sql`operation = 'create' AND state IN ('sending', 'in_doubt')`),
    // One record is one create.
    uniqueIndex('changes_created_key')
      .on(table.number, table.table_name, table.account_id)
      .where(sql`operation = 'create' AND number IS NOT NULL`),
    index('changes_ready_idx')
      .on(table.account_id, table.due_at, table.change_id)
      .where(sql`state IN ('pending', 'in_doubt') AND waits_for IS NULL`),
    index('changes_sending_idx').on(table.lease_until).where(sql`state = 'sending'`),
    index('changes_open_idx').on(table.row_id, table.table_name, table.change_id).where(open),
    index('changes_open_number_idx').on(table.number, table.table_name).where(open),
    index('changes_rejected_idx').on(table.account_id, table.settled_at).where(sql`state = 'rejected'`),
    index('changes_waits_for_idx').on(table.waits_for).where(sql`waits_for IS NOT NULL`),
    index('changes_row_id_idx').on(table.row_id, table.table_name, table.change_id),
    index('changes_sent_again_idx')
      .on(table.row_id, table.table_name)
      .where(sql`sends > 1 AND operation <> 'create'`),
  ],
);

export const changesTable = commentTable(
  changes,
  'Changes made in this warehouse, on their way to the service and settled.',
  {
    change_id: 'Number of the change.',
    account_id: 'The account whose record it changes.',
    table_name: 'The warehouse table that was written; for an assignment of employees, jobs.',
    row_id: 'The row that was written: row_id of that table.',
    operation: 'create, update or delete.',
    number: 'Number of the record at the service; null until the service has given it one.',
    parent_row_id: 'Of a create: row_id of the customer or job that the record hangs on.',
    external_key: 'Key of the row in your own system, as it was then.',
    fields: 'The changed fields with the values wanted, as text.',
    base: 'What the same fields, and those that move with them, held before.',
    state:
      'held (a person releases it), pending, sending, in_doubt (settled by reading), conflict (a person decides), done, rejected (the service said no) or cancelled.',
    reason: 'Why it is in this state, in words.',
    waits_for:
      'The change that must be settled first: an earlier one of the record, or the create of its parent.',
    held_for:
      'The kind of values whose further changes are held because the service altered one, until sync.accept_change; null otherwise.',
    fingerprint: 'Of a create: hash of its content and its parent.',
    requested_at: 'When it was made.',
    requested_by: 'Database user who made it.',
    application: 'Application that made it, as its connection said.',
    due_at: 'When the next step is due.',
    fence: 'How often it was taken up; who holds an older number may not write any more.',
    lease_until: 'Until when its present worker owns it; by the clock of this database.',
    failures: 'Tries in a row that failed for certain, with nothing written.',
    sends: 'How often its writing request was sent and may have arrived.',
    sent_at: 'When it was sent last.',
    looks: 'How often somebody looked whether it had arrived, since it was sent.',
    result:
      'What the service made of it: fields that came back otherwise than sent, and what was not sent at all.',
    settled_at: 'When it was settled.',
  },
);

const attempts = sync.table(
  'attempts',
  {
    attempt_id: number().primaryKey().generatedAlwaysAsIdentity(),
    change_id: number()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    fence: integer().notNull(),
    method: text().notNull(),
    path: text().notNull(),
    request: text(),
    started_at: instant().notNull().defaultNow(),
    ended_at: instant(),
    outcome: text(),
    status: integer(),
    answer: text(),
  },
  (table) => [
    check('attempts_method_check', sql`${table.method} IN ('POST', 'PUT', 'DELETE')`),
    check(
      'attempts_outcome_check',
      sql`${table.outcome} IN ('done', 'refused', 'not-sent', 'in-doubt') AND ${table.ended_at} IS NOT NULL OR ${table.outcome} IS NULL AND ${table.ended_at} IS NULL`,
    ),
    index('attempts_change_id_idx').on(table.change_id),
  ],
);

export const attemptsTable = commentTable(
  attempts,
  'Every writing request, noted before its first byte was sent.',
  {
    attempt_id: 'Number of the request.',
    change_id: 'The change that it carried.',
    fence: 'Fence of the worker that sent it.',
    method: 'POST, PUT or DELETE.',
    path: 'Path at the service.',
    request: 'The document sent, secrets masked; null where there is none.',
    started_at: 'When it was about to be sent.',
    ended_at:
      'When its outcome was known; null while it is under way, and for ever where its worker was lost.',
    outcome: 'done, refused, not-sent (nothing was written) or in-doubt.',
    status: 'HTTP status of the answer.',
    answer: 'What the service said, in short.',
  },
);

const alterations = sync.table(
  'alterations',
  {
    alteration_id: number().primaryKey().generatedAlwaysAsIdentity(),
    change_id: number()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    account_id: number().notNull(),
    field: text().notNull(),
    kind: text().notNull(),
    sent: jsonb().notNull(),
    got: jsonb().notNull(),
    is_stop: boolean().notNull(),
    found_at: instant().notNull().defaultNow(),
    looked_at: instant(),
    looked_by: text(),
  },
  (table) => [
    check(
      'alterations_looked_at_check',
      sql`(${table.looked_at} IS NULL) = (${table.looked_by} IS NULL) AND NOT (${table.is_stop} AND ${table.looked_at} IS NOT NULL)`,
    ),
    index('alterations_change_id_idx').on(table.change_id),
    index('alterations_kind_idx').on(table.account_id, table.kind),
    index('alterations_stop_idx').on(table.account_id, table.kind).where(sql`is_stop`),
    index('alterations_open_idx').on(table.account_id, table.found_at).where(sql`looked_at IS NULL`),
  ],
);

export const alterationsTable = commentTable(
  alterations,
  'Values that came back from the service with another meaning than they were sent with.',
  {
    alteration_id: 'Number of the alteration.',
    change_id: 'The change, which is done but for this.',
    account_id: 'The account.',
    field: 'The field.',
    kind: 'What such values have in common: instant, decimal and so on; of a text its field, such as customers.name.',
    sent: 'What was sent.',
    got: 'What the service holds.',
    is_stop: 'Further changes of this kind are held until somebody has looked.',
    found_at: 'When it was found.',
    looked_at: 'When somebody accepted it, by sync.accept_change.',
    looked_by: 'Database user who did.',
  },
);

const conflicts = sync.table(
  'conflicts',
  {
    conflict_id: number().primaryKey().generatedAlwaysAsIdentity(),
    change_id: number()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    field: text().notNull(),
    base_value: jsonb().notNull(),
    warehouse_value: jsonb().notNull(),
    service_value: jsonb().notNull(),
    rule: text().notNull(),
    winner: text(),
    found_at: instant().notNull().defaultNow(),
    decided_at: instant(),
    decided_by: text(),
  },
  (table) => [
    check('conflicts_rule_check', sql`${table.rule} IN ('service', 'warehouse', 'newest', 'ask')`),
    check('conflicts_winner_check', sql`${table.winner} IN ('service', 'warehouse')`),
    check(
      'conflicts_decided_at_check',
      sql`(${table.winner} IS NULL) = (${table.decided_at} IS NULL) AND (${table.winner} IS NULL) = (${table.decided_by} IS NULL)`,
    ),
    uniqueIndex('conflicts_undecided_key').on(table.change_id, table.field).where(sql`winner IS NULL`),
    index('conflicts_change_id_idx').on(table.change_id),
  ],
);

export const conflictsTable = commentTable(
  conflicts,
  'Fields that were changed on both sides since they last agreed; both values are kept.',
  {
    conflict_id: 'Number of the conflict.',
    change_id: 'The change made here.',
    field: 'The field.',
    base_value: 'What both sides last agreed on.',
    warehouse_value: 'What was wanted here.',
    service_value: 'What the service held.',
    rule: 'The rule that held then: service, warehouse, newest or ask.',
    winner: 'Whose value was kept: service or warehouse; null while nobody has decided.',
    found_at: 'When it was found.',
    decided_at: 'When it was decided.',
    decided_by: 'The rule, or the database user, that decided.',
  },
);

const writeRules = sync.table(
  'write_rules',
  {
    table_name: text().notNull(),
    field: text().notNull(),
    kind: text().notNull(),
    on_create: boolean().notNull(),
    on_update: boolean().notNull(),
    field_group: text(),
    required: boolean().notNull(),
    minimum: numeric(),
    rule: text().notNull().default('ask'),
  },
  (table) => [
    primaryKey({name: 'write_rules_pkey', columns: [table.table_name, table.field]}),
    check(
      'write_rules_kind_check',
      sql`${table.kind} IN ('text', 'integer', 'decimal', 'boolean', 'instant', 'ids', 'secret')`,
    ),
    check('write_rules_rule_check', sql`${table.rule} IN ('service', 'warehouse', 'newest', 'ask')`),
  ],
);

export const writeRulesTable = commentTable(
  writeRules,
  'The fields that can be written back, and whose value counts when both sides changed one.',
  {
    table_name: 'The warehouse table.',
    field: 'The column; employee_ids of jobs stands for the rows of job_employees.',
    kind: 'Kind of its value.',
    on_create: 'Whether a new record may bear it.',
    on_update: 'Whether it may be changed.',
    required: 'True where the service takes no record without it, or with a blank one.',
    minimum: 'The smallest number that the service takes; null where it takes any.',
    field_group: 'Fields of one group move as one: an address is never half yours and half theirs.',
    rule: 'Yours to set: service, warehouse, newest or ask (a person decides; the default).',
  },
);
