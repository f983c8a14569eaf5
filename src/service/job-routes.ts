// The routes of jobs and of their charges.

import {AccountTime} from './account-time.ts';
import type {ServiceQueryable} from './database.ts';
import {jobConditions} from './query.ts';
import {
  answerCreate,
  answerEffects,
  answerPage,
  type CheckedChanges,
  checkReferences,
  deleteRoute,
  findOwned,
  readListChanges,
  type Service,
  type ServiceRequest,
  type ServiceRoute,
  showRoute,
} from './records.ts';
import {
  customerResource,
  jobCharges,
  jobResource,
  type ServiceFields,
  taskResource,
} from './resource.ts';
import {
  type Changes,
  createRecord,
  deleteRecord,
  type Effects,
  idOf,
  isNumber,
  type Problems,
  type StoredRecord,
  selectByIds,
  selectByParents,
  updateRecord,
} from './store.ts';
import type {RequestValue} from './xml-read.ts';

const statuses = new Set(['scheduled', 'in_progress', 'complete']);

/** The fields that are never nil in any recorded job (docs/service.md "Fields"). */
const jobDefaults: ServiceFields = {
  description: '',
  status: 'scheduled',
  invoice_status: 'unpaid',
  subtotal: '0.0',
  tax: '0.0',
  total: '0.0',
  balance_remaining: '0.0',
  total_expenses: '0.0',
  duration: '60.0',
  self_service: 'false',
  detailed_invoice: 'false',
  notification_sent: 'false',
  tasks_count: '0',
};

export const jobRoutes: readonly ServiceRoute[] = [
  {
    method: 'GET',
    path: '/jobs.xml',
    answer: (service, {query}) =>
      answerPage(service, jobResource, {query, conditions: jobConditions(query, service.time)}),
  },
  {
    method: 'GET',
    path: '/customers/:customer_number/jobs.xml',
    answer: async (service, {params, query}) => {
      const customer = await findOwned(service.database, customerResource, {
        number: params.customer_number,
      });
      const ownerCondition = {sql: 'customer_id = $', value: idOf(customer.fields)};
      return await answerPage(service, jobResource, {
        query,
        conditions: [ownerCondition, ...jobConditions(query, service.time)],
      });
    },
  },
  showRoute(jobResource),
  {method: 'POST', path: '/customers/:customer_number/jobs.xml', answer: createJob},
  {method: 'PUT', path: '/jobs/:job_number.xml', answer: updateJob},
  deleteRoute(jobResource, {remove: deleteJob}),
];

/**
 * A task is an entry of a job's schedule (docs/service.md "Fields"), so deleting a job also deletes
 * its tasks. Our decision.
 */
export async function deleteJob(effects: Effects, job: StoredRecord): Promise<StoredRecord> {
  const id = idOf(job.fields);
  const deleted = await deleteRecord(effects, jobResource, job);
  const tasks = await selectByParents(effects.client, 'tasks', {column: 'job_id', ids: [id]});
  for (const task of tasks.get(id) ?? []) await deleteRecord(effects, taskResource, task);
  return deleted;
}

async function createJob(service: Service, request: ServiceRequest) {
  const number = request.params.customer_number;
  await findOwned(service.database, customerResource, {number});
  const {changes, requestFields, problems} = readListChanges(service, request, jobResource);
  return await answerCreate(service, request, {
    resource: jobResource,
    list: '/jobs.xml',
    work: async (effects) => {
      const customer = await findOwned(effects.client, customerResource, {number});
      const inherited = {
        customer_id: idOf(customer.fields),
        tax_id: customer.fields.tax_id ?? null,
      };
      const fields = {...jobDefaults, name: '', ...inherited, ...changes};
      const employeeIds =
        (await readEmployeeIds(effects.client, requestFields.get('employee_ids'), problems)) ?? [];
      await checkJob(effects.client, {fields, changes, problems});
      const allFields = {...fields, ...deriveJob(fields, {changes, at: effects.at})};
      return await createRecord(effects, jobResource, {fields: allFields, beside: {employeeIds}});
    },
  });
}

async function updateJob(service: Service, request: ServiceRequest) {
  const number = request.params.job_number;
  await findOwned(service.database, jobResource, {number});
  const {changes, requestFields, problems} = readListChanges(service, request, jobResource);
  return await answerEffects(service, request, {
    resource: jobResource,
    work: async (effects) => {
      const record = await findOwned(effects.client, jobResource, {number, lock: true});
      const fields = {...record.fields, ...changes};
      const employeeIds = await readEmployeeIds(
        effects.client,
        requestFields.get('employee_ids'),
        problems,
      );
      await checkJob(effects.client, {fields, changes, problems});
      const isSame = employeeIds === null || employeeIds.join() === record.employeeIds.join();
      return await updateRecord(effects, jobResource, {
        record,
        changes: {...changes, ...deriveJob(fields, {changes, at: effects.at})},
        beside: isSame ? {} : {employeeIds},
      });
    },
  });
}

/**
 * The employees of `employee_ids`: internal ids, replacing the assignment. Null when the request
 * does not name them.
 */
