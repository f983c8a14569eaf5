// The field-service API, resource by resource, as the tables of the specification list them. It has
// nothing more, so a read that the service does not have (show a charge) cannot be called. Below
// them are the operations on every resource, in terms of paths and element names; writes are
// separate requests.

import {FatalError, RecordError, RetryableError} from '../core/errors.ts';
import {hideInError} from '../core/hide-secrets.ts';
import {inSpan} from '../core/span.ts';
import {toPathPart} from './addresses.ts';
import type {ReadOptions, ReadRequest, Transport, WriteRequest} from './transport.ts';
import {type Answer, isMissingRecord, type MissingRecord, type WriteOutcome} from './verdict.ts';
import type {ElementNames, FieldRecord} from './xml-document.ts';
import {readRecord} from './xml-read.ts';
import {type BadRecord, readList} from './xml-strict.ts';

/** A period of the account's calendar. */
type Period =
  | 'today'
  | 'tomorrow'
  | 'yesterday'
  | 'this_week'
  | 'next_week'
  | 'last_week'
  | 'this_month'
  | 'next_month'
  | 'last_month';

type AddressPart = 'address' | 'city' | 'zip_code' | 'state' | 'country';

/** Exact values of fields; they can be combined. */
export type CustomerFilters = Partial<
  Record<
    | 'customer_number'
    | 'name'
    | 'phone_number'
    | 'fax'
    | 'email_address'
    | `service_${AddressPart}`
    | `billing_${AddressPart}`,
    string
  >
>;

interface JobFilters {
  readonly scheduled?: Period;
  readonly state?: 'in_progress' | 'completed' | 'uncompleted';
  readonly employee_number?: string;
  readonly job_type_id?: string;
  readonly job_status_id?: string;
}

interface TaskFilters {
  readonly employee_number?: string;
  readonly completed?: 'true' | 'false';
  readonly scheduled_at?: Period;
}

type CustomerInclude = 'contacts' | 'jobs' | 'tasks' | 'notes' | 'tax_entity';

type JobInclude =
  | 'customer'
  | 'employees'
  | 'job_charges'
  | 'time_entries'
  | 'notes'
  | 'job_type'
  | 'job_status'
  | 'tax_entity';

/** The options of every read. */
export type Call = ReadOptions;

/** The options of a page as it comes: its body may stay compressed. */
type PageCall = Call & Pick<ReadRequest, 'recognise'>;

/** @see docs/service.md "Filters" */
interface ListCall<Filters, Include> extends Call {
  /** From 1; the first when absent. The service decides how many records a page holds. */
  readonly page?: number;
  readonly only?: readonly string[];
  readonly include?: readonly Include[];
  readonly filters?: Filters;
}

/** One page as it came: for sweeps, which check the bytes before they parse them. */
export interface RawPage {
  readonly body: Buffer;
  /** The coding that the body still has, because it was recognised; empty if it has none. */
  readonly coding: string;
  /** On the wire. */
  readonly bodyBytes: number;
  readonly contentType: string | null;
  readonly dateHeader: string | null;
  readonly ms: number;
}

export type Client = ReturnType<typeof createClient>;

/**
 * The reads of one account, each retried if that may help. Numbers and ids are texts. Every read
 * throws what `Transport.read` and the reader throw; an unknown record is a value, `MissingRecord`.
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
    show: makeShow(transport, CUSTOMERS),
    list: (call: ListCall<CustomerFilters, CustomerInclude> = {}) =>
      listPage(transport, CUSTOMERS, call),
  };
}

function createJobs(transport: Transport) {
  return {
    show: makeShow(transport, JOBS),
    list: (call: ListCall<JobFilters, JobInclude> = {}) => listPage(transport, JOBS, call),
    listOfCustomer: async (
      customerNumber: string,
      {
        page,
        include,
        ...call
      }: Call & Pick<ListCall<JobFilters, JobInclude>, 'page' | 'include'> = {},
    ): Promise<ListOptions | MissingRecord> =>
      await listRecords(transport, {
        ...call,
        path: `/customers/${toPathPart(customerNumber)}/jobs.xml`,
        names: JOBS,
        query: makeQuery({page, include}),
      }),
  };
}

function createEmployees(transport: Transport) {
  return {
    show: makeShow(transport, EMPLOYEES),
    list: (call: Call = {}) => listPage(transport, EMPLOYEES, call),
  };
}

function createTasks(transport: Transport) {
  return {
    show: makeShow(transport, TASKS),
    list: (call: Call & {readonly page?: number; readonly filters?: TaskFilters} = {}) =>
      listPage(transport, TASKS, call),
  };
}

const CUSTOMERS: ElementNames = {list: 'customers', item: 'customer'};
const JOBS: ElementNames = {list: 'jobs', item: 'job'};
const EMPLOYEES: ElementNames = {list: 'employees', item: 'employee'};
const TASKS: ElementNames = {list: 'tasks', item: 'task'};

/** Shows a record that belongs to no other. */
function makeShow(transport: Transport, names: ElementNames) {
  return async (number: string, call: Call = {}): Promise<FieldRecord | MissingRecord> =>
    await showRecord(transport, {...call, path: `/${names.list}/${toPathPart(number)}.xml`, names});
}

