import {randomBytes} from 'node:crypto';
import type {ServiceQueryable} from './database.ts';
import {deleteJob} from './job-routes.ts';
import {customerConditions} from './query.ts';
import {
  answerEffects,
  answerPage,
  answerRecord,
  checkReferences,
  findOwned,
  readListChanges,
  type ServiceRoute,
} from './records.ts';
import {customerResource, type ServiceFields, taskResource} from './resource.ts';
import {
  assignNumbers,
  createRecord,
  deleteRecord,
  type Effects,
  idOf,
  type Problems,
  type StoredRecord,
  selectByParents,
  updateRecord,
} from './store.ts';

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
  {
    method: 'GET',
    path: '/customers/:customer_number.xml',
    answer: async (service, {params, query}) => {
      const record = await findOwned(service.database, customerResource, {
        number: params.customer_number,
      });
      return await answerRecord(service, customerResource, {record, query});
    },
  },
  {
    method: 'POST',
    path: '/customers.xml',
    answer: async (service, request) => {
      const {changes, problems} = readListChanges(service, request, customerResource);
      let number = '';
      const answer = await answerEffects(service, request, {
        resource: customerResource,
        work: async (effects) => {
          const fields = {
            ...customerDefaults,
            token: randomBytes(32).toString('base64url'),
            ...changes,
          };
          await checkCustomer(effects.client, {fields, changes, problems});
          const assigned = await assignNumbers(effects.client, customerResource);
          number = assigned.customer_number ?? '';
          return await createRecord(effects, customerResource, {
            fields: {...fields, ...deriveCustomer(fields), ...assigned},
          });
        },
      });
      return {...answer, location: `/customers/${number}.xml`};
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
  {
    method: 'DELETE',
    path: '/customers/:customer_number.xml',
    answer: (service, request) =>
      answerEffects(service, request, {
        resource: customerResource,
        work: async (effects) => {
          const number = request.params.customer_number;
          return await deleteCustomer(
            effects,
            await findOwned(effects.client, customerResource, {number, lock: true}),
          );
        },
      }),
  },
];

/**
 * A deleted customer takes its jobs and tasks along. Other records show through these only. Our
 * decision.
 */
async function deleteCustomer(effects: Effects, customer: StoredRecord): Promise<StoredRecord> {
  const id = idOf(customer.fields);
  const deleted = await deleteRecord(effects, customerResource, customer);
  const owned = {column: 'customer_id', ids: [id]} as const;
  const ownJobs = await selectByParents(effects.client, 'jobs', owned);
  for (const job of ownJobs.get(id) ?? []) await deleteJob(effects, job);
  const ownTasks = await selectByParents(effects.client, 'tasks', owned);
  for (const task of ownTasks.get(id) ?? []) await deleteRecord(effects, taskResource, task);
  return deleted;
}

async function checkCustomer(
  db: ServiceQueryable,
  {
    fields,
    changes,
    problems,
  }: {readonly fields: ServiceFields; readonly changes: ServiceFields; readonly problems: Problems},
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
