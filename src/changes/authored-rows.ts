// Rows that are written here. Stores the rules of the tables whose rows can be written back: those
// of their fields, and the operations that the service allows on each. Updates such rows once the
// service has answered.

import pg from 'pg';
import type {Queryable} from '../postgres/database.ts';
import {toArrayText} from '../postgres/sql.ts';
import type {ChangeValues} from '../rows/change-values.ts';
import {nameTable} from '../rows/table-sql.ts';
import type {MirrorTable, WarehouseTable, WriteRule} from '../streams/table.ts';
import type {Change} from './change.ts';
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
    table_name: name,
    key_column: key,
    operations,
    hint,
    personal_columns: personal,
    parent_table: parent?.table,
    parent_number_column: parent?.numberColumn,
  }));
  await replaceRows(client, 'sync.captured_tables', captured);
}

/**
 * Gives a row the number that the service gave its record. If a sweep read the record first, the
 * sweep's row is deleted, because this one has been known by its row_id all along.
 * @param key - the column of the number
 */
export async function giveNumber(
  client: pg.ClientBase,
  table: MirrorTable,
  row: {
    readonly accountId: string;
    readonly rowId: string;
    readonly key: string;
    readonly number: string;
  },
): Promise<void> {
  const key = pg.escapeIdentifier(row.key);
  await client.query(
    `DELETE FROM ${nameTable(table)} WHERE account_id = $1 AND ${key} = $2 AND row_id <> $3`,
    [row.accountId, row.number, row.rowId],
  );
  await client.query(
    `UPDATE ${nameTable(table)} SET ${key} = $1, _pending = true WHERE row_id = $2`,
    [row.number, row.rowId],
  );
}

/** A job whose employees have reached the service. */
export interface AssignedJob {
  readonly changeId: string;
  readonly accountId: string;
  readonly rowId: string;
  readonly number: string;
  /** True of a job that was just created: its assignments have no number yet. */
  readonly isNew: boolean;
  /** The employees that the job has at the service by now, by employees.id. */
  readonly employeeIds: readonly string[];
}

/** Lets the rows of jobs' assignments be overwritten: their changes have reached the service. */
export async function settleAssignments(
  client: pg.ClientBase,
  jobs: readonly AssignedJob[],
): Promise<void> {
  const [job] = jobs;
  if (job === undefined) return;
  const newJobs = jobs.filter(({isNew}) => isNew);
  if (newJobs.length > 0) await numberAssignments(client, newJobs);
  await client.query(
    `UPDATE warehouse.job_employees SET _hash = NULL
      WHERE account_id = $1 AND job_number = ANY ($2::bigint[])
        AND (_pending OR _sweep_id IS NULL AND _change_id IS NULL)`,
    [job.accountId, jobs.map(({number}) => number)],
  );
}

/**
 * Gives the assignments of new jobs the number of their job. Their rows stay the same: an author
 * who removes one at this moment must find it. Rows of the same assignments from a sweep are
 * deleted, and so are rows assigned twice.
 */
async function numberAssignments(
  client: pg.ClientBase,
  jobs: readonly AssignedJob[],
): Promise<void> {
  const values = [
    jobs.map(({accountId}) => accountId),
    jobs.map(({rowId}) => rowId),
    jobs.map(({number}) => number),
  ];
  const newJobs =
    'unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS job (account_id, row_id, number)';
  await client.query(
    `DELETE FROM warehouse.job_employees AS other USING ${newJobs}, warehouse.job_employees AS own
      WHERE own.account_id = job.account_id AND own.job_number IS NULL
        AND own.parent_row_id = job.row_id
        AND other.account_id = job.account_id AND other.employee_id = own.employee_id
        AND (other.job_number = job.number
             OR other.job_number IS NULL AND other.parent_row_id = job.row_id
                AND other.row_id > own.row_id)`,
    values,
  );
  await client.query(
    `UPDATE warehouse.job_employees AS own SET job_number = job.number FROM ${newJobs}
      WHERE own.account_id = job.account_id AND own.job_number IS NULL
        AND own.parent_row_id = job.row_id`,
    values,
  );
}

/**
 * Stores which change assigned employees that the loaded record does not show, and which removed
 * employees from their jobs. So a record that was read before neither removes the former nor brings
 * the latter back. An employee assigned since, for whom a later change is open, stays unknown at
 * the service.
 */
