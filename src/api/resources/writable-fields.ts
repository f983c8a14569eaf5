/** How a field's text is checked before it is written. */
export type FieldKind = 'text' | 'decimal' | 'integer' | 'boolean' | 'ids';

export type Resource = 'customer' | 'job' | 'job_charge' | 'employee' | 'time_entry' | 'task' | 'note';

/**
 * The fields that a request may hold, by resource: those of the specification, and those that the newer description
 * names as writable. What a stream lets users write is its own matter; this list keeps anything else off the wire.
 * `customer_number`, ids and totals are the service's and missing here on purpose.
 * @see docs/service.md "Fields"
 */
export const WRITABLE_FIELDS: Readonly<Record<Resource, ReadonlyMap<string, FieldKind>>> = {
  customer: makeFields({
    text:
      'name phone_number fax email_address service_address service_city service_zip_code service_state service_country ' +
      'billing_address billing_city billing_zip_code billing_state billing_country ' +
      'company_name first_name last_name contact alt_contact alt_phone_number mobile account_number ' +
      'service_address_2 billing_address_2',
    integer: 'customer_type_id customer_source_id',
    boolean: 'company notify_via_email notify_via_sms is_active',
  }),
  job: makeFields({
    text: 'name scheduled_on description ends_at po_number',
    integer: 'job_type_id job_status_id',
    decimal: 'duration',
    boolean: 'estimate',
    ids: 'employee_ids',
  }),
  job_charge: makeFields({
    text: 'details description',
    integer: 'item_id job_charge_type_id',
    decimal: 'quantity price_per_unit discount',
  }),
  employee: makeFields({text: 'name username password email_address', boolean: 'can_login active'}),
  time_entry: makeFields({
    text: 'started_on ended_on note',
    integer: 'employee_id time_entry_type_id',
    decimal: 'number_of_hours mileage',
    boolean: 'billable',
  }),
  task: makeFields({
    text: 'name scheduled_at ends_at description',
    integer: 'job_id task_type_id customer_id',
    decimal: 'duration',
    boolean: 'completed',
    ids: 'employee_ids',
  }),
  note: makeFields({text: 'note', boolean: 'public'}),
};

function makeFields(names: Partial<Record<FieldKind, string>>): ReadonlyMap<string, FieldKind> {
  const kinds: readonly FieldKind[] = ['text', 'decimal', 'integer', 'boolean', 'ids'];
  return new Map(
    kinds.flatMap((kind) =>
      (names[kind] ?? '')
        .split(' ')
        .filter(Boolean)
        .map((name) => [name, kind]),
    ),
  );
}
