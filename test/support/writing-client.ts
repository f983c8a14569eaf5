// Another client that works at the service: every operation of the specification, where the product
// has a client for reads and composes a write from its change.

import {toPathPart} from '../../src/api/addresses.ts';
import {type Client, createClient, sendWrite, type WriteResult} from '../../src/api/client.ts';
import type {Transport} from '../../src/api/transport.ts';
import {
  encodeDocument,
  type FieldKind,
  type FieldsToSend,
  type WritableFields,
} from '../../src/changes/request.ts';
import type {FieldType} from '../../src/service/resource.ts';
import * as resources from '../../src/service/resource.ts';
import type {Resource} from '../../src/streams/stream.ts';

export type WritingClient = ReturnType<typeof createWritingClient>;

export function createWritingClient(transport: Transport) {
  const client = createClient(transport);
  const customers = writesOf(transport, {list: 'customers', item: 'customer'});
  const jobs = writesOf(transport, {list: 'jobs', item: 'job'});
  const charges = writesOf(transport, {list: 'job_charges', item: 'job_charge'});
  const employees = writesOf(transport, {list: 'employees', item: 'employee'});
  const tasks = writesOf(transport, {list: 'tasks', item: 'task'});
  return {
    ...client,
    customers: {
      ...client.customers,
      create: (fields: FieldsToSend) => customers.create('/customers.xml', fields),
      update: async (number: string, fields: FieldsToSend) =>
        await customers.update(pathOf('customers', number), fields),
      remove: async (number: string) => await customers.remove(pathOf('customers', number)),
    },
    jobs: {
      ...client.jobs,
      create: async (customerNumber: string, fields: FieldsToSend) =>
        await jobs.create(`/customers/${toPathPart(customerNumber)}/jobs.xml`, fields),
      update: async (number: string, fields: FieldsToSend) =>
        await jobs.update(pathOf('jobs', number), fields),
      remove: async (number: string) => await jobs.remove(pathOf('jobs', number)),
    },
    jobCharges: {
      create: async (jobNumber: string, fields: FieldsToSend) =>
        await charges.create(`/jobs/${toPathPart(jobNumber)}/job_charges.xml`, fields),
    },
    employees: {
      ...client.employees,
      create: (fields: FieldsToSend) => employees.create('/employees.xml', fields),
      update: async (number: string, fields: FieldsToSend) =>
        await employees.update(pathOf('employees', number), fields),
    },
    tasks: {
      ...client.tasks,
      create: (fields: FieldsToSend) => tasks.create('/tasks.xml', fields),
      update: async (number: string, fields: FieldsToSend) =>
        await tasks.update(pathOf('tasks', number), fields),
      remove: async (number: string) => await tasks.remove(pathOf('tasks', number)),
    },
    timeEntries: nested(
      client.timeEntries,
      writesOf(transport, {list: 'time_entries', item: 'time_entry'}),
      'jobs/:parent/time_entries',
    ),
    customerNotes: nested(
      client.customerNotes,
      writesOf(transport, {list: 'notes', item: 'note'}),
      'customers/:parent/notes',
    ),
    jobNotes: nested(
      client.jobNotes,
      writesOf(transport, {list: 'notes', item: 'note'}),
      'jobs/:parent/notes',
    ),
  };
}

/** The key of a nested record: its parent's number and its own id. */
export interface NestedKey {
  readonly parentNumber: string;
  readonly id: string;
}

type Reads = Client['timeEntries'];
type Writes = ReturnType<typeof writesOf>;

function nested(reads: Reads, writes: Writes, list: string) {
  const under = (parentNumber: string) => `/${list.replace(':parent', toPathPart(parentNumber))}`;
  const pathTo = ({parentNumber, id}: NestedKey) => `${under(parentNumber)}/${toPathPart(id)}.xml`;
  return {
    ...reads,
    create: async (parentNumber: string, fields: FieldsToSend) =>
      await writes.create(`${under(parentNumber)}.xml`, fields),
    update: async (key: NestedKey, fields: FieldsToSend) =>
      await writes.update(pathTo(key), fields),
    remove: async (key: NestedKey) => await writes.remove(pathTo(key)),
  };
}

function writesOf(
  transport: Transport,
  {list, item}: {readonly list: string; readonly item: Resource},
) {
  const names = {list, item};
  const send = async (
    method: 'POST' | 'PUT',
    path: string,
    fields: FieldsToSend,
  ): Promise<WriteResult> => {
    const body = encodeDocument(item, writableOf(item), fields);
    return await sendWrite(transport, {method, path, body}, names);
  };
  return {
    create: (path: string, fields: FieldsToSend) => send('POST', path, fields),
    update: async (path: string, fields: FieldsToSend) => await send('PUT', path, fields),
    remove: (path: string) => sendWrite(transport, {method: 'DELETE', path}, names),
  };
}

function pathOf(list: string, number: string): string {
  return `/${list}/${toPathPart(number)}.xml`;
}

const kinds: Partial<Record<FieldType, FieldKind>> = {
  integer: 'integer',
  decimal: 'decimal',
  boolean: 'boolean',
};

/** The fields of a resource that the service lets its clients write. */
export function writableOf(element: Resource): WritableFields {
  const resource = Object.values(resources)
    .filter((known) => typeof known === 'object' && 'element' in known)
    .find((known) => known.element === element);
  if (resource === undefined) throw new TypeError(`the service has no ${element}`);
  const {fields, writable} = resource;
  const types = new Map(fields.map(({name, type}) => [name, kinds[type] ?? 'text']));
  return new Map(
    [...writable].map((name) => [
      name,
      name.endsWith('_ids') ? 'ids' : (types.get(name) ?? 'text'),
    ]),
  );
}
