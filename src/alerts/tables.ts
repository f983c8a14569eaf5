// Tables of alerts: who is notified, what is wrong, what was sent.

import {sql} from 'drizzle-orm';
import {
  type AnyPgColumn,
  bigint,
  boolean,
  check,
  index,
  integer,
  text,
  unique,
  uniqueIndex,
  uuid,
} from 'drizzle-orm/pg-core';
import {accounts, syncSchema} from '../accounts/tables.ts';
import {receivers} from '../core/errors.ts';
import {bigNumber, bytea, commentTable, inOneLine, instant, listed} from '../postgres/tables.ts';

/**
 * A word in lower case. The program defines which words there are: a newer version that runs at the
 * same time may have more.
 */
const causeWord = '[a-z](-?[a-z]){0,49}';

const deliveryKinds = ['opened', 'resolved', 'digest', 'ping'] as const;
/** Only `due` and `sending` are still in progress. */
const deliveryStates = ['due', 'sending', 'sent', 'folded', 'dropped', 'failed'] as const;

export const alertRules = syncSchema.table(
  'alert_rules',
  {
    rule_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    receiver: text({enum: receivers}).notNull(),
    target: text().notNull(),
    sealed_access: bytea(),
    key_id: text(),
    account_id: bigNumber().references(() => accounts.account_id, {onDelete: 'cascade'}),
    causes: text().array(),
    quiet_ms: bigint({mode: 'number'}).notNull(),
    every_ms: bigint({mode: 'number'}),
    created_at: instant().notNull().defaultNow(),
    created_by: text().notNull().default(sql`session_user`),
  },
  (table) => [
    unique('alert_rules_name_key').on(table.name),
    check('alert_rules_receiver_check', sql`${table.receiver} IN (${listed(receivers)})`),
    // The address of a receiver is a secret if anyone who has it can write there.
    check(
      'alert_rules_sealed_access_check',
      inOneLine(
        sql`(${table.sealed_access} IS NULL) = (${table.key_id} IS NULL)`,
        sql`AND (${table.receiver} = 'email' OR ${table.sealed_access} IS NOT NULL)`,
      ),
    ),
    // In the text of an array, a word that needs quotes has them, and NULL is in capitals. None of
    // these matches.
    check(
      'alert_rules_causes_check',
      sql`${table.causes}::text ~ ${sql.raw(`'^\\{${causeWord}(,${causeWord})*\\}$'`)}`,
    ),
    check('alert_rules_quiet_ms_check', sql`${table.quiet_ms} >= 0`),
    check(
      'alert_rules_every_ms_check',
      sql`(${table.every_ms} IS NOT NULL) = (${table.receiver} = 'ping') AND ${table.every_ms} > 0`,
    ),
  ],
);

export const alertRulesTable = commentTable(alertRules, 'Who receives which alerts, and how.', {
  rule_id: 'Number of the rule.',
  name: 'What the rule is called here.',
  receiver: 'webhook, slack, email, or ping: a call that comes for as long as nothing is wrong.',
  target: 'Where alerts are sent, as far as a person may see it: a host, or an address of e-mail.',
  sealed_access:
    'The whole address and what signs or opens it, sealed with a key that is not in this ' +
    'database; null where the environment gives it, empty while a rule of a file of settings ' +
    'waits for it.',
  key_id: 'Which key sealed it; empty while the rule waits for its address.',
  account_id: 'The only account that is reported; null for everything.',
  causes: 'What is reported; null for everything.',
  quiet_ms: 'How long a reported thing is not reported again, should it be fixed and break again.',
  every_ms: 'How often a ping comes.',
  created_at: 'When it was made.',
  created_by: 'Database user who made it.',
});

export const alerts = syncSchema.table(
  'alerts',
  {
    alert_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    cause: text().notNull(),
    account_id: bigNumber().references(() => accounts.account_id, {onDelete: 'cascade'}),
    stream: text(),
    subject: text().notNull().default(''),
    since: instant().notNull(),
    text: text().notNull(),
    next_step: text(),
    opened_at: instant().notNull().defaultNow(),
    resolved_at: instant(),
  },
  (table) => [
    check('alerts_cause_check', sql`${table.cause} ~ ${sql.raw(`'^${causeWord}$'`)}`),
    check('alerts_resolved_at_check', sql`${table.resolved_at} >= ${table.opened_at}`),
    // Prevents two open alerts for the same problem, however many workers check.
    uniqueIndex('alerts_open_key')
      .on(table.cause, sql`coalesce(account_id, 0)`, sql`coalesce(stream, '')`, table.subject)
      .where(sql`resolved_at IS NULL`),
    index('alerts_thing_idx').on(table.cause, table.subject),
    index('alerts_resolved_at_idx').on(table.resolved_at),
  ],
);

export const alertsTable = commentTable(
  alerts,
  'One row for each thing that is wrong, from when it was found until it was fixed. ' +
    'Kept for 90 days after that.',
  {
    alert_id: 'Number of the alert.',
    cause: 'What kind of thing is wrong: docs/watching.md, "Alerts", lists them.',
    account_id: 'The account; null where it is about the worker or the warehouse.',
    stream: 'The stream, where it is about one.',
    subject:
      'What it is about beside that: number of a sweep or change, a batch and its name, ' +
      'a field, a table; empty where nothing else.',
    since: 'Since when it is wrong, as far as that is known.',
    text: 'What is wrong, in words, as it was when it was found.',
    next_step: 'The next step of a person; null where the text says it.',
    opened_at: 'When it was found.',
    resolved_at: 'When it was no longer found; null while it is open.',
  },
);

