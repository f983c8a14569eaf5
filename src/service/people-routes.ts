// The routes of customers, of employees, and of the hours that employees enter on jobs.

import {randomBytes} from 'node:crypto';
import {AccountTime} from './account-time.ts';
import type {ServiceQueryable} from './database.ts';
import {hashPassword, isPassword, makeUpCredentials, newToken} from './foundation.ts';
import {deleteJob} from './job-routes.ts';
import {customerConditions} from './query.ts';
import {
  answerCreate,
  answerEffects,
  answerPage,
  answerRecords,
  answerWhole,
  type CheckedChanges,
  checkReferences,
  deleteRoute,
  findChild,
  findOwned,
  readListChanges,
  type Service,
  type ServiceRequest,
  type ServiceRoute,
  showRoute,
} from './records.ts';
import {
  customerResource,
  employeeResource,
  jobResource,
  type ServiceFields,
  taskResource,
  timeEntries,
} from './resource.ts';
import {
  type Beside,
  type Changes,
  createRecord,
  deleteRecord,
  type Effects,
  idOf,
  type Problems,
  type StoredRecord,
  selectByParents,
  updateRecord,
} from './store.ts';
import type {RequestFields} from './xml-read.ts';

const customerDefaults: ServiceFields = {
  origin: 'api',
  is_active: 'true',
  sublevel: '0',
  balance: '0.0',
  total_balance: '0.0',
  company: 'false',
  which_billing_address: 'service',
  send_reminders: 'true',
  send_notifications: 'true',
  notify_via_email: 'false',
  notify_via_sms: 'false',
};

export const customerRoutes: readonly ServiceRoute[] = [
  {
    method: 'GET',
    path: '/customers.xml',
    answer: (service, {query}) =>
      answerPage(service, customerResource, {query, conditions: customerConditions(query)}),
  },
  showRoute(customerResource),
  {
    method: 'POST',
    path: '/customers.xml',
    answer: async (service, request) => {
      const {changes, problems} = readListChanges(service, request, customerResource);
      return await answerCreate(service, request, {
        resource: customerResource,
        work: async (effects) => {
          const fields = {
            ...customerDefaults,
            token: randomBytes(32).toString('base64url'),
            ...changes,
          };
          await checkCustomer(effects.client, {fields, changes, problems});
          return await createRecord(effects, customerResource, {
            fields: {...fields, ...deriveCustomer(fields)},
          });
        },
      });
    },
  },
  {
    method: 'PUT',
    path: '/customers/:customer_number.xml',
    answer: async (service, request) => {
      await findOwned(service.database, customerResource, {number: request.params.customer_number});
      const {changes, problems} = readListChanges(service, request, customerResource);
      return await answerEffects(service, request, {
        resource: customerResource,
        work: async (effects) => {
          const {client} = effects;
          const record = await findOwned(client, customerResource, {
            number: request.params.customer_number,
            lock: true,
          });
          const fields = {...record.fields, ...changes};
          if (changes.parent_id === idOf(record.fields))
            problems.add('parent_id', 'must be another customer');
          await checkCustomer(client, {fields, changes, problems});
          return await updateRecord(effects, customerResource, {
            record,
            changes: {...changes, ...deriveCustomer(fields)},
          });
        },
      });
    },
  },
  deleteRoute(customerResource, {remove: deleteCustomer}),
];

/**
 * Deleting a customer also deletes its jobs and tasks. Other records are shown only through these.
 * Our decision.
 */
async function deleteCustomer(effects: Effects, customer: StoredRecord): Promise<StoredRecord> {
  const id = idOf(customer.fields);
  const deleted = await deleteRecord(effects, customerResource, customer);
  const parent = {column: 'customer_id', ids: [id]} as const;
  const jobs = await selectByParents(effects.client, 'jobs', parent);
  for (const job of jobs.get(id) ?? []) await deleteJob(effects, job);
  const tasks = await selectByParents(effects.client, 'tasks', parent);
  for (const task of tasks.get(id) ?? []) await deleteRecord(effects, taskResource, task);
  return deleted;
}

async function checkCustomer(
  db: ServiceQueryable,
  {fields, changes, problems}: CheckedChanges,
): Promise<void> {
  problems.requirePresence(fields, 'name');
  await checkReferences(db, problems, {
    changes,
    to: {parent_id: 'customers', tax_id: 'tax_entities'},
  });
  problems.refuse();
}

