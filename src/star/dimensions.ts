// The dimensions of the star: accounts, customers, employees, kinds and statuses of jobs, taxes,
// items.

import {isLiveRow, joinAccount, localDate, type Member, type MemberColumn} from './member.ts';

/**
 * The certified sweeps of an account that had ended by the moment. Of those that were folded into
 * their day, the first and the last are known: a moment between them counts by the first, so no
 * data look fresher than they were.
 */
const proofs = `(
               SELECT stream, started_at, ended_at FROM sync.sweeps
                WHERE account_id = account.account_id AND mode = 'full' AND state = 'certified'
                  AND ended_at <= {now}
                UNION ALL
               SELECT stream,
                      CASE WHEN last_ended_at <= {now} THEN last_started_at
                           ELSE first_started_at END, first_ended_at FROM sync.sweep_days
                WHERE account_id = account.account_id AND mode = 'full'
                  AND first_ended_at <= {now})`;

/**
 * The zone, the settings and the freshness of an account: readers have no right to `sync.accounts`.
 */
export const account: Member = {
  name: 'dim_account',
  comment: 'One row for each account: its zone, its settings, and how fresh its data is.',
  columns: [
    [
      'account_key',
      'account.account_id',
      'Number of the account: in every row of a fact, and in every row of a dimension that has ' +
        'the column, but for row -1.',
    ],
    ['name', 'account.name', 'Short name of the account.'],
    [
      'time_zone',
      'account.time_zone',
      'IANA zone of the account: every date of the star is a date there.',
    ],
    [
      'currency',
      'settings.currency',
      'Currency of every amount of the account; null until it is set.',
    ],
    [
      'working_hours',
      'settings.working_hours',
      'Hours that one technician works on Monday to Sunday; null until they are set.',
    ],
    [
      'repeat_visit_days',
      'coalesce(settings.repeat_visit_days, 30)',
      'Within how many days another job of the same kind is a repeat visit.',
    ],
    [
      'on_time_grace_minutes',
      'coalesce(settings.on_time_grace_minutes, 15)',
      'How late a job may begin and still be on time, in minutes.',
    ],
    [
      'today',
      '({now} AT TIME ZONE account.time_zone)::date',
      'The date in the account: the day that ages are counted to.',
    ],
    [
      'known_since',
      'known.since',
      'Since when the mirror knows the account: the first time that jobs, ' +
        'customers and employees were all proven complete. Earlier moments are not known, ' +
        'nor are those whose versions are no longer kept.',
    ],
    [
      'jobs_fresh_as_of',
      'fresh.as_of',
      'When the latest sweep that proved the jobs complete began.',
    ],
  ],
  from: `FROM sync.accounts AS account
    LEFT JOIN mart.settings AS settings ON settings.account_key = account.account_id
    LEFT JOIN LATERAL (
      SELECT CASE WHEN count(*) = 3
                  THEN greatest(max(first_at), (SELECT pruned_to FROM sync.retention
                                                 WHERE kind = 'versions')) END AS since
        FROM (SELECT min(proof.ended_at) AS first_at FROM ${proofs} AS proof
               WHERE proof.stream IN ('jobs', 'customers', 'employees')
               GROUP BY proof.stream) AS streams
    ) AS known ON true
    LEFT JOIN LATERAL (
      SELECT max(proof.started_at) AS as_of FROM ${proofs} AS proof WHERE proof.stream = 'jobs'
    ) AS fresh ON true`,
};

