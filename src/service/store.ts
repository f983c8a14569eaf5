// Reading records. One exported function per statement; the table's name is always one of ours.

import type {Queryable} from './database.ts';
import type {Fields} from './field.ts';
import type {Resource, Table} from './resource.ts';

/** A record as it is kept. */
export interface StoredRecord {
  readonly fields: Fields;
  /** Internal ids of the employees assigned to a job; empty for everything else. */
  readonly employeeIds: readonly string[];
}

/** The columns by which records belong to another. */
export type ParentColumn = 'customer_id' | 'job_id' | 'parent_id';

interface RawRecord {
  readonly fields: Fields;
  readonly employee_ids: readonly string[];
}

/** Live records by internal id, in no order; ids that are unknown or deleted have no entry. */
export async function selectByIds(
  db: Queryable,
  table: Table,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredRecord>> {
  if (ids.length === 0) return new Map();
  const text = `SELECT fields, ${employeeIds(table)} FROM service.${table} WHERE id = ANY ($1::bigint[]) AND deleted_at IS NULL`;
  const {rows} = await db.query<RawRecord>({name: `${table} by ids`, text, values: [ids]});
  return new Map(rows.map((row) => [idOf(row.fields), toRecord(row)]));
}

/** Live records that belong to the given parents, by parent, in the order of their ids. */
export async function selectByParents(
  db: Queryable,
  table: Table,
  {column, ids}: {readonly column: ParentColumn; readonly ids: readonly string[]},
): Promise<ReadonlyMap<string, readonly StoredRecord[]>> {
  const found = new Map<string, StoredRecord[]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return found;
  const text = `SELECT fields, ${employeeIds(table)}, ${column} AS parent FROM service.${table}
    WHERE ${column} = ANY ($1::bigint[]) AND deleted_at IS NULL ORDER BY id`;
  const {rows} = await db.query<RawRecord & {parent: string}>({
    name: `${table} by ${column}`,
    text,
    values: [ids],
  });
  for (const row of rows) found.get(row.parent)?.push(toRecord(row));
  return found;
}

/**
 * One live record by the number that stands in its path, or null.
 * @param lock - keeps the row as it is until the transaction ends
 */
export async function selectByNumber(
  db: Queryable,
  resource: Resource,
  {number, lock = false}: {readonly number: string; readonly lock?: boolean},
): Promise<StoredRecord | null> {
  if (!isNumber(number)) return null;
  const {table, key} = resource;
  const text = `SELECT fields, ${employeeIds(table)} FROM service.${table}
    WHERE ${key} = $1 AND deleted_at IS NULL${lock ? ' FOR UPDATE' : ''}`;
  const name = `${table} by number${lock ? ', locked' : ''}`;
  const {rows} = await db.query<RawRecord>({name, text, values: [number]});
  return rows[0] === undefined ? null : toRecord(rows[0]);
}

/**
 * True of a number that a path or a filter may hold: any other is unknown, and never reaches a
 * statement.
 */
export function isNumber(text: string): boolean {
  return /^\d{1,18}$/.test(text);
}

/** The record's internal id. */
export function idOf(fields: Fields): string {
  return fields.id ?? '';
}

function employeeIds(table: Table): string {
  return table === 'jobs' ? 'employee_ids' : `'{}'::bigint[] AS employee_ids`;
}

function toRecord(row: RawRecord): StoredRecord {
  return {fields: row.fields, employeeIds: row.employee_ids};
}
