// Compares parties of an outside system with the rows of an account: by which columns, and which of
// them may be the same. Nothing is written.

import type {CountryCode} from 'libphonenumber-js/min';
import type pg from 'pg';
import {type Matches, matchInThread, type Pair} from '../match/match.ts';
import type {Party} from '../match/party.ts';
import {type LinkedRow, type LinkScope, listKeys, type NewLink, readLinkedRows} from './links.ts';

/** The columns of a table by which parties are compared. */
export interface MatchColumns {
  readonly number: string;
  readonly phones: readonly string[];
  readonly emails: readonly string[];
  /** Street, city and ZIP code of each address. */
  readonly addresses: readonly (readonly [string, string, string])[];
}

/** The tables whose rows can be matched. */
export const matchColumns: Readonly<Record<'customers' | 'employees', MatchColumns>> = {
  customers: {
    number: 'customer_number',
    phones: ['phone_number', 'alt_phone_number', 'mobile'],
    emails: ['email_address'],
    addresses: [
      ['service_address', 'service_city', 'service_zip_code'],
      ['billing_address', 'billing_city', 'billing_zip_code'],
    ],
  },
  employees: {
    number: 'employee_number',
    phones: ['cell_phone', 'home_phone'],
    emails: ['email_address'],
    addresses: [['address', 'city', 'zip_code']],
  },
};

/** The rows of a table to compare, and the columns used for that. */
export interface MatchScope extends LinkScope {
  readonly columns: MatchColumns;
}

export interface Matching {
  readonly matches: Matches;
  /** By row_id. */
  readonly rows: ReadonlyMap<string, LinkedRow>;
  /** How many parties have their key set already, and how many keys the system has altogether. */
  readonly linked: {readonly inFile: number; readonly here: number};
}

/** Compares parties with every row that is not deleted. */
export async function matchRows(
  pool: pg.Pool,
  scope: MatchScope,
  {parties, country}: {readonly parties: readonly Party[]; readonly country: CountryCode},
): Promise<Matching> {
  const {number, phones, emails, addresses} = scope.columns;
  const columns = [number, 'name', ...phones, ...emails, ...addresses.flat()];
  const keys = await listKeys(pool, scope);
  const rows = await readLinkedRows(pool, scope, columns);
  const linkedHere = [...rows.values()].flatMap(({rowId, key}) => (key === null ? [] : rowId));
  const linkedThere = parties.flatMap(({id}) => (keys.has(id) ? id : []));
  const matches = await matchInThread({
    ours: [...rows.values()].map((row) => toParty(row, scope.columns)),
    theirs: parties,
    linkedHere: new Set(linkedHere),
    linkedThere: new Set(linkedThere),
    country,
  });
  return {matches, rows, linked: {inFile: linkedThere.length, here: keys.size}};
}

function toParty({rowId, values}: LinkedRow, {phones, emails, addresses}: MatchColumns): Party {
  const readColumn = (column: string) => values[column] ?? '';
  return {
    id: rowId,
    name: readColumn('name'),
    phones: phones.map(readColumn),
    emails: emails.map(readColumn),
    addresses: addresses.map(([street, city, zip]) => ({
      street: readColumn(street),
      city: readColumn(city),
      zip: readColumn(zip),
    })),
  };
}

/** The link that joins a pair. */
export function linkOf({ours, theirs}: Pair): NewLink {
  return {rowId: ours.party.id, key: theirs.party.id};
}

export function countBuckets({sure, several, onlyHere, onlyThere}: Matches) {
  return {
    sure: sure.length,
    several: several.length,
    onlyHere: onlyHere.length,
    onlyThere: onlyThere.length,
  };
}

/** Values that are not empty, each once. */
export function joinFilled(values: readonly string[], between = ' / '): string {
  return [...new Set(values)].filter((value) => value !== '').join(between);
}

export function showAddresses({addresses}: Party): string {
  return joinFilled(addresses.map(({street, city, zip}) => joinFilled([street, city, zip], ', ')));
}
