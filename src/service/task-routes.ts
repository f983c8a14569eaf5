// The routes of tasks and of notes.

import {AccountTime} from './account-time.ts';
import type {ServiceQueryable} from './database.ts';
import {taskConditions} from './query.ts';
import {
  answerCreate,
  answerEffects,
  answerPage,
  answerRecords,
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
  jobResource,
  notes,
  type ServiceFields,
  type ServiceResource,
  taskResource,
} from './resource.ts';
import {
  createRecord,
  deleteRecord,
  type Effects,
  idOf,
  type Problems,
  type StoredRecord,
  selectByIds,
  selectByParents,
  updateRecord,
} from './store.ts';

export const taskRoutes: readonly ServiceRoute[] = [
  {
    method: 'GET',
    path: '/tasks.xml',
    answer: (service, {query}) =>
      answerPage(service, taskResource, {query, conditions: taskConditions(query, service.time)}),
  },
  showRoute(taskResource),
  {method: 'POST', path: '/tasks.xml', answer: createTask},
  {method: 'PUT', path: '/tasks/:id.xml', answer: updateTask},
  deleteRoute(taskResource, {
    remove: async (effects, record) => {
      const deleted = await deleteRecord(effects, taskResource, record);
      await countTasks(effects, record.fields.job_id);
      return deleted;
    },
  }),
];

async function createTask(service: Service, request: ServiceRequest) {
  const {changes, problems} = readListChanges(service, request, taskResource);
  return await answerCreate(service, request, {
    resource: taskResource,
    work: async (effects) => {
      const fields = {completed: 'false', ...changes};
      await checkTask(effects.client, {fields, changes, problems});
      const inheritedFields = await inheritCustomer(effects, fields);
      const allFields = {
        ...fields,
        ...inheritedFields,
        ...deriveTask(fields, {changes, at: effects.at}),
      };
      const task = await createRecord(effects, taskResource, {fields: allFields});
      await countTasks(effects, changes.job_id);
      return task;
    },
  });
}

async function updateTask(service: Service, request: ServiceRequest) {
  const number = request.params.id;
  await findOwned(service.database, taskResource, {number});
  const {changes, problems} = readListChanges(service, request, taskResource);
  return await answerEffects(service, request, {
    resource: taskResource,
    work: async (effects) => {
      const record = await findOwned(effects.client, taskResource, {number, lock: true});
      const fields = {...record.fields, ...changes};
      await checkTask(effects.client, {fields, changes, problems});
      const derived = deriveTask(fields, {changes, at: effects.at});
      const task = await updateRecord(effects, taskResource, {
        record,
        changes: {...changes, ...derived},
      });
      const isMoved =
        changes.job_id !== undefined && changes.job_id !== (record.fields.job_id ?? null);
      if (isMoved)
        for (const jobId of [record.fields.job_id, changes.job_id])
          await countTasks(effects, jobId);
      return task;
    },
  });
}

async function checkTask(
  db: ServiceQueryable,
  {fields, changes, problems}: CheckedChanges,
): Promise<void> {
  problems.requirePresence(fields, 'name', 'completed');
  await checkReferences(db, problems, {
    changes,
    to: {employee_id: 'employees', job_id: 'jobs', customer_id: 'customers'},
  });
  problems.refuse();
}

/** A task of a job is a task of the job's customer, unless the request names another one. */
async function inheritCustomer(
  {client}: Effects,
  {job_id: jobId = null, customer_id: customerId = null}: ServiceFields,
) {
  if (jobId === null || customerId !== null) return {};
  const job = (await selectByIds(client, 'jobs', [jobId])).get(jobId);
  return {customer_id: job?.fields.customer_id ?? null};
}

function deriveTask(
  fields: ServiceFields,
  {changes, at}: {readonly changes: ServiceFields; readonly at: string},
): ServiceFields {
  const {scheduled_at: start = null, duration = null} = fields;
  const isMoved = changes.scheduled_at !== undefined || changes.duration !== undefined;
  const end =
    start === null || duration === null ? null : AccountTime.findEnd(start, Number(duration));
  const endFields = isMoved && changes.ends_at === undefined ? {ends_at: end} : {};
  if (changes.completed === undefined) return endFields;
  return {
    ...endFields,
    completed_at: changes.completed === 'true' ? (fields.completed_at ?? at) : null,
  };
}

