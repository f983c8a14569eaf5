import {sql} from 'drizzle-orm';
import {boolean, check, numeric, primaryKey, text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {commentTable, listed} from '../postgres/tables.ts';

/** Whose value counts where both sides changed a field. */
export const rules = ['service', 'warehouse', 'newest', 'ask'] as const;

export const writeRules = sync.table(
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
      sql`${table.kind} IN ('text', 'integer', 'decimal', 'boolean', 'instant', 'ids', 'secret')`,
    ),
    check('write_rules_rule_check', sql`${table.rule} IN (${listed(rules)})`),
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
