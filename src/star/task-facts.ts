import {joinAccount, keyOr, liveRow, localDate, type Member} from './member.ts';

/** Tasks name their job, customer and employee by internal key: the numbers are mostly empty. */
export const task: Member = {
  name: 'fct_task',
  comment: 'One row for each task: an appointment, or something to do.',
  columns: [
    ['task_key', 'task.row_id', 'Key of the task; it never changes.'],
    ['account_key', 'task.account_id', 'The account: dim_account.'],
    ['job_key', keyOr('job'), 'The job: fct_job; -1 is none.'],
    ['customer_key', keyOr('customer'), 'The customer: dim_customer.'],
    ['employee_key', keyOr('employee'), 'Who is to do it: dim_employee.'],
    ['name', 'task.name', 'What is to be done.', 'task_key'],
    ['scheduled_at', 'task.scheduled_at', 'When it begins; null while not scheduled.'],
    ['scheduled_date', localDate('task.scheduled_at'), 'Date of scheduled_at.'],
    [
      'completed_date',
      `CASE WHEN task.completed THEN ${localDate('coalesce(task.completed_at, task.updated_at)')} END`,
      'When it was done.',
    ],
    ['created_date', localDate('task.created_at'), 'When it was created.'],
    ['is_completed', 'coalesce(task.completed, false)', 'True once it is done.'],
    ['planned_minutes', 'task.duration', 'Planned length in minutes.'],
  ],
  from: `FROM {tasks} AS task ${joinAccount('task')}
    LEFT JOIN {jobs} AS job ON job.account_id = task.account_id AND job.id = task.job_id AND ${liveRow('job', 'job_number')}
    LEFT JOIN {customers} AS customer ON customer.account_id = task.account_id AND customer.id = task.customer_id AND customer.customer_number IS NOT NULL
    LEFT JOIN {employees} AS employee ON employee.account_id = task.account_id AND employee.id = task.employee_id AND employee.employee_number IS NOT NULL
    WHERE ${liveRow('task', 'id')}`,
};