/** The job's `tasks_count` follows its live tasks. */
async function countTasks(effects: Effects, jobId: string | null | undefined): Promise<void> {
  if (jobId === null || jobId === undefined) return;
  const text = `SELECT job.fields ->> 'job_number' AS number,
      (SELECT count(*) FROM service.tasks WHERE job_id = job.id AND deleted_at IS NULL) AS count
    FROM service.jobs AS job WHERE job.id = $1 AND job.deleted_at IS NULL FOR UPDATE OF job`;
  const {rows} = await effects.client.query<{number: string; count: string}>(text, [jobId]);
  const [row] = rows;
  if (row === undefined) return;
  const record = await findOwned(effects.client, jobResource, {number: row.number});
  await updateRecord(effects, jobResource, {record, changes: {tasks_count: row.count}});
}

interface Owner {
  readonly resource: ServiceResource;
  readonly className: 'Customer' | 'Job';
  readonly column: 'customer_id' | 'job_id';
}

/** Customer notes and job notes are one kind of record with two kinds of owner. */
export const noteRoutes: readonly ServiceRoute[] = [
  ...makeNoteRoutes({resource: customerResource, className: 'Customer', column: 'customer_id'}),
  ...makeNoteRoutes({resource: jobResource, className: 'Job', column: 'job_id'}),
];

function makeNoteRoutes(owner: Owner): readonly ServiceRoute[] {
  const base = `/${owner.resource.table}/:${owner.resource.key}/notes`;
  const place = {
    path: `${base}/:note_id.xml`,
    find: (db: ServiceQueryable, request: ServiceRequest, lock: boolean) =>
      findNote(db, request, {owner, lock}),
  };
  return [
    {
      method: 'GET',
      path: `${base}.xml`,
      answer: (service, request) => listNotes(service, request, owner),
    },
    showRoute(notes, place),
    {
      method: 'POST',
      path: `${base}.xml`,
      answer: (service, request) => createNote(service, request, owner),
    },
    {
      method: 'PUT',
      path: place.path,
      answer: (service, request) => updateNote(service, request, owner),
    },
    deleteRoute(notes, {place}),
  ];
}

async function listNotes(service: Service, request: ServiceRequest, owner: Owner) {
  const id = idOf((await findOwner(service.database, request, owner)).fields);
  const notesByOwner = await selectByParents(service.database, 'notes', {
    column: owner.column,
    ids: [id],
  });
  return answerRecords(service, notes, notesByOwner.get(id) ?? []);
}

async function createNote(service: Service, request: ServiceRequest, owner: Owner) {
  await findOwner(service.database, request, owner);
  const {changes, problems} = readListChanges(service, request, notes);
  checkNote(changes, problems);
  return await answerCreate(service, request, {
    resource: notes,
    work: async (effects) => {
      const {fields} = await findOwner(effects.client, request, owner);
      const ownerFields = {noteable_id: idOf(fields), noteable_type: owner.className};
      return await createRecord(effects, notes, {
        fields: {public: 'false', ...changes, ...ownerFields},
      });
    },
  });
}

async function updateNote(service: Service, request: ServiceRequest, owner: Owner) {
  await findNote(service.database, request, {owner, lock: false});
  const {changes, problems} = readListChanges(service, request, notes);
  return await answerEffects(service, request, {
    resource: notes,
    work: async (effects) => {
      const record = await findNote(effects.client, request, {owner, lock: true});
      checkNote({...record.fields, ...changes}, problems);
      return await updateRecord(effects, notes, {record, changes});
    },
  });
}

function checkNote(fields: ServiceFields, problems: Problems): void {
  problems.requirePresence(fields, 'note');
  problems.refuse();
}

function findOwner(
  db: ServiceQueryable,
  {params}: ServiceRequest,
  {resource}: Owner,
): Promise<StoredRecord> {
  return findOwned(db, resource, {number: params[resource.key]});
}

async function findNote(
  db: ServiceQueryable,
  request: ServiceRequest,
  {owner, lock}: {readonly owner: Owner; readonly lock: boolean},
): Promise<StoredRecord> {
  const {fields} = await findOwner(db, request, owner);
  const ownerFields = {noteable_id: idOf(fields), noteable_type: owner.className};
  return await findChild(db, notes, {number: request.params.note_id, lock, owner: ownerFields});
}
