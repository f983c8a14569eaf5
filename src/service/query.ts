// The parameters of lists, and the records that lists embed. If ignoring an unknown value would
// answer too much, it is refused: an unknown state would list everything. If the service ignores an
// unknown value, it is ignored: an unknown name in `only` or `include`. Each association that
// `include` names is read in one statement for a page.

import type {AccountTime} from './account-time.ts';
import type {Condition, ServiceQueryable} from './database.ts';
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
} from './resource.ts';
import {
  idOf,
  isNumber,
  type ParentColumn,
  type StoredRecord,
  selectByIds,
  selectByParents,
} from './store.ts';
import {type Branch, humanize, makeInvalidRefusal, type Node} from './xml-write.ts';

/** The parameters of one request; of several with one name, the last. */
export type Query = ReadonlyMap<string, string>;

const MATCHES_NOTHING: Condition = {sql: 'false'};

/**
 * Fields of a customer that filter a list, each exact, alone or combined. `customer_number` is the
 * fifteenth.
 */
const customerFilters = [
  'name',
  'phone_number',
  'fax',
  'email_address',
  ...['service', 'billing'].flatMap((kind) =>
    ['address', 'city', 'zip_code', 'state', 'country'].map((part) => `${kind}_${part}`),
  ),
];

/** By the status of the job. A job on hold is still scheduled (docs/service.md "Fields"). */
const states: Readonly<Record<string, readonly string[]>> = {
  in_progress: ['in_progress'],
  completed: ['complete'],
  uncompleted: ['scheduled', 'in_progress'],
};

/**
 * 1-based. A text that is no page number means the first page; a page past the end is an empty
 * list.
 */
export function readPageNumber(query: Query): number {
  const text = query.get('page') ?? '';
  return /^\d{1,9}$/.test(text) ? Math.max(1, Number(text)) : 1;
}

/** `only` and `include`; names are separated by comma or blank, and have underscores or dashes. */
export function readView(query: Query): View {
  const only = readNames(query.get('only'));
  return {only: only.size === 0 ? null : only, include: readNames(query.get('include'))};
}

/** The exact filters of the customer list. */
export function customerConditions(query: Query): readonly Condition[] {
  const filters = customerFilters.flatMap((name) => {
    const value = query.get(name);
    return value === undefined ? [] : [[name, value] as const];
  });
  // No stored text can hold this character, and jsonb refuses it.
  if (filters.some(([, value]) => value.includes('\u0000'))) return [MATCHES_NOTHING];
  const fields =
    filters.length === 0
      ? []
      : [{sql: 'fields @> $::jsonb', value: JSON.stringify(Object.fromEntries(filters))}];
  return [...filterByNumber(query, 'customer_number', 'customer_number = $'), ...fields];
}

/**
 * @throws {Refusal} 422 for a value of `scheduled` or `state` that the specification does not have
 */
export function jobConditions(query: Query, time: AccountTime): readonly Condition[] {
  return [
    ...filterBySpan(query, {name: 'scheduled', column: 'scheduled_on', time}),
    ...filterByState(query.get('state')),
    ...filterByNumber(
      query,
      'employee_number',
      'employee_ids && (SELECT array_agg(id) FROM service.employees WHERE employee_number = $)',
    ),
    ...filterByNumber(query, 'job_type_id', 'job_type_id = $'),
    ...filterByNumber(query, 'job_status_id', 'job_status_id = $'),
  ];
}

/**
 * @throws {Refusal} 422 for a value of `scheduled_at` or `completed` that the specification does
 * not have
 */
export function taskConditions(query: Query, time: AccountTime): readonly Condition[] {
  return [
    ...filterByNumber(
      query,
      'employee_number',
      'employee_id = (SELECT id FROM service.employees WHERE employee_number = $)',
    ),
    ...filterByCompleted(query.get('completed')),
    ...filterBySpan(query, {name: 'scheduled_at', column: 'scheduled_at', time}),
  ];
}

function filterByNumber(query: Query, name: string, sql: string): readonly Condition[] {
  const value = query.get(name);
  if (value === undefined) return [];
  return isNumber(value) ? [{sql, value}] : [MATCHES_NOTHING];
}

function filterBySpan(
  query: Query,
  {
    name,
    column,
    time,
  }: {readonly name: string; readonly column: string; readonly time: AccountTime},
): readonly Condition[] {
  const value = query.get(name);
  if (value === undefined) return [];
  const span = time.span(value);
  if (span === null) throw makeListError(name);
  return [
    {sql: `${column} >= $`, value: span.from},
    {sql: `${column} < $`, value: span.until},
  ];
}

/**
 * Several states mean any of them: a public client sends `uncompleted in_progress` (docs/service.md
 * "Filters").
 */
function filterByState(value: string | undefined): readonly Condition[] {
  if (value === undefined) return [];
  const statuses = [...readNames(value)].flatMap((name) => {
    const stateStatuses = Object.hasOwn(states, name) ? states[name] : undefined;
    if (stateStatuses === undefined) throw makeListError('state');
    return stateStatuses;
  });
  if (statuses.length === 0) throw makeListError('state');
  return [{sql: 'status = ANY ($::text[])', value: `{${[...new Set(statuses)].join(',')}}`}];
}

