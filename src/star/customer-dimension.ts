import {joinAccount, localDate, type Member, type MemberColumn} from './member.ts';

/** What a customer is, by a row or by a version of it. */
export const customerColumns: readonly MemberColumn[] = [
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
    'Where the customer came from, at the service, which names none: mart.labels may.',
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
    'True where the customer is gone at the service.',
  ],
];

const parent = `LEFT JOIN {customers} AS parent ON parent.account_id = customer.account_id AND parent.id = customer.parent_id
      AND parent.customer_number IS NOT NULL`;

/** As the customers are; what they were is in the versions below. */
export const customer: Member = {
  name: 'dim_customer',
  comment: 'One row for each customer, as it is, also of those that are gone; -1 is no customer.',
  columns: customerColumns,
  from: `FROM {customers} AS customer ${parent} ${joinAccount('customer')}
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
    ['valid_to', 'customer.valid_to', 'Until when; null where it still is.'],
  ],
  from: `FROM history.customers AS customer
    LEFT JOIN warehouse.customers AS parent ON parent.account_id = customer.account_id AND parent.id = customer.parent_id
      AND parent.customer_number IS NOT NULL
    ${joinAccount('customer')}
    WHERE customer.customer_number IS NOT NULL`,
  key: ['customer_key', 'valid_from'],
  isOfVersions: true,
};
