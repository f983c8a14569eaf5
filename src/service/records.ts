// The steps that every resource's routes are made of.

import pg from 'pg';
import type {AccountTime} from './account-time.ts';
import {
  type Condition,
  inServiceTransaction,
  type ListChange,
  type ListQuery,
  type Lists,
  type ServiceQueryable,
} from './database.ts';
import {embed, plainView, type Query, readPageNumber, readView} from './query.ts';
import type {ServiceFields, ServiceResource, Table} from './resource.ts';
import {
  deleteRecord,
  type Effects,
  Problems,
  type StoredRecord,
  selectByIds,
  selectByNumber,
  toChanges,
} from './store.ts';
import {type RequestFields, readRequest} from './xml-read.ts';
import {makeUnknownRefusal, ServiceRefusal, type XmlWriter} from './xml-write.ts';

/**
 * How lists are ordered: no order is contractual, and each of these was seen in the real service.
 */
export type ListOrder = 'number' | 'reversed' | 'changed';

/** The parts of the service that routes use. */
export interface Service {
  readonly database: pg.Pool;
  readonly lists: Lists;
  readonly time: AccountTime;
  readonly writer: XmlWriter;
  readonly pageSize: number;
  readonly order: ListOrder;
  /** Whether a single record embeds the associations that `include` names, as lists do. */
  readonly showsEmbed: boolean;
}

/** A request that passed authentication. */
export interface ServiceRequest {
  readonly method: string;
  readonly path: string;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Query;
  readonly contentType: string;
  readonly body: Buffer;
  /** Internal id of the employee whose token it bears. */
  readonly actorId: string;
}

/** A body to be sent with 200. `location` is set on creates and is relative to the base URL. */
interface ServiceAnswer {
  readonly body: Buffer;
  readonly location?: string;
}

/** One row of the specification's tables of endpoints. */
export interface ServiceRoute {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  readonly path: string;
  answer(service: Service, request: ServiceRequest): Promise<ServiceAnswer>;
}

/** A page of a list: in the service's order, filtered, with the embedded records of the view. */
export async function answerPage(
  service: Service,
  resource: ServiceResource,
  {query, conditions}: {readonly query: Query; readonly conditions: readonly Condition[]},
): Promise<ServiceAnswer> {
  const ids = await service.lists.ids(makeListQuery(service, resource, conditions));
  const start = (readPageNumber(query) - 1) * service.pageSize;
  return await answerIds(service, resource, {
    ids: ids.slice(start, start + service.pageSize),
    query,
  });
}

/** A list that the specification does not page: employees. */
export async function answerWhole(
  service: Service,
  resource: ServiceResource,
  query: Query,
): Promise<ServiceAnswer> {
  const ids = await service.lists.ids(makeListQuery(service, resource, []));
  return await answerIds(service, resource, {ids, query});
}

/** Records that are already at hand, as a list. */
export function answerRecords(
  service: Service,
  resource: ServiceResource,
  records: readonly StoredRecord[],
): ServiceAnswer {
  const nodes = records.map((record) => ({...record, branches: []}));
  return {body: service.writer.writeList(resource, nodes, null)};
}

/**
 * One record. For customers and jobs, `only` and `include` apply here too (docs/service.md "Only
 * and include").
 */
async function answerRecord(
  service: Service,
  resource: ServiceResource,
  {record, query}: {readonly record: StoredRecord; readonly query?: Query},
): Promise<ServiceAnswer> {
  const view = query === undefined ? plainView : chooseView(resource, query);
  const nodes = service.showsEmbed
    ? await embed(service.database, resource, {records: [record], view})
    : [{...record, branches: []}];
  const [node] = nodes;
  return {
    body:
      node === undefined ? Buffer.alloc(0) : service.writer.writeRecord(resource, node, view.only),
  };
}

/**
 * Runs the effects of a request in one transaction, and answers 200 with the record that they
 * leave: the real service's next version does so for creates, updates and deletes alike
 * (docs/service.md "Envelopes").
 */
export async function answerEffects(
  service: Service,
  request: ServiceRequest,
  {
    resource,
    work,
  }: {
    readonly resource: ServiceResource;
    readonly work: (effects: Effects) => Promise<StoredRecord>;
  },
): Promise<ServiceAnswer> {
  const touched = new Map<Table, ListChange>();
  const {method, path, actorId} = request;
  const record = await retryDeadlocks(() =>
    inServiceTransaction(service.database, (client) =>
      work({client, method, path, actorId, touched, at: service.time.now()}),
    ),
  );
  for (const [table, change] of touched) service.lists.drop(table, change);
  return await answerRecord(service, resource, {record});
}

/**
 * As `answerEffects`, for a new record; the answer gives its address.
 * @param list - the path of the list that it is in, if that is not the path of the request
 */
export async function answerCreate(
  service: Service,
  request: ServiceRequest,
  {
    resource,
    list = request.path,
    work,
  }: Parameters<typeof answerEffects>[2] & {readonly list?: string},
): Promise<ServiceAnswer> {
  let number = '';
  const answer = await answerEffects(service, request, {
    resource,
    work: async (effects) => {
      const record = await work(effects);
      number = record.fields[resource.key] ?? '';
      return record;
    },
  });
  return {...answer, location: list.replace(/\.xml$/, `/${number}.xml`)};
}

/**
 * The payload of a create or update.
 * @throws {ServiceRefusal} 415, or 400 when it is no such document
 */
