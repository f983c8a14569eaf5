// The resources of the service as data: the fields of each, in the recorded order (docs/service.md
// "Fields"), and those that a request may set. A new field needs one word here. A list of fields is
// one text, in the order of the columns on the wire. So a person can compare it with a recording:
// `name` is a text, `name:integer` carries its type.

/**
 * How a value is written and read. Every value is kept as text, so that `275.10` and `01234` stay
 * what they are; instants are kept in UTC, `2031-01-04T14:00:00Z`.
 */
export type FieldType =
  | 'text'
  | 'integer'
  | 'decimal'
  | 'float'
  | 'boolean'
  | 'dateTime'
  | 'array'
  | 'allocations';

/** One field of a resource, under its name with underscores. */
export interface ServiceField {
  readonly name: string;
  readonly type: FieldType;
}

/**
 * A record's values by field name. A field that is absent is nil; an empty text is an empty text.
 */
export type ServiceFields = Readonly<Record<string, string | null>>;

const types: Readonly<Record<string, FieldType>> = {
  text: 'text',
  integer: 'integer',
  decimal: 'decimal',
  float: 'float',
  boolean: 'boolean',
  dateTime: 'dateTime',
  array: 'array',
  allocations: 'allocations',
};

/** Reads `id:integer name created_at:dateTime`; a type that does not exist is a bug and throws. */
function readServiceFields(text: string): readonly ServiceField[] {
  return text
    .trim()
    .split(/\s+/)
    .map((word) => {
      const [name = '', typeName = 'text'] = word.split(':');
      const type = types[typeName];
      if (type === undefined) throw new TypeError(`field ${name}: no type ${typeName}`);
      return {name, type};
    });
}

/** The custom fields 1 to 10, in triples, as customers, jobs and employees have them. */
const customTriples = repeatNumbered(
  1,
  10,
  (n) => `custom_text${n} custom_number${n}:decimal custom_datetime${n}:dateTime`,
);

/** The custom texts 11 to 20 of customers and jobs. */
const customTexts = repeatNumbered(11, 20, (n) => `custom_text${n}`);

function repeatNumbered(from: number, to: number, render: (n: number) => string): string {
  return Array.from({length: to - from + 1}, (_, index) => render(from + index)).join(' ');
}

/** One kind of record: its table, its names on the wire, its fields. */
export interface ServiceResource {
  /** The table in the schema `service`, and the list's element. */
  readonly table: Table;
  readonly element: string;
  /** The field that is used in paths. */
  readonly key: string;
  readonly fields: readonly ServiceField[];
  /**
   * The fields that a request may set; any other is ignored, as the service ignores
   * customer_number.
   */
  readonly writable: ReadonlySet<string>;
  /**
   * The only field that the documented dialect writes in one of the specification's textual shapes.
   */
  readonly textualTime: {
    readonly name: string;
    readonly shape: 'M/D/YY' | 'MM/DD/YYYY' | 'M/D/YYYY';
  } | null;
}

export type Table =
  | 'customers'
  | 'jobs'
  | 'job_charges'
  | 'employees'
  | 'time_entries'
  | 'tasks'
  | 'notes'
  | 'contacts'
  | 'job_types'
  | 'job_statuses'
  | 'tax_entities';

const listAddress = (kind: string) =>
  `${kind}_address ${kind}_address_2 ${kind}_city ${kind}_state ${kind}_zip_code ${kind}_country`;

