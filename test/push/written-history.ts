// Histories written by hand, for the tests of the checker, which change a part in each.

import type {Effect, FinalChange, FinalRow, History, Intent} from '../labs/push/history.ts';

export const create: Intent = {
  changeId: '1',
  operation: 'create',
  table: 'customers',
  rowId: '10',
  key: '#1',
  fields: {name: 'A #1'},
  saw: {},
};
export const update: Intent = {
  ...create,
  changeId: '2',
  operation: 'update',
  key: null,
  fields: {name: 'B #1'},
  saw: {name: 'A #1'},
};
export const remove: Intent = {
  ...create,
  changeId: '3',
  operation: 'delete',
  key: null,
  fields: {},
};
export const created: Effect = {
  operation: 'create',
  table: 'customers',
  number: '7',
  key: '#1',
  fields: {name: 'A #1'},
  before: {},
  isOurs: true,
};
export const updated: Effect = {
  ...created,
  operation: 'update',
  key: null,
  fields: {name: 'B #1'},
  before: {name: 'A #1'},
};
export const deleted: Effect = {...created, operation: 'delete', key: null, fields: {}};
export const theirs: Effect = {...updated, fields: {name: 'Theirs'}, isOurs: false};
export const done: FinalChange = {
  changeId: '1',
  table: 'customers',
  rowId: '10',
  operation: 'create',
  state: 'done',
  number: '7',
  reason: null,
  waitsFor: null,
  attempts: 1,
  altered: [],
};
export const doneUpdate: FinalChange = {...done, changeId: '2', operation: 'update'};
export const doneDelete: FinalChange = {...done, changeId: '3', operation: 'delete'};
export const row: FinalRow = {
  table: 'customers',
  rowId: '10',
  number: '7',
  fields: {name: 'A #1'},
  isDeleted: false,
  isPending: false,
};
export const record = {table: 'customers', number: '7', fields: {name: 'A #1'}};
export const renamed = {
  rows: [{...row, fields: {name: 'B #1'}}],
  records: [{...record, fields: {name: 'B #1'}}],
};
export const nothing: History = {
  intents: [],
  effects: [],
  changes: [],
  conflicts: [],
  rows: [],
  records: [],
  canaryHits: [],
};
export const clean: History = {
  ...nothing,
  intents: [create],
  effects: [created],
  changes: [done],
  rows: [row],
  records: [record],
};
export const edited: History = {
  ...clean,
  ...renamed,
  intents: [create, update],
  effects: [created, updated],
  changes: [done, doneUpdate],
};

/** The service set one city and then another; we sent the first one with our new name. */
export const putBack: Partial<History> = {
  ...edited,
  intents: [create, {...update, fields: {name: 'B #1'}}],
  effects: [
    created,
    {...theirs, fields: {service_city: 'Hale'}, before: {service_city: null}},
    {...theirs, fields: {service_city: 'Elm'}, before: {service_city: 'Hale'}},
    {
      ...updated,
      fields: {name: 'B #1', service_city: 'Hale'},
      before: {name: 'A #1', service_city: 'Elm'},
    },
  ],
};

/** Another client edited what we had written, and we wrote it again. */
export const writtenOver: Partial<History> = {
  ...edited,
  effects: [
    created,
    updated,
    {...theirs, before: {name: 'B #1'}},
    {...updated, before: {name: 'Theirs'}},
  ],
};
