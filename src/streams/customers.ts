// Customers with their parts, and the parts that jobs have as well: notes and tax entities.

import type {Stream, Writes} from './stream.ts';
import {type Column, mirrorTable} from './table.ts';

// The service has one resource for notes, this warehouse two tables: a note of a customer and one
// of a job differ in their parent.
export const noteColumns: readonly Column[] = [
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
const customerNotes = mirrorTable('customer_notes', {
  comment: 'Notes on customers.',
  key: ['id'],
  indexes: [['customer_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    ...noteColumns,
  ],
});

export const noteWrites = {
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

/**
 * People to talk to at a customer. No recording shows one: other fields are in `extra`
 * (docs/service.md "Fields").
 */
const contacts = mirrorTable('contacts', {
  comment: 'People to talk to at a customer.',
  key: ['id'],
  indexes: [['customer_number']],
  columns: [
    {name: 'id', type: 'integer', comment: 'Internal key.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    {name: 'name', type: 'text', comment: 'Display name.'},
    {name: 'first_name', type: 'text', comment: 'First name.'},
    {name: 'last_name', type: 'text', comment: 'Last name.'},
    {name: 'title', type: 'text', comment: 'Role of the person at the customer.'},
    {name: 'phone_number', type: 'text', comment: 'First phone number.'},
    {name: 'alt_phone_number', type: 'text', comment: 'Second phone number.'},
    {name: 'mobile', type: 'text', comment: 'Mobile phone number.'},
    {name: 'fax', type: 'text', comment: 'Fax number.'},
    {name: 'email_address', type: 'text', comment: 'E-mail address.'},
    {name: 'primary', type: 'boolean', comment: 'True for the person to ask first.'},
    {name: 'created_at', type: 'instant', comment: 'When the contact was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the contact was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the contact deleted.'},
  ],
});

const listAddressFields = (kind: 'service' | 'billing') =>
  ['address', 'city', 'zip_code', 'state', 'country'].map((part) => `${kind}_${part}`);
const serviceAddress = {group: 'service address'};
const billingAddress = {group: 'billing address'};

// These fields have no column: the 40 custom fields, and those that only QuickBooks uses (list ids,
// edit sequences, full names of its references). They are in `extra`. See docs/service.md "Fields".
const table = mirrorTable('customers', {
  comment:
    'Customers of the account: people and companies that jobs are done for, ' +
    'sub-customers among them.',
  key: ['customer_number'],
  indexes: [['id'], ['parent_id']],
  searched: {
    words: ['name', 'company_name', 'last_name', 'email_address'],
    phones: ['phone_number', 'alt_phone_number', 'mobile'],
  },
  columns: [
    {
      name: 'id',
      type: 'integer',
      comment: 'Internal key; other records point at it as customer_id.',
    },
    {name: 'customer_number', type: 'integer', comment: 'Number the service gave the customer.'},
    {name: 'name', type: 'text', writable: {isRequired: true}, comment: 'Display name.'},
    {name: 'company', type: 'boolean', comment: 'True for a company, false for a person.'},
    {name: 'company_name', type: 'text', comment: 'Name of the company.'},
    {name: 'first_name', type: 'text', comment: 'First name of the person.'},
    {name: 'last_name', type: 'text', comment: 'Last name of the person.'},
    {name: 'full_name', type: 'text', comment: 'Full name as QuickBooks knows it.'},
    {name: 'is_active', type: 'boolean', comment: 'False once the customer was made inactive.'},
    {
      name: 'parent_id',
      type: 'integer',
      comment: 'The customer this is a sub-customer of: customers.id.',
    },
    {
      name: 'sublevel',
      type: 'integer',
      comment: 'Depth below the topmost customer: 0 for the top, 1 for a child.',
    },
    {
      name: 'origin',
      type: 'text',
      comment: 'How the customer came into the service, such as manual.',
    },
    {name: 'phone_number', type: 'text', writable: true, comment: 'First phone number.'},
    {name: 'alt_phone_number', type: 'text', comment: 'Second phone number.'},
    {name: 'mobile', type: 'text', comment: 'Mobile phone number.'},
    {name: 'pager', type: 'text', comment: 'Pager number.'},
    {name: 'fax', type: 'text', writable: true, comment: 'Fax number.'},
    {name: 'email_address', type: 'text', writable: true, comment: 'E-mail address.'},
    {name: 'phone', type: 'text', comment: 'First phone number as QuickBooks has it.'},
    {name: 'alt_phone', type: 'text', comment: 'Second phone number as QuickBooks has it.'},
    {name: 'email', type: 'text', comment: 'E-mail address as QuickBooks has it.'},
    {name: 'contact', type: 'text', comment: 'Person to ask for.'},
    {name: 'alt_contact', type: 'text', comment: 'Second person to ask for.'},
    {
      name: 'service_address',
      type: 'text',
      writable: serviceAddress,
      comment: 'Address of the work: street; may have several lines.',
    },
    {name: 'service_address_2', type: 'text', comment: 'Address of the work: second line.'},
    {
      name: 'service_city',
      type: 'text',
      writable: serviceAddress,
      comment: 'Address of the work: city.',
    },
    {
      name: 'service_zip_code',
      type: 'text',
      writable: serviceAddress,
      comment: 'Address of the work: postal code, leading zeros kept.',
    },
    {
      name: 'service_state',
      type: 'text',
      writable: serviceAddress,
      comment: 'Address of the work: state.',
    },
    {
      name: 'service_country',
      type: 'text',
      writable: serviceAddress,
      comment: 'Address of the work: country.',
    },
    {
      name: 'billing_address',
      type: 'text',
      writable: billingAddress,
      comment: 'Billing address: street; may have several lines.',
    },
    {name: 'billing_address_2', type: 'text', comment: 'Billing address: second line.'},
    {
      name: 'billing_city',
      type: 'text',
      writable: billingAddress,
      comment: 'Billing address: city.',
    },
    {
      name: 'billing_zip_code',
      type: 'text',
      writable: billingAddress,
      comment: 'Billing address: postal code, leading zeros kept.',
    },
    {
      name: 'billing_state',
      type: 'text',
      writable: billingAddress,
      comment: 'Billing address: state.',
    },
    {
      name: 'billing_country',
      type: 'text',
      writable: billingAddress,
      comment: 'Billing address: country.',
    },
    {
      name: 'which_billing_address',
      type: 'text',
      comment: 'Address to bill: service, billing or parent.',
    },
    {name: 'latitude', type: 'float', comment: 'Latitude of the service address, in degrees.'},
    {name: 'longitude', type: 'float', comment: 'Longitude of the service address, in degrees.'},
    {name: 'special_instructions', type: 'text', comment: 'What to know before going there.'},
    {name: 'balance', type: 'decimal', comment: 'What the customer owes.'},
    {
      name: 'total_balance',
      type: 'decimal',
      comment: 'What the customer and its sub-customers owe.',
    },
    {name: 'credit_limit', type: 'decimal', comment: 'How much the customer may owe.'},
    {
      name: 'account_number',
      type: 'text',
      comment: 'Number of the customer in the books of the account.',
    },
    {name: 'resale_number', type: 'text', comment: 'Resale number for sales tax.'},
    {name: 'tax_id', type: 'integer', comment: 'Tax that applies: tax_entities.id.'},
    {name: 'sales_tax_code_id', type: 'integer', comment: 'Sales tax code that applies.'},
    {name: 'customer_type_id', type: 'integer', comment: 'Kind of customer.'},
    {
      name: 'customer_source_id',
      type: 'integer',
      comment: 'The source through which the customer found the business.',
    },
    {name: 'import_id', type: 'integer', comment: 'The import that brought the customer in.'},
    {
      name: 'is_statement_with_parent',
      type: 'boolean',
      comment: 'True if the parent gets the statement.',
    },
    {name: 'delivery_method', type: 'text', comment: 'How invoices are delivered.'},
    {
      name: 'job_status',
      type: 'text',
      comment: 'Status of the customer as a QuickBooks job; "None" is a value.',
    },
    {name: 'job_desc', type: 'text', comment: 'Description of the customer as a QuickBooks job.'},
    {
      name: 'job_start_date',
      type: 'instant',
      comment: 'Start of the customer as a QuickBooks job.',
    },
    {
      name: 'job_projected_end_date',
      type: 'instant',
      comment: 'Planned end of the customer as a QuickBooks job.',
    },
    {name: 'job_end_date', type: 'instant', comment: 'End of the customer as a QuickBooks job.'},
    {
      name: 'last_job_completed_number',
      type: 'integer',
      comment: 'Last job completed: jobs.job_number.',
    },
    {name: 'last_job_completed_name', type: 'text', comment: 'Name of the last job completed.'},
    {name: 'last_job_completed_at', type: 'instant', comment: 'When the last job was completed.'},
    {
      name: 'send_notifications',
      type: 'boolean',
      comment: 'True if the customer is notified at all.',
    },
    {name: 'send_reminders', type: 'boolean', comment: 'True if the customer gets reminders.'},
    {name: 'notify_via_email', type: 'boolean', comment: 'True if notifications go by e-mail.'},
    {
      name: 'notify_via_sms',
      type: 'boolean',
      comment: 'True if notifications go by text message.',
    },
    {
      name: 'notification_email',
      type: 'text',
      comment: 'Further e-mail address for notifications.',
    },
    {
      name: 'notification_email_address',
      type: 'text',
      comment: 'E-mail address for notifications.',
    },
    {name: 'notification_phone_number', type: 'text', comment: 'Phone number for notifications.'},
    {name: 'qb_error', type: 'text', comment: 'What QuickBooks said when it refused the customer.'},
    {name: 'created_by', type: 'integer', comment: 'Who created the customer: employees.id.'},
    {name: 'updated_by', type: 'integer', comment: 'Who last changed the customer: employees.id.'},
    {name: 'created_at', type: 'instant', comment: 'When the customer was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the customer was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the customer deleted.'},
  ],
});

/** @see docs/service.md "Fields" */
export const customers: Stream = {
  name: 'customers',
  path: '/customers.xml',
  list: 'customers',
  item: 'customer',
  key: 'customer_number',
  isPaged: true,
  takesOnly: true,
  isCountedPerAccount: true,
  isDeletable: true,
  isMergeable: true,
  include: ['contacts', 'notes', 'tax_entity'],
  listedAt: (customerNumber) => ({
    path: '/customers.xml',
    query: {customer_number: customerNumber},
  }),
  table,
  children: [
    {
      element: 'contacts',
      item: 'contact',
      table: contacts,
      parentColumns: {customer_number: 'customer_number', customer_id: 'id'},
      isOwned: true,
    },
    {
      element: 'notes',
      item: 'note',
      table: customerNotes,
      parentColumns: {customer_number: 'customer_number', customer_id: 'id'},
      isOwned: true,
      hasPath: true,
    },
    {element: 'tax_entity', item: null, table: taxEntities, parentColumns: {}, isOwned: false},
    {
      element: 'children',
      item: 'child',
      table,
      parentColumns: {},
      isOwned: false,
      isOfStream: true,
    },
  ],
  // Jobs and tasks are separate streams.
  ignored: ['jobs', 'tasks'],
  derived: {},
  filters: {
    customer_number: 'number',
    ...Object.fromEntries(
      [
        'name',
        'phone_number',
        'fax',
        'email_address',
        ...listAddressFields('service'),
        ...listAddressFields('billing'),
      ].map((name) => [name, 'text' as const]),
    ),
  },
  windows: {},
};

/** @see docs/service.md "Fields that may be written" */
export const customerWrites: Writes = {
  table,
  resource: 'customer',
  stream: 'customers',
  operations: ['create', 'update', 'delete'],
  key: 'customer_number',
  parent: null,
  list: 'customers',
  isNested: false,
  timeShape: null,
};
