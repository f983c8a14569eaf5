// The records of the service in memory, and its journal: every effect, in order.

import {
  contacts,
  customerResource,
  employeeResource,
  jobCharges,
  jobResource,
  notes,
  type ServiceResource,
  taskResource,
  taxEntityResource,
  timeEntries,
} from '../../../src/service/resource.ts';
import type {Branch, Node} from '../../../src/service/xml-write.ts';

export interface Stored {
  readonly resource: ServiceResource;
  readonly fields: Record<string, string | null>;
  employeeIds: readonly string[];
  isDeleted: boolean;
}

/** A state of a record, from a moment on. */
interface Version {
  /** Seconds that had passed in the store. */
  readonly since: number;
  readonly state: Stored;
}

/** The records as a reader sees them. */
export interface StoreView {
  find(resource: ServiceResource, number: string, owner?: Stored | null): Stored | null;
  list(resource: ServiceResource, owner: Stored | null): Stored[];
  embed(record: Stored, include: ReadonlySet<string>): Node;
}

/** One effect of a request on one record. */
export interface JournalEntry {
  readonly id: number;
  readonly method: string;
  readonly path: string;
  readonly resource: string;
  readonly number: string;
  readonly kind: 'create' | 'update' | 'delete';
  readonly changed: Readonly<Record<string, string | null | readonly string[]>>;
  /** The earlier values of the changed fields. */
  readonly before: Readonly<Record<string, string | null | readonly string[]>>;
  readonly isOurs: boolean;
}

export type By = Pick<JournalEntry, 'method' | 'path' | 'isOurs'>;

interface Wanted {
  readonly changes: Readonly<Record<string, string | null>>;
  /** Null: the request does not mention them. */
  readonly employeeIds: readonly string[] | null;
}

const children = [
  {name: 'contacts', resource: contacts, of: customerResource},
  {name: 'job_charges', resource: jobCharges, of: jobResource},
  {name: 'time_entries', resource: timeEntries, of: jobResource},
  {name: 'notes', resource: notes, of: customerResource},
  {name: 'notes', resource: notes, of: jobResource},
] as const;

/** States that are older than this are not kept, but for the latest of them. */
const longestLag = 60;

export class MemoryStore implements StoreView {
  readonly employees = employeeResource;
  readonly journal: JournalEntry[] = [];
  readonly #now: () => string;
  readonly #records = new Map<string, Map<string, Stored>>();
  /** By owner: `notes of jobs 1000007`. */
  readonly #owned = new Map<string, Stored[]>();
  readonly #employeeIds = new Map<string, Stored>();
  readonly #versions = new Map<Stored, Version[]>();
  #shifted = 0;
  #lastId = 1_000_000;
  readonly #lastNumber = new Map<string, number>();

  constructor(now: () => string) {
    this.#now = now;
  }

  /** A live record by the number in its path. @param owner - the record must belong to it */
  find(resource: ServiceResource, number: string, owner: Stored | null = null): Stored | null {
    const record = this.#records.get(resource.table)?.get(number);
    if (record === undefined || record.isDeleted) return null;
    return owner === null || this.#own(resource, owner).includes(record) ? record : null;
  }

