// Each verb of the program once, in a warehouse that has much to tell, and texts in it that a
// terminal must not get as they stand.

import {mkdir, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import pg from 'pg';
import {inject} from 'vitest';
import {openPlace, type Place} from '../support/place.ts';

/** How a verb is called, and what it must say. */
export interface VerbCase {
  readonly args: readonly string[];
  readonly code?: number;
  /** The least number of bytes that it prints; a pipe takes 65,536 at once. */
  readonly bytes?: number;
  /** The command runs until it is told to stop. */
  readonly stays?: boolean;
  /** The command runs before there is much to tell. */
  readonly isFirst?: boolean;
  /** The command says nothing of itself: it answers, and was not asked. */
  readonly isSilent?: boolean;
}

const megabyte = 1_000_000;
/** The size of one write into a pipe, and a little more. */
const pipeful = 66_000;
const accounts = 900;

/** The files that verbs are given, and those that they write. */
const folder = join(tmpdir(), `fieldmirror-verbs-${process.pid}`);
/** Of 900 accounts it names one: a plan tells which it leaves alone. */
const settingsFile = join(folder, 'settings.yaml');
const partiesFile = join(folder, 'parties.csv');
const settings = `accounts: {account-9: {url: https://example.com/9, time_zone: Europe/Berlin}}
insight: {}
`;

const ofShop = ['customers', '--system', 'shop', '--account', 'own'];

/** Every verb of the program, by the words that call it. */
export const verbCases: Readonly<Record<string, VerbCase>> = {
  // No address is one of letters alone.
  init: {args: ['--url', 'acme'], code: 2},
  start: {args: ['--once'], isFirst: true},
  sync: {args: ['tasks', '--account', 'own']},
  push: {args: ['--dry-run'], bytes: megabyte},
  ask: {args: ['debtors', '--account', 'own']},
  check: {args: []},
  'export dbt': {args: [join(folder, 'export')]},
  report: {args: ['--account', 'own', '--force']},
  'export csv': {args: [join(folder, 'export')]},
  'export parquet': {args: [join(folder, 'export')]},
  deliver: {args: []},
  'links set': {args: ['customers', '1', 'K-1', '--system', 'till', '--account', 'own']},
  'links list': {args: [...ofShop, '--limit', '4000'], bytes: pipeful},
  'links remove': {args: ['customers', '2', '--system', 'shop', '--account', 'own']},
  match: {args: ['customers', '--from', partiesFile, '--system', 'shop', '--account', 'own']},
  // Its input is at its end.
  mcp: {args: ['--account', 'own'], isSilent: true},
  // Exit code 1: records are in quarantine.
  status: {args: [], bytes: megabyte, code: 1},
  explain: {args: ['customers', '1', 'service_address', '--account', 'own'], bytes: megabyte},
  'alerts add': {args: ['ops', '--email', 'ops@example.com']},
  'alerts list': {args: [], bytes: megabyte},
  // No server of e-mail is named.
  'alerts test': {args: ['rule-1'], code: 2},
  'alerts remove': {args: ['rule-2']},
  doctor: {args: []},
  migrate: {args: []},
  prune: {args: []},
  // There is no such customer.
  forget: {args: ['customers', '999999', '--account', 'own'], code: 2},
  service: {args: ['--port', '0', '--customers', '5'], stays: true},
  rehearse: {args: ['--port', '0', '--account', 'own'], stays: true},
  http: {args: ['--port', '0'], stays: true},
  'changes list': {args: ['--limit', '3600'], bytes: megabyte},
  'changes show': {args: ['1'], bytes: megabyte},
  'changes retry': {args: Array.from({length: 1_100}, (_, at) => String(at + 2)), bytes: pipeful},
  'changes hold': {args: ['2001']},
  'changes release': {args: ['2002'], code: 2},
  'changes cancel': {args: ['2003']},
  'changes accept': {args: ['2005'], code: 2},
  'changes resolve': {args: ['2004', '--take', 'service'], code: 2},
  'changes undo': {args: ['2006', '--dry-run']},
  feed: {args: ['--limit', '4000'], bytes: megabyte},
  // No key is given.
  'hooks add': {args: ['erp', '--url', 'https://example.com/hook'], code: 2},
  'hooks list': {args: [], bytes: pipeful},
  'hooks remove': {args: ['hook-1']},
  'hooks retry': {args: ['hook-2']},
  'hooks skip': {args: ['hook-3'], code: 2},
  'sweeps list': {args: ['--limit', '3600'], bytes: megabyte},
  'sweeps show': {args: ['1'], bytes: megabyte},
  'sweeps approve': {args: ['1'], code: 2},
  'quarantine list': {args: ['--limit', '3600'], bytes: megabyte},
  'quarantine show': {args: ['1'], bytes: megabyte},
  'quarantine retry': {args: ['2']},
  'accounts list': {args: [], bytes: pipeful},
  'accounts add': {args: ['other', '--url', 'https://example.com/other'], code: 2},
  'accounts check': {args: [], bytes: pipeful, code: 3},
  'accounts pause': {args: ['account-2']},
  'accounts resume': {args: ['account-3']},
  'schedules list': {args: []},
  'schedules set': {args: ['jobs today', '--account', 'own', '--every', '5m'], code: 2},
  // The account has no schedule yet.
  'schedules remove': {args: ['jobs today', '--account', 'own'], code: 2},
  'schedules run': {args: ['jobs today', '--account', 'own'], code: 2},
  'accounts rename': {args: ['account-4', 'renamed']},
  // It mirrors that address.
  'accounts move': {args: ['account-6', '--url', 'https://example.com/6'], code: 2},
  // Nothing is typed back.
  'accounts remove': {args: ['account-5'], code: 2},
  // No password comes.
  'employees login': {args: ['own', '1', '--username', 'ada'], code: 2},
  open: {args: ['--at', 'http://127.0.0.1:8086']},
  'config export': {args: [], bytes: pipeful},
  'config plan': {args: [settingsFile]},
  'config apply': {args: [settingsFile]},
  'config schema': {args: []},
  'installation show': {args: []},
  // Nothing is typed back.
  'installation claim': {args: [], code: 2},
  // No key is given.
  'installation reseal': {args: [], code: 2},
  url: {args: []},
  psql: {args: ['-X', '-Atc', "SELECT '{}'"]},
  // Nothing is typed back.
  reset: {args: [], code: 2},
  'keys add': {args: ['erp', '--account', 'own']},
  'keys list': {args: [], bytes: megabyte},
  'keys revoke': {args: ['key-7']},
};

/** A text that the service may send: it begins a sequence, turns a line round, ends it. */
const hostile = `E'\\u009b31m \\u202e \\u2028 \\u2066 '`;

/** @param most - rows of a kind, where there would be thousands */
const makeRows = (most: number) => [
  `INSERT INTO sync.delivery_targets (name, place)
    VALUES ('lake', '${join(folder, 'lake')}')`,
  `UPDATE sync.accounts SET name = 'own'`,
  `UPDATE warehouse.customers
      SET service_address = ${hostile} || repeat('Ring twice. ', ${25 * most})
    WHERE customer_number = 1`,
  `INSERT INTO warehouse.customers (name, service_address)
   SELECT 'Customer ' || ${hostile} || n, repeat('Roofs and more ', 20)
   FROM generate_series(1, ${Math.min(most, 4000)}) AS n`,
  `INSERT INTO sync.links (system, account_id, table_name, key, row_id, linked_by)
   SELECT 'shop', account_id, 'customers', 'key-' || row_id, row_id, ${hostile}
   FROM warehouse.customers`,
  `INSERT INTO sync.accounts (name, api_url, time_zone, state, state_reason)
   SELECT 'account-' || n, 'https://example.com/' || n, 'UTC', 'paused', ${hostile}
   FROM generate_series(1, ${Math.min(most, accounts)}) AS n`,
  `INSERT INTO sync.sweeps (account_id, stream, mode, record_number, state, requested_by, error,
    ended_at)
   SELECT 1, 'jobs', 'record', n, 'failed', 'command', ${hostile}, now()
   FROM generate_series(1, ${Math.min(most, 3000)}) AS n`,
  `INSERT INTO sync.quarantine (account_id, stream, number, reason, xml, xml_hash)
   SELECT 1, 'jobs', 2000000 + n, ${hostile} || repeat('no name ', 30), ${hostile}
   || repeat('<job/>', CASE n WHEN 1 THEN ${50 * most} ELSE 1 END), n::text::bytea
     FROM generate_series(1, ${Math.min(most, 3000)}) AS n`,
  `INSERT INTO sync.tombstones (sweep_id, number, account_id, stream)
   SELECT 1, n, 1, 'customers' FROM generate_series(1000001, 1000000 + ${2 * most}) AS n`,
  `INSERT INTO sync.api_keys (name, account_id, key_hash, role)
   SELECT 'key-' || n, 1, sha256(n::text::bytea), 'operator'
     FROM generate_series(1, ${Math.min(most, 5000)}) AS n`,
  `INSERT INTO sync.alert_rules (name, receiver, target, quiet_ms)
   SELECT 'rule-' || n, 'email', 'rule-' || n || '@example.com', 0
     FROM generate_series(1, ${Math.min(most, 100)}) AS n`,
  `INSERT INTO sync.feed_hooks (name, target, sealed_access, key_id, cursor, failing_since,
    last_error)
   SELECT 'hook-' || n, 'example.com', '\\x00', 'key', sync.feed_end(), now(), ${hostile}
   || repeat('no answer ', 30) FROM generate_series(1, ${Math.min(most, 300)}) AS n`,
  `INSERT INTO sync.alerts (cause, subject, since, text)
   SELECT 'growth', n, now(), ${hostile} || repeat('much too large ', 30)
   FROM generate_series(1, ${Math.min(most, 3000)}) AS n`,
];

/** A warehouse without rows, then with those above, and the files that verbs are given. */
export interface VerbPlace extends Place {
  /** Writes so many rows of each kind at most; before that a verb finds next to nothing. */
  fill(most: number): Promise<void>;
}

export async function openVerbPlace(): Promise<VerbPlace> {
  await mkdir(folder);
  await writeFile(settingsFile, settings);
  await writeFile(partiesFile, 'key,name\nP-1,Nobody\n');
  const place = await openPlace({}, inject('warehouseTemplate'));
  return {
    ...place,
    fill: async (most) => {
      const client = new pg.Client({connectionString: place.databaseUrl});
      await client.connect();
      for (const statement of makeRows(most)) await client.query(statement);
      await client.end();
    },
    close: async () => {
      await place.close();
      await rm(folder, {recursive: true});
    },
  };
}
