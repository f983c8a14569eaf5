// Reading and writing records. Every effect of a request, with its entry in the journal, is in the
// transaction of the request; the table's name always comes from this code.

import type pg from 'pg';
import type {AccountTime} from './account-time.ts';
import type {ListChange, ServiceQueryable} from './database.ts';
import type {ServiceField, ServiceFields, ServiceResource, Table} from './resource.ts';
import type {RequestFields, RequestValue} from './xml-read.ts';
import {humanize, makeInvalidRefusal} from './xml-write.ts';

/** A record as it is kept. */
export interface StoredRecord {
  readonly fields: ServiceFields;
  /** Internal ids of the employees assigned to a job; empty for everything else. */
  readonly employeeIds: readonly string[];
}

/** The columns by which records belong to another. */
export type ParentColumn = 'customer_id' | 'job_id' | 'parent_id';

interface RawRecord {
  readonly fields: ServiceFields;
  readonly employee_ids: readonly string[];
}

/** Live records by internal id, in no order; ids that are unknown or deleted have no entry. */
export async function selectByIds(
  db: ServiceQueryable,
  table: Table,
  ids: readonly string[],
): Promise<ReadonlyMap<string, StoredRecord>> {
  if (ids.length === 0) return new Map();
  const text = `SELECT fields, ${makeIdsColumn(table)} FROM service.${table}
      WHERE id = ANY ($1::bigint[]) AND deleted_at IS NULL`;
  const {rows} = await db.query<RawRecord>({name: `${table} by ids`, text, values: [ids]});
  return new Map(rows.map((row) => [idOf(row.fields), toRecord(row)]));
}

/** Live records that belong to the given parents, by parent, in the order of their ids. */
export async function selectByParents(
  db: ServiceQueryable,
  table: Table,
  {column, ids}: {readonly column: ParentColumn; readonly ids: readonly string[]},
): Promise<ReadonlyMap<string, readonly StoredRecord[]>> {
  const recordsByParent = new Map<string, StoredRecord[]>(ids.map((id) => [id, []]));
  if (ids.length === 0) return recordsByParent;
  const text = `SELECT fields, ${makeIdsColumn(table)}, ${column} AS parent FROM service.${table}
    WHERE ${column} = ANY ($1::bigint[]) AND deleted_at IS NULL ORDER BY id`;
  const {rows} = await db.query<RawRecord & {parent: string}>({
    name: `${table} by ${column}`,
    text,
    values: [ids],
  });
  for (const row of rows) recordsByParent.get(row.parent)?.push(toRecord(row));
  return recordsByParent;
}

/**
 * One live record by the number in its path, or null.
 * @param lock - keeps the row as it is until the transaction ends
 */