function readPayload(request: ServiceRequest, resource: ServiceResource): RequestFields {
  const [type = '', ...parameters] = request.contentType.toLowerCase().split(';');
  const charset = parameters.join(';').match(/charset\s*=\s*"?([^";\s]+)/)?.[1] ?? null;
  if (type.trim() !== 'application/xml')
    throw new ServiceRefusal(415, 'Unsupported media type: send Content-Type: application/xml.');
  return readRequest(request.body, resource, charset);
}

/** What a resource checks: its fields as the changes of a request leave them. */
export interface CheckedChanges {
  readonly fields: ServiceFields;
  readonly changes: ServiceFields;
  readonly problems: Problems;
}

/** The changes that a payload sets, and the collector of its problems. */
export function readListChanges(
  service: Service,
  request: ServiceRequest,
  resource: ServiceResource,
) {
  const requestFields = readPayload(request, resource);
  const problems = new Problems();
  return {
    requestFields,
    problems,
    changes: toChanges(resource, requestFields, {time: service.time, problems}),
  };
}

/** The record that a path names. @throws {ServiceRefusal} 400 `Invalid customer.` */
export async function findOwned(
  db: ServiceQueryable,
  resource: ServiceResource,
  {number, lock = false}: {readonly number: string | undefined; readonly lock?: boolean},
): Promise<StoredRecord> {
  const record = await selectByNumber(db, resource, {number: number ?? '', lock});
  if (record === null) throw makeUnknownRefusal(resource.element);
  return record;
}

/**
 * The record that a path names under another one. @throws {ServiceRefusal} 400 when it belongs to a
 * different one
 */
export async function findChild(
  db: ServiceQueryable,
  resource: ServiceResource,
  {
    number,
    lock = false,
    owner,
  }: {readonly number: string | undefined; readonly lock?: boolean; readonly owner: ServiceFields},
): Promise<StoredRecord> {
  const child = await findOwned(db, resource, {number, lock});
  const isOwned = Object.entries(owner).every(([name, value]) => child.fields[name] === value);
  if (!isOwned) throw makeUnknownRefusal(resource.element);
  return child;
}

/** The place of one record: it is found by the numbers in a path. */
interface RecordPlace {
  readonly path: string;
  readonly find: (
    db: ServiceQueryable,
    request: ServiceRequest,
    lock: boolean,
  ) => Promise<StoredRecord>;
}

/** `/customers/4711.xml` */
function makePlace(resource: ServiceResource): RecordPlace {
  const {table, key} = resource;
  const path = `/${table}/:${key}.xml`;
  return {path, find: (db, {params}, lock) => findOwned(db, resource, {number: params[key], lock})};
}

/** The address at which a record is shown. */
export function showRoute(
  resource: ServiceResource,
  {path, find} = makePlace(resource),
): ServiceRoute {
  return {
    method: 'GET',
    path,
    answer: async (service, request) => {
      const record = await find(service.database, request, false);
      return await answerRecord(service, resource, {record, query: request.query});
    },
  };
}

/**
 * The address at which a record is deleted.
 * @param options.remove - deletes the record, which is locked, and the records that are deleted
 *   with it
 */
export function deleteRoute(
  resource: ServiceResource,
  {
    place: {path, find} = makePlace(resource),
    remove = (effects, record) => deleteRecord(effects, resource, record),
  }: {
    readonly place?: RecordPlace;
    readonly remove?: (effects: Effects, record: StoredRecord) => Promise<StoredRecord>;
  },
): ServiceRoute {
  return {
    method: 'DELETE',
    path,
    answer: (service, request) =>
      answerEffects(service, request, {
        resource,
        work: async (effects) => remove(effects, await find(effects.client, request, true)),
      }),
  };
}

/** Adds a problem for each of the named fields that refers to no live record. */
export async function checkReferences(
  db: ServiceQueryable,
  problems: Problems,
  {changes, to}: {readonly changes: ServiceFields; readonly to: Readonly<Record<string, Table>>},
): Promise<void> {
  for (const [field, table] of Object.entries(to)) {
    const id = changes[field] ?? null;
    if (id !== null && !(await selectByIds(db, table, [id])).has(id))
      problems.add(field, 'must exist');
  }
}

/**
 * Effects change several records, so two of them can wait for each other; Postgres then undoes one
 * of them.
 */
async function retryDeadlocks<T>(run: () => Promise<T>, attempts = 5): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const isDeadlock = error instanceof pg.DatabaseError && error.code === '40P01';
    if (!isDeadlock || attempts <= 1) throw error;
    return await retryDeadlocks(run, attempts - 1);
  }
}

async function answerIds(
  service: Service,
  resource: ServiceResource,
  {ids, query}: {readonly ids: readonly string[]; readonly query: Query},
): Promise<ServiceAnswer> {
  const view = chooseView(resource, query);
  const recordsById = await selectByIds(service.database, resource.table, ids);
  const records = ids.flatMap((id) => recordsById.get(id) ?? []);
  const nodes = await embed(service.database, resource, {records, view});
  return {body: service.writer.writeList(resource, nodes, view.only)};
}

/** `only` and `include` apply to customers and jobs. */
function chooseView(resource: ServiceResource, query: Query) {
  return resource.table === 'customers' || resource.table === 'jobs' ? readView(query) : plainView;
}

function makeListQuery(
  {order}: Service,
  {table, key}: ServiceResource,
  conditions: readonly Condition[],
): ListQuery {
  if (order === 'changed')
    return {table, conditions, order: 'updated_at DESC, id DESC', dependsOn: 'values'};
  const dependsOn = conditions.length === 0 ? 'members' : 'values';
  return {table, conditions, order: order === 'reversed' ? `${key} DESC` : key, dependsOn};
}
