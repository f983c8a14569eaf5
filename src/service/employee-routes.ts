import type {Fields} from './field.ts';
import {
  answerEffects,
  answerRecord,
  answerWhole,
  findRecord,
  type Route,
  readChanges,
  type Service,
  type ServiceRequest,
} from './records.ts';
import {employees} from './resource.ts';
import {idOf} from './store.ts';
import type {Changes, Problems} from './store-changes.ts';
import {
  assignNumbers,
  type Beside,
  createRecord,
  type Effects,
  updateRecord,
} from './store-effects.ts';
import {hashPassword, isPassword, makeUpCredentials, newToken} from './store-secrets.ts';
import type {RequestFields} from './xml-read.ts';

const defaults: Fields = {
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
export const employeeRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: '/employees.xml',
    answer: (service, {query}) => answerWhole(service, employees, query),
  },
  {
    method: 'GET',
    path: '/employees/:employee_number.xml',
    answer: async (service, {params}) => {
      const record = await findRecord(service.database, employees, {
        number: params.employee_number,
      });
      return await answerRecord(service, employees, {record});
    },
  },
  {method: 'POST', path: '/employees.xml', answer: createEmployee},
  {method: 'PUT', path: '/employees/:employee_number.xml', answer: updateEmployee},
];

async function createEmployee(service: Service, request: ServiceRequest) {
  const {given, problems, changes} = readChanges(service, request, employees);
  const password = readPassword(given, problems);
  let number = '';
  const answer = await answerEffects(service, request, {
    resource: employees,
    work: async (effects) => {
      const fields = {...defaults, ...dropEmptyUsername(changes)};
      await check(effects, {fields, hasPassword: password !== null, problems});
      const assigned = await assignNumbers(effects.client, employees);
      number = assigned.employee_number ?? '';
      const token = newToken();
      const full = {...fields, ...makeUpCredentials(token), ...assigned};
      const passwordHash = password === null ? {} : {passwordHash: await hashPassword(password)};
      return await createRecord(effects, employees, {
        fields: full,
        beside: {token, ...passwordHash},
      });
    },
  });
  return {...answer, location: `/employees/${number}.xml`};
}

async function updateEmployee(service: Service, request: ServiceRequest) {
  const number = request.params.employee_number;
  await findRecord(service.database, employees, {number});
  const {given, problems, changes} = readChanges(service, request, employees);
  const password = readPassword(given, problems);
  return await answerEffects(service, request, {
    resource: employees,
    work: async (effects) => {
      const record = await findRecord(effects.client, employees, {number, lock: true});
      const held = await selectPasswordHash(effects, idOf(record.fields));
      const named = dropEmptyUsername(changes);
      const hasPassword = password !== null || held !== null;
      await check(effects, {fields: {...record.fields, ...named}, hasPassword, problems});
      const beside = await renewCredentials(password, held);
      const credentials = beside.token === undefined ? {} : makeUpCredentials(beside.token);
      return await updateRecord(effects, employees, {
        record,
        changes: {...named, ...credentials},
        beside,
      });
    },
  });
}

/**
 * Changing the password also changes the token; setting the same password again changes nothing.
 */
async function renewCredentials(password: string | null, held: string | null): Promise<Beside> {
  if (password === null || (held !== null && (await isPassword(password, held)))) return {};
  return {token: newToken(), passwordHash: await hashPassword(password)};
}

/** A password that is nil or empty is no password: it changes nothing. */
function readPassword(given: RequestFields, problems: Problems): string | null {
  const password = given.get('password') ?? '';
  if (typeof password !== 'string') {
    problems.add('password', 'is invalid');
    return null;
  }
  return password === '' ? null : password;
}

async function check(
  {client}: Effects,
  {
    fields,
    hasPassword,
    problems,
  }: {readonly fields: Fields; readonly hasPassword: boolean; readonly problems: Problems},
): Promise<void> {
  problems.requirePresence(fields, 'name', 'active', 'can_login');
  if (fields.can_login === 'true') {
    problems.requirePresence(fields, 'username');
    if (!hasPassword) problems.add('password', "can't be blank");
  }
  const text =
    'SELECT 1 FROM service.employees WHERE username = $1 AND id IS DISTINCT FROM $2::bigint';
  const taken = await client.query(text, [fields.username ?? null, fields.id ?? null]);
  if (taken.rows.length > 0) problems.add('username', 'has already been taken');
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
