import {AccountTime} from './account-time.ts';
import type {Queryable} from './database.ts';
import type {Fields} from './field.ts';
import {
  answerEffects,
  answerRecord,
  answerRecords,
  checkReferences,
  findChild,
  findRecord,
  type Route,
  readChanges,
  type Service,
  type ServiceRequest,
} from './records.ts';
import {jobs, timeEntries} from './resource.ts';
import {idOf, type StoredRecord, selectByParents} from './store.ts';
import type {Problems} from './store-changes.ts';
import {assignNumbers, createRecord, deleteRecord, updateRecord} from './store-effects.ts';

const LIST = '/jobs/:job_number/time_entries.xml';
const ENTRY = '/jobs/:job_number/time_entries/:time_entry_id.xml';

export const timeEntryRoutes: readonly Route[] = [
  {
    method: 'GET',
    path: LIST,
    answer: async (service, {params}) => {
      const id = idOf(
        (await findRecord(service.database, jobs, {number: params.job_number})).fields,
      );
      const found = await selectByParents(service.database, 'time_entries', {
        column: 'job_id',
        ids: [id],
      });
      return answerRecords(service, timeEntries, found.get(id) ?? []);
    },
  },
  {
    method: 'GET',
    path: ENTRY,
    answer: async (service, request) => {
      const record = await findEntry(service.database, request, false);
      return await answerRecord(service, timeEntries, {record});
    },
  },
  {method: 'POST', path: LIST, answer: createEntry},
  {method: 'PUT', path: ENTRY, answer: updateEntry},
  {
    method: 'DELETE',
    path: ENTRY,
    answer: (service, request) =>
      answerEffects(service, request, {
        resource: timeEntries,
        work: async (effects) =>
          deleteRecord(effects, timeEntries, await findEntry(effects.client, request, true)),
      }),
  },
];

async function createEntry(service: Service, request: ServiceRequest) {
  const number = request.params.job_number;
  await findRecord(service.database, jobs, {number});
  const {changes, problems} = readChanges(service, request, timeEntries);
  let id = '';
  const answer = await answerEffects(service, request, {
    resource: timeEntries,
    work: async (effects) => {
      const job = await findRecord(effects.client, jobs, {number});
      await check(effects.client, {fields: changes, problems});
      const assigned = await assignNumbers(effects.client, timeEntries);
      id = idOf(assigned);
      const fields = {
        billable: 'true',
        ...changes,
        ...deriveEnd(changes, changes),
        job_id: idOf(job.fields),
        ...assigned,
      };
      return await createRecord(effects, timeEntries, {fields});
    },
  });
  return {...answer, location: request.path.replace(/\.xml$/, `/${id}.xml`)};
}

async function updateEntry(service: Service, request: ServiceRequest) {
  await findEntry(service.database, request, false);
  const {changes, problems} = readChanges(service, request, timeEntries);
  return await answerEffects(service, request, {
    resource: timeEntries,
    work: async (effects) => {
      const record = await findEntry(effects.client, request, true);
      const fields = {...record.fields, ...changes};
      await check(effects.client, {fields, problems});
      return await updateRecord(effects, timeEntries, {
        record,
        changes: {...changes, ...deriveEnd(fields, changes)},
      });
    },
  });
}

async function check(
  db: Queryable,
  {fields, problems}: {readonly fields: Fields; readonly problems: Problems},
): Promise<void> {
  problems.refuse();
  problems.requirePresence(fields, 'employee_id', 'started_on', 'number_of_hours');
  if (Number(fields.number_of_hours ?? 0) < 0)
    problems.add('number_of_hours', 'must be greater than or equal to 0');
  await checkReferences(db, problems, {changes: fields, to: {employee_id: 'employees'}});
  problems.refuse();
}

/** The end follows from start and hours unless the request sets it. */
function deriveEnd(
  {started_on: start = null, number_of_hours: hours = null}: Fields,
  changes: Fields,
): Fields {
  const isMoved = changes.started_on !== undefined || changes.number_of_hours !== undefined;
  if (changes.ended_on !== undefined || !isMoved || start === null) return {};
  return {ended_on: AccountTime.findEnd(start, Number(hours) * 60)};
}

async function findEntry(
  db: Queryable,
  {params}: ServiceRequest,
  lock: boolean,
): Promise<StoredRecord> {
  const job = await findRecord(db, jobs, {number: params.job_number});
  return await findChild(db, timeEntries, {
    number: params.time_entry_id,
    lock,
    owner: {job_id: idOf(job.fields)},
  });
}
