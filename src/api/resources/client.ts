// The field-service API, resource by resource, as the tables of the specification list it: nothing more, so what the
// service cannot do (show a charge, delete an employee) is not here to be called.

import type {Asking, ReadRequest, Transport} from '../http/transport.ts';
import type {Fields} from '../xml/encoder.ts';
import type {FieldRecord} from '../xml/record.ts';
import {queryOf} from './list-query.ts';
import {
  type List,
  listAll,
  listRecords,
  refuseMissing,
  showRecord,
  toPathPart,
  type WriteResult,
  writeRecord,
} from './operations.ts';
import {type Gone, isGone} from './verdict.ts';
import type {Resource} from './writable-fields.ts';

/** A period of the account's calendar. */
export type Period =
  | 'today'
  | 'tomorrow'
  | 'yesterday'
  | 'this_week'
  | 'next_week'
  | 'last_week'
  | 'this_month'
  | 'next_month'
  | 'last_month';

type Place = 'address' | 'city' | 'zip_code' | 'state' | 'country';

/** Exact values of fields; they can be combined. */
export type CustomerFilters = Partial<
  Record<
    | 'customer_number'
    | 'name'
    | 'phone_number'
    | 'fax'
    | 'email_address'
    | `service_${Place}`
    | `billing_${Place}`,
    string
  >
>;

export interface JobFilters {
  readonly scheduled?: Period;
  readonly state?: 'in_progress' | 'completed' | 'uncompleted';
  readonly employee_number?: string;
  readonly job_type_id?: string;
  readonly job_status_id?: string;
}

export interface TaskFilters {
  readonly employee_number?: string;
  readonly completed?: 'true' | 'false';
  readonly scheduled_at?: Period;
}

export type CustomerInclude = 'contacts' | 'jobs' | 'tasks' | 'notes' | 'tax_entity';

export type JobInclude =
  | 'customer'
  | 'employees'
  | 'job_charges'
  | 'time_entries'
  | 'notes'
  | 'job_type'
  | 'job_status'
  | 'tax_entity';

/** What every read takes. */
export type Call = Asking;

/** What every write takes: a write is always urgent, and sent once. */
export type WriteCall = Pick<Asking, 'signal'>;

/** @see docs/service.md "Filters" */
export interface ListCall<Filters, Include> extends Call {
  /** From 1; the first when absent. How many records a page holds is the service's affair. */
  readonly page?: number;
  readonly only?: readonly string[];
  readonly include?: readonly Include[];
  readonly filters?: Filters;
}

