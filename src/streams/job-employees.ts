import {mirrorTable} from './mirror-table.ts';

/** Links only: the employees themselves come with their own stream. */
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
