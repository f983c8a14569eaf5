// Jobs with their parts: categories, statuses, assignments, time entries, charges, notes.

import {TIME_SHAPES} from '../api/value-types.ts';
import {noteColumns, noteWrites, taxEntities} from './customers.ts';
import {type Stream, spans, type Writes} from './stream.ts';
import {mirrorTable} from './table.ts';

/** @see docs/service.md "Fields" */
const jobNotes = mirrorTable('job_notes', {
  comment: 'Notes on jobs.',
  key: ['id'],
  indexes: [['job_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    ...noteColumns,
  ],
});

/** Categories of jobs, as jobs embed them. No recording shows one (docs/service.md "Fields"). */
const jobTypes = mirrorTable('job_types', {
  comment: 'Categories of jobs; the service calls them services as well.',
  key: ['id'],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key; jobs point at it as job_type_id.'},
    {name: 'name', type: 'text', comment: 'Name of the category.'},
    {name: 'description', type: 'text', comment: 'What belongs to the category.'},
    {name: 'duration', type: 'decimal', comment: 'Usual length in minutes.'},
    {name: 'active', type: 'boolean', comment: 'False once the category is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the category was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the category was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the category deleted.'},
  ],
});

/**
 * Statuses that the account has defined, as jobs embed them. No recording shows one
 * (docs/service.md "Fields").
 */
const jobStatuses = mirrorTable('job_statuses', {
  comment: 'Statuses that the account defined for its jobs, beside the built-in ones.',
  key: ['id'],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key; jobs point at it as job_status_id.'},
    {name: 'name', type: 'text', comment: 'Name of the status.'},
    {name: 'description', type: 'text', comment: 'What the status means.'},
    {name: 'color', type: 'text', comment: 'Colour the status is shown in.'},
    {name: 'active', type: 'boolean', comment: 'False once the status is out of use.'},
    {name: 'created_at', type: 'instant', comment: 'When the status was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the status was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the status deleted.'},
  ],
});

/** Only links: the employees themselves come with their own stream. */
export const jobEmployees = mirrorTable('job_employees', {
  comment: 'Who is assigned to which job.',
  key: ['job_number', 'employee_id'],
  columns: [
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    {name: 'employee_id', type: 'integer', comment: 'The employee: employees.id.'},
    {name: 'employee_number', type: 'integer', comment: 'The employee: employees.employee_number.'},
    {name: 'name', type: 'text', comment: 'Name of the employee.'},
  ],
});

/** @see docs/service.md "Fields" */
const timeEntries = mirrorTable('time_entries', {
  comment: 'Hours that employees worked on a job.',
  key: ['id'],
  indexes: [['job_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    {
      name: 'employee_id',
      type: 'integer',
      writable: {isRequired: true},
      comment: 'Who worked: employees.id.',
    },
    {
      name: 'started_on',
      type: 'instant',
      writable: {isRequired: true},
      comment: 'When the work began.',
    },
    {name: 'ended_on', type: 'instant', comment: 'When the work ended.'},
    {
      name: 'number_of_hours',
      type: 'decimal',
      writable: {isRequired: true, minimum: 0},
      comment: 'Hours worked.',
    },
    {name: 'note', type: 'text', comment: 'What was done.'},
    {name: 'mileage', type: 'decimal', comment: 'Distance driven.'},
    {name: 'billable', type: 'boolean', comment: 'True if the customer pays for the hours.'},
    {name: 'time_entry_type_id', type: 'integer', comment: 'Kind of time entry.'},
    {name: 'created_by', type: 'integer', comment: 'Who entered it: employees.id.'},
    {name: 'updated_by', type: 'integer', comment: 'Who last changed it: employees.id.'},
    {name: 'created_at', type: 'instant', comment: 'When it was entered.'},
    {name: 'updated_at', type: 'instant', comment: 'When it was last touched at the service.'},
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked it deleted.'},
  ],
});

/** @see docs/service.md "Endpoints" */
export const timeEntryWrites: Writes = {
  table: timeEntries,
  resource: 'time_entry',
  stream: 'jobs',
  operations: ['create', 'update', 'delete'],
  key: 'id',
  parent: {table: 'jobs', numberColumn: 'job_number'},
  list: 'time_entries',
  isNested: true,
  timeShape: TIME_SHAPES.timeEntry,
};

const onlyOnCreate = {onUpdate: false} as const;

/**
 * The charges of a job. QuickBooks line ids and the item are in `extra` (docs/service.md "Fields").
 */
