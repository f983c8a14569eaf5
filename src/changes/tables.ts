// The tables of changes: what was written here, the requests sent for it, the fields that both
// sides changed or that the service altered, the rules of writing, the states that may follow each
// other.

import {sql} from 'drizzle-orm';
import {
  boolean,
  check,
  type ExtraConfigColumn,
  index,
  integer,
  jsonb,
  numeric,
  primaryKey,
  text,
  uniqueIndex,
} from 'drizzle-orm/pg-core';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {bigNumber, bytea, commentTable, inOneLine, instant, listed} from '../postgres/tables.ts';
import type {ChangeResult, ChangeValue, ChangeValues} from '../rows/change-values.ts';
import {changeOperations} from '../streams/table.ts';
import {attemptOutcomes, changeStates, longestBatch, openStates} from './states.ts';

const methods = ['POST', 'PUT', 'DELETE'] as const;

const changeColumns = {
  change_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
  account_id: bigNumber()
    .notNull()
    .references(() => accounts.account_id),
  table_name: text().notNull(),
  row_id: bigNumber().notNull(),
  operation: text({enum: changeOperations}).notNull(),
  number: bigNumber(),
  parent_row_id: bigNumber(),
  external_key: text(),
  fields: jsonb().$type<ChangeValues>().notNull(),
  base: jsonb().$type<ChangeValues>().notNull(),
  seen: jsonb().$type<ChangeValues>(),
  state: text({enum: changeStates}).notNull().default('pending'),
  is_open: boolean()
    .notNull()
    .generatedAlwaysAs(sql`state IN (${listed(openStates)})`),
  reason: text(),
  waits_for: bigNumber(),
  held_for: text(),
  is_large: boolean(),
  fingerprint: bytea(),
  requested_at: instant().notNull().defaultNow(),
  requested_by: text().notNull().default(sql`session_user`),
  application: text(),
  batch: text(),
  transaction_id: bigNumber(),
  undoes: bigNumber().array().$type<string[]>(),
  due_at: instant().notNull().defaultNow(),
  fence: integer().notNull().default(0),
  lease_until: instant(),
  holder: text(),
  failures: integer().notNull().default(0),
  sends: integer().notNull().default(0),
  sent_at: instant(),
  checks: integer().notNull().default(0),
  result: jsonb().$type<ChangeResult>(),
  settled_at: instant(),
};

/** The columns, as checks and indexes name them. */
type ChangeColumns = Readonly<Record<keyof typeof changeColumns, ExtraConfigColumn>>;

export const changes = syncSchema.table('changes', changeColumns, (table) => [
  ...listChangeChecks(table),
  ...listChangeIndexes(table),
]);

function listChangeChecks(table: ChangeColumns) {
  return [
    check('changes_operation_check', sql`${table.operation} IN (${listed(changeOperations)})`),
    check('changes_state_check', sql`${table.state} IN (${listed(changeStates)})`),
    check(
      'changes_fields_check',
      inOneLine(
        sql`CASE ${table.operation} WHEN 'update' THEN ${table.fields} <> '{}'`,
        sql`WHEN 'delete' THEN ${table.fields} = '{}' ELSE true END`,
      ),
    ),
    check('changes_seen_check', sql`${table.seen} <> '{}'`),
    check(
      'changes_number_check',
      inOneLine(
        sql`${table.operation} = 'create' OR ${table.number} IS NOT NULL`,
        sql`OR ${table.waits_for} IS NOT NULL OR ${table.state} IN ('rejected', 'cancelled')`,
      ),
    ),
    check('changes_done_check', sql`${table.state} <> 'done' OR ${table.number} IS NOT NULL`),
    check('changes_settled_at_check', sql`(${table.settled_at} IS NULL) = ${table.is_open}`),
    check(
      'changes_reason_check',
      inOneLine(
        sql`${table.state} NOT IN ('in_doubt', 'conflict', 'rejected', 'cancelled')`,
        sql`OR ${table.reason} IS NOT NULL`,
      ),
    ),
    // Only a change that was sent can be in doubt, and only a worker that holds a lease sends.
    check(
      'changes_sent_at_check',
      inOneLine(
        sql`${table.state} NOT IN ('sending', 'in_doubt')`,
        sql`OR (${table.sent_at} IS NOT NULL AND ${table.sends} > 0)`,
      ),
    ),
    check(
      'changes_lease_until_check',
      sql`${table.state} <> 'sending' OR ${table.lease_until} IS NOT NULL`,
    ),
    check(
      'changes_waits_for_check',
      inOneLine(
        sql`${table.waits_for} IS NULL`,
        sql`OR ${table.state} IN ('held', 'pending', 'conflict', 'rejected', 'cancelled')`,
      ),
    ),
    check(
      'changes_batch_check',
      sql`length(${table.batch}) BETWEEN 1 AND ${sql.raw(String(longestBatch))}`,
    ),
    // A create is sent at most twice.
    check('changes_sends_check', sql`${table.operation} <> 'create' OR ${table.sends} <= 2`),
    check(
      'changes_counts_check',
      sql`least(${table.fence}, ${table.failures}, ${table.sends}, ${table.checks}) >= 0`,
    ),
  ];
}