/** One page as it came: for sweeps, which look at the bytes before they parse them. */
export interface RawPage {
  readonly body: Buffer;
  /** On the wire. */
  readonly bodyBytes: number;
  readonly contentType: string | null;
  readonly dateHeader: string | null;
  readonly ms: number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * The operations of one account. Reads are retried, writes never (see `WriteOutcome`). Numbers and ids are texts.
 * Every read throws what `Transport.read` and the reader throw; an unknown record is a value, `Gone`.
 */
export function createClient(transport: Transport) {
  return {
    transport,
    fetchPage: (path: string, query: Readonly<Record<string, string>>, call: Call = {}) =>
      fetchPage(transport, {...call, path, query}),
    customers: createCustomers(transport),
    jobs: createJobs(transport),
    jobCharges: {
      create: (jobNumber: string, fields: Fields, call: WriteCall = {}) =>
        createCharge(transport, jobNumber, {fields, call}),
    },
    employees: createEmployees(transport),
    timeEntries: createNested(transport, {parent: 'jobs', list: 'time_entries', item: 'time_entry'}),
    tasks: createTasks(transport),
    customerNotes: createNested(transport, {parent: 'customers', list: 'notes', item: 'note'}),
    jobNotes: createNested(transport, {parent: 'jobs', list: 'notes', item: 'note'}),
  };
}

function createCustomers(transport: Transport) {
  return {
    ...createRecords(transport, CUSTOMERS),
    list: (call: ListCall<CustomerFilters, CustomerInclude> = {}) => listPage(transport, CUSTOMERS, call),
    create: (fields: Fields, call: WriteCall = {}) =>
      createRecord(transport, '/customers.xml', {...CUSTOMERS, fields, call}),
  };
}

function createJobs(transport: Transport) {
  return {
    ...createRecords(transport, JOBS),
    list: (call: ListCall<JobFilters, JobInclude> = {}) => listPage(transport, JOBS, call),
    listOfCustomer: async (
      customerNumber: string,
      {page, include, ...call}: Call & Pick<ListCall<JobFilters, JobInclude>, 'page' | 'include'> = {},
    ): Promise<List | Gone> =>
      await listRecords(transport, {
        ...call,
        path: jobsPathOf(customerNumber),
        names: JOBS,
        query: queryOf({page, include}),
      }),
    /** Creates a job for a customer. */
    create: async (customerNumber: string, fields: Fields, call: WriteCall = {}): Promise<WriteResult> =>
      await createRecord(transport, jobsPathOf(customerNumber), {...JOBS, fields, call}),
  };
}

function createEmployees(transport: Transport) {
  const {show, update} = createRecords(transport, EMPLOYEES);
  return {
    show,
    update,
    list: (call: Call = {}) => listPage(transport, EMPLOYEES, call),
    create: (fields: Fields, call: WriteCall = {}) =>
      createRecord(transport, '/employees.xml', {...EMPLOYEES, fields, call}),
  };
}

function createTasks(transport: Transport) {
  return {
    ...createRecords(transport, TASKS),
    list: (call: Call & {readonly page?: number; readonly filters?: TaskFilters} = {}) =>
      listPage(transport, TASKS, call),
    create: (fields: Fields, call: WriteCall = {}) =>
      createRecord(transport, '/tasks.xml', {...TASKS, fields, call}),
  };
}

interface Names {
  readonly list: string;
  readonly item: Resource;
}

const CUSTOMERS: Names = {list: 'customers', item: 'customer'};
const JOBS: Names = {list: 'jobs', item: 'job'};
const EMPLOYEES: Names = {list: 'employees', item: 'employee'};
const TASKS: Names = {list: 'tasks', item: 'task'};
const CHARGES: Names = {list: 'job_charges', item: 'job_charge'};

/** Show, update and delete of a record that stands by itself. */
function createRecords(transport: Transport, names: Names) {
  const pathOf = (number: string) => `/${names.list}/${toPathPart(number)}.xml`;
  return {
    show: async (number: string, call: Call = {}): Promise<FieldRecord | Gone> =>
      await showRecord(transport, {...call, path: pathOf(number), names}),
    update: async (number: string, fields: Fields, call: WriteCall = {}): Promise<WriteResult> =>
      await writeRecord(transport, {
        method: 'PUT',
        path: pathOf(number),
        names,
        root: names.item,
        fields,
        signal: call.signal,
      }),
    remove: async (number: string, call: WriteCall = {}): Promise<WriteResult> =>
      await writeRecord(transport, {
        method: 'DELETE',
        path: pathOf(number),
        names,
        root: names.item,
        signal: call.signal,
      }),
  };
}

/** All operations on records that hang on another: time entries of a job, notes of a job or a customer. */
function createNested(
  transport: Transport,
  {parent, ...names}: Names & {readonly parent: 'jobs' | 'customers'},
) {
  const under = (number: string) => `/${parent}/${toPathPart(number)}/${names.list}`;
  const write = {names, root: names.item};
  return {
    list: async (parentNumber: string, call: Call = {}): Promise<List | Gone> =>
      await listRecords(transport, {...call, path: `${under(parentNumber)}.xml`, names}),
    show: async (parentNumber: string, id: string, call: Call = {}): Promise<FieldRecord | Gone> =>
      await showRecord(transport, {...call, path: `${under(parentNumber)}/${toPathPart(id)}.xml`, names}),
    create: async (parentNumber: string, fields: Fields, call: WriteCall = {}): Promise<WriteResult> =>
      await createRecord(transport, `${under(parentNumber)}.xml`, {...names, fields, call}),
    update: async (
      {parentNumber, id}: NestedKey,
      fields: Fields,
      call: WriteCall = {},
    ): Promise<WriteResult> => {
      const path = `${under(parentNumber)}/${toPathPart(id)}.xml`;
      return await writeRecord(transport, {...write, method: 'PUT', path, fields, signal: call.signal});
    },
    remove: async ({parentNumber, id}: NestedKey, call: WriteCall = {}): Promise<WriteResult> => {
      const path = `${under(parentNumber)}/${toPathPart(id)}.xml`;
      return await writeRecord(transport, {...write, method: 'DELETE', path, signal: call.signal});
    },
  };
}

/** What a record that hangs on another is known by: its parent's number and its own id. */
export interface NestedKey {
  readonly parentNumber: string;
  readonly id: string;
}

function jobsPathOf(customerNumber: string): string {
  return `/customers/${toPathPart(customerNumber)}/jobs.xml`;
}

async function createCharge(
  transport: Transport,
  jobNumber: string,
  {fields, call}: {readonly fields: Fields; readonly call: WriteCall},
): Promise<WriteResult> {
  return await createRecord(transport, `/jobs/${toPathPart(jobNumber)}/job_charges.xml`, {
    ...CHARGES,
    fields,
    call,
  });
}

async function createRecord(
  transport: Transport,
  path: string,
  {list, item, fields, call}: Names & {readonly fields: Fields; readonly call: WriteCall},
): Promise<WriteResult> {
  return await writeRecord(transport, {
    method: 'POST',
    path,
    names: {list, item},
    root: item,
    fields,
    signal: call.signal,
  });
}

async function listPage(
  transport: Transport,
  names: Names,
  {page, only, include, filters, ...call}: ListCall<object, string>,
): Promise<List> {
  const query = queryOf({page, only, include, filters});
  return await listAll(transport, {...call, path: `/${names.list}.xml`, names, query});
}

async function fetchPage(transport: Transport, request: ReadRequest): Promise<RawPage> {
  const answer = await transport.read(request);
  if (isGone(answer)) throw refuseMissing(transport, request.path, answer);
  const {body, bodyBytes, contentType, dateHeader, ms} = answer;
  return {body, bodyBytes, contentType, dateHeader, ms};
}
