// The employees of the made-up business, and its customers with their contacts, notes and calls to
// make.

import type {BusinessPlan} from './business-plan.ts';
import type {ServiceRow} from './database.ts';
import {makeUpCredentials, owner, taxes} from './foundation.ts';
import type {ServiceFields} from './resource.ts';
import {
  instructionCount,
  makeFirm,
  makeInstruction,
  makeMail,
  makePerson,
  makePhone,
  makeRemark,
  makeStreet,
  makeTown,
  type Person,
  type Random,
  workCatalogue,
  writeMoney,
} from './vocabulary.ts';

const HEX = '0123456789abcdef';

/** The owner's token in a business of this seed. */
export function makeOwnerToken(plan: BusinessPlan): string {
  return makeToken(plan.random('token', 0));
}

/** The office and the technicians; the owner is of the foundation. The last technician has left. */
export function makeEmployees(plan: BusinessPlan): readonly ServiceRow[] {
  return Array.from({length: plan.employees - 1}, (_, index) => makeEmployee(plan, index + 1));
}

function makeEmployee(plan: BusinessPlan, index: number): ServiceRow {
  const random = plan.random('employee', index);
  const token = makeToken(plan.random('token', index));
  const isTechnician = index >= plan.technician(0);
  const hasLeft = index === plan.employees - 1;
  const hired = plan.calendar.at(
    plan.calendar.today - plan.calendar.days - random.integer(30, 2000),
    480,
  );
  const person = makePerson(random);
  const fields: ServiceFields = {
    ...makeUpCredentials(token),
    ...makeHomeAddress(random),
    id: plan.employeeId(index),
    account_id: '1',
    employee_number: String(Number(owner.number) + index),
    hired_date: hired,
    created_at: hired,
    updated_at: plan.calendar.at(
      plan.calendar.today - random.integer(1, 80),
      480 + random.integer(0, 500),
    ),
    name: `${person.first} ${person.last}`,
    username: `${person.first
      .normalize('NFD')
      .replaceAll(/[^A-Za-z]/g, '')
      .toLowerCase()}${index}`,
    email_address: makeMail(person, index),
    cell_phone: makePhone(random),
    is_account_owner: 'false',
    active: String(!hasLeft),
    can_login: String(!hasLeft),
    notify_via_email: String(random.isTrue(0.6)),
    notify_via_mobile: 'false',
    custom_text1: isTechnician ? listSkills(plan, index) : 'Office',
    custom_number1: isTechnician ? `${random.integer(2, 30)}.0` : null,
  };
  // This hash matches no known password: the password is set through the API.
  return {
    table: 'employees',
    fields,
    beside: {token, password_hash: `${random.text(32, HEX)}:${random.text(64, HEX)}`},
  };
}

function makeHomeAddress(random: Random): ServiceFields {
  const {city, state, zip} = makeTown(random);
  return {
    address: makeStreet(random),
    city,
    state,
    zip_code: zip,
    home_phone: random.isTrue(0.3) ? makePhone(random) : '',
  };
}

function listSkills(plan: BusinessPlan, index: number): string {
  return workCatalogue
    .filter((_, work) => plan.isSkilled(index, work))
    .map(({name}) => name)
    .join(', ');
}

function makeToken(random: Random): string {
  return random.text(40, HEX);
}

const URL_SAFE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';

const firmShare = 0.35;
/** The ids of a customer's child records, as places within the ids of the customer. */
const idOffsets = {contacts: 1, notes: 3, call: 5} as const;

/** @param ledger - the entries of the customers' jobs, which must have been made up before */
export function makeCustomer(
  plan: BusinessPlan,
  index: number,
  ledger: Ledger,
): readonly ServiceRow[] {
  const random = plan.random('customer', index);
  const isOfFirm = random.isTrue(firmShare);
  const person = makePerson(random);
  const arrival = plan.arrivalOf(index);
  const createdAt = makeArrivalTime(plan, index);
  const {id, number} = plan.customer(index);
  const fields: ServiceFields = {
    ...makeIdentity(plan, index, {random, person, isFirm: isOfFirm}),
    ...makeAddresses(random),
    ...makeAccounting(random, index),
    ...ledger.summaryOf(index),
    id,
    customer_number: number,
    origin: random.pick(['manual', 'manual', 'import', 'web']),
    created_at: createdAt,
    updated_at: drawLastEdit(plan, {arrival, createdAt, random}),
    tax_id: findTaxId(plan, index),
    token: random.text(43, URL_SAFE),
    special_instructions:
      random.isTrue(0.2) || index < instructionCount ? makeInstruction(index) : null,
    created_by: plan.officeId(random),
    updated_by: plan.officeId(random),
  };
  return [{table: 'customers', fields}, ...makeChildren(plan, {fields, random, isFirm: isOfFirm})];
}