/** Reads of records that belong to another: time entries of a job, notes of a job or a customer. */
function createNested(
  transport: Transport,
  {parent, ...names}: ElementNames & {readonly parent: 'jobs' | 'customers'},
) {
  const makePath = (number: string) => `/${parent}/${toPathPart(number)}/${names.list}`;
  return {
    list: async (parentNumber: string, call: Call = {}): Promise<ListOptions | MissingRecord> =>
      await listRecords(transport, {...call, path: `${makePath(parentNumber)}.xml`, names}),
    show: async (
      parentNumber: string,
      id: string,
      call: Call = {},
    ): Promise<FieldRecord | MissingRecord> =>
      await showRecord(transport, {
        ...call,
        path: `${makePath(parentNumber)}/${toPathPart(id)}.xml`,
        names,
      }),
  };
}

async function listPage(
  transport: Transport,
  names: ElementNames,
  {page, only, include, filters, ...call}: ListCall<object, string>,
): Promise<ListOptions> {
  const query = makeQuery({page, only, include, filters});
  return await listAll(transport, {...call, path: `/${names.list}.xml`, names, query});
}

async function fetchPage(transport: Transport, request: ReadRequest): Promise<RawPage> {
  const page = {'url.path': request.path, 'fieldmirror.page': Number(request.query?.page ?? 1)};
  const answer = await inSpan('page', page, () => transport.read(request));
  if (isMissingRecord(answer)) throw refuseMissing(transport, request.path, answer);
  const {body, coding, bodyBytes, contentType, dateHeader, ms} = answer;
  return {body, coding, bodyBytes, contentType, dateHeader, ms};
}

/** A read of a path, with the names of its elements. */
interface Target extends ReadRequest {
  readonly names: ElementNames;
}

/**
 * A list, or a page of one. `bad` holds records that could not be accepted: the list is not
 * complete without them.
 */
export interface ListOptions {
  readonly records: readonly FieldRecord[];
  readonly bad: readonly BadRecord[];
  /**
   * The `Date` header of the answer: the service's clock, which may differ from ours by any amount.
   */
  readonly dateHeader: string | null;
}

/** The outcome of a write; `done` with the record as the service now holds it, if it shows that. */
export type WriteResult =
  | {
      readonly outcome: 'done';
      readonly status: number;
      /** null if the answer contains none that can be read: read the record to know it. */
      readonly record: FieldRecord | null;
      /** The number or id at the end of the `Location` header. */
      readonly locatedNumber: string | null;
    }
  | Exclude<WriteOutcome, {outcome: 'done'}>;

/** Lists the records under a path; gone if the record that they belong to is unknown. */
export async function listRecords(
  transport: Transport,
  target: Target,
): Promise<ListOptions | MissingRecord> {
  const answer = await transport.read(target);
  if (isMissingRecord(answer)) return answer;
  const list = readHidingToken(transport, () =>
    readList(answer.body, target.names, makeMeta(transport, target, answer)),
  );
  const bad = list.bad.map((badRecord) => ({
    ...badRecord,
    reason: transport.hide(badRecord.reason),
  }));
  return {...list, bad, dateHeader: answer.dateHeader};
}

/**
 * Lists a path that always exists.
 * @throws {FatalError} the service does not know it: then the base address is wrong
 */
