import type {Queryable} from './database.ts';
import type {Fields} from './field.ts';
import {
  answerEffects,
  answerRecord,
  answerRecords,
  findChild,
  findRecord,
  type Route,
  readChanges,
  type Service,
  type ServiceRequest,
} from './records.ts';
import {customers, jobs, notes, type Resource} from './resource.ts';
import {idOf, type StoredRecord, selectByParents} from './store.ts';
import type {Problems} from './store-changes.ts';
import {assignNumbers, createRecord, deleteRecord, updateRecord} from './store-effects.ts';

interface Owner {
  readonly resource: Resource;
  readonly className: 'Customer' | 'Job';
  readonly column: 'customer_id' | 'job_id';
}

/** Customer notes and job notes are one kind of record with two kinds of owner. */
export const noteRoutes: readonly Route[] = [
  ...routesUnder({resource: customers, className: 'Customer', column: 'customer_id'}),
  ...routesUnder({resource: jobs, className: 'Job', column: 'job_id'}),
];

function routesUnder(owner: Owner): readonly Route[] {
  const base = `/${owner.resource.table}/:${owner.resource.key}/notes`;
  return [
    {
      method: 'GET',
      path: `${base}.xml`,
      answer: (service, request) => listNotes(service, request, owner),
    },
    {
      method: 'GET',
      path: `${base}/:note_id.xml`,
      answer: async (service, request) => {
        const record = await findNote(service.database, request, {owner, lock: false});
        return await answerRecord(service, notes, {record});
      },
    },
    {
      method: 'POST',
      path: `${base}.xml`,
      answer: (service, request) => createNote(service, request, owner),
    },
    {
      method: 'PUT',
      path: `${base}/:note_id.xml`,
      answer: (service, request) => updateNote(service, request, owner),
    },
    {
      method: 'DELETE',
      path: `${base}/:note_id.xml`,
      answer: (service, request) =>
        answerEffects(service, request, {
          resource: notes,
          work: async (effects) =>
            deleteRecord(
              effects,
              notes,
              await findNote(effects.client, request, {owner, lock: true}),
            ),
        }),
    },
  ];
}

async function listNotes(service: Service, request: ServiceRequest, owner: Owner) {
  const id = idOf((await findOwner(service.database, request, owner)).fields);
  const found = await selectByParents(service.database, 'notes', {column: owner.column, ids: [id]});
  return answerRecords(service, notes, found.get(id) ?? []);
}

async function createNote(service: Service, request: ServiceRequest, owner: Owner) {
  await findOwner(service.database, request, owner);
  const {changes, problems} = readChanges(service, request, notes);
  check(changes, problems);
  let id = '';
  const answer = await answerEffects(service, request, {
    resource: notes,
    work: async (effects) => {
      const {fields} = await findOwner(effects.client, request, owner);
      const belonging = {noteable_id: idOf(fields), noteable_type: owner.className};
      const assigned = await assignNumbers(effects.client, notes);
      id = idOf(assigned);
      return await createRecord(effects, notes, {
        fields: {public: 'false', ...changes, ...belonging, ...assigned},
      });
    },
  });
  return {...answer, location: request.path.replace(/\.xml$/, `/${id}.xml`)};
}

async function updateNote(service: Service, request: ServiceRequest, owner: Owner) {
  await findNote(service.database, request, {owner, lock: false});
  const {changes, problems} = readChanges(service, request, notes);
  return await answerEffects(service, request, {
    resource: notes,
    work: async (effects) => {
      const record = await findNote(effects.client, request, {owner, lock: true});
      check({...record.fields, ...changes}, problems);
      return await updateRecord(effects, notes, {record, changes});
    },
  });
}

function check(fields: Fields, problems: Problems): void {
  problems.requirePresence(fields, 'note');
  problems.refuse();
}

function findOwner(
  db: Queryable,
  {params}: ServiceRequest,
  {resource}: Owner,
): Promise<StoredRecord> {
  return findRecord(db, resource, {number: params[resource.key]});
}

async function findNote(
  db: Queryable,
  request: ServiceRequest,
  {owner, lock}: {readonly owner: Owner; readonly lock: boolean},
): Promise<StoredRecord> {
  const {fields} = await findOwner(db, request, owner);
  const belonging = {noteable_id: idOf(fields), noteable_type: owner.className};
  return await findChild(db, notes, {number: request.params.note_id, lock, owner: belonging});
}