function listChangeIndexes(table: ChangeColumns) {
  return [
    // Only one change of a record is in progress at a time.
    uniqueIndex('changes_on_its_way_key')
      .on(table.table_name, table.row_id)
      .where(sql`state IN ('sending', 'in_doubt')`),
    // Only one create of the same content under the same parent is in progress at a time.
    uniqueIndex('changes_create_on_its_way_key')
      .on(table.fingerprint)
      .where(sql`operation = 'create' AND state IN ('sending', 'in_doubt')`),
    // Each record comes from one create only.
    uniqueIndex('changes_created_key')
      .on(table.number, table.table_name, table.account_id)
      .where(sql`operation = 'create' AND number IS NOT NULL`),
    index('changes_ready_idx')
      .on(table.account_id, table.due_at, table.change_id)
      .where(sql`state IN ('pending', 'in_doubt') AND waits_for IS NULL`),
    index('changes_sending_idx').on(table.lease_until).where(sql`state = 'sending'`),
    index('changes_open_idx')
      .on(table.row_id, table.table_name, table.change_id)
      .where(sql`is_open`),
    index('changes_open_number_idx').on(table.number, table.table_name).where(sql`is_open`),
    index('changes_rejected_idx')
      .on(table.account_id, table.settled_at)
      .where(sql`state = 'rejected'`),
    // The changes of the last day are counted from this index alone.
    index('changes_settled_idx')
      .on(table.settled_at, table.account_id, table.state)
      .where(sql`settled_at IS NOT NULL`),
    index('changes_waits_for_idx').on(table.waits_for).where(sql`waits_for IS NOT NULL`),
    index('changes_row_id_idx').on(table.row_id, table.table_name, table.change_id),
    index('changes_batch_idx').on(table.batch).where(sql`batch IS NOT NULL`),
    index('changes_transaction_id_idx').on(table.transaction_id, table.change_id),
    index('changes_sent_again_idx')
      .on(table.row_id, table.table_name)
      .where(sql`sends > 1 AND operation <> 'create'`),
  ];
}

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
    parent_row_id: 'Of a create: row_id of the customer or job that the record belongs to.',
    external_key: 'Key of the row in your own system, as it was then.',
    fields: 'The changed fields with the values wanted, as text.',
    base:
      'What the same fields, and those that move with them, held before. Of a delete: what the ' +
      'record must still hold; empty if it is deleted in any case.',
    seen: 'What its author had seen of fields that others changed since; null where none.',
    state:
      'held (a person releases it), pending, sending, in_doubt (settled by reading), ' +
      'conflict (a person decides), done, rejected (the service said no) or cancelled.',
    is_open: 'Whether it is not over: true until it is done, rejected or cancelled.',
    reason: 'Why it is in this state, in words.',
    waits_for:
      'The change that must be settled first: an earlier one of the record, ' +
      'or the create of its parent.',
    held_for:
      'The kind of values whose further changes are held because the service altered one, ' +
      'until sync.accept_change; null otherwise.',
    is_large: 'True while it is held as part of a large edit (sync.edit_limits); null otherwise.',
    fingerprint: 'Of a create: hash of its content and its parent.',
    requested_at: 'When it was made.',
    requested_by: 'Database user who made it.',
    application: 'Application that made it, as its connection said.',
    batch:
      'Name that its author gave to the transaction: fieldmirror.batch of the session; ' +
      'null if it gave none.',
    transaction_id:
      'The transaction that made it, or was the last to edit it before it was sent; ' +
      'null of changes older than this column.',
    undoes: 'The changes that it takes back, where sync.undo_changes made it; null otherwise.',
    due_at: 'When the next step is due.',
    fence: 'How often it was taken up; a worker that holds an older number may no longer write.',
    lease_until: 'Until when its present worker owns it; the clock of this database decides.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    failures: 'Tries in a row that failed for certain, with nothing written.',
    sends: 'How often its writing request was sent and may have arrived.',
    sent_at: 'When it was sent last.',
    checks: 'How often it was checked whether it had arrived, since it was sent.',
    result:
      'What the service made of it: fields that came back otherwise than sent, ' +
      'and what was not sent at all.',
    settled_at: 'When it was settled.',
  },
);