async function listAll(transport: Transport, target: Target): Promise<ListOptions> {
  const list = await listRecords(transport, target);
  if (isMissingRecord(list)) throw refuseMissing(transport, target.path, list);
  return list;
}

/** Shows one record. @throws {RecordError} it came, but one of its values cannot be accepted */
async function showRecord(
  transport: Transport,
  target: Target,
): Promise<FieldRecord | MissingRecord> {
  const answer = await transport.read(target);
  if (isMissingRecord(answer)) return answer;
  return readHidingToken(transport, () =>
    readRecord(answer.body, target.names, makeMeta(transport, target, answer)),
  );
}

/**
 * Reads an answer; an error shows pieces of it, which may repeat the token, so the token is hidden.
 */
function readHidingToken<T>(transport: Transport, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw hideInError(error, (text) => transport.hide(text));
  }
}

/** The error for a list that cannot be missing. */
function refuseMissing(
  transport: Transport,
  path: string,
  {status, message}: MissingRecord,
): FatalError {
  return new FatalError(
    `GET ${path} at ${transport.place}: expected a list, got ${status} (${message}); check the ` +
      'base address of the account',
    {kind: 'address'},
  );
}

/**
 * Sends a writing request, once. A success is accepted if its body is empty, or the record that was
 * written; any other body leaves it in doubt.
 * @see docs/service.md "Envelopes": 200, 201 or 204, with or without a body; docs/traps.md "Answers
 *   that were lost"
 */
export async function sendWrite(
  transport: Transport,
  request: WriteRequest,
  names: ElementNames,
): Promise<WriteResult> {
  const result = await transport.write(request);
  return result.outcome === 'done'
    ? readWritten(result.answer, {...request, names}, transport)
    : result;
}

type WrittenRequest = Pick<WriteRequest, 'method' | 'path' | 'hidden'> & {
  readonly names: ElementNames;
};

function readWritten(answer: Answer, request: WrittenRequest, transport: Transport): WriteResult {
  const {status, location} = answer;
  const locatedNumber = /\/([1-9]\d*)(?:\.xml)?$/.exec(location ?? '')?.[1] ?? null;
  try {
    const record = readWrittenRecord(answer, request, transport);
    return {outcome: 'done', status, record, locatedNumber};
  } catch (error) {
    if (!(error instanceof RetryableError || error instanceof FatalError)) throw error;
    return {
      outcome: 'in-doubt',
      reason: transport.hide(error.message, request.hidden),
      status,
      retryAfterMs: null,
    };
  }
}

// The answer to a delete may be the record, a message or nothing; only an error means that it
// failed.
function readWrittenRecord(
  answer: Answer,
  request: WrittenRequest,
  transport: Transport,
): FieldRecord | null {
  const requestName = `${request.method} ${request.path} at ${transport.place}`;
  if (/^\s*$/.test(answer.body.toString('latin1', 0, 64))) return null;
  const errorMessage = transport.readMessage(answer, request.hidden);
  if (errorMessage.isReadable)
    throw new RetryableError(
      `${requestName}: expected a success, got ${answer.status} with errors (${errorMessage.text})`,
    );
  if (request.method === 'DELETE') return null;
  try {
    return readRecord(answer.body, request.names, {
      thing: requestName,
      contentType: answer.contentType,
    });
  } catch (error) {
    // The body is the record, so it was written; an odd value in it is found when the record is
    // read again.
    if (error instanceof RecordError) return null;
    throw error;
  }
}

function makeMeta(transport: Transport, {path}: Target, {contentType}: Answer) {
  return {thing: `GET ${path} at ${transport.place}`, contentType};
}

/** The query of a list, without the parts that are not given. @see docs/service.md "Filters" */
function makeQuery({
  page,
  only,
  include,
  filters,
}: Partial<Record<'only' | 'include', readonly string[] | undefined>> & {
  readonly page?: number | undefined;
  readonly filters?: object | undefined;
}): Record<string, string> {
  return {
    ...(page === undefined ? {} : {page: String(page)}),
    ...(only === undefined ? {} : {only: only.join(',')}),
    ...(include === undefined ? {} : {include: include.join(',')}),
    ...Object.fromEntries(Object.entries(filters ?? {}).filter(([, value]) => value !== undefined)),
  };
}