function filterByCompleted(value: string | undefined): readonly Condition[] {
  if (value === undefined) return [];
  if (value !== 'true' && value !== 'false') throw makeListError('completed');
  return [{sql: 'completed = $', value}];
}

function readNames(text: string | undefined): ReadonlySet<string> {
  const names = (text ?? '').split(/[\s,]+/).map((name) => name.replaceAll('-', '_'));
  return new Set(names.filter((name) => name !== ''));
}

function makeListError(name: string): Error {
  return makeInvalidRefusal([`${humanize(name)} is not included in the list`]);
}

/** How an embedded record is found from the one that embeds it. */
type Link =
  | {readonly kind: 'one'; readonly field: string}
  | {readonly kind: 'many'; readonly column: ParentColumn}
  | {readonly kind: 'assigned'};

interface Association {
  readonly name: string;
  readonly resource: ServiceResource;
  readonly link: Link;
  /** The items' element, if it is not the resource's own. */
  readonly item?: string;
  readonly className?: string;
}

const taxEntity: Association = {
  name: 'tax_entity',
  resource: taxEntityResource,
  link: {kind: 'one', field: 'tax_id'},
  className: 'Tax',
};

/**
 * Sub-customers are included without being named in `include`, as the last association
 * (docs/service.md "Nested records").
 */
const children: Association = {
  name: 'children',
  resource: customerResource,
  link: {kind: 'many', column: 'parent_id'},
  item: 'child',
  className: 'Customer',
};

const associations: Readonly<Record<string, readonly Association[]>> = {
  customers: [
    {name: 'contacts', resource: contacts, link: {kind: 'many', column: 'customer_id'}},
    {name: 'jobs', resource: jobResource, link: {kind: 'many', column: 'customer_id'}},
    {name: 'tasks', resource: taskResource, link: {kind: 'many', column: 'customer_id'}},
    {name: 'notes', resource: notes, link: {kind: 'many', column: 'customer_id'}},
    taxEntity,
  ],
  jobs: [
    {name: 'customer', resource: customerResource, link: {kind: 'one', field: 'customer_id'}},
    {name: 'employees', resource: employeeResource, link: {kind: 'assigned'}},
    {name: 'job_charges', resource: jobCharges, link: {kind: 'many', column: 'job_id'}},
    {name: 'time_entries', resource: timeEntries, link: {kind: 'many', column: 'job_id'}},
    {name: 'notes', resource: notes, link: {kind: 'many', column: 'job_id'}},
    {name: 'job_type', resource: jobTypes, link: {kind: 'one', field: 'job_type_id'}},
    {name: 'job_status', resource: jobStatuses, link: {kind: 'one', field: 'job_status_id'}},
    taxEntity,
  ],
};

/** The parts of a record that the request names. */
interface View {
  /** The fields to write; null for all. */
  readonly only: ReadonlySet<string> | null;
  /** The associations to embed; names that a resource does not have are ignored. */
  readonly include: ReadonlySet<string>;
}

/** Every field of the record, nothing embedded. */
export const plainView: View = {only: null, include: new Set()};

/**
 * Embeds in the records the associations of the view, always in the same order. A single
 * association that is missing is left out, an empty list is written as such. `only` cuts the record
 * itself, never the embedded ones.
 */
export async function embed(
  db: ServiceQueryable,
  resource: ServiceResource,
  {records, view}: {readonly records: readonly StoredRecord[]; readonly view: View},
): Promise<readonly Node[]> {
  const branchesByAssociation = await Promise.all(
    listAssociations(resource, view).map((association) => loadBranches(db, association, records)),
  );
  return records.map((record, index) => ({
    ...record,
    branches: branchesByAssociation.flatMap((branches) => branches[index] ?? []),
  }));
}

function listAssociations(resource: ServiceResource, view: View): readonly Association[] {
  const included = (associations[resource.table] ?? []).filter(({name}) => view.include.has(name));
  // `only` is exactly the named columns: the sub-customers, too, come only when they are named.
  const hasChildren =
    resource.table === 'customers' && (view.only === null || view.only.has('children'));
  return hasChildren ? [...included, children] : included;
}

/** One branch per record; null if a single association is missing. */
async function loadBranches(
  db: ServiceQueryable,
  association: Association,
  records: readonly StoredRecord[],
): Promise<readonly (Branch | [])[]> {
  const {resource, link} = association;
  if (link.kind === 'many') {
    const ids = records.map(({fields}) => idOf(fields));
    const recordsByParent = await selectByParents(db, resource.table, {column: link.column, ids});
    return ids.map((id) => makeBranch(association, recordsByParent.get(id) ?? []));
  }
  const listIds = ({fields, employeeIds}: StoredRecord) =>
    link.kind === 'assigned'
      ? employeeIds
      : [fields[link.field] ?? null].filter((id) => id !== null);
  const recordsById = await selectByIds(db, resource.table, [...new Set(records.flatMap(listIds))]);
  return records.map((record) => {
    const embedded = listIds(record).flatMap((id) => recordsById.get(id) ?? []);
    return link.kind === 'one' && embedded.length === 0 ? [] : makeBranch(association, embedded);
  });
}

function makeBranch(association: Association, records: readonly StoredRecord[]): Branch {
  const {name, resource, link, item = resource.element, className = null} = association;
  const nodes = records.map((record) => ({...record, branches: []}));
  return {resource, element: name, item: link.kind === 'one' ? null : item, className, nodes};
}