/** The arrival of a customer: just before the first call of that day. */
export function makeArrivalTime(plan: BusinessPlan, index: number): string {
  return plan.calendar.at(plan.arrivalOf(index), 479);
}

/**
 * The time of a later edit, at the latest yesterday. For a customer that came yesterday or today,
 * it is the time of creation.
 */
function drawLastEdit(
  plan: BusinessPlan,
  {
    arrival,
    createdAt,
    random,
  }: {readonly arrival: number; readonly createdAt: string; readonly random: Random},
): string {
  const yesterday = plan.calendar.today - 1;
  if (arrival >= yesterday) return createdAt;
  return plan.calendar.at(random.integer(arrival + 1, yesterday), random.integer(481, 1020));
}

/** Whether a customer is a firm. This is the first value drawn from the customer's own chance. */
export function isFirm(plan: BusinessPlan, index: number): boolean {
  return plan.random('customer', index).isTrue(firmShare);
}

/** The tax entity of a customer, and so of its jobs; null for the few that have none. */
export function findTaxId(plan: BusinessPlan, index: number): string | null {
  const taxIndex = plan.random('tax', index).weighted([6, 3, 0.5, 0.5]);
  return taxes[taxIndex]?.id ?? null;
}

function makeIdentity(
  plan: BusinessPlan,
  index: number,
  {
    random,
    person,
    isFirm,
  }: {readonly random: Random; readonly person: Person; readonly isFirm: boolean},
): ServiceFields {
  const name = isFirm ? makeFirm(random) : `${person.first} ${person.last}`;
  const phone = makePhone(random);
  const mail = random.isTrue(0.85) ? makeMail(person, index) : emptyOrNil(random);
  const parent = plan.parentOf(index);
  return {
    name,
    full_name: name,
    company: String(isFirm),
    company_name: isFirm ? `${random.isTrue(0.05) ? ' ' : ''}${name}` : emptyOrNil(random),
    first_name: person.first,
    last_name: person.last,
    contact: random.isTrue(0.5) ? `${person.first} ${person.last}` : null,
    phone_number: phone,
    phone,
    alt_phone_number: random.isTrue(0.2) ? makePhone(random) : emptyOrNil(random),
    mobile: random.isTrue(0.4) ? makePhone(random) : null,
    fax: random.isTrue(0.15) ? makePhone(random) : emptyOrNil(random),
    email_address: mail,
    email: mail,
    parent_id: parent === null ? null : plan.customer(parent).id,
    sublevel: parent === null ? '0' : '1',
    is_active: String(!random.isTrue(0.03)),
  };
}

function makeAddresses(random: Random): ServiceFields {
  const {city, state, zip} = makeTown(random);
  const hasBillingAddress = random.isTrue(0.2);
  const billing = hasBillingAddress ? makeTown(random) : {city, state, zip};
  const street = makeStreet(random);
  return {
    service_address: street,
    service_address_2: random.isTrue(0.1) ? 'Bldg. C' : emptyOrNil(random),
    service_city: city,
    service_state: state,
    service_zip_code: zip,
    service_country: random.isTrue(0.7) ? 'US' : emptyOrNil(random),
    billing_address: hasBillingAddress ? makeStreet(random) : street,
    billing_address_2: emptyOrNil(random),
    billing_city: billing.city,
    billing_state: billing.state,
    billing_zip_code: billing.zip,
    billing_country: random.isTrue(0.5) ? 'US' : null,
    which_billing_address: hasBillingAddress ? 'billing' : 'service',
    latitude: String(39 + random.next() * 3),
    longitude: String(-85 + random.next() * 10),
  };
}

function makeAccounting(random: Random, index: number): ServiceFields {
  return {
    // Texts that look like numbers, and a word that resembles a null value.
    account_number: random.isTrue(0.5) ? String(index + 1).padStart(6, '0') : emptyOrNil(random),
    job_status: random.pick(['None', 'None', 'Closed', 'Awarded', 'Pending', null]),
    credit_limit: random.pick(['275.10', '5000.0', null, null]),
    terms_ref_full_name: random.pick(['Net 30', 'Net 15', 'Due on receipt ', null]),
    customer_type_id: random.pick(['1', '2', null]),
    customer_source_id: random.pick(['1', '2', '3', null]),
    send_reminders: 'true',
    send_notifications: String(random.isTrue(0.8)),
    notify_via_email: String(random.isTrue(0.7)),
    notify_via_sms: String(random.isTrue(0.2)),
    custom_text1: random.isTrue(0.3)
      ? `Model AX-${String(random.integer(1, 999)).padStart(4, '0')}`
      : emptyOrNil(random),
    custom_number1: random.isTrue(0.2) ? writeMoney(random.integer(0, 99_999)) : null,
  };
}

