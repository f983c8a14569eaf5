// The streams of employees and of their tasks: appointments and things to do.

import {TIME_SHAPES} from '../api/value-types.ts';
import {type Stream, spans, type Writes} from './stream.ts';
import {mirrorTable} from './table.ts';

// Only `fieldmirror employees login` sets these fields, together with a password.
const neverWritten = {onCreate: false, onUpdate: false} as const;

// The service sends password hashes and tokens with its employees: they are dropped by name
// (values.ts). Custom fields and QuickBooks ids are in `extra`. See docs/service.md,
// "Fields".
const employeeTable = mirrorTable('employees', {
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
  table: employeeTable,
  children: [],
  ignored: [],
  derived: {},
  filters: {},
  windows: {},
};

/** Only push/set-login.ts writes a login. @see docs/service.md "Fields that may be written" */
export const employeeWrites: Writes = {
  table: employeeTable,
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

// A task may contain excerpts of its job, customer and employees: those are in `extra`. See
// docs/service.md "Fields".
const taskTable = mirrorTable('tasks', {
  comment: 'Entries of the schedule: appointments and things to do.',
  key: ['id'],
  indexes: [['job_id']],
  searched: {words: ['name']},
  columns: [
    {name: 'id', type: 'integer', comment: 'Identifier used in paths.'},
    {name: 'name', type: 'text', writable: {isRequired: true}, comment: 'What is to be done.'},
    {name: 'description', type: 'text', comment: 'More on what is to be done.'},
    {name: 'job_id', type: 'integer', comment: 'The job: jobs.id.'},
    {name: 'job_number', type: 'integer', comment: 'The job: jobs.job_number.'},
    {name: 'customer_id', type: 'integer', comment: 'The customer: customers.id.'},
    {name: 'customer_number', type: 'integer', comment: 'The customer: customers.customer_number.'},
    {name: 'employee_id', type: 'integer', comment: 'Who is to do it: employees.id.'},
    {
      name: 'employee_number',
      type: 'integer',
      comment: 'Who is to do it: employees.employee_number.',
    },
    {name: 'task_type_id', type: 'integer', comment: 'Kind of task.'},
    {
      name: 'scheduled_at',
      type: 'instant',
      writable: true,
      comment: 'When it begins; null while not scheduled.',
    },
    {name: 'ends_at', type: 'instant', comment: 'When it ends.'},
    {name: 'duration', type: 'decimal', comment: 'Length in minutes.'},
    {
      name: 'completed',
      type: 'boolean',
      writable: {isRequired: true, onCreate: false},
      comment: 'True once it is done.',
    },
    {name: 'completed_at', type: 'instant', comment: 'When it was done.'},
    {name: 'created_by', type: 'integer', comment: 'Who created the task: employees.id.'},
    {name: 'updated_by', type: 'integer', comment: 'Who last changed the task: employees.id.'},
    {name: 'created_at', type: 'instant', comment: 'When the task was created at the service.'},
    {
      name: 'updated_at',
      type: 'instant',
      comment: 'When the task was last touched at the service.',
    },
    {name: 'deleted_at', type: 'instant', comment: 'When the service marked the task deleted.'},
  ],
});

/** @see docs/service.md "Fields" */
export const tasks: Stream = {
  name: 'tasks',
  path: '/tasks.xml',
  list: 'tasks',
  item: 'task',
  key: 'id',
  isPaged: true,
  takesOnly: false,
  isCountedPerAccount: false,
  isDeletable: true,
  isMergeable: false,
  include: [],
  listedAt: null,
  table: taskTable,
  children: [],
  ignored: [],
  derived: {job_number: ['job', 'job_number'], customer_number: ['customer', 'customer_number']},
  filters: {scheduled_at: spans, completed: ['true', 'false'], employee_number: 'number'},
  windows: {
    open: {completed: 'false'},
    today: {scheduled_at: 'today'},
    this_week: {scheduled_at: 'this_week'},
  },
};

/** A task's completion can be changed, but not set on a new task. @see docs/service.md "Filters" */
export const taskWrites: Writes = {
  table: taskTable,
  resource: 'task',
  stream: 'tasks',
  operations: ['create', 'update', 'delete'],
  key: 'id',
  parent: null,
  list: 'tasks',
  isNested: false,
  timeShape: TIME_SHAPES.task,
};