/** Fields that the service keeps equal to others (docs/service.md "Fields"). */
function deriveCustomer(fields: ServiceFields): ServiceFields {
  return {
    full_name: fields.name ?? null,
    phone: fields.phone_number ?? null,
    email: fields.email_address ?? null,
    sublevel: (fields.parent_id ?? null) === null ? '0' : '1',
  };
}

const employeeDefaults: ServiceFields = {
  account_id: '1',
  active: 'true',
  can_login: 'false',
  is_account_owner: 'false',
  notify_via_email: 'false',
  notify_via_mobile: 'false',
};

/**
 * Employees are never deleted; `active` false makes one inactive, and its token is refused from
 * then on. The list holds both. Which field makes an employee inactive is not in the specification:
 * docs/service.md "Fields".
 */
export const employeeRoutes: readonly ServiceRoute[] = [
  {
    method: 'GET',
    path: '/employees.xml',
    answer: (service, {query}) => answerWhole(service, employeeResource, query),
  },
  showRoute(employeeResource),
  {method: 'POST', path: '/employees.xml', answer: createEmployee},
  {method: 'PUT', path: '/employees/:employee_number.xml', answer: updateEmployee},
];

async function createEmployee(service: Service, request: ServiceRequest) {
  const {requestFields, problems, changes} = readListChanges(service, request, employeeResource);
  const password = readPassword(requestFields, problems);
  return await answerCreate(service, request, {
    resource: employeeResource,
    work: async (effects) => {
      const fields = {...employeeDefaults, ...dropEmptyUsername(changes)};
      await checkEmployee(effects, {fields, hasPassword: password !== null, problems});
      const token = newToken();
      const allFields = {...fields, ...makeUpCredentials(token)};
      const passwordHash = password === null ? {} : {passwordHash: await hashPassword(password)};
      return await createRecord(effects, employeeResource, {
        fields: allFields,
        beside: {token, ...passwordHash},
      });
    },
  });
}

async function updateEmployee(service: Service, request: ServiceRequest) {
  const number = request.params.employee_number;
  await findOwned(service.database, employeeResource, {number});
  const {requestFields, problems, changes} = readListChanges(service, request, employeeResource);
  const password = readPassword(requestFields, problems);
  return await answerEffects(service, request, {
    resource: employeeResource,
    work: async (effects) => {
      const record = await findOwned(effects.client, employeeResource, {number, lock: true});
      const storedHash = await selectPasswordHash(effects, idOf(record.fields));
      const validChanges = dropEmptyUsername(changes);
      const hasPassword = password !== null || storedHash !== null;
      await checkEmployee(effects, {
        fields: {...record.fields, ...validChanges},
        hasPassword,
        problems,
      });
      const beside = await renewCredentials(password, storedHash);
      const credentials = beside.token === undefined ? {} : makeUpCredentials(beside.token);
      return await updateRecord(effects, employeeResource, {
        record,
        changes: {...validChanges, ...credentials},
        beside,
      });
    },
  });
}

/**
 * Changing the password also changes the token; setting the same password again changes nothing.
 */
async function renewCredentials(
  password: string | null,
  storedHash: string | null,
): Promise<Beside> {
  if (password === null || (storedHash !== null && (await isPassword(password, storedHash))))
    return {};
  return {token: newToken(), passwordHash: await hashPassword(password)};
}

/** A password that is nil or empty is no password: it changes nothing. */
function readPassword(requestFields: RequestFields, problems: Problems): string | null {
  const password = requestFields.get('password') ?? '';
  if (typeof password !== 'string') {
    problems.add('password', 'is invalid');
    return null;
  }
  return password === '' ? null : password;
}

async function checkEmployee(
  {client}: Effects,
  {
    fields,
    hasPassword,
    problems,
  }: {readonly fields: ServiceFields; readonly hasPassword: boolean; readonly problems: Problems},
): Promise<void> {
  problems.requirePresence(fields, 'name', 'active', 'can_login');
  if (fields.can_login === 'true') {
    problems.requirePresence(fields, 'username');
    if (!hasPassword) problems.add('password', "can't be blank");
  }
  const text =
    'SELECT 1 FROM service.employees WHERE username = $1 AND id IS DISTINCT FROM $2::bigint';
  const sameUsername = await client.query(text, [fields.username ?? null, fields.id ?? null]);
  if (sameUsername.rows.length > 0) problems.add('username', 'has already been taken');
  problems.refuse();
}