function makeChildren(
  plan: BusinessPlan,
  {
    fields,
    random,
    isFirm,
  }: {readonly fields: ServiceFields; readonly random: Random; readonly isFirm: boolean},
): readonly ServiceRow[] {
  const makeId = (position: number) => plan.partOf(fields.id ?? '', position);
  const contacts = Array.from(
    {length: isFirm ? random.integer(1, 2) : random.integer(0, 3) === 0 ? 1 : 0},
    (_, position) =>
      makeContact({
        customer: fields,
        random,
        isPrimary: position === 0,
        id: makeId(idOffsets.contacts + position),
      }),
  );
  const notes = Array.from({length: random.integer(0, 2)}, (_, position) =>
    makeNote(plan, {
      owner: fields,
      kind: 'Customer',
      random,
      id: makeId(idOffsets.notes + position),
    }),
  );
  const call = random.isTrue(0.1)
    ? [makeCall(plan, fields, {random, id: makeId(idOffsets.call)})]
    : [];
  return [...contacts, ...notes, ...call];
}

function makeContact({
  customer,
  random,
  isPrimary,
  id,
}: {
  readonly customer: ServiceFields;
  readonly random: Random;
  readonly isPrimary: boolean;
  readonly id: string;
}): ServiceRow {
  const person = makePerson(random);
  const fields: ServiceFields = {
    id,
    customer_id: customer.id ?? null,
    name: `${person.first} ${person.last}`,
    first_name: person.first,
    last_name: person.last,
    title: random.pick(['Owner', 'Office manager', 'Tenant', '', null]),
    phone_number: makePhone(random),
    mobile: random.isTrue(0.5) ? makePhone(random) : null,
    email_address: makeMail(person, Number(id)),
    primary: String(isPrimary),
    created_at: customer.created_at ?? null,
    updated_at: customer.created_at ?? null,
  };
  return {table: 'contacts', fields};
}

/** A note on a customer or a job, as old as its owner. */
export function makeNote(
  plan: BusinessPlan,
  {
    owner,
    kind,
    random,
    id,
  }: {
    readonly owner: ServiceFields;
    readonly kind: 'Customer' | 'Job';
    readonly random: Random;
    readonly id: string;
  },
): ServiceRow {
  const author = plan.officeId(random);
  const fields: ServiceFields = {
    id,
    noteable_id: owner.id ?? null,
    noteable_type: kind,
    note: makeRemark(random),
    public: String(kind === 'Job' && random.isTrue(0.2)),
    created_by: author,
    updated_by: author,
    created_at: owner.created_at ?? null,
    updated_at: owner.created_at ?? null,
  };
  return {table: 'notes', fields};
}

function makeCall(
  plan: BusinessPlan,
  customer: ServiceFields,
  {random, id}: {readonly random: Random; readonly id: string},
): ServiceRow {
  const arrivalDay = Math.ceil(Date.parse(customer.created_at ?? '') / 86_400_000);
  const day = plan.calendar.workingDay(
    Math.max(arrivalDay, plan.calendar.today + random.integer(-20, 10)),
  );
  const isDone = day < plan.calendar.today && random.isTrue(0.8);
  const scheduledAt = plan.calendar.at(day, random.integer(8, 16) * 60);
  const fields: ServiceFields = {
    id,
    customer_id: customer.id ?? null,
    employee_id: plan.officeId(random),
    name: random.pick(['Call back', 'Send the quote', 'Ask for a review']),
    scheduled_at: scheduledAt,
    completed: String(isDone),
    completed_at: isDone ? scheduledAt : null,
    created_by: customer.created_by ?? null,
    updated_by: customer.created_by ?? null,
    created_at: customer.created_at ?? null,
    updated_at: customer.updated_at ?? null,
  };
  return {table: 'tasks', fields};
}

/** Nil and the empty text both occur for the same field, as on the wire. */
function emptyOrNil(random: Random): string | null {
  return random.isTrue(0.3) ? '' : null;
}

/** The last job completed and the sum owed, for each customer. At most one entry per customer. */
export class Ledger {
  readonly #last: (
    | {readonly number: string; readonly at: string; readonly name: string}
    | undefined
  )[] = [];
  readonly #owedCents: (number | undefined)[] = [];

  complete(
    customer: number,
    job: {readonly number: string; readonly at: string; readonly name: string},
  ): void {
    const lastJob = this.#last[customer];
    if (lastJob === undefined || lastJob.at <= job.at) this.#last[customer] = job;
  }

  owe(customer: number, cents: number): void {
    this.#owedCents[customer] = (this.#owedCents[customer] ?? 0) + cents;
  }

  summaryOf(customer: number): ServiceFields {
    const lastJob = this.#last[customer];
    const balance = writeMoney(this.#owedCents[customer] ?? 0);
    return {
      balance,
      total_balance: balance,
      last_job_completed_number: lastJob?.number ?? null,
      last_job_completed_at: lastJob?.at ?? null,
      last_job_completed_name: lastJob?.name ?? null,
    };
  }
}
