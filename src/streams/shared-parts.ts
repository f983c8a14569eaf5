// Tables of parts that records of customers and of jobs both have: notes and tax entities.

import type {Writes} from './stream.ts';
import {type Column, mirrorTable} from './table.ts';

// The service has one resource for notes, this warehouse two tables: a note of a customer and one
// of a job differ in their parent.
const columns: readonly Column[] = [
  {name: 'note', type: 'text', writable: {isRequired: true}, comment: 'Text of the note.'},
  {
    name: 'public',
    type: 'boolean',
    comment: 'True if the customer may see it; notes of customers never show.',
  },
  {name: 'noteable_id', type: 'integer', comment: 'Internal key of what the note belongs to.'},
  {name: 'noteable_type', type: 'text', comment: 'Kind of what the note belongs to.'},
  {name: 'created_by', type: 'integer', comment: 'Who wrote the note: employees.id.'},
  {name: 'updated_by', type: 'integer', comment: 'Who last changed the note: employees.id.'},
  {name: 'created_at', type: 'instant', comment: 'When the note was written.'},
  {name: 'updated_at', type: 'instant', comment: 'When the note was last touched at the service.'},
  {name: 'deleted_at', type: 'instant', comment: 'When the service marked the note deleted.'},
];

/** @see docs/service.md "Fields" */
export const customerNotes = mirrorTable('customer_notes', {
  comment: 'Notes on customers.',
  key: ['id'],
  indexes: [['customer_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    ...columns,
  ],
});

/** @see docs/service.md "Fields" */
export const jobNotes = mirrorTable('job_notes', {
  comment: 'Notes on jobs.',
  key: ['id'],
  indexes: [['job_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    ...columns,
  ],
});

const noteWrites = {
  resource: 'note',
  operations: ['create', 'update', 'delete'],
  key: 'id',
  list: 'notes',
  isNested: true,
  timeShape: null,
} as const satisfies Partial<Writes>;

/** @see docs/service.md "Endpoints" */
export const customerNoteWrites: Writes = {
  ...noteWrites,
  table: customerNotes,
  stream: 'customers',
  parent: {table: 'customers', numberColumn: 'customer_number'},
};

/** @see docs/service.md "Endpoints" */
export const jobNoteWrites: Writes = {
  ...noteWrites,
  table: jobNotes,
  stream: 'jobs',
  parent: {table: 'jobs', numberColumn: 'job_number'},
};

/** Taxes, as customers and jobs embed them. No recording shows one (docs/service.md "Fields"). */
export const taxEntities = mirrorTable('tax_entities', {
  comment: 'Taxes that apply to customers and jobs.',
  key: ['id'],
  columns: [
    {
      name: 'id',
      type: 'integer',
      comment: 'Internal key; customers and jobs point at it as tax_id.',
    },
    {name: 'name', type: 'text', comment: 'Name of the tax.'},
    {name: 'description', type: 'text', comment: 'What the tax is for.'},
    {name: 'tax_rate', type: 'decimal', comment: 'Rate of the tax.'},
    {name: 'agency', type: 'text', comment: 'Whom the tax is paid to.'},
    {name: 'active', type: 'boolean', comment: 'False once the tax is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the tax was created at the service.'},
    {name: 'updated_at', type: 'instant', comment: 'When the tax was last touched at the service.'},
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the tax deleted.'},
  ],
});
