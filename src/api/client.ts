// The reads of the field-service API, resource by resource, as the tables of the specification list
// them: nothing more, so a read that the service does not have (show a charge) cannot be called.
// Writes are requests of their own: operations.ts.

import {inSpan} from '../core/span.ts';
import {queryOf} from './list-query.ts';
import {
  type List,
  listAll,
  listRecords,
  refuseMissing,
  showRecord,
  toPathPart,
} from './operations.ts';
import type {Asking, ReadRequest, Transport} from './transport.ts';
import {type Gone, isGone} from './verdict.ts';
import type {ElementNames, FieldRecord} from './xml-record.ts';

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

/** The options of every read. */
export type Call = Asking;

/** The options of a page as it comes: its body may stay packed. */
export type PageCall = Call & Pick<ReadRequest, 'recognise'>;

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
  /**
   * The way in which the body is still packed, because it was recognised; empty where it is not.
   */
  readonly coding: string;
  /** On the wire. */
  readonly bodyBytes: number;
  readonly contentType: string | null;
  readonly dateHeader: string | null;
  readonly ms: number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * The reads of one account, each tried again where that may help. Numbers and ids are texts. Every
 * read throws what `Transport.read` and the reader throw; an unknown record is a value, `Gone`.
 */
export function createClient(transport: Transport) {
  return {
    transport,
    fetchPage: (path: string, query: Readonly<Record<string, string>>, call: PageCall = {}) =>
      fetchPage(transport, {...call, path, query}),
    customers: createCustomers(transport),
    jobs: createJobs(transport),
    employees: createEmployees(transport),
    timeEntries: createNested(transport, {
      parent: 'jobs',
      list: 'time_entries',
      item: 'time_entry',
    }),
    tasks: createTasks(transport),
    customerNotes: createNested(transport, {parent: 'customers', list: 'notes', item: 'note'}),
    jobNotes: createNested(transport, {parent: 'jobs', list: 'notes', item: 'note'}),
  };
}

function createCustomers(transport: Transport) {
  return {
    show: showOf(transport, CUSTOMERS),
    list: (call: ListCall<CustomerFilters, CustomerInclude> = {}) =>
      listPage(transport, CUSTOMERS, call),
  };
}

function createJobs(transport: Transport) {
  return {
    show: showOf(transport, JOBS),
    list: (call: ListCall<JobFilters, JobInclude> = {}) => listPage(transport, JOBS, call),
    listOfCustomer: async (
      customerNumber: string,
      {
        page,
        include,
        ...call
      }: Call & Pick<ListCall<JobFilters, JobInclude>, 'page' | 'include'> = {},
    ): Promise<List | Gone> =>
      await listRecords(transport, {
        ...call,
        path: `/customers/${toPathPart(customerNumber)}/jobs.xml`,
        names: JOBS,
        query: queryOf({page, include}),
      }),
  };
}

function createEmployees(transport: Transport) {
  return {
    show: showOf(transport, EMPLOYEES),
    list: (call: Call = {}) => listPage(transport, EMPLOYEES, call),
  };
}

function createTasks(transport: Transport) {
  return {
    show: showOf(transport, TASKS),
    list: (call: Call & {readonly page?: number; readonly filters?: TaskFilters} = {}) =>
      listPage(transport, TASKS, call),
  };
}

const CUSTOMERS: ElementNames = {list: 'customers', item: 'customer'};
const JOBS: ElementNames = {list: 'jobs', item: 'job'};
const EMPLOYEES: ElementNames = {list: 'employees', item: 'employee'};
const TASKS: ElementNames = {list: 'tasks', item: 'task'};

/** Shows a record that stands by itself. */
function showOf(transport: Transport, names: ElementNames) {
  return async (number: string, call: Call = {}): Promise<FieldRecord | Gone> =>
    await showRecord(transport, {...call, path: `/${names.list}/${toPathPart(number)}.xml`, names});
}

/** Reads of records that hang on another: time entries of a job, notes of a job or a customer. */
function createNested(
  transport: Transport,
  {parent, ...names}: ElementNames & {readonly parent: 'jobs' | 'customers'},
) {
  const under = (number: string) => `/${parent}/${toPathPart(number)}/${names.list}`;
  return {
    list: async (parentNumber: string, call: Call = {}): Promise<List | Gone> =>
      await listRecords(transport, {...call, path: `${under(parentNumber)}.xml`, names}),
    show: async (parentNumber: string, id: string, call: Call = {}): Promise<FieldRecord | Gone> =>
      await showRecord(transport, {
        ...call,
        path: `${under(parentNumber)}/${toPathPart(id)}.xml`,
        names,
      }),
  };
}

async function listPage(
  transport: Transport,
  names: ElementNames,
  {page, only, include, filters, ...call}: ListCall<object, string>,
): Promise<List> {
  const query = queryOf({page, only, include, filters});
  return await listAll(transport, {...call, path: `/${names.list}.xml`, names, query});
}

async function fetchPage(transport: Transport, request: ReadRequest): Promise<RawPage> {
  const page = {'url.path': request.path, 'fieldmirror.page': Number(request.query?.page ?? 1)};
  const answer = await inSpan('page', page, () => transport.read(request));
  if (isGone(answer)) throw refuseMissing(transport, request.path, answer);
  const {body, coding, bodyBytes, contentType, dateHeader, ms} = answer;
  return {body, coding, bodyBytes, contentType, dateHeader, ms};
}