/** The columns of a customer, from a row or from a version of it. */
const customerColumns: readonly MemberColumn[] = [
  ['customer_key', 'customer.row_id', 'Key of the customer; it never changes.'],
  ['account_key', 'customer.account_id', 'The account: dim_account.'],
  ['customer_number', 'customer.customer_number', 'Number the service gave the customer.'],
  ['name', 'customer.name', 'Display name.', 'customer_key'],
  [
    'kind',
    `CASE customer.company WHEN true THEN 'company' WHEN false THEN 'person' ELSE 'unknown' END`,
    'company, person or unknown.',
  ],
  ['city', `nullif(btrim(customer.service_city), '')`, 'City of the service address.'],
  ['state', `nullif(btrim(customer.service_state), '')`, 'State of the service address.'],
  [
    'zip5',
    `nullif(left(btrim(customer.service_zip_code), 5), '')`,
    'First five characters of the postal code of the service address.',
  ],
  [
    'group_key',
    'coalesce(parent.row_id, customer.row_id)',
    'The customer that this one is a branch of, else itself: dim_customer.',
  ],
  [
    'group_name',
    'coalesce(parent.name, customer.name)',
    'Name of the customer that this one is a branch of, else its own.',
    'group_key',
  ],
  [
    'customer_type_id',
    'customer.customer_type_id',
    'Kind of customer at the service, which names none: mart.labels may.',
  ],
  [
    'customer_source_id',
    'customer.customer_source_id',
    'The source of the customer: a number; mart.labels may have its name.',
  ],
  ['origin', 'customer.origin', 'How the customer came into the service.'],
  ['is_active', 'customer.is_active', 'False once the customer was made inactive.'],
  [
    'created_date',
    localDate('customer.created_at'),
    'When the customer was created at the service.',
  ],
  [
    'books_balance',
    'customer.balance',
    'What the customer owes as QuickBooks says it; fct_job.receivable is what the jobs say.',
  ],
  [
    'is_deleted',
    'customer._deleted_at IS NOT NULL',
    'True if the customer was deleted at the service.',
  ],
];

const parentJoin = `LEFT JOIN {customers} AS parent ON parent.account_id = customer.account_id
    AND parent.id = customer.parent_id
      AND parent.customer_number IS NOT NULL`;

/** The customers as they are now; the versions below have their past. */
export const customer: Member = {
  name: 'dim_customer',
  comment: 'One row for each customer, as it is now, deleted ones included; -1 is no customer.',
  columns: customerColumns,
  from: `FROM {customers} AS customer ${parentJoin} ${joinAccount('customer')}
    WHERE customer.customer_number IS NOT NULL`,
  missing: {
    customer_key: '-1',
    name: `'Unknown'`,
    kind: `'unknown'`,
    group_key: '-1',
    group_name: `'Unknown'`,
    is_deleted: 'false',
  },
};

export const customerVersion: Member = {
  name: 'dim_customer_version',
  comment: 'One row for each customer and span of time, as the customer was then.',
  columns: [
    ...customerColumns,
    ['valid_from', 'customer.valid_from', 'From when on the customer was so.'],
    ['valid_to', 'customer.valid_to', 'Until when; null if it still is.'],
  ],
  from: `FROM history.customers AS customer
    LEFT JOIN warehouse.customers AS parent ON parent.account_id = customer.account_id
     AND parent.id = customer.parent_id
      AND parent.customer_number IS NOT NULL
    ${joinAccount('customer')}
    WHERE customer.customer_number IS NOT NULL`,
  key: ['customer_key', 'valid_from'],
  isOfVersions: true,
};

const employeeColumns: readonly MemberColumn[] = [
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
  comment: 'One row for each employee, as they are now; -1 is no employee.',
  columns: [
    ...employeeColumns,
    [
      'is_technician',
      `coalesce((employee.account_id, employee.id) IN (
          SELECT held.account_id, held.employee_id FROM {job_employees} AS held
           WHERE held.employee_id IS NOT NULL
           UNION ALL
          SELECT entry.account_id, entry.employee_id FROM {time_entries} AS entry
           WHERE entry.employee_id IS NOT NULL), false)`,
      'True if the employee was ever assigned to a job or has hours on one: ' +
        'the service itself does not say who is a technician.',
    ],
  ],
  from: `FROM {employees} AS employee ${joinAccount('employee')}
      WHERE employee.employee_number IS NOT NULL`,
  missing: {employee_key: '-1', name: `'Nobody'`, is_technician: 'false'},
};

