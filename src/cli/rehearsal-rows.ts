// The rows of an account as the records of a reference service. Each value that may tell who
// somebody is, or how to reach them, is replaced before it leaves this file.

import {createHmac, randomBytes} from 'node:crypto';
import type pg from 'pg';
import {readByCursor} from '../postgres/sql.ts';
import type {ServiceRow} from '../service/database.ts';
import {newToken} from '../service/foundation.ts';
import {
  contacts,
  customerResource,
  employeeResource,
  jobCharges,
  jobResource,
  jobStatuses,
  jobTypes,
  notes,
  type ServiceResource,
  taskResource,
  taxEntityResource,
  timeEntries,
} from '../service/resource.ts';
import {allTables} from '../streams/all.ts';

/** A table of the warehouse whose rows are records of a resource. */
interface Source {
  readonly table: string;
  readonly to: ServiceResource;
  /** The table, and the column with its id, without which there is no such record. */
  readonly parent?: readonly [table: string, column: string];
  /** The kind of the parent, where records of several kinds are in one resource. */
  readonly kind?: string;
  /** Fields that are not what their column says, as SQL. */
  readonly instead?: Readonly<Record<string, string>>;
}

const ofJob = {parent: ['jobs', 'job_id']} as const;
const ofCustomer = {parent: ['customers', 'customer_id']} as const;

/** A service knows three states of a job. */
const status = `CASE WHEN status IN ('scheduled', 'in_progress', 'complete') THEN status
                     ELSE 'scheduled' END`;

const ofLogin = {
  active: 'coalesce(active, true)::text',
  can_login: 'coalesce(can_login, false)::text',
};

const sources: readonly Source[] = [
  {table: 'job_types', to: jobTypes},
  {table: 'job_statuses', to: jobStatuses},
  {table: 'tax_entities', to: taxEntityResource},
  {table: 'employees', to: employeeResource, instead: ofLogin},
  {table: 'customers', to: customerResource},
  {table: 'contacts', to: contacts, ...ofCustomer},
  {table: 'customer_notes', to: notes, ...ofCustomer, kind: 'Customer'},
  {table: 'jobs', to: jobResource, ...ofCustomer, instead: {status}},
  {table: 'job_charges', to: jobCharges, ...ofJob},
  {table: 'time_entries', to: timeEntries, ...ofJob},
  {table: 'job_notes', to: notes, ...ofJob, kind: 'Job'},
  {table: 'tasks', to: taskResource, instead: {completed: 'coalesce(completed, false)::text'}},
];

/** Rows on their way at once. */
const rowsAtOnce = 1000;

/**
 * Reads an account's live rows that the service has given an id, masked. The client is in a
 * transaction that sees one state of the warehouse.
 * @param key - secret; equal values get equal masks under one key
 */
export async function* readRehearsalRows(
  client: pg.ClientBase,
  accountId: string,
  key: Buffer,
): AsyncGenerator<readonly ServiceRow[]> {
  for (const source of sources) {
    const columns = columnsOf(source);
    const masked = columns.filter(({isPersonal}) => isPersonal).map(({name}) => name);
    const query = drawQuery(source, columns);
    for await (const rows of readByCursor<RawRow>(client, query, [accountId], rowsAtOnce))
      yield rows.map((row) => toServiceRow(source, row, {key, masked}));
  }
}

/** How many live rows of the account the tables of a rehearsal have in all. */
export async function countRehearsalRows(
  client: pg.ClientBase,
  accountId: string,
): Promise<number> {
  const counts = sources.map(
    ({table}) => `(SELECT count(*) FROM warehouse.${table}
                    WHERE account_id = $1 AND _deleted_at IS NULL)`,
  );
  const {rows} = await client.query<{rows: string}>(`SELECT ${counts.join(' + ')} AS rows`, [
    accountId,
  ]);
  return Number(rows[0]?.rows ?? 0);
}

type RawRow = Readonly<Record<string, string | null>>;

interface Taken {
  readonly name: string;
  readonly sql: string;
  readonly isPersonal: boolean;
}

/** The columns that are fields of the resource, as text. */
function columnsOf({table, to, instead = {}}: Source): Taken[] {
  const {columns = [], personal = []} = allTables.find(({name}) => name === table) ?? {};
  const known = new Set(to.fields.map(({name}) => name));
  return columns
    .filter(({name, type}) => known.has(name) && type !== 'nested' && type !== 'float')
    .map(({name, type}) => {
      const plain =
        type === 'instant'
          ? `to_char("${name}" AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`
          : `"${name}"::text`;
      return {name, sql: instead[name] ?? plain, isPersonal: personal.includes(name)};
    });
}

function drawQuery({table, to, parent, kind}: Source, columns: readonly Taken[]): string {
  const list = columns.map(({name, sql}) => `${sql} AS "${name}"`);
  if (to === jobResource)
    list.push(`(SELECT coalesce(array_agg(employee_id ORDER BY employee_id), '{}')
                  FROM warehouse.job_employees AS link
                 WHERE link.account_id = held.account_id AND link.job_number = held.job_number
                   AND employee_id IS NOT NULL AND _deleted_at IS NULL)::text AS beside`);
  if (kind !== undefined) list.push(`${parent?.[1]}::text AS beside`);
  const isThere =
    parent === undefined
      ? ''
      : `AND EXISTS (SELECT FROM warehouse.${parent[0]} AS owner
                      WHERE owner.account_id = held.account_id AND owner.id = held.${parent[1]}
                        AND owner._deleted_at IS NULL)`;
  return `SELECT ${list.join(', ')} FROM warehouse.${table} AS held
           WHERE account_id = $1 AND _deleted_at IS NULL AND id IS NOT NULL
             AND ${to.key} IS NOT NULL ${isThere}`;
}

function toServiceRow(
  {to, kind}: Source,
  {beside = null, ...row}: RawRow,
  {key, masked}: {readonly key: Buffer; readonly masked: readonly string[]},
): ServiceRow {
  const masks = masked.map((name) => [name, maskValue(name, row[name] ?? null, key)] as const);
  const owner = kind === undefined ? {} : {noteable_type: kind, noteable_id: beside};
  const fields = {...row, ...Object.fromEntries(masks), ...owner};
  if (to === jobResource) return {table: 'jobs', fields, beside: {employee_ids: beside ?? '{}'}};
  if (to === employeeResource) {
    // Who may log in has a password; here, one that nobody knows.
    const hash = `${randomBytes(16).toString('hex')}:${randomBytes(32).toString('hex')}`;
    const password = row.can_login === 'true' ? hash : '\\N';
    return {table: 'employees', fields, beside: {token: newToken(), password_hash: password}};
  }
  return {table: to.table, fields};
}

/**
 * A value in place of a personal one. What looks like a phone number or an address of e-mail stays
 * one, in ranges that are nobody's; nothing stays nothing.
 */
export function maskValue(field: string, value: string | null, key: Buffer): string | null {
  if (value === null || value.trim() === '') return value;
  const digest = createHmac('sha256', key).update(value).digest();
  const word = digest.toString('hex').slice(0, 12);
  if (/(^|_)(phone|mobile|fax|pager)(_number)?$/.test(field)) {
    const digits = String(digest.readUInt32BE() % 10_000_000).padStart(7, '0');
    return `555-${digits.slice(0, 3)}-${digits.slice(3)}`;
  }
  if (/(^|_)email(_address)?$/.test(field)) return `${word}@example.com`;
  return `${field.replaceAll('_', ' ')} ${word}`;
}