export const attempts = syncSchema.table(
  'attempts',
  {
    attempt_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    change_id: bigNumber()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    fence: integer().notNull(),
    method: text({enum: methods}).notNull(),
    path: text().notNull(),
    request: text(),
    read_at: instant(),
    started_at: instant().notNull().defaultNow(),
    ended_at: instant(),
    outcome: text({enum: attemptOutcomes}),
    status: integer(),
    answer: text(),
  },
  (table) => [
    check('attempts_method_check', sql`${table.method} IN (${listed(methods)})`),
    check(
      'attempts_outcome_check',
      inOneLine(
        sql`${table.outcome} IN (${listed(attemptOutcomes)}) AND ${table.ended_at} IS NOT NULL`,
        sql`OR ${table.outcome} IS NULL AND ${table.ended_at} IS NULL`,
      ),
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
    request: 'The document sent, secrets masked; null if the request had none.',
    read_at:
      'When the record was requested on which the request depends: an edit at the service after ' +
      'this could not be seen. Null where none was read.',
    started_at: 'When it was about to be sent.',
    ended_at:
      'When its outcome was known; null while it is in progress, and for ever where its worker ' +
      'was lost.',
    outcome: 'done, refused, not-sent (nothing was written) or in-doubt.',
    status: 'HTTP status of the answer.',
    answer: 'What the service said, in short.',
  },
);

/** Whose value counts if both sides changed a field. */
const rules = ['service', 'warehouse', 'newest', 'ask'] as const;

const sides = ['service', 'warehouse'] as const;

export const alterations = syncSchema.table(
  'alterations',
  {
    alteration_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    change_id: bigNumber()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    account_id: bigNumber().notNull(),
    field: text().notNull(),
    kind: text().notNull(),
    sent: jsonb().$type<ChangeValue>().notNull(),
    got: jsonb().$type<ChangeValue>().notNull(),
    is_stop: boolean().notNull(),
    found_at: instant().notNull().defaultNow(),
    accepted_at: instant(),
    accepted_by: text(),
  },
  (table) => [
    check(
      'alterations_accepted_at_check',
      inOneLine(
        sql`(${table.accepted_at} IS NULL) = (${table.accepted_by} IS NULL)`,
        sql`AND NOT (${table.is_stop} AND ${table.accepted_at} IS NOT NULL)`,
      ),
    ),
    index('alterations_change_id_idx').on(table.change_id),
    index('alterations_kind_idx').on(table.account_id, table.kind),
    index('alterations_stop_idx').on(table.account_id, table.kind).where(sql`is_stop`),
    index('alterations_open_idx')
      .on(table.account_id, table.found_at)
      .where(sql`accepted_at IS NULL`),
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
    kind:
      'What such values have in common: instant, decimal and so on; ' +
      'of a text its field, such as customers.name.',
    sent: 'The value sent.',
    got: 'What the service holds.',
    is_stop: 'Further changes of this kind are held until a person has checked.',
    found_at: 'When it was found.',
    accepted_at: 'When somebody accepted it, by sync.accept_change.',
    accepted_by: 'Database user who did.',
  },
);

export const conflicts = syncSchema.table(
  'conflicts',
  {
    conflict_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    change_id: bigNumber()
      .notNull()
      .references(() => changes.change_id, {onDelete: 'cascade'}),
    field: text().notNull(),
    base_value: jsonb().$type<ChangeValue>().notNull(),
    warehouse_value: jsonb().$type<ChangeValue>().notNull(),
    service_value: jsonb().$type<ChangeValue>().notNull(),
    rule: text({enum: rules}).notNull(),
    winner: text({enum: sides}),
    found_at: instant().notNull().defaultNow(),
    decided_at: instant(),
    decided_by: text(),
  },
  (table) => [
    check('conflicts_rule_check', sql`${table.rule} IN (${listed(rules)})`),
    check('conflicts_winner_check', sql`${table.winner} IN (${listed(sides)})`),
    check(
      'conflicts_decided_at_check',
      inOneLine(
        sql`(${table.winner} IS NULL) = (${table.decided_at} IS NULL)`,
        sql`AND (${table.winner} IS NULL) = (${table.decided_by} IS NULL)`,
      ),
    ),
    uniqueIndex('conflicts_undecided_key')
      .on(table.change_id, table.field)
      .where(sql`winner IS NULL`),
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
    winner: 'Whose value was kept: service or warehouse; null while no one has decided.',
    found_at: 'When it was found.',
    decided_at: 'When it was decided.',
    decided_by: 'The rule, or the database user, that decided.',
  },
);

export const writeRules = syncSchema.table(
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
    rule: text({enum: rules}).notNull().default('ask'),
  },
  (table) => [
    primaryKey({name: 'write_rules_pkey', columns: [table.table_name, table.field]}),
    check(
      'write_rules_kind_check',
      sql`${table.kind} IN ('text', 'integer', 'decimal', 'boolean', 'instant', 'ids')`,
    ),
    check('write_rules_rule_check', sql`${table.rule} IN (${listed(rules)})`),
  ],
);

