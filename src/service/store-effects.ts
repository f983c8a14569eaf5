// Every effect of a request, with its entry in the journal, in the transaction of the request.

import type pg from 'pg';
import type {Queryable} from './database.ts';
import type {Fields} from './field.ts';
import type {Change} from './lists.ts';
import type {Resource, Table} from './resource.ts';
import {idOf, type StoredRecord} from './store.ts';

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
  readonly touched: Map<Table, Change>;
}

/** Columns beside `fields`, written with them. */
export interface Beside {
  readonly employeeIds?: readonly string[];
  readonly token?: string;
  readonly passwordHash?: string;
}

type Kind = 'create' | 'update' | 'delete';

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
 * Draws what the service assigns to a new record: its internal id, and its number where it has one.
 */
export async function assignNumbers(db: Queryable, resource: Resource): Promise<Fields> {
  const sequence = NUMBERS[resource.table];
  const number = sequence === undefined ? 'NULL' : `nextval('${sequence}')`;
  const {rows} = await db.query<{id: string; number: string | null}>(
    `SELECT nextval('service.ids') AS id, ${number} AS number`,
  );
  const id = rows[0]?.id ?? null;
  return resource.key === 'id' ? {id} : {id, [resource.key]: rows[0]?.number ?? null};
}

/** Keeps a new record; `fields` hold its id and number. */
export async function createRecord(
  effects: Effects,
  resource: Resource,
  {fields, beside = {}}: {readonly fields: Fields; readonly beside?: Beside},
): Promise<StoredRecord> {
  const full = {
    ...fields,
    ...stamps(resource, effects, [
      'created_at',
      'created_on',
      'updated_at',
      'created_by',
      'updated_by',
    ]),
  };
  const columns = besideEntries(beside);
  const names = ['fields', ...columns.map(([name]) => name)].join(', ');
  const places = ['$1', ...columns.map((_, index) => `$${index + 2}`)].join(', ');
  await effects.client.query(
    `INSERT INTO service.${resource.table} (${names}) VALUES (${places})`,
    [JSON.stringify(dropNil(full)), ...columns.map(([, value]) => value)],
  );
  await writeJournal(effects, resource, {
    fields: full,
    kind: 'create',
    changed: changedOf(dropNil(full), beside),
  });
  return {fields: dropNil(full), employeeIds: beside.employeeIds ?? []};
}

/**
 * Writes the values that differ, and marks the record as changed. A request that changes nothing
 * has no effect: no new `updated_at`, no entry in the journal.
 */
export async function updateRecord(
  effects: Effects,
  resource: Resource,
  {
    record,
    changes,
    beside = {},
  }: {readonly record: StoredRecord; readonly changes: Fields; readonly beside?: Beside},
): Promise<StoredRecord> {
  const changed = Object.fromEntries(
    Object.entries(changes).filter(([name, value]) => (record.fields[name] ?? null) !== value),
  );
  const columns = besideEntries(beside);
  if (Object.keys(changed).length === 0 && columns.length === 0) return record;
  const fields = dropNil({
    ...record.fields,
    ...changed,
    ...stamps(resource, effects, ['updated_at', 'updated_by']),
  });
  const sets = ['fields = $2', ...columns.map(([name], index) => `${name} = $${index + 3}`)].join(
    ', ',
  );
  await effects.client.query(`UPDATE service.${resource.table} SET ${sets} WHERE id = $1`, [
    idOf(fields),
    JSON.stringify(fields),
    ...columns.map(([, value]) => value),
  ]);
  await writeJournal(effects, resource, {
    fields,
    kind: 'update',
    changed: changedOf(changed, beside),
  });
  return {fields, employeeIds: beside.employeeIds ?? record.employeeIds};
}

/** Deletes softly: the record stays, marked, and is nowhere to be seen. */
export async function deleteRecord(
  effects: Effects,
  resource: Resource,
  record: StoredRecord,
): Promise<StoredRecord> {
  const fields = {
    ...record.fields,
    deleted_at: effects.at,
    ...stamps(resource, effects, ['updated_at']),
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
  resource: Resource,
  {
    fields,
    kind,
    changed,
  }: {
    readonly fields: Fields;
    readonly kind: Kind;
    readonly changed: Readonly<Record<string, unknown>>;
  },
): Promise<void> {
  if (kind !== 'update' || !touched.has(resource.table))
    touched.set(resource.table, kind === 'update' ? 'values' : 'members');
  const text = `INSERT INTO service.journal (at, method, path, resource, record_id, number, kind, changed)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`;
  const number = fields[resource.key];
  await client.query({
    name: 'journal',
    text,
    values: [at, method, path, resource.table, idOf(fields), number, kind, JSON.stringify(changed)],
  });
}

/** The values for the journal: all but those that are secrets by their names. */
function changedOf(fields: Fields, {employeeIds}: Beside): Readonly<Record<string, unknown>> {
  const open = Object.fromEntries(
    Object.entries(fields).filter(([name]) => !secretName.test(name)),
  );
  return employeeIds === undefined ? open : {...open, employee_ids: employeeIds};
}

/** The marks of time and author, where the resource has a field for them. */
function stamps(resource: Resource, effects: Effects, names: readonly string[]): Fields {
  const own = new Set(resource.fields.map(({name}) => name));
  const value = (name: string) => (name.endsWith('_by') ? effects.actorId : effects.at);
  return Object.fromEntries(
    names.filter((name) => own.has(name)).map((name) => [name, value(name)]),
  );
}

function besideEntries(beside: Beside): readonly (readonly [string, unknown])[] {
  const entries = [
    [besideColumns.employeeIds, beside.employeeIds],
    [besideColumns.token, beside.token],
    [besideColumns.passwordHash, beside.passwordHash],
  ] as const;
  return entries.filter(([, value]) => value !== undefined);
}

function dropNil(fields: Fields): Fields {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null));
}