async function readEmployeeIds(
  db: ServiceQueryable,
  value: RequestValue | undefined,
  problems: Problems,
): Promise<readonly string[] | null> {
  if (value === undefined) return null;
  if (value === null || (typeof value === 'string' && value.trim() === '')) return [];
  const ids = typeof value === 'string' ? null : [...new Set(value)];
  if (ids === null || !ids.every(isNumber)) {
    problems.add('employee_ids', 'is invalid');
    return null;
  }
  const employees = await selectByIds(db, 'employees', ids);
  for (const id of ids) if (!employees.has(id)) problems.add('employee', `${id} must exist`);
  return ids;
}

async function checkJob(
  db: ServiceQueryable,
  {fields, changes, problems}: CheckedChanges,
): Promise<void> {
  if (!statuses.has(fields.status ?? '')) problems.add('status', 'is not included in the list');
  if (Number(fields.duration ?? 0) < 0)
    problems.add('duration', 'must be greater than or equal to 0');
  await checkReferences(db, problems, {
    changes,
    to: {job_type_id: 'job_types', job_status_id: 'job_statuses'},
  });
  problems.refuse();
}

/**
 * Fields that follow from those of a request: the end from start and duration, times from a new
 * status.
 */
function deriveJob(
  fields: ServiceFields,
  {changes, at}: {readonly changes: ServiceFields; readonly at: string},
): Changes {
  return {...deriveJobEnd(fields, changes), ...deriveStatus(fields, {changes, at})};
}

function deriveJobEnd(fields: ServiceFields, changes: ServiceFields): Changes {
  const {scheduled_on: start = null, ends_at: end = null, duration = null} = fields;
  if (start === null) return 'scheduled_on' in changes ? {ends_at: null} : {};
  if (changes.ends_at !== undefined && changes.duration === undefined && end !== null) {
    const minutes = (Date.parse(end) - Date.parse(start)) / 60_000;
    return {duration: Number.isInteger(minutes) ? minutes.toFixed(1) : String(minutes)};
  }
  if (changes.scheduled_on === undefined && changes.duration === undefined) return {};
  return {ends_at: AccountTime.findEnd(start, Number(duration ?? 0))};
}

function deriveStatus(
  fields: ServiceFields,
  {changes, at}: {readonly changes: ServiceFields; readonly at: string},
): Changes {
  switch (changes.status) {
    case 'scheduled':
      return {started_on: null, completed_on: null};
    case 'in_progress':
      return {started_on: fields.started_on ?? at, completed_on: null};
    case 'complete':
      return {started_on: fields.started_on ?? at, completed_on: fields.completed_on ?? at};
    default:
      return {};
  }
}

/**
 * Charges can only be created: the specification shows nothing else of them, and `include` is how
 * they are read.
 */
export const jobChargeRoutes: readonly ServiceRoute[] = [
  {
    method: 'POST',
    path: '/jobs/:job_number/job_charges.xml',
    answer: async (service, request) => {
      const number = request.params.job_number;
      await findOwned(service.database, jobResource, {number});
      const {changes, problems} = readListChanges(service, request, jobCharges);
      problems.refuse();
      return await answerEffects(service, request, {
        resource: jobCharges,
        work: async (effects) => {
          const job = await findOwned(effects.client, jobResource, {number, lock: true});
          const nonNullChanges = Object.fromEntries(
            Object.entries(changes).filter(([, value]) => value !== null),
          );
          const chargeFields = {
            quantity: '1.0',
            price_per_unit: '0.0',
            discount: '0.0',
            ...nonNullChanges,
          };
          const total = await priceCharge(effects, chargeFields);
          // Items have no endpoint, so an item_id cannot be checked: any item_id is accepted.
          const description = changes.description ?? changes.details ?? '';
          const fields = {
            ...chargeFields,
            description,
            total,
            job_id: idOf(job.fields),
            tax_id: job.fields.tax_id ?? null,
          };
          const charge = await createRecord(effects, jobCharges, {fields});
          await addToTotals(effects, job, total);
          return charge;
        },
      });
    },
  },
];

interface ChargeAmounts {
  readonly quantity: string;
  readonly price_per_unit: string;
  readonly discount: string;
}

/** Calculated by Postgres: money has no place in floating point. */
async function priceCharge(
  {client}: Effects,
  {quantity, price_per_unit, discount}: ChargeAmounts,
): Promise<string> {
  const text = `SELECT ${toDecimalText('$1::numeric * $2::numeric - $3::numeric')} AS total`;
  const {rows} = await client.query<{total: string}>(text, [quantity, price_per_unit, discount]);
  return rows[0]?.total ?? '0.0';
}

/** The job's subtotal, total and balance grow by the charge; its tax is not calculated again. */
async function addToTotals(effects: Effects, job: StoredRecord, total: string): Promise<void> {
  const text = `SELECT ${toDecimalText('$1::numeric + $4::numeric')} AS subtotal,
      ${toDecimalText('$2::numeric + $4::numeric')} AS total,
    ${toDecimalText('$3::numeric + $4::numeric')} AS balance_remaining`;
  const sums = ['subtotal', 'total', 'balance_remaining'].map((name) => job.fields[name] ?? '0.0');
  const {rows} = await effects.client.query<Record<string, string>>(text, [...sums, total]);
  await updateRecord(effects, jobResource, {record: job, changes: rows[0] ?? {}});
}

/** A decimal as the service writes it: no padding, but one place at least (`325.0`, `28.03`). */
function toDecimalText(expression: string): string {
  const format = `FM${'9'.repeat(36)}0.0${'9'.repeat(21)}`;
  return `to_char(trim_scale(${expression}), '${format}')`;
}