export const alertDeliveries = syncSchema.table(
  'alert_deliveries',
  {
    delivery_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    rule_id: bigNumber()
      .notNull()
      .references(() => alertRules.rule_id, {onDelete: 'cascade'}),
    alert_id: bigNumber().references(() => alerts.alert_id, {onDelete: 'cascade'}),
    kind: text({enum: deliveryKinds}).notNull(),
    digest_id: bigNumber().references((): AnyPgColumn => alertDeliveries.delivery_id, {
      onDelete: 'cascade',
    }),
    message_id: uuid().notNull().defaultRandom(),
    state: text({enum: deliveryStates}).notNull().default('due'),
    attempts: integer().notNull().default(0),
    fence: integer().notNull().default(0),
    due_at: instant().notNull().defaultNow(),
    lease_until: instant(),
    holder: text(),
    last_error: text(),
    created_at: instant().notNull().defaultNow(),
    sent_at: instant(),
  },
  (table) => [
    unique('alert_deliveries_key').on(table.rule_id, table.alert_id, table.kind),
    unique('alert_deliveries_message_id_key').on(table.message_id),
    uniqueIndex('alert_deliveries_ping_key').on(table.rule_id).where(sql`kind = 'ping'`),
    check('alert_deliveries_kind_check', sql`${table.kind} IN (${listed(deliveryKinds)})`),
    check('alert_deliveries_state_check', sql`${table.state} IN (${listed(deliveryStates)})`),
    check(
      'alert_deliveries_alert_id_check',
      sql`(${table.alert_id} IS NOT NULL) = (${table.kind} IN ('opened', 'resolved'))`,
    ),
    check(
      'alert_deliveries_digest_id_check',
      inOneLine(
        sql`(${table.digest_id} IS NOT NULL) = (${table.state} = 'folded')`,
        sql`AND (${table.digest_id} IS NULL OR ${table.alert_id} IS NOT NULL)`,
      ),
    ),
    check(
      'alert_deliveries_lease_until_check',
      sql`(${table.lease_until} IS NOT NULL) = (${table.state} = 'sending')`,
    ),
    check(
      'alert_deliveries_attempts_check',
      sql`${table.attempts} >= 0 AND ${table.fence} >= ${table.attempts}`,
    ),
    // A ping never ends: its row becomes due again and again.
    check(
      'alert_deliveries_sent_at_check',
      inOneLine(
        sql`CASE ${table.kind} WHEN 'ping' THEN ${table.state} IN ('due', 'sending')`,
        sql`ELSE (${table.sent_at} IS NOT NULL) = (${table.state} = 'sent') END`,
      ),
    ),
    check(
      'alert_deliveries_last_error_check',
      sql`${table.state} <> 'failed' OR ${table.last_error} IS NOT NULL`,
    ),
    index('alert_deliveries_due_at_idx').on(table.due_at).where(sql`state IN ('due', 'sending')`),
    index('alert_deliveries_open_idx')
      .on(table.rule_id)
      .where(sql`state IN ('due', 'sending', 'failed')`),
    index('alert_deliveries_sent_at_idx').on(table.rule_id, table.sent_at),
    index('alert_deliveries_alert_id_idx').on(table.alert_id),
    index('alert_deliveries_digest_id_idx').on(table.digest_id),
  ],
);

export const alertDeliveriesTable = commentTable(
  alertDeliveries,
  'Each message of an alert to a receiver, from when it is due until it was taken or given up.',
  {
    delivery_id: 'Number of the delivery.',
    rule_id: 'The rule by which it is sent.',
    alert_id: 'The alert that it reports; null for a digest and a ping.',
    kind: 'opened, resolved, digest (of several at once) or ping.',
    digest_id: 'The digest that reports it in place of a separate message.',
    message_id: 'The same in each try: a receiver that has it already may drop the repeat.',
    state:
      'due, sending, sent, folded (a digest reports it), dropped (fixed before it was sent) ' +
      'or failed (given up after a day).',
    attempts: 'Tries so far; of a ping since the last that was taken.',
    fence: 'How often it was taken up; who holds an older number may no longer write.',
    due_at: 'From when on it may be sent.',
    lease_until: 'Until when its present worker owns it; the clock of this database decides.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
    last_error: 'Why the last try failed.',
    created_at: 'When it was made.',
    sent_at: 'When the receiver took it; of a ping the last time.',
  },
);

const alertChecks = syncSchema.table(
  'alert_checks',
  {
    is_only: boolean().primaryKey().default(true),
    fence: integer().notNull().default(1),
    checked_at: instant(),
    lease_until: instant(),
    holder: text(),
  },
  (table) => [check('alert_checks_is_only_check', sql`${table.is_only}`)],
);

export const alertChecksTable = commentTable(
  alertChecks,
  'One row: the last check of what is wrong, so that only one of the workers makes it.',
  {
    is_only: 'True: there is one row.',
    fence: 'Number of the check; a holder of an older number may no longer write.',
    checked_at: 'When the last check ended.',
    lease_until: 'Until when a worker checks; null while none does.',
    holder: 'Mark of the process that took it up last; null where the system gives none.',
  },
);
