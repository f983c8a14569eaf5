import {TIME_SHAPES} from '../api/time-shapes.ts';
import {mirrorTable} from './mirror-table.ts';
import type {Writes} from './writes.ts';

/** @see docs/service.md "Fields" */
export const timeEntries = mirrorTable('time_entries', {
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
    {name: 'billable', type: 'boolean', comment: 'True where the customer pays for the hours.'},
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