export const customerResource = defineResource({
  table: 'customers',
  element: 'customer',
  key: 'customer_number',
  fields: `id:integer customer_number:integer origin created_at:dateTime name phone_number fax
    service_address service_city service_state service_zip_code billing_address billing_city
    billing_state billing_zip_code special_instructions email_address alt_phone_number
    parent_id:integer password_digest list_id time_created:dateTime time_modified:dateTime
    edit_sequence full_name is_active:boolean parent_ref_list_id sublevel:integer company_name
    first_name last_name phone mobile pager alt_phone email contact alt_contact
    customer_type_ref_full_name terms_ref_full_name sales_rep_ref_full_name balance:decimal
    total_balance:decimal sales_tax_code_ref_full_name item_sales_tax_ref_full_name resale_number
    account_number credit_limit:decimal preferred_payment_method_ref_full_name job_status
    job_start_date:dateTime job_projected_end_date:dateTime job_end_date:dateTime job_desc
    job_type_ref_full_name is_statement_with_parent:boolean delivery_method
    price_level_ref_full_name ${customTriples} updated_at:dateTime service_country
    billing_country sales_tax_code_ref_list_id item_sales_tax_ref_list_id ${customTexts}
    created_by:integer updated_by:integer tax_id:integer which_billing_address
    customer_type_id:integer customer_source_id:integer import_id:integer stripe_customer_id
    token remember_me_token latitude:float longitude:float company:boolean deleted_at:dateTime
    qb_error send_reminders:boolean notification_email_address notification_phone_number
    notify_via_email:boolean notify_via_sms:boolean send_notifications:boolean notification_email
    sales_terms_ref_id sales_tax_code_id:integer service_address_2 billing_address_2
    last_job_completed_number:integer last_job_completed_at:dateTime last_job_completed_name`,
  writable: `name phone_number fax email_address ${listAddress('service')} ${listAddress('billing')}
    company company_name first_name last_name contact alt_contact alt_phone_number mobile pager
    account_number special_instructions customer_type_id customer_source_id notify_via_email
    notify_via_sms is_active parent_id tax_id`,
});

export const jobResource = defineResource({
  table: 'jobs',
  element: 'job',
  key: 'job_number',
  fields: `id:integer customer_id:integer job_number:integer created_at:dateTime name
    scheduled_on:dateTime completed_on:dateTime ok_to_sync:boolean txn_id edit_sequence
    ref_number subtotal:decimal tax:decimal balance_remaining:decimal estimate_type
    self_service:boolean ${customTriples} total:decimal recurring_job_id:integer
    recurring_interval updated_at:dateTime job_type_id:integer job_status_id:integer
    recurring_end_date:dateTime customer_ref_list_id txn_number txn_date:dateTime
    sales_tax_percentage:decimal item_sales_tax_ref_list_id item_sales_tax_ref_full_name
    customer_sales_tax_code_ref_list_id customer_sales_tax_code_ref_full_name ${customTexts}
    duration:decimal ends_at:dateTime created_by:integer updated_by:integer invoice_terms
    invoice_notes estimate_terms estimate_notes tax_id:integer ship_date:dateTime
    ship_method_ref_full_name description chosen_days_of_week:array
    max_recurring_iterator:integer recurring_iterator:integer detailed_invoice:boolean
    service_type_id:integer status invoice_status invoice_date:dateTime
    invoice_sent_date:dateTime tasks_count:integer won_date:dateTime po_number
    deleted_at:dateTime schedule on_hold:dateTime estimate_scheduled_on:dateTime
    estimate_sent_on:dateTime estimate_viewed_on:dateTime invoice_viewed_on:dateTime
    lost_date:dateTime started_on:dateTime canceled_on:dateTime qb_error invoice_paid_on:dateTime
    notification_sent:boolean total_expenses:decimal recurring_date:dateTime
    job_allocations:allocations last_recurring_date:dateTime recurring_ended:boolean`,
  // `status` is our addition: the specification shows no way to finish a job, and a sandbox needs
  // one.
  writable: `name description scheduled_on ends_at duration po_number job_type_id job_status_id
    employee_ids status`,
  textualTime: {name: 'scheduled_on', shape: 'M/D/YY'},
});

