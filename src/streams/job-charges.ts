import {mirrorTable} from './mirror-table.ts';
import type {Writes} from './writes.ts';

const once = {onUpdate: false} as const;

/**
 * The charges of a job. QuickBooks line ids and the item are in `extra` (docs/service.md "Fields").
 */
export const jobCharges = mirrorTable('job_charges', {
  comment: 'Lines of a job: what is charged, how much of it, at which price.',
  key: ['id'],
  indexes: [['job_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    {name: 'item_id', type: 'integer', writable: once, comment: 'The item charged.'},
    {name: 'job_charge_type_id', type: 'integer', comment: 'Kind of charge.'},
    {
      name: 'description',
      type: 'text',
      comment: 'What is charged; by default the full name of the item.',
    },
    {name: 'details', type: 'text', writable: once, comment: 'Free text on the line.'},
    {name: 'quantity', type: 'decimal', writable: once, comment: 'How much of the item.'},
    {name: 'price_per_unit', type: 'decimal', writable: once, comment: 'Price of one unit.'},
    {name: 'discount', type: 'decimal', comment: 'Discount on the line.'},
    {name: 'total', type: 'decimal', comment: 'Price of the line.'},
    {name: 'tax_id', type: 'integer', comment: 'Tax that applies: tax_entities.id.'},
    {name: 'sales_tax_code_id', type: 'integer', comment: 'Sales tax code that applies.'},
    {name: 'sort_order', type: 'integer', comment: 'Place of the line on the invoice.'},
    {
      name: 'recurring_item_parent_id',
      type: 'integer',
      comment: 'The line this one was repeated from.',
    },
    {name: 'updated_by', type: 'integer', comment: 'Who last changed the line: employees.id.'},
    {name: 'created_on', type: 'instant', comment: 'When the line was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the line was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the line deleted.'},
  ],
});

/** A charge can only be created. @see docs/service.md "Endpoints" */
export const jobChargeWrites: Writes = {
  table: jobCharges,
  resource: 'job_charge',
  stream: 'jobs',
  operations: ['create'],
  hint: 'A charge can only be created: mend it in the service itself.',
  key: 'id',
  parent: {table: 'jobs', numberColumn: 'job_number'},
  list: 'job_charges',
  isNested: true,
  timeShape: null,
};
