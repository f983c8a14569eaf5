import {sql} from 'drizzle-orm';
import {boolean, check, index, jsonb, text, uniqueIndex} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {bigNumber, commentTable, instant, listed} from '../postgres/tables.ts';
import type {ChangeValue} from '../rows/change-values.ts';
import {changes} from './change-tables.ts';
import {rules} from './write-rules-table.ts';

const sides = ['service', 'warehouse'] as const;

export const alterations = sync.table(
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
    index('alterations_open_idx')
      .on(table.account_id, table.found_at)
      .where(sql`looked_at IS NULL`),
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

export const conflicts = sync.table(
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
      sql`(${table.winner} IS NULL) = (${table.decided_at} IS NULL) AND (${table.winner} IS NULL) = (${table.decided_by} IS NULL)`,
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
    winner: 'Whose value was kept: service or warehouse; null while nobody has decided.',
    found_at: 'When it was found.',
    decided_at: 'When it was decided.',
    decided_by: 'The rule, or the database user, that decided.',
  },
);