  list(resource: ServiceResource, owner: Stored | null): Stored[] {
    const all =
      owner === null
        ? [...(this.#records.get(resource.table)?.values() ?? [])]
        : this.#own(resource, owner);
    return all.filter(({isDeleted}) => !isDeleted);
  }

  /** The records as they were so many seconds ago, as a copy shows them that lags behind. */
  asOf(lagSeconds: number): StoreView {
    if (lagSeconds <= 0) return this;
    const at = this.#passed - lagSeconds;
    const stateOf = (record: Stored | undefined) =>
      record === undefined
        ? undefined
        : this.#versions.get(record)?.findLast(({since}) => since <= at)?.state;
    const alive = (records: Iterable<Stored>) =>
      [...records].flatMap((record) => {
        const state = stateOf(record);
        return state === undefined || state.isDeleted ? [] : [state];
      });
    const view: StoreView = {
      find: (resource, number, owner = null) => {
        const record = this.#records.get(resource.table)?.get(number);
        const state = stateOf(record);
        if (record === undefined || state === undefined || state.isDeleted) return null;
        return owner === null || this.#own(resource, owner).includes(record) ? state : null;
      },
      list: (resource, owner) =>
        alive(owner === null ? this.#tableOf(resource).values() : this.#own(resource, owner)),
      embed: (record, include) => this.#embedIn(view, record, include),
    };
    return view;
  }

  isEmployee(id: string): boolean {
    return this.#employeeIds.has(id);
  }

  create(
    resource: ServiceResource,
    {changes, employeeIds, owner}: Wanted & {readonly owner: Stored | null},
    by: By,
  ): Stored {
    const id = String(++this.#lastId);
    const number = (this.#lastNumber.get(resource.table) ?? 0) + 1;
    this.#lastNumber.set(resource.table, number);
    const at = this.#now();
    const belonging: Record<string, string | null> = {};
    if (owner !== null) belonging[`${owner.resource.element}_id`] = owner.fields.id ?? null;
    const fields: Record<string, string | null> = {
      ...(resource === jobResource ? {status: 'scheduled', name: ''} : {}),
      ...(resource === taskResource ? {completed: 'false'} : {}),
      ...changes,
      ...belonging,
      id,
      [resource.key]: resource.key === 'id' ? id : String(number),
      created_at: at,
      created_on: at,
      updated_at: at,
      created_by: '1001',
    };
    const record: Stored = {resource, fields, employeeIds: employeeIds ?? [], isDeleted: false};
    const key = fields[resource.key] ?? '';
    this.#tableOf(resource).set(key, record);
    if (owner !== null) this.#own(resource, owner).push(record);
    if (resource === employeeResource) this.#employeeIds.set(id, record);
    const changed = {
      ...changes,
      ...(resource === jobResource ? {employee_ids: record.employeeIds} : {}),
    };
    this.#note(record, {kind: 'create', changed, before: {}}, by);
    return record;
  }

  /** A request that changes no value has no effect. */
  update(record: Stored, {changes, employeeIds}: Wanted, by: By): void {
    const differs = Object.entries(changes).filter(
      ([name, value]) => (record.fields[name] ?? null) !== value,
    );
    const changed: Record<string, string | null | readonly string[]> = Object.fromEntries(differs);
    const before: Record<string, string | null | readonly string[]> = {};
    for (const [name, value] of differs) {
      before[name] = record.fields[name] ?? null;
      record.fields[name] = value;
    }
    if (
      employeeIds !== null &&
      [...employeeIds].sort().join() !== [...record.employeeIds].sort().join()
    ) {
      before.employee_ids = record.employeeIds;
      changed.employee_ids = employeeIds;
      record.employeeIds = employeeIds;
    }
    if (Object.keys(changed).length === 0) return;
    record.fields.updated_at = this.#now();
    this.#note(record, {kind: 'update', changed, before}, by);
  }

  /** A customer takes its jobs along, as with the reference service. */
  delete(record: Stored, by: By): void {
    record.isDeleted = true;
    this.#note(record, {kind: 'delete', changed: {}, before: {}}, by);
    if (record.resource === customerResource)
      for (const job of this.list(jobResource, record)) this.delete(job, by);
  }

  /** Moves all instants back by so many seconds. */
  shift(seconds: number): void {
    this.#shifted += seconds;
    for (const versions of this.#versions.values())
      versions.splice(
        0,
        versions.findLastIndex(({since}) => since <= this.#passed - longestLag),
      );
    for (const {fields} of this.#allStates())
      for (const name of ['created_at', 'created_on', 'updated_at']) {
        const instant = new Date(Date.parse(fields[name] ?? '') - seconds * 1000);
        fields[name] = `${instant.toISOString().slice(0, 19)}Z`;
      }
  }

  /**
   * Seconds that have passed in the store. Those of the real clock count, too: the product's limits
   * go by the database's clock, and a busy machine may need a minute for what is said to last none.
   */
  get #passed(): number {
    return this.#shifted + performance.now() / 1_000;
  }

  /** The record with the requested associations, in document form. */
  embed(record: Stored, include: ReadonlySet<string>): Node {
    return this.#embedIn(this, record, include);
  }

  #embedIn(view: StoreView, record: Stored, include: ReadonlySet<string>): Node {
    const branches: Branch[] = [];
    const {resource} = record;
    if (resource === jobResource && include.has('customer')) {
      const customer = view
        .list(customerResource, null)
        .find(({fields}) => fields.id === record.fields.customer_id);
      branches.push(
        this.#branch(customerResource, 'customer', customer === undefined ? [] : [customer], true),
      );
    }
    if (resource === jobResource && include.has('employees')) {
      const assigned = record.employeeIds.flatMap((id) => this.#employeeIds.get(id) ?? []);
      branches.push(this.#branch(employeeResource, 'employees', assigned));
    }
    for (const child of children)
      if (child.of === resource && include.has(child.name))
        branches.push(this.#branch(child.resource, child.name, view.list(child.resource, record)));
    return {fields: record.fields, employeeIds: record.employeeIds, branches};
  }

  #branch(
    resource: ServiceResource,
    element: string,
    records: readonly Stored[],
    isOne = false,
  ): Branch {
    const nodes = records.map(({fields, employeeIds}) => ({fields, employeeIds, branches: []}));
    return {
      resource,
      element,
      item: isOne ? null : resource.element,
      className: resource === taxEntityResource ? 'Tax' : null,
      nodes,
    };
  }

  #note(record: Stored, what: Pick<JournalEntry, 'kind' | 'changed' | 'before'>, by: By): void {
    const {resource, fields} = record;
    const number = fields[resource.key] ?? '';
    this.#keepVersion(record);
    this.journal.push({
      id: this.journal.length + 1,
      resource: resource.table,
      number,
      ...what,
      ...by,
    });
  }

  #keepVersion(record: Stored): void {
    const versions = this.#versions.get(record) ?? [];
    versions.push({since: this.#passed, state: {...record, fields: {...record.fields}}});
    this.#versions.set(record, versions);
  }

  *#allStates(): Generator<Stored> {
    for (const [record, versions] of this.#versions) {
      yield record;
      for (const {state} of versions) yield state;
    }
  }

  #tableOf({table}: ServiceResource): Map<string, Stored> {
    const found = this.#records.get(table) ?? new Map<string, Stored>();
    this.#records.set(table, found);
    return found;
  }

  #own(resource: ServiceResource, owner: Stored): Stored[] {
    const place = `${resource.table} of ${owner.resource.table} ${owner.fields.id}`;
    const found = this.#owned.get(place) ?? [];
    this.#owned.set(place, found);
    return found;
  }
}