export const employeeVersion: Member = {
  name: 'dim_employee_version',
  comment: 'One row for each employee and span of time, as they were then.',
  columns: [
    ...employeeColumns,
    ['valid_from', 'employee.valid_from', 'From when on the employee was so.'],
    ['valid_to', 'employee.valid_to', 'Until when; null if they still are.'],
  ],
  from: `FROM history.employees AS employee ${joinAccount('employee')}
      WHERE employee.employee_number IS NOT NULL`,
  key: ['employee_key', 'valid_from'],
  isOfVersions: true,
};

export const jobType: Member = {
  name: 'dim_job_type',
  comment: 'One row for each kind of job; -1 is no kind.',
  columns: [
    ['job_type_key', 'kind.row_id', 'Key of the kind of job; it never changes.'],
    ['account_key', 'kind.account_id', 'The account: dim_account.'],
    ['job_type_id', 'kind.id', 'Internal key at the service.'],
    ['name', 'kind.name', 'Name of the kind of job.'],
    ['usual_minutes', 'kind.duration', 'How long such a job usually takes.'],
  ],
  from: 'FROM {job_types} AS kind WHERE kind.id IS NOT NULL',
  missing: {job_type_key: '-1', name: `'No type'`},
};

export const jobStatus: Member = {
  name: 'dim_job_status',
  comment: 'One row for each status that the account has defined; -1 is no status.',
  columns: [
    ['job_status_key', 'status.row_id', 'Key of the status; it never changes.'],
    ['account_key', 'status.account_id', 'The account: dim_account.'],
    ['job_status_id', 'status.id', 'Internal key at the service.'],
    ['name', 'status.name', 'Name of the status.'],
    ['color', 'status.color', 'Colour the status is shown in.'],
  ],
  from: 'FROM {job_statuses} AS status WHERE status.id IS NOT NULL',
  missing: {job_status_key: '-1', name: `'No status'`},
};

export const taxEntity: Member = {
  name: 'dim_tax_entity',
  comment: 'One row for each tax; -1 is no tax.',
  columns: [
    ['tax_entity_key', 'tax.row_id', 'Key of the tax; it never changes.'],
    ['account_key', 'tax.account_id', 'The account: dim_account.'],
    ['tax_id', 'tax.id', 'Internal key at the service.'],
    ['name', 'tax.name', 'Name of the tax.'],
    ['tax_rate', 'tax.tax_rate', 'Rate of the tax.'],
    ['agency', 'tax.agency', 'Whom the tax is paid to.'],
  ],
  from: 'FROM {tax_entities} AS tax WHERE tax.id IS NOT NULL',
  missing: {tax_entity_key: '-1', name: `'No tax'`},
};

/** The key of an item: the service gives no catalogue, so an item is known by its lines alone. */
export const itemKey = `charge.account_id || ':' || coalesce(charge.item_id::text, 'none')`;

export const item: Member = {
  name: 'dim_item',
  comment: 'One row for each item that was ever charged: the service gives no catalogue.',
  columns: [
    ['item_key', 'item.item_key', 'Key of the item: its account and its number at the service.'],
    ['account_key', 'item.account_id', 'The account: dim_account.'],
    ['item_id', 'item.item_id', 'Internal key at the service; null for lines without an item.'],
    [
      'name',
      `CASE WHEN item.item_id IS NULL THEN 'No item' ELSE item.description END`,
      'What the latest line with the item calls it.',
    ],
    [
      'category',
      `CASE WHEN item.item_id IS NOT NULL AND strpos(item.description, ':') > 0
            THEN btrim(split_part(item.description, ':', 1)) END`,
      'The part of its name before the colon; null if it has no colon.',
    ],
  ],
  // The latest line is looked up by its key. With a join, Postgres expects one item in a warehouse,
  // and repeats the work on items for each of them.
  from: `FROM (
      SELECT latest.account_id || ':' || coalesce(latest.item_id::text, 'none') AS item_key,
             latest.account_id, latest.item_id,
             (SELECT charge.description FROM {job_charges} AS charge
               WHERE charge.account_id = latest.account_id AND charge.id = latest.id) AS description
        FROM (SELECT line.account_id, line.item_id, max(line.id) AS id FROM {job_charges} AS line
               WHERE ${isLiveRow('line', 'id')} GROUP BY line.account_id, line.item_id) AS latest
    ) AS item`,
};