export async function selectByNumber(
  db: ServiceQueryable,
  resource: ServiceResource,
  {number, lock = false}: {readonly number: string; readonly lock?: boolean},
): Promise<StoredRecord | null> {
  if (!isNumber(number)) return null;
  const {table, key} = resource;
  const text = `SELECT fields, ${makeIdsColumn(table)} FROM service.${table}
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
export function idOf(fields: ServiceFields): string {
  return fields.id ?? '';
}

function makeIdsColumn(table: Table): string {
  return table === 'jobs' ? 'employee_ids' : `'{}'::bigint[] AS employee_ids`;
}

function toRecord(row: RawRecord): StoredRecord {
  return {fields: row.fields, employeeIds: row.employee_ids};
}

/** The transaction of one request, with its actor, its method and path, and its time. */
export interface Effects {
  readonly client: pg.PoolClient;
  readonly method: string;
  readonly path: string;
  /** Now, in UTC, whole seconds. */
  readonly at: string;
  /** Internal id of the employee whose token the request bears. */
  readonly actorId: string;
  /** The tables that were written to, and how. */
  readonly touched: Map<Table, ListChange>;
}

/** Columns beside `fields`, written with them. */
export interface Beside {
  readonly employeeIds?: readonly string[];
  readonly token?: string;
  readonly passwordHash?: string;
}

type EffectKind = 'create' | 'update' | 'delete';

const besideColumns: Readonly<Record<keyof Beside, string>> = {
  employeeIds: 'employee_ids',
  token: 'token',
  passwordHash: 'password_hash',
};
const secretName = /pass|token|secret|salt|digest/i;

const NUMBERS: Readonly<Partial<Record<Table, string>>> = {
  customers: 'service.customer_numbers',
  jobs: 'service.job_numbers',
  employees: 'service.employee_numbers',
};

/**
 * Reads from the sequences the values that the service assigns to a new record: its internal id,
 * and its number, if it has one.
 */
async function assignNumbers(
  db: ServiceQueryable,
  resource: ServiceResource,
): Promise<ServiceFields> {
  const sequence = NUMBERS[resource.table];
  const numberSql = sequence === undefined ? 'NULL' : `nextval('${sequence}')`;
  const {rows} = await db.query<{id: string; number: string | null}>(
    `SELECT nextval('service.ids') AS id, ${numberSql} AS number`,
  );
  const id = rows[0]?.id ?? null;
  return resource.key === 'id' ? {id} : {id, [resource.key]: rows[0]?.number ?? null};
}

/** Keeps a new record, and gives it its id and number. */
export async function createRecord(
  effects: Effects,
  resource: ServiceResource,
  {fields, beside = {}}: {readonly fields: ServiceFields; readonly beside?: Beside},
): Promise<StoredRecord> {
  const allFields = {
    ...fields,
    ...(await assignNumbers(effects.client, resource)),
    ...makeStamps(resource, effects, [
      'created_at',
      'created_on',
      'updated_at',
      'created_by',
      'updated_by',
    ]),
  };
  const columns = listBesideEntries(beside);
  const names = ['fields', ...columns.map(([name]) => name)].join(', ');
  const placeholders = ['$1', ...columns.map((_, index) => `$${index + 2}`)].join(', ');
  await effects.client.query(
    `INSERT INTO service.${resource.table} (${names}) VALUES (${placeholders})`,
    [JSON.stringify(dropNil(allFields)), ...columns.map(([, value]) => value)],
  );
  await writeJournal(effects, resource, {
    fields: allFields,
    kind: 'create',
    changed: listJournalValues(dropNil(allFields), beside),
  });
  return {fields: dropNil(allFields), employeeIds: beside.employeeIds ?? []};
}

/**
 * Writes the values that differ, and marks the record as changed. A request that changes nothing
 * has no effect: no new `updated_at`, no entry in the journal.
 */
export async function updateRecord(
  effects: Effects,
  resource: ServiceResource,
  {
    record,
    changes,
    beside = {},
  }: {readonly record: StoredRecord; readonly changes: ServiceFields; readonly beside?: Beside},
): Promise<StoredRecord> {
  const changed = Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => (record.fields[name] ?? null) !== value),
  );
  const columns = listBesideEntries(beside);
  if (Object.keys(changed).length === 0 && columns.length === 0) return record;
  const fields = dropNil({
    ...record.fields,
    ...changed,
    ...makeStamps(resource, effects, ['updated_at', 'updated_by']),
  });
  const assignments = [
    'fields = $2',
    ...columns.map(([name], index) => `${name} = $${index + 3}`),
  ].join(', ');
  await effects.client.query(`UPDATE service.${resource.table} SET ${assignments} WHERE id = $1`, [
    idOf(fields),
    JSON.stringify(fields),
    ...columns.map(([, value]) => value),
  ]);
  await writeJournal(effects, resource, {
    fields,
    kind: 'update',
    changed: listJournalValues(changed, beside),
  });
  return {fields, employeeIds: beside.employeeIds ?? record.employeeIds};
}

/** Deletes softly: the record stays, marked, and no route shows it. */
export async function deleteRecord(
  effects: Effects,
  resource: ServiceResource,
  record: StoredRecord,
): Promise<StoredRecord> {
  const fields = {
    ...record.fields,
    deleted_at: effects.at,
    ...makeStamps(resource, effects, ['updated_at']),
  };
  await effects.client.query(`UPDATE service.${resource.table} SET fields = $2 WHERE id = $1`, [
    idOf(fields),
    JSON.stringify(fields),
  ]);
  await writeJournal(effects, resource, {fields, kind: 'delete', changed: {}});
  return {fields, employeeIds: record.employeeIds};
}

async function writeJournal(
  {client, method, path, at, touched}: Effects,
  resource: ServiceResource,
  {
    fields,
    kind,
    changed,
  }: {
    readonly fields: ServiceFields;
    readonly kind: EffectKind;
    readonly changed: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  if (kind !== 'update' || !touched.has(resource.table))
    touched.set(resource.table, kind === 'update' ? 'values' : 'members');
  const text = `INSERT INTO service.journal (at, method, path, resource, record_id, number, kind,
      changed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
  const number = fields[resource.key];
  await client.query({
    name: 'journal',
    text,
    values: [at, method, path, resource.table, idOf(fields), number, kind, JSON.stringify(changed)],
  });
}

/** The values for the journal: all but those that are secrets by their names. */
function listJournalValues(
  fields: ServiceFields,
  {employeeIds}: Beside,
): Readonly<Record<string, unknown>> {
  const publicFields = Object.fromEntries(
    Object.entries(fields).filter(([name]) => !secretName.test(name)),
  );
  return employeeIds === undefined ? publicFields : {...publicFields, employee_ids: employeeIds};
}

/** The fields for time and author of a write, if the resource has them. */
function makeStamps(
  resource: ServiceResource,
  effects: Effects,
  names: readonly string[],
): ServiceFields {
  const fieldNames = new Set(resource.fields.map(({name}) => name));
  const readStamp = (name: string) => (name.endsWith('_by') ? effects.actorId : effects.at);
  return Object.fromEntries(
    names.filter((name) => fieldNames.has(name)).map((name) => [name, readStamp(name)]),
  );
}

function listBesideEntries(beside: Beside): readonly (readonly [string, unknown])[] {
  const entries = [
    [besideColumns.employeeIds, beside.employeeIds],
    [besideColumns.token, beside.token],
    [besideColumns.passwordHash, beside.passwordHash],
  ] as const;
  return entries.filter(([, value]) => value !== undefined);
}

function dropNil(fields: ServiceFields): ServiceFields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}

