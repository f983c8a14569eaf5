// Tables of access over HTTP: the keys of people and systems, the requests that came with one, the
// sessions of the console and the links that open them, and the record of what was done.

import {sql} from 'drizzle-orm';
import {boolean, check, index, jsonb, primaryKey, text, unique} from 'drizzle-orm/pg-core';
import {defaultSystem, roles} from '../core/names.ts';
import {bigNumber, bytea, commentTable, instant, listed} from '../postgres/tables.ts';
import {accounts, isSystemName, syncSchema} from './tables.ts';

export const apiKeys = syncSchema.table(
  'api_keys',
  {
    api_key_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    name: text().notNull(),
    account_id: bigNumber().references(() => accounts.account_id),
    key_hash: bytea().notNull(),
    role: text({enum: roles}).notNull(),
    masks: boolean().notNull().default(false),
    system: text().notNull().default(defaultSystem),
    holds_deletes: boolean().notNull().default(false),
    created_at: instant().notNull().defaultNow(),
    created_by: text().notNull().default(sql`session_user`),
    last_used_at: instant(),
    revoked_at: instant(),
  },
  (table) => [
    unique('api_keys_key_hash_key').on(table.key_hash),
    unique('api_keys_name_key').on(table.name),
    check('api_keys_key_hash_check', sql`length(${table.key_hash}) = 32`),
    check('api_keys_role_check', sql`${table.role} IN (${listed(roles)})`),
    check('api_keys_admin_check', sql`${table.role} <> 'admin' OR ${table.account_id} IS NULL`),
    check('api_keys_system_check', isSystemName(table.system)),
  ],
);

export const apiKeysTable = commentTable(
  apiKeys,
  'Keys of systems and people that come in over HTTP.',
  {
    api_key_id: 'Number of the key.',
    name: 'What the key is called here: changes that come with it name it.',
    account_id: 'The account it opens; null: the console for all of them.',
    key_hash: 'SHA-256 of the key, which itself is nowhere.',
    role:
      'viewer (reads), operator (makes changes and decides) or admin (manages accounts and ' +
      'keys as well).',
    masks: 'Whether the console hides names, phones, addresses and notes from it.',
    system: 'The outside system whose keys of rows it gives and is given as external_key.',
    holds_deletes: 'Whether the deletes that it makes are held until a person releases them.',
    created_at: 'When it was made.',
    created_by: 'Database user who made it.',
    last_used_at: 'When it was last used, to the minute.',
    revoked_at: 'When it was revoked; null while it opens.',
  },
);

const apiRequests = syncSchema.table(
  'api_requests',
  {
    account_id: bigNumber()
      .notNull()
      .references(() => accounts.account_id),
    system: text().notNull().default(defaultSystem),
    idempotency_key: text().notNull(),
    body_hash: bytea().notNull(),
    results: jsonb().notNull().default(sql`'[]'::jsonb`),
    requested_at: instant().notNull().defaultNow(),
  },
  (table) => [
    primaryKey({
      name: 'api_requests_pkey',
      columns: [table.account_id, table.system, table.idempotency_key],
    }),
    check('api_requests_system_check', isSystemName(table.system)),
    index('api_requests_requested_at_idx').on(table.account_id, table.requested_at),
  ],
);

export const apiRequestsTable = commentTable(
  apiRequests,
  'Requests that came over HTTP with an idempotency key: the same key is the same request.',
  {
    account_id: 'The account of the request.',
    system: 'The outside system of the API key: each has its own idempotency keys.',
    idempotency_key: 'What the caller calls the request.',
    body_hash: 'SHA-256 of what was requested.',
    results: 'What each change of it came to: its change_id, or the row that said so already.',
    requested_at: 'When it came; 30 days later its key is free again.',
  },
);

const signInMethods = ['key', 'link', 'proxy'] as const;