export const jobCharges = defineResource({
  table: 'job_charges',
  element: 'job_charge',
  fields: `id:integer job_id:integer created_on:dateTime description quantity:decimal
    price_per_unit:decimal item_id:integer qb_txn_line_id details item_ref_list_id txn_line_id
    total:decimal job_charge_type_id:integer updated_by:integer recurring_item_parent_id:integer
    deleted_at:dateTime tax_id:integer sales_tax_code_id:integer discount:decimal
    updated_at:dateTime sort_order:integer`,
  writable: 'item_id details quantity price_per_unit description discount job_charge_type_id',
});

export const employeeResource = defineResource({
  table: 'employees',
  element: 'employee',
  key: 'employee_number',
  fields: `id:integer account_id:integer list_id edit_sequence employee_number:integer
    hired_date:dateTime created_at:dateTime name username password_salt encrypted_password
    email_address is_account_owner:boolean active:boolean can_login:boolean address city state
    zip_code home_phone cell_phone pager notify_via_email:boolean notify_via_mobile:boolean
    notification_email_address notification_mobile_number notification_mobile_host remember_token
    remember_me_token_expires_at:dateTime ${customTriples} updated_at:dateTime`,
  writable: `name can_login username password active email_address address city state zip_code
    home_phone cell_phone pager hired_date notify_via_email notify_via_mobile`,
});

export const timeEntries = defineResource({
  table: 'time_entries',
  element: 'time_entry',
  fields: `id:integer job_id:integer employee_id:integer started_on:dateTime ended_on:dateTime
    number_of_hours:decimal note mileage:decimal billable:boolean time_entry_type_id:integer
    created_by:integer updated_by:integer created_at:dateTime updated_at:dateTime`,
  writable:
    'employee_id started_on number_of_hours ended_on note mileage billable time_entry_type_id',
  textualTime: {name: 'started_on', shape: 'MM/DD/YYYY'},
});

export const taskResource = defineResource({
  table: 'tasks',
  element: 'task',
  fields: `id:integer job_id:integer customer_id:integer employee_id:integer task_type_id:integer
    name description scheduled_at:dateTime ends_at:dateTime duration:decimal completed:boolean
    completed_at:dateTime created_by:integer updated_by:integer created_at:dateTime
    updated_at:dateTime`,
  writable: `name scheduled_at completed description duration ends_at employee_id job_id
    customer_id task_type_id`,
  textualTime: {name: 'scheduled_at', shape: 'M/D/YYYY'},
});

export const notes = defineResource({
  table: 'notes',
  element: 'note',
  fields: `id:integer noteable_id:integer noteable_type note public:boolean created_by:integer
    updated_by:integer created_at:dateTime updated_at:dateTime`,
  writable: 'note public',
});

export const contacts = defineResource({
  table: 'contacts',
  element: 'contact',
  fields: `id:integer customer_id:integer name first_name last_name title phone_number mobile
    email_address primary:boolean created_at:dateTime updated_at:dateTime`,
});

export const jobTypes = defineResource({
  table: 'job_types',
  element: 'job_type',
  fields: `id:integer name description duration:decimal active:boolean created_at:dateTime
    updated_at:dateTime`,
});

export const jobStatuses = defineResource({
  table: 'job_statuses',
  element: 'job_status',
  fields: 'id:integer name color active:boolean created_at:dateTime updated_at:dateTime',
});

export const taxEntityResource = defineResource({
  table: 'tax_entities',
  element: 'tax_entity',
  fields: `id:integer name description tax_rate:decimal agency active:boolean created_at:dateTime
    updated_at:dateTime`,
});

interface Definition
  extends Pick<ServiceResource, 'table' | 'element'>,
    Partial<Pick<ServiceResource, 'key' | 'textualTime'>> {
  readonly fields: string;
  readonly writable?: string;
}

function defineResource({
  table,
  element,
  key = 'id',
  fields,
  writable = '',
  textualTime = null,
}: Definition): ServiceResource {
  const names = new Set(writable.split(/\s+/).filter((name) => name !== ''));
  return {table, element, key, fields: readServiceFields(fields), writable: names, textualTime};
}