const jobCharges = mirrorTable('job_charges', {
  comment: 'Lines of a job: what is charged, how much of it, at which price.',
  key: ['id'],
  indexes: [['job_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    {name: 'item_id', type: 'integer', writable: onlyOnCreate, comment: 'The item charged.'},
    {name: 'job_charge_type_id', type: 'integer', comment: 'Kind of charge.'},
    {
      name: 'description',
      type: 'text',
      comment: 'What is charged; by default the full name of the item.',
    },
    {name: 'details', type: 'text', writable: onlyOnCreate, comment: 'Free text on the line.'},
    {name: 'quantity', type: 'decimal', writable: onlyOnCreate, comment: 'How much of the item.'},
    {
      name: 'price_per_unit',
      type: 'decimal',
      writable: onlyOnCreate,
      comment: 'Price of one unit.',
    },
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
  hint: 'A charge can only be created: fix it in the service itself.',
  key: 'id',
  parent: {table: 'jobs', numberColumn: 'job_number'},
  list: 'job_charges',
  isNested: true,
  timeShape: null,
};

// These fields have no column: the 40 custom fields, and those that only QuickBooks uses
// (transaction ids, edit sequences, names of its references). They are in `extra`. See
// docs/service.md "Fields".
const table = mirrorTable('jobs', {
  comment: 'Jobs: work for a customer, planned, in progress or done, with its money.',
  key: ['job_number'],
  indexes: [['id'], ['customer_number']],
  searched: {words: ['name']},
  writeOnly: [{name: 'employee_ids', kind: 'ids', terms: {}}],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key; other records point at it as job_id.'},
    {name: 'job_number', type: 'integer', comment: 'Number the service gave the job.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'name', type: 'text', writable: true, comment: 'Title of the job.'},
    {name: 'description', type: 'text', comment: 'What is to be done.'},
    {
      name: 'status',
      type: 'text',
      comment: 'Such as scheduled, in_progress, complete, canceled or lost.',
    },
    {name: 'job_type_id', type: 'integer', writable: true, comment: 'Category: job_types.id.'},
    {
      name: 'job_status_id',
      type: 'integer',
      writable: true,
      comment: "Status of the account's own making: job_statuses.id.",
    },
    {name: 'service_type_id', type: 'integer', comment: 'Kind of service.'},
    {name: 'po_number', type: 'text', comment: 'Purchase order of the customer.'},
    {name: 'ref_number', type: 'text', comment: 'Number of the invoice in the books.'},
    {
      name: 'scheduled_on',
      type: 'instant',
      writable: true,
      comment: 'When the work is to begin; null while not scheduled.',
    },
    {
      name: 'ends_at',
      type: 'instant',
      comment: 'When the work is to end: scheduled_on and duration.',
    },
    {name: 'duration', type: 'decimal', comment: 'Planned length in minutes.'},
    {name: 'started_on', type: 'instant', comment: 'When the work began.'},
    {name: 'completed_on', type: 'instant', comment: 'When the work was completed.'},
    {name: 'on_hold', type: 'instant', comment: 'Since when the job is on hold.'},
    {name: 'canceled_on', type: 'instant', comment: 'When the job was cancelled.'},
    {name: 'won_date', type: 'instant', comment: 'When the estimate was won.'},
    {name: 'lost_date', type: 'instant', comment: 'When the estimate was lost.'},
    {name: 'schedule', type: 'text', comment: 'Text of the schedule; never seen filled.'},
    {name: 'tasks_count', type: 'integer', comment: 'How many tasks the job has.'},
    {name: 'subtotal', type: 'decimal', comment: 'Sum of the charges, before tax.'},
    {name: 'tax', type: 'decimal', comment: 'Sales tax.'},
    {name: 'total', type: 'decimal', comment: 'Price of the job: subtotal and tax.'},
    {name: 'balance_remaining', type: 'decimal', comment: 'What is still to be paid.'},
    {name: 'total_expenses', type: 'decimal', comment: 'What the job cost the business.'},
    {name: 'sales_tax_percentage', type: 'decimal', comment: 'Rate of the sales tax, in percent.'},
    {name: 'tax_id', type: 'integer', comment: 'Tax that applies: tax_entities.id.'},
    {name: 'txn_date', type: 'instant', comment: 'Date of the transaction in the books.'},
    {name: 'ship_date', type: 'instant', comment: 'Date of shipment.'},
    {name: 'invoice_status', type: 'text', comment: 'paid or unpaid.'},
    {name: 'invoice_date', type: 'instant', comment: 'Date of the invoice.'},
    {name: 'invoice_sent_date', type: 'instant', comment: 'When the invoice was sent.'},
    {name: 'invoice_viewed_on', type: 'instant', comment: 'When the customer opened the invoice.'},
    {name: 'invoice_paid_on', type: 'instant', comment: 'When the invoice was paid.'},
    {name: 'invoice_terms', type: 'text', comment: 'Terms on the invoice.'},
    {name: 'invoice_notes', type: 'text', comment: 'Notes on the invoice.'},
    {
      name: 'detailed_invoice',
      type: 'boolean',
      comment: 'True if the invoice lists every charge.',
    },
    {name: 'estimate_type', type: 'text', comment: 'won for a job that began as an estimate.'},
    {
      name: 'estimate_scheduled_on',
      type: 'instant',
      comment: 'When the visit for the estimate is planned.',
    },
    {name: 'estimate_sent_on', type: 'instant', comment: 'When the estimate was sent.'},
    {
      name: 'estimate_viewed_on',
      type: 'instant',
      comment: 'When the customer opened the estimate.',
    },
    {name: 'estimate_terms', type: 'text', comment: 'Terms on the estimate.'},
    {name: 'estimate_notes', type: 'text', comment: 'Notes on the estimate.'},
    {
      name: 'recurring_job_id',
      type: 'integer',
      comment: 'The job this one was repeated from: jobs.id.',
    },
    {
      name: 'recurring_interval',
      type: 'text',
      comment: 'How often the job is repeated, such as yearly.',
    },
    {name: 'recurring_date', type: 'instant', comment: 'When the job is repeated next.'},
    {name: 'last_recurring_date', type: 'instant', comment: 'When the job was last repeated.'},
    {name: 'recurring_end_date', type: 'instant', comment: 'Until when the job is repeated.'},
    {name: 'recurring_ended', type: 'boolean', comment: 'True once the job is repeated no more.'},
    {name: 'recurring_iterator', type: 'integer', comment: 'How many times the job was repeated.'},
    {
      name: 'max_recurring_iterator',
      type: 'integer',
      comment: 'How many times the job is to be repeated.',
    },
    {
      name: 'chosen_days_of_week',
      type: 'nested',
      comment: 'Days of the week on which the job is repeated.',
    },
    {
      name: 'job_allocations',
      type: 'nested',
      comment: 'Shares of house and employees in the job, in percent.',
    },
    {name: 'self_service', type: 'boolean', comment: 'True if the customer booked the job.'},
    {name: 'notification_sent', type: 'boolean', comment: 'True once the customer was notified.'},
    {name: 'ok_to_sync', type: 'boolean', comment: 'True if the job may go to QuickBooks.'},
    {name: 'qb_error', type: 'text', comment: 'What QuickBooks said when it refused the job.'},
    {name: 'created_by', type: 'integer', comment: 'Who created the job: employees.id.'},
    {name: 'updated_by', type: 'integer', comment: 'Who last changed the job: employees.id.'},
    {name: 'created_at', type: 'instant', comment: 'When the job was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the job was last touched; a viewed invoice counts.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the job deleted.'},
  ],
});

const parentColumns = {job_number: 'job_number', job_id: 'id'};

/** @see docs/service.md "Fields" */
export const jobs: Stream = {
  name: 'jobs',
  path: '/jobs.xml',
  list: 'jobs',
  item: 'job',
  key: 'job_number',
  isPaged: true,
  takesOnly: true,
  isCountedPerAccount: true,
  isDeletable: true,
  isMergeable: false,
  include: [
    'customer',
    'employees',
    'job_charges',
    'time_entries',
    'notes',
    'job_type',
    'job_status',
    'tax_entity',
  ],
  listedAt: (customerNumber) => ({path: `/customers/${customerNumber}/jobs.xml`, query: {}}),
  table,
  children: [
    {
      element: 'employees',
      item: 'employee',
      table: jobEmployees,
      parentColumns,
      renamed: {employee_id: 'id'},
      isLink: true,
      isOwned: true,
    },
    {element: 'job_charges', item: 'job_charge', table: jobCharges, parentColumns, isOwned: true},
    {
      element: 'time_entries',
      item: 'time_entry',
      table: timeEntries,
      parentColumns,
      isOwned: true,
      hasPath: true,
    },
    {element: 'notes', item: 'note', table: jobNotes, parentColumns, isOwned: true, hasPath: true},
    {element: 'job_type', item: null, table: jobTypes, parentColumns: {}, isOwned: false},
    {element: 'job_status', item: null, table: jobStatuses, parentColumns: {}, isOwned: false},
    {element: 'tax_entity', item: null, table: taxEntities, parentColumns: {}, isOwned: false},
  ],
  ignored: ['customer'],
  derived: {customer_number: ['customer', 'customer_number']},
  filters: {
    scheduled: spans,
    state: ['in_progress', 'completed', 'uncompleted'],
    employee_number: 'number',
    job_type_id: 'number',
    job_status_id: 'number',
  },
  windows: {
    today: {scheduled: 'today'},
    tomorrow: {scheduled: 'tomorrow'},
    this_week: {scheduled: 'this_week'},
    in_progress: {state: 'in_progress'},
  },
};

/**
 * Assignments are written with the job, and stored in rows of job_employees.
 * @see docs/service.md "Fields that may be written"
 */
export const jobWrites: Writes = {
  table,
  resource: 'job',
  stream: 'jobs',
  operations: ['create', 'update', 'delete'],
  key: 'job_number',
  parent: {table: 'customers', numberColumn: 'customer_number'},
  list: 'jobs',
  isNested: false,
  timeShape: TIME_SHAPES.job,
};

/** @see docs/service.md "Endpoints" */
export const jobNoteWrites: Writes = {
  ...noteWrites,
  table: jobNotes,
  stream: 'jobs',
  parent: {table: 'jobs', numberColumn: 'job_number'},
};
