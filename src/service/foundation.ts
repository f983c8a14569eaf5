// The foundation of an account, before its first customer. It consists of an owner who can log in,
// and the categories, statuses and taxes for which the specification has no endpoint. Their ids are
// the same in every account. The file also makes the secrets of employees.

import {createHash, randomBytes, scrypt, timingSafeEqual} from 'node:crypto';
import {promisify} from 'node:util';
import type pg from 'pg';
import {inServiceTransaction, type ServiceQueryable} from './database.ts';
import {
  jobStatuses,
  jobTypes,
  type ServiceFields,
  type ServiceResource,
  taxEntityResource,
} from './resource.ts';

/** A category of work, with the facts from which a business makes such jobs up. */
interface Trade {
  readonly id: string;
  readonly name: string;
  readonly minutes: number;
}

/** The job types of every account. */
export const trades: readonly Trade[] = [
  {id: '101', name: 'Heating repair', minutes: 120},
  {id: '102', name: 'Cooling repair', minutes: 120},
  {id: '103', name: 'Maintenance visit', minutes: 90},
  {id: '104', name: 'Plumbing', minutes: 90},
  {id: '105', name: 'Electrical', minutes: 120},
  {id: '106', name: 'Installation', minutes: 480},
  {id: '107', name: 'Inspection', minutes: 60},
  {id: '108', name: 'Emergency call', minutes: 150},
];

/** The custom statuses of every account. */
const statuses: readonly {
  readonly id: string;
  readonly name: string;
  readonly color: string;
}[] = [
  {id: '201', name: 'Waiting for parts', color: '#d98c00'},
  {id: '202', name: 'Customer to call back', color: '#3366cc'},
  {id: '203', name: 'Ready to invoice', color: '#2e8b57'},
];

/** The tax entities of every account; rates in percent. */
export const taxes: readonly {readonly id: string; readonly name: string; readonly rate: string}[] =
  [
    {id: '301', name: 'County & City Sales Tax', rate: '7.25'},
    {id: '302', name: 'State Sales Tax', rate: '5.75'},
    {id: '303', name: 'Exempt', rate: '0.0'},
  ];

/** Internal id and number of the owner: the first employee. */
export const owner = {id: '1001', number: '1'} as const;

const FOUNDED_AT = '2024-01-02T14:00:00Z';

/**
 * Creates the foundation if there is none, and returns the token of the owner. Running it again
 * changes nothing.
 */
export async function ensureFoundation(database: pg.Pool): Promise<string> {
  return await inServiceTransaction(database, (client) => layFoundation(client, newToken()));
}

/**
 * The same within the caller's transaction.
 * @param token - for the owner, if there is none yet
 * @returns the owner's token, which may be an older one
 */
export async function layFoundation(db: ServiceQueryable, token: string): Promise<string> {
  const existingToken = await selectOwnerToken(db);
  if (existingToken !== null) return existingToken;
  await insertMissing(
    db,
    jobTypes,
    trades.map(({id, name, minutes}) => ({id, name, duration: minutes.toFixed(1)})),
  );
  await insertMissing(db, jobStatuses, statuses);
  await insertMissing(
    db,
    taxEntityResource,
    taxes.map(({id, name, rate}) => ({id, name, tax_rate: rate, agency: name})),
  );
  const fields = {...makeOwnerFields(), ...makeUpCredentials(token)};
  const text = `INSERT INTO service.employees (fields, token) VALUES ($1, $2)
      ON CONFLICT DO NOTHING`;
  const {rowCount} = await db.query(text, [JSON.stringify(fields), token]);
  if (rowCount === 1)
    await db.query(`SELECT setval('service.employee_numbers', $1)`, [owner.number]);
  return (await selectOwnerToken(db)) ?? token;
}

async function selectOwnerToken(db: ServiceQueryable): Promise<string | null> {
  const {rows} = await db.query<{token: string}>(
    `SELECT token FROM service.employees WHERE fields ->> 'is_account_owner' = 'true'
      ORDER BY id LIMIT 1`,
  );
  return rows[0]?.token ?? null;
}

function makeOwnerFields(): ServiceFields {
  return {
    id: owner.id,
    account_id: '1',
    employee_number: owner.number,
    name: 'Account Owner',
    email_address: 'owner@example.com',
    is_account_owner: 'true',
    active: 'true',
    can_login: 'false',
    notify_via_email: 'false',
    notify_via_mobile: 'false',
    created_at: FOUNDED_AT,
    updated_at: FOUNDED_AT,
  };
}

async function insertMissing(
  db: ServiceQueryable,
  {table}: ServiceResource,
  records: readonly ServiceFields[],
): Promise<void> {
  const fields = records.map((record) => ({
    ...record,
    active: 'true',
    created_at: FOUNDED_AT,
    updated_at: FOUNDED_AT,
  }));
  const text = `INSERT INTO service.${table} (fields) SELECT * FROM jsonb_array_elements($1::jsonb)
      ON CONFLICT DO NOTHING`;
  await db.query(text, [JSON.stringify(fields)]);
}

const deriveKey = promisify<string, Buffer, number, Buffer>(scrypt);
const HASH_BYTES = 32;

/** An API token: one per employee, as sensitive as the password. */
export function newToken(): string {
  return randomBytes(20).toString('hex');
}

/** @returns the salt and the hash, for `isPassword` */
export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(16);
  return `${salt.toString('hex')}:${(await deriveKey(password, salt, HASH_BYTES)).toString('hex')}`;
}

/** Whether the hash is that of the password. */
export async function isPassword(password: string, hash: string): Promise<boolean> {
  const [salt = '', expected = ''] = hash.split(':');
  const actual = await deriveKey(password, Buffer.from(salt, 'hex'), HASH_BYTES);
  return timingSafeEqual(actual, Buffer.from(expected, 'hex'));
}

/**
 * Credentials that the real service hands out with every employee (docs/service.md "Fields"). They
 * are made up, so they reveal nothing. They exist to prove that a client drops them.
 * @param origin - changes with the password, and so do these; it cannot be calculated back from
 *   them
 */
export function makeUpCredentials(origin: string): ServiceFields {
  const makeSecret = (label: string) =>
    createHash('sha256').update(`made up: ${label} of ${origin}`).digest('hex').slice(0, 40);
  return {
    password_salt: makeSecret('salt'),
    encrypted_password: makeSecret('password'),
    remember_token: makeSecret('remember token'),
  };
}
