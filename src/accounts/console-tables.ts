import {sql} from 'drizzle-orm';
import {boolean, check, index, jsonb, text, unique} from 'drizzle-orm/pg-core';
import {bigNumber, bytea, instant, listed} from '../postgres/column-types.ts';
import {commentTable} from '../postgres/commented-table.ts';
import {roles} from './access-roles.ts';
import {apiKeys} from './access-tables.ts';
import {accounts, sync} from './accounts-table.ts';

const waysIn = ['key', 'link', 'proxy'] as const;

export const sessions = sync.table(
  'sessions',
  {
    session_id: bigNumber().primaryKey().generatedAlwaysAsIdentity(),
    token_hash: bytea().notNull(),
    way_in: text({enum: waysIn}).notNull(),
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
    check('sessions_way_in_check', sql`${table.way_in} IN (${listed(waysIn)})`),
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
    role: 'viewer (reads), operator (decides as well) or admin (looks after accounts and keys as well).',
    account_id: 'The only account it sees; null: all.',
    masks: 'Whether names, phones, addresses and notes are hidden.',
    address: 'Where it came from.',
    created_at: 'When it was signed in.',
    expires_at: 'When it ends by itself.',
    ended_at: 'When it was signed out.',
  },
);

const signInCodes = sync.table(
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

export const audit = sync.table(
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
  'Every action in the console, every decision or undo of changes over HTTP, and every move of an account, written in its own transaction; entries are added, never changed.',
  {
    audit_id: 'Number of the entry.',
    at: 'When the action began.',
    session_id: 'The session it came from; null over HTTP and by a verb.',
    name: 'Who did it; over HTTP http: and the name of the key, by a verb command: and the role of the database.',
    role: 'The role of that session or key.',
    address: 'Where it came from.',
    action: 'What was done: changes.hold, sweeps.approve, …',
    account_id: 'The account concerned; null where it is none, or all.',
    subject: 'What it was done to: change 12, account acme.',
    before: 'The state before.',
    after: 'The state after, or what was given.',
  },
);
