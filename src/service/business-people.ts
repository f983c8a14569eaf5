import type {Plan} from './business-plan.ts';
import type {Row} from './copy-rows.ts';
import type {Fields} from './field.ts';
import {catalogue} from './item-catalogue.ts';
import type {Random} from './random.ts';
import {owner} from './store-foundation.ts';
import {makeUpCredentials} from './store-secrets.ts';
import {makeMail, makePerson, makePhone, makeStreet, makeTown} from './vocabulary.ts';

const HEX = '0123456789abcdef';

/** The owner's token in a business of this seed. */
export function makeOwnerToken(plan: Plan): string {
  return makeToken(plan.random('token', 0));
}

/** The office and the technicians; the owner is of the foundation. The last technician has left. */
export function makeEmployees(plan: Plan): readonly Row[] {
  return Array.from({length: plan.employees - 1}, (_, index) => makeEmployee(plan, index + 1));
}

function makeEmployee(plan: Plan, index: number): Row {
  const random = plan.random('employee', index);
  const token = makeToken(plan.random('token', index));
  const isTechnician = index >= plan.technician(0);
  const hasLeft = index === plan.employees - 1;
  const hired = plan.calendar.at(
    plan.calendar.today - plan.calendar.days - random.integer(30, 2000),
    480,
  );
  const person = makePerson(random);
  const fields: Fields = {
    ...makeUpCredentials(token),
    ...describeHome(random),
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
    custom_text1: isTechnician ? skillsOf(plan, index) : 'Office',
    custom_number1: isTechnician ? `${random.integer(2, 30)}.0` : null,
  };
  // No password is known for this hash: it is set anew through the API.
  return {
    table: 'employees',
    fields,
    beside: {token, password_hash: `${random.text(32, HEX)}:${random.text(64, HEX)}`},
  };
}

function describeHome(random: Random): Fields {
  const {city, state, zip} = makeTown(random);
  return {
    address: makeStreet(random),
    city,
    state,
    zip_code: zip,
    home_phone: random.isTrue(0.3) ? makePhone(random) : '',
  };
}

function skillsOf(plan: Plan, index: number): string {
  return catalogue
    .filter((_, work) => plan.isSkilled(index, work))
    .map(({name}) => name)
    .join(', ');
}

function makeToken(random: Random): string {
  return random.text(40, HEX);
}