/** The values that a request sets, as they are kept. */
export type Changes = Record<string, string | null>;

/** Collects the problems of a request, so that one answer names them all. */
export class Problems {
  readonly #texts: string[] = [];

  add(field: string, text: string): void {
    this.#texts.push(`${humanize(field)} ${text}`);
  }

  /** The rule of Rails: neither nil nor nothing but white space. */
  requirePresence(fields: ServiceFields, ...names: readonly string[]): void {
    for (const name of names)
      if ((fields[name] ?? '').trim() === '') this.add(name, "can't be blank");
  }

  /** @throws {Refusal} 422 with every text, if there is one */
  refuse(): void {
    if (this.#texts.length > 0) throw makeInvalidRefusal([...new Set(this.#texts)]);
  }
}

/**
 * Reads from a request the fields that can be set for the resource, each value in the form in which
 * it is kept; other fields are ignored. Decimals stay as they are sent (`275.10`), an empty text is
 * kept for text fields and nil for others.
 */
export function toChanges(
  resource: ServiceResource,
  requestFields: RequestFields,
  {time, problems}: {readonly time: AccountTime; readonly problems: Problems},
): Changes {
  const changes: Changes = {};
  for (const field of resource.fields) {
    const value = resource.writable.has(field.name) ? requestFields.get(field.name) : undefined;
    if (value === undefined) continue;
    const result = readValue(field, value, time);
    if ('problem' in result) problems.add(field.name, result.problem);
    else changes[field.name] = result.value;
  }
  return changes;
}

type ReadResult = {readonly value: string | null} | {readonly problem: string};

function readValue(field: ServiceField, value: RequestValue, time: AccountTime): ReadResult {
  if (value === null) return {value: null};
  if (typeof value !== 'string') return {problem: 'is invalid'};
  if (field.type === 'text') return {value};
  const text = value.trim();
  if (text === '') return {value: null};
  switch (field.type) {
    case 'integer':
      return /^\d{1,18}$/.test(text) ? {value: String(BigInt(text))} : {problem: 'is not a number'};
    case 'decimal':
    case 'float':
      return /^[+-]?(\d{1,15}(\.\d{0,10})?|\.\d{1,10})$/.test(text)
        ? {value: text}
        : {problem: 'is not a number'};
    case 'boolean':
      return readBoolean(text);
    case 'dateTime':
      return readTime(time.parse(text));
    default:
      return {problem: 'is invalid'};
  }
}

function readBoolean(text: string): ReadResult {
  if (/^(true|1)$/i.test(text)) return {value: 'true'};
  if (/^(false|0)$/i.test(text)) return {value: 'false'};
  return {problem: 'is not true or false'};
}

function readTime(utc: string | null): ReadResult {
  return utc === null ? {problem: 'is not a valid date and time'} : {value: utc};
}
