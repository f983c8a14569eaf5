import {joinAccount, localDate, type Member, type MemberColumn} from './member.ts';

const columns: readonly MemberColumn[] = [
  ['employee_key', 'employee.row_id', 'Key of the employee; it never changes.'],
  ['account_key', 'employee.account_id', 'The account: dim_account.'],
  ['employee_number', 'employee.employee_number', 'Number the service gave the employee.'],
  ['employee_id', 'employee.id', 'Internal key at the service.'],
  ['name', 'employee.name', 'Display name.', 'employee_key'],
  ['is_active', 'employee.active', 'False once the employee was made inactive.'],
  ['is_account_owner', 'employee.is_account_owner', 'True for the owner of the account.'],
  ['hired_date', localDate('employee.hired_date'), 'When the employee was hired.'],
];

export const employee: Member = {
  name: 'dim_employee',
  comment: 'One row for each employee, as they are; -1 is nobody.',
  columns: [
    ...columns,
    [
      'is_technician',
      `coalesce((employee.account_id, employee.id) IN (
          SELECT held.account_id, held.employee_id FROM {job_employees} AS held WHERE held.employee_id IS NOT NULL
           UNION ALL
          SELECT entry.account_id, entry.employee_id FROM {time_entries} AS entry WHERE entry.employee_id IS NOT NULL), false)`,
      'True where the employee was ever assigned to a job or has hours on one: the service itself does not say who is a technician.',
    ],
  ],
  from: `FROM {employees} AS employee ${joinAccount('employee')} WHERE employee.employee_number IS NOT NULL`,
  missing: {employee_key: '-1', name: `'Nobody'`, is_technician: 'false'},
};

export const employeeVersion: Member = {
  name: 'dim_employee_version',
  comment: 'One row for each employee and span of time, as they were then.',
  columns: [
    ...columns,
    ['valid_from', 'employee.valid_from', 'From when on the employee was so.'],
    ['valid_to', 'employee.valid_to', 'Until when; null where they still are.'],
  ],
  from: `FROM history.employees AS employee ${joinAccount('employee')} WHERE employee.employee_number IS NOT NULL`,
  key: ['employee_key', 'valid_from'],
  isOfVersions: true,
};
