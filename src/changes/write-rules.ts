// Writes to the database the rules of the tables whose rows can be written back: the rules of their
// fields, and the operations that the service allows on each.

import type pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import type {MirrorTable, WarehouseTable, WriteRule} from '../streams/table.ts';
import {replaceRows} from './states.ts';
import type {writeRules} from './tables.ts';

export type Rule = (typeof writeRules.$inferSelect)['rule'];

/** The rule for a field that both sides changed. */
export interface FieldRule extends Pick<WriteRule, 'kind' | 'group'> {
  readonly rule: Rule;
}

/** Brings sync.write_rules in line with the code; the rule that a person set for a field stays. */
export async function applyWriteRules(
  client: pg.ClientBase,
  tables: readonly MirrorTable[],
): Promise<void> {
  const rules = tables.flatMap((table) =>
    table.writable.map((rule) => ({table_name: table.name, ...rule})),
  );
  await client.query(
    `WITH wanted AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS rule (
         table_name text, name text, kind text, "onCreate" boolean, "onUpdate" boolean,
         "group" text, "isRequired" boolean,
         minimum numeric)
     ), gone AS (
       DELETE FROM sync.write_rules AS held
        WHERE NOT EXISTS (SELECT FROM wanted
                           WHERE wanted.table_name = held.table_name AND wanted.name = held.field))
     INSERT INTO sync.write_rules (table_name, field, kind, on_create, on_update, field_group,
                                   required, minimum)
     SELECT table_name, name, kind, "onCreate", "onUpdate", "group", "isRequired", minimum
       FROM wanted
         ON CONFLICT (table_name, field) DO UPDATE
        SET kind = EXCLUDED.kind, on_create = EXCLUDED.on_create, on_update = EXCLUDED.on_update,
            field_group = EXCLUDED.field_group, required = EXCLUDED.required,
            minimum = EXCLUDED.minimum`,
    [JSON.stringify(rules)],
  );
}

/** The rules in force, by table and field. */
export async function readRules(db: Queryable): Promise<Map<string, Map<string, FieldRule>>> {
  const {rows} = await db.query<FieldRule & {table: string; field: string}>(
    'SELECT table_name AS "table", field, kind, field_group AS "group", rule FROM sync.write_rules',
  );
  const rules = new Map<string, Map<string, FieldRule>>();
  for (const {table, field, ...rule} of rows) {
    const tableRules = rules.get(table) ?? new Map<string, FieldRule>();
    rules.set(table, tableRules.set(field, rule));
  }
  return rules;
}

/** Sets whose value counts if both sides changed a field. */
export async function setRule(
  db: Queryable,
  {table, field, rule}: {readonly table: string; readonly field: string; readonly rule: Rule},
): Promise<void> {
  await db.query('UPDATE sync.write_rules SET rule = $3 WHERE table_name = $1 AND field = $2', [
    table,
    field,
    rule,
  ]);
}

/** Brings sync.captured_tables in line with the code. */
export async function applyCapturedTables(
  client: pg.ClientBase,
  tables: readonly WarehouseTable[],
): Promise<void> {
  const captured = tables.map(({name, personal, capture: {key, operations, parent, hint}}) => ({
    ...{table_name: name, key_column: key, operations, hint, personal_columns: personal},
    ...{parent_table: parent?.table, parent_number_column: parent?.numberColumn},
  }));
  await replaceRows(client, 'sync.captured_tables', captured);
}
