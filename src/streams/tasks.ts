import {TIME_SHAPES} from '../api/value-types.ts';
import {type Stream, spans, type Writes} from './stream.ts';
import {mirrorTable} from './table.ts';

// A task may contain excerpts of its job, customer and employees: those are in `extra`. See
// docs/service.md "Fields".
const table = mirrorTable('tasks', {
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
  table,
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
  table,
  resource: 'task',
  stream: 'tasks',
  operations: ['create', 'update', 'delete'],
  key: 'id',
  parent: null,
  list: 'tasks',
  isNested: false,
  timeShape: TIME_SHAPES.task,
};