export const writeRulesTable = commentTable(
  writeRules,
  'The fields that can be written back, and whose value counts when both sides changed one.',
  {
    table_name: 'The warehouse table.',
    field: 'The column; employee_ids of jobs means the rows of job_employees.',
    kind: 'Kind of its value.',
    on_create: 'Whether a new record may bear it.',
    on_update: 'Whether it may be changed.',
    required: 'True where the service takes no record without it, or with a blank one.',
    minimum: 'The smallest number that the service takes; null where it takes any.',
    field_group: 'Fields of one group move as one: an address is never half yours and half theirs.',
    rule: 'Yours to set: service, warehouse, newest or ask (a person decides; the default).',
  },
);

const capturedTables = syncSchema.table(
  'captured_tables',
  {
    table_name: text().primaryKey(),
    key_column: text().notNull(),
    operations: text().array().notNull(),
    parent_table: text(),
    parent_number_column: text(),
    hint: text().notNull(),
    personal_columns: text().array().notNull().default([]),
  },
  (table) => [
    check(
      'captured_tables_operations_check',
      inOneLine(
        sql`${table.operations} <@ ARRAY[${listed(changeOperations)}]`,
        sql`AND array_position(${table.operations}, NULL) IS NULL`,
      ),
    ),
    check(
      'captured_tables_parent_check',
      sql`(${table.parent_table} IS NULL) = (${table.parent_number_column} IS NULL)`,
    ),
  ],
);

export const capturedTablesTable = commentTable(
  capturedTables,
  'The warehouse tables whose INSERT, UPDATE and DELETE become changes, ' +
    'and what the service lets be done to each.',
  {
    table_name: 'The warehouse table.',
    key_column: 'The column with the number that the service gives.',
    operations:
      'What the service can do to its records, of create, update and delete; ' +
      'empty when it only shows them.',
    parent_table:
      'The table of the records that its records hang on; null where they hang on none.',
    parent_number_column: 'The column with the number of the parent, in both tables.',
    hint: 'The next step of an author whose statement is refused.',
    personal_columns:
      'The columns that may tell who somebody is: they are emptied when a customer is forgotten.',
  },
);

const changeTransitions = syncSchema.table(
  'change_transitions',
  {
    from_state: text().notNull(),
    to_state: text().notNull(),
    why: text().notNull(),
  },
  (table) => [
    primaryKey({name: 'change_transitions_pkey', columns: [table.from_state, table.to_state]}),
  ],
);

export const transitionsTable = commentTable(
  changeTransitions,
  'The life of a change: which state follows which. A trigger of sync.changes refuses every ' +
    'other step.',
  {
    from_state: 'The state before; new for a change that is being made.',
    to_state: 'The state that may follow.',
    why: 'What makes it follow, in words.',
  },
);
