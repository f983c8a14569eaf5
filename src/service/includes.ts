// The associations that `include` can embed, as data, and how they are read: one statement per
// association and page.

import type {Queryable} from './database.ts';
import {
  contacts,
  customers,
  employees,
  jobCharges,
  jobStatuses,
  jobs,
  jobTypes,
  notes,
  type Resource,
  tasks,
  taxEntities,
  timeEntries,
} from './resource.ts';
import {idOf, type ParentColumn, type StoredRecord, selectByIds, selectByParents} from './store.ts';
import type {Branch, Node} from './xml-write.ts';

/** How an embedded record is found from the one that embeds it. */
type Link =
  | {readonly kind: 'one'; readonly field: string}
  | {readonly kind: 'many'; readonly column: ParentColumn}
  | {readonly kind: 'assigned'};

interface Association {
  readonly name: string;
  readonly resource: Resource;
  readonly link: Link;
  /** The items' element where it is not the resource's own. */
  readonly item?: string;
  readonly className?: string;
}

const taxEntity: Association = {
  name: 'tax_entity',
  resource: taxEntities,
  link: {kind: 'one', field: 'tax_id'},
  className: 'Tax',
};

/** Sub-customers come without being asked for, last (docs/service.md "Nested records"). */
const children: Association = {
  name: 'children',
  resource: customers,
  link: {kind: 'many', column: 'parent_id'},
  item: 'child',
  className: 'Customer',
};

const associations: Readonly<Record<string, readonly Association[]>> = {
  customers: [
    {name: 'contacts', resource: contacts, link: {kind: 'many', column: 'customer_id'}},
    {name: 'jobs', resource: jobs, link: {kind: 'many', column: 'customer_id'}},
    {name: 'tasks', resource: tasks, link: {kind: 'many', column: 'customer_id'}},
    {name: 'notes', resource: notes, link: {kind: 'many', column: 'customer_id'}},
    taxEntity,
  ],
  jobs: [
    {name: 'customer', resource: customers, link: {kind: 'one', field: 'customer_id'}},
    {name: 'employees', resource: employees, link: {kind: 'assigned'}},
    {name: 'job_charges', resource: jobCharges, link: {kind: 'many', column: 'job_id'}},
    {name: 'time_entries', resource: timeEntries, link: {kind: 'many', column: 'job_id'}},
    {name: 'notes', resource: notes, link: {kind: 'many', column: 'job_id'}},
    {name: 'job_type', resource: jobTypes, link: {kind: 'one', field: 'job_type_id'}},
    {name: 'job_status', resource: jobStatuses, link: {kind: 'one', field: 'job_status_id'}},
    taxEntity,
  ],
};

/** The parts of a record that are asked for. */
export interface View {
  /** The fields to write; null for all. */
  readonly only: ReadonlySet<string> | null;
  /** The associations to embed; names that a resource does not have are ignored. */
  readonly include: ReadonlySet<string>;
}

/** Every field of the record, nothing embedded. */
export const plainView: View = {only: null, include: new Set()};

/**
 * Embeds in the records the associations that the view asks for, always in the same order. A single
 * association that is missing is left out, an empty list is written as such. `only` cuts the record
 * itself, never the embedded ones.
 */
export async function embed(
  db: Queryable,
  resource: Resource,
  {records, view}: {readonly records: readonly StoredRecord[]; readonly view: View},
): Promise<readonly Node[]> {
  const found = await Promise.all(
    asked(resource, view).map((association) => load(db, association, records)),
  );
  return records.map((record, index) => ({
    ...record,
    branches: found.flatMap((branches) => branches[index] ?? []),
  }));
}

function asked(resource: Resource, view: View): readonly Association[] {
  const wanted = (associations[resource.table] ?? []).filter(({name}) => view.include.has(name));
  // `only` is exactly the named columns: the sub-customers, too, come only when they are named.
  const hasChildren =
    resource.table === 'customers' && (view.only === null || view.only.has('children'));
  return hasChildren ? [...wanted, children] : wanted;
}

/** One branch per record, or null where a single association is missing. */
async function load(
  db: Queryable,
  association: Association,
  records: readonly StoredRecord[],
): Promise<readonly (Branch | [])[]> {
  const {resource, link} = association;
  if (link.kind === 'many') {
    const ids = records.map(({fields}) => idOf(fields));
    const found = await selectByParents(db, resource.table, {column: link.column, ids});
    return ids.map((id) => branch(association, found.get(id) ?? []));
  }
  const idsOf = ({fields, employeeIds}: StoredRecord) =>
    link.kind === 'assigned'
      ? employeeIds
      : [fields[link.field] ?? null].filter((id) => id !== null);
  const found = await selectByIds(db, resource.table, [...new Set(records.flatMap(idsOf))]);
  return records.map((record) => {
    const embedded = idsOf(record).flatMap((id) => found.get(id) ?? []);
    return link.kind === 'one' && embedded.length === 0 ? [] : branch(association, embedded);
  });
}

function branch(association: Association, records: readonly StoredRecord[]): Branch {
  const {name, resource, link, item = resource.element, className = null} = association;
  const nodes = records.map((record) => ({...record, branches: []}));
  return {resource, element: name, item: link.kind === 'one' ? null : item, className, nodes};
}