export async function stampAssignments(
  client: pg.ClientBase,
  jobs: readonly AssignedJob[],
): Promise<void> {
  const [job] = jobs;
  if (job === undefined) return;
  await client.query(
    `UPDATE warehouse.job_employees AS link SET _change_id = job.change_id
       FROM unnest($2::bigint[], $3::bigint[], $4::text[])
              AS job (number, change_id, employee_ids)
      WHERE link.account_id = $1 AND link.job_number = job.number AND link.job_number = ANY ($2)
        AND link._sweep_id IS NULL AND link._change_id IS NULL
        AND (link._deleted_at IS NOT NULL OR link.employee_id = ANY (job.employee_ids::bigint[]))`,
    [
      job.accountId,
      jobs.map(({number}) => number),
      jobs.map(({changeId}) => changeId),
      jobs.map(({employeeIds}) => toArrayText(employeeIds)),
    ],
  );
}

/**
 * Marks a row deleted, and the rows that it owns: the service has deleted the record by our change.
 */
export async function markDeleted(
  client: pg.ClientBase,
  table: MirrorTable,
  row: {
    readonly accountId: string;
    readonly rowId: string;
    readonly changeId: string;
    readonly number: string;
    readonly owned: readonly {readonly table: MirrorTable; readonly parentColumn: string}[];
  },
): Promise<void> {
  const deletion = `_deleted_at = coalesce(_deleted_at, now()), _change_id = $1, _sweep_id = NULL,
      _page = NULL`;
  await client.query(`UPDATE ${nameTable(table)} SET ${deletion} WHERE row_id = $2`, [
    row.changeId,
    row.rowId,
  ]);
  for (const owned of row.owned)
    await client.query(
      `UPDATE ${nameTable(owned.table)} SET ${deletion}
        WHERE account_id = $2 AND ${pg.escapeIdentifier(owned.parentColumn)} = $3
          AND _deleted_at IS NULL`,
      [row.changeId, row.accountId, row.number],
    );
}

/**
 * A record as a document of the service showed it; both moments are by the service's clock, null if
 * it does not show them.
 */
export interface Appearance {
  readonly number: string;
  readonly createdAt: string | null;
  readonly shownAt: string | null;
}

/** Two clocks of one service may differ by this much, or a request may take this long to arrive. */
const clocksOfOneService = "interval '2 minutes'";

/**
 * Finds which of some records a create cannot have made, and which it hardly can have:
 * - known: their rows were here before it was sent, or another create has made them;
 * - older: in the document that showed them they were older than the time since the create was
 *   sent. The service's moments are compared with the service's, and that time is measured here: no
 *   difference of clocks counts.
 */
export async function placeInTime(
  db: Queryable,
  table: MirrorTable,
  create: {
    readonly accountId: string;
    readonly rowId: string;
    readonly changeId: string;
    readonly key: string;
    readonly sentAt: string | null;
    readonly records: readonly Appearance[];
  },
): Promise<{readonly known: ReadonlySet<string>; readonly older: ReadonlySet<string>}> {
  const key = pg.escapeIdentifier(create.key);
  const {rows} = await db.query<{number: string; isKnown: boolean; isOlder: boolean}>(
    `SELECT number,
            EXISTS (SELECT FROM ${nameTable(table)} AS held
                     WHERE held.account_id = $1 AND held.${key} = shown.number AND row_id <> $2
                       AND _first_seen_at < $3)
         OR EXISTS (SELECT FROM sync.changes AS other
                     WHERE other.account_id = $1 AND table_name = $4 AND operation = 'create'
                       AND other.number = shown.number
                       AND change_id <> $5) AS "isKnown",
            created_at < shown_at - (clock_timestamp() - $3::timestamptz)
              - ${clocksOfOneService} IS TRUE AS "isOlder"
       FROM unnest($6::bigint[], $7::timestamptz[], $8::timestamptz[])
              AS shown (number, created_at, shown_at)`,
    [
      create.accountId,
      create.rowId,
      create.sentAt,
      table.name,
      create.changeId,
      create.records.map(({number}) => number),
      create.records.map(({createdAt}) => createdAt),
      create.records.map(({shownAt}) => shownAt),
    ],
  );
  const listNumbers = (flag: 'isKnown' | 'isOlder') =>
    new Set(rows.flatMap((row) => (row[flag] ? [row.number] : [])));
  return {known: listNumbers('isKnown'), older: listNumbers('isOlder')};
}

/** The fields of other creates under the same parent that may or may not have arrived. */
export async function listRivalCreates(
  db: Queryable,
  change: Pick<Change, 'changeId' | 'accountId' | 'table' | 'parentRowId'>,
): Promise<ChangeValues[]> {
  const {rows} = await db.query<{fields: ChangeValues}>(
    `SELECT fields FROM sync.changes
      WHERE account_id = $1 AND table_name = $2 AND parent_row_id IS NOT DISTINCT FROM $3
        AND change_id <> $4
        AND operation = 'create' AND state IN ('sending', 'in_doubt', 'conflict')`,
    [change.accountId, change.table, change.parentRowId, change.changeId],
  );
  return rows.map(({fields}) => fields);
}