export const sessions = syncSchema.table(
  'sessions',
  {
    session_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    token_hash: bytea().notNull(),
    way_in: text({enum: signInMethods}).notNull(),
    api_key_id: bigNumber().references(() => apiKeys.api_key_id),
    name: text().notNull(),
    role: text({enum: roles}).notNull(),
    account_id: bigNumber().references(() => accounts.account_id),
    masks: boolean().notNull(),
    address: text().notNull(),
    created_at: instant().notNull().defaultNow(),
    expires_at: instant().notNull(),
    ended_at: instant(),
  },
  (table) => [
    unique('sessions_token_hash_key').on(table.token_hash),
    check('sessions_way_in_check', sql`${table.way_in} IN (${listed(signInMethods)})`),
    check(
      'sessions_api_key_id_check',
      sql`(${table.api_key_id} IS NOT NULL) = (${table.way_in} = 'key')`,
    ),
    check('sessions_role_check', sql`${table.role} IN (${listed(roles)})`),
    check('sessions_token_hash_check', sql`length(${table.token_hash}) = 32`),
    index('sessions_expires_at_idx').on(table.expires_at),
  ],
);

export const sessionsTable = commentTable(
  sessions,
  'People who are signed in to the console, or were.',
  {
    session_id: 'Number of the session.',
    token_hash: 'SHA-256 of the cookie, which itself is nowhere.',
    way_in: 'key, link (printed by a terminal), or proxy (which signs people in).',
    api_key_id: 'The key that opened it: a session ends with its key.',
    name: 'Who it is: the name of the key, of the database user, or as the proxy says.',
    role:
      'viewer (reads), operator (decides as well) or admin (manages accounts and keys as ' +
      'well).',
    account_id: 'The only account it sees; null: all.',
    masks: 'Whether names, phones, addresses and notes are hidden.',
    address: 'Where it came from.',
    created_at: 'When it was signed in.',
    expires_at: 'When it ends automatically.',
    ended_at: 'When it was signed out.',
  },
);

const signInCodes = syncSchema.table(
  'sign_in_codes',
  {
    code_hash: bytea().primaryKey(),
    name: text().notNull(),
    role: text({enum: roles}).notNull(),
    created_at: instant().notNull().defaultNow(),
    expires_at: instant().notNull(),
    used_at: instant(),
  },
  (table) => [
    check('sign_in_codes_role_check', sql`${table.role} IN (${listed(roles)})`),
    check('sign_in_codes_code_hash_check', sql`length(${table.code_hash}) = 32`),
  ],
);

export const signInCodesTable = commentTable(
  signInCodes,
  'Links that sign in to the console: each opens once, within ten minutes.',
  {
    code_hash: 'SHA-256 of the code in the link, which itself is nowhere.',
    name: 'Database user whose terminal printed the link.',
    role: 'What the session may do.',
    created_at: 'When it was printed.',
    expires_at: 'Until when it opens.',
    used_at: 'When it was used.',
  },
);

export const audit = syncSchema.table(
  'audit',
  {
    audit_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    at: instant().notNull().defaultNow(),
    session_id: bigNumber(),
    name: text().notNull(),
    role: text().notNull(),
    address: text().notNull(),
    action: text().notNull(),
    account_id: bigNumber(),
    subject: text().notNull(),
    before: jsonb(),
    after: jsonb(),
  },
  (table) => [index('audit_at_idx').on(table.at)],
);

// No foreign keys: an entry outlives the session and the account that it names.
export const auditTable = commentTable(
  audit,
  'Every action in the console, every decision or undo of changes over HTTP, every move of an ' +
    'account, every login given to an employee and every batch of links, written in its own ' +
    'transaction; entries are added, never changed.',
  {
    audit_id: 'Number of the entry.',
    at: 'When the action began.',
    session_id: 'The session it came from; null over HTTP and by a verb.',
    name:
      'Who did it; over HTTP http: and the name of the key, by a verb command: ' +
      'and the role of the database.',
    role: 'The role of that session or key.',
    address: 'Where it came from.',
    action: 'What was done: changes.hold, sweeps.approve, …',
    account_id: 'The account concerned; null for none, or all.',
    subject: 'What it was done to: change 12, account acme.',
    before: 'The state before.',
    after: 'The state after, or what was given.',
  },
);
