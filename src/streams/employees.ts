import type {Stream, Writes} from './stream.ts';
import {mirrorTable} from './table.ts';

// Only `fieldmirror employees login` sets these fields, together with a password.
const neverWritten = {onCreate: false, onUpdate: false} as const;

// The service sends password hashes and tokens with its employees: they are dropped by name
// (secret-values.ts). Custom fields and QuickBooks ids are in `extra`. See docs/service.md,
// "Fields".
const table = mirrorTable('employees', {
  comment: 'Employees of the account; one is made inactive, never deleted.',
  key: ['employee_number'],
  indexes: [['id']],
  searched: {words: ['name', 'email_address'], phones: ['home_phone', 'cell_phone']},
  columns: [
    {
      name: 'id',
      type: 'integer',
      comment: 'Internal key; other records point at it as employee_id.',
    },
    {name: 'employee_number', type: 'integer', comment: 'Number the service gave the employee.'},
    {name: 'name', type: 'text', writable: {isRequired: true}, comment: 'Display name.'},
    {name: 'username', type: 'text', writable: neverWritten, comment: 'Name to log in with.'},
    {name: 'active', type: 'boolean', comment: 'False once the employee was made inactive.'},
    {
      name: 'can_login',
      type: 'boolean',
      writable: neverWritten,
      comment: 'True if the employee may log in.',
    },
    {name: 'admin', type: 'boolean', comment: 'True for an administrator.'},
    {name: 'is_account_owner', type: 'boolean', comment: 'True for the owner of the account.'},
    {
      name: 'limit_access_to_assignments',
      type: 'boolean',
      comment: 'True if only own work can be seen.',
    },
    {name: 'hired_date', type: 'instant', comment: 'When the employee was hired.'},
    {name: 'email_address', type: 'text', comment: 'E-mail address.'},
    {name: 'home_phone', type: 'text', comment: 'Private phone number.'},
    {name: 'cell_phone', type: 'text', comment: 'Mobile phone number.'},
    {name: 'pager', type: 'text', comment: 'Pager number.'},
    {name: 'address', type: 'text', comment: 'Home address: street.'},
    {name: 'city', type: 'text', comment: 'Home address: city.'},
    {name: 'state', type: 'text', comment: 'Home address: state.'},
    {
      name: 'zip_code',
      type: 'text',
      comment: 'Home address: postal code, leading zeros kept.',
    },
    {name: 'notify_via_email', type: 'boolean', comment: 'True if notifications go by e-mail.'},
    {
      name: 'notify_via_mobile',
      type: 'boolean',
      comment: 'True if notifications go to the mobile phone.',
    },
    {
      name: 'notification_email_address',
      type: 'text',
      comment: 'E-mail address for notifications.',
    },
    {name: 'notification_mobile_number', type: 'text', comment: 'Mobile number for notifications.'},
    {name: 'notification_mobile_host', type: 'text', comment: 'Mail gateway of the mobile phone.'},
    {name: 'created_at', type: 'instant', comment: 'When the employee was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the employee was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the employee deleted.'},
  ],
});

/** @see docs/service.md "Fields" */
export const employees: Stream = {
  name: 'employees',
  path: '/employees.xml',
  list: 'employees',
  item: 'employee',
  key: 'employee_number',
  isPaged: false,
  takesOnly: false,
  isCountedPerAccount: true,
  isDeletable: false,
  isMergeable: false,
  include: [],
  listedAt: null,
  table,
  children: [],
  ignored: [],
  derived: {},
  filters: {},
  windows: {},
};

/** Only push/set-login.ts writes a login. @see docs/service.md "Fields that may be written" */
export const employeeWrites: Writes = {
  table,
  resource: 'employee',
  stream: 'employees',
  operations: ['create', 'update'],
  hint: 'An employee is made inactive in the service itself, never deleted.',
  key: 'employee_number',
  parent: null,
  list: 'employees',
  isNested: false,
  timeShape: null,
};