async function selectPasswordHash({client}: Effects, id: string): Promise<string | null> {
  const text = 'SELECT password_hash FROM service.employees WHERE id = $1';
  const {rows} = await client.query<{password_hash: string | null}>(text, [id]);
  return rows[0]?.password_hash ?? null;
}

/** User names are unique, and an empty text is no user name. */
function dropEmptyUsername(changes: Changes): Changes {
  return changes.username === '' ? {...changes, username: null} : changes;
}

const LIST = '/jobs/:job_number/time_entries.xml';
const entryRoute = {
  path: '/jobs/:job_number/time_entries/:time_entry_id.xml',
  find: findEntry,
};

export const timeEntryRoutes: readonly ServiceRoute[] = [
  {
    method: 'GET',
    path: LIST,
    answer: async (service, {params}) => {
      const id = idOf(
        (await findOwned(service.database, jobResource, {number: params.job_number})).fields,
      );
      const entriesByJob = await selectByParents(service.database, 'time_entries', {
        column: 'job_id',
        ids: [id],
      });
      return answerRecords(service, timeEntries, entriesByJob.get(id) ?? []);
    },
  },
  showRoute(timeEntries, entryRoute),
  {method: 'POST', path: LIST, answer: createEntry},
  {method: 'PUT', path: entryRoute.path, answer: updateEntry},
  deleteRoute(timeEntries, {place: entryRoute}),
];

async function createEntry(service: Service, request: ServiceRequest) {
  const number = request.params.job_number;
  await findOwned(service.database, jobResource, {number});
  const {changes, problems} = readListChanges(service, request, timeEntries);
  return await answerCreate(service, request, {
    resource: timeEntries,
    work: async (effects) => {
      const job = await findOwned(effects.client, jobResource, {number});
      await checkEntry(effects.client, {fields: changes, problems});
      const fields = {
        billable: 'true',
        ...changes,
        ...deriveEntryEnd(changes, changes),
        job_id: idOf(job.fields),
      };
      return await createRecord(effects, timeEntries, {fields});
    },
  });
}

async function updateEntry(service: Service, request: ServiceRequest) {
  await findEntry(service.database, request, false);
  const {changes, problems} = readListChanges(service, request, timeEntries);
  return await answerEffects(service, request, {
    resource: timeEntries,
    work: async (effects) => {
      const record = await findEntry(effects.client, request, true);
      const fields = {...record.fields, ...changes};
      await checkEntry(effects.client, {fields, problems});
      return await updateRecord(effects, timeEntries, {
        record,
        changes: {...changes, ...deriveEntryEnd(fields, changes)},
      });
    },
  });
}

async function checkEntry(
  db: ServiceQueryable,
  {fields, problems}: {readonly fields: ServiceFields; readonly problems: Problems},
): Promise<void> {
  problems.refuse();
  problems.requirePresence(fields, 'employee_id', 'started_on', 'number_of_hours');
  if (Number(fields.number_of_hours ?? 0) < 0)
    problems.add('number_of_hours', 'must be greater than or equal to 0');
  await checkReferences(db, problems, {changes: fields, to: {employee_id: 'employees'}});
  problems.refuse();
}

/** The end follows from start and hours unless the request sets it. */
function deriveEntryEnd(
  {started_on: start = null, number_of_hours: hours = null}: ServiceFields,
  changes: ServiceFields,
): ServiceFields {
  const isMoved = changes.started_on !== undefined || changes.number_of_hours !== undefined;
  if (changes.ended_on !== undefined || !isMoved || start === null) return {};
  return {ended_on: AccountTime.findEnd(start, Number(hours) * 60)};
}

async function findEntry(
  db: ServiceQueryable,
  {params}: ServiceRequest,
  lock: boolean,
): Promise<StoredRecord> {
  const job = await findOwned(db, jobResource, {number: params.job_number});
  return await findChild(db, timeEntries, {
    number: params.time_entry_id,
    lock,
    owner: {job_id: idOf(job.fields)},
  });
}
