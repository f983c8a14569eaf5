import {text} from 'drizzle-orm/pg-core';
import {sync} from '../accounts/tables.ts';
import {bigNumber, bytea, commentTable, instant} from '../postgres/tables.ts';
import {changes} from './change-tables.ts';

const loginKeys = sync.table('login_keys', {
  login_key_id: text().primaryKey(),
  public_key: bytea().notNull(),
  sealed_private_key: bytea(),
  sealed_by: text(),
  created_at: instant().notNull().defaultNow(),
});

export const loginKeysTable = commentTable(
  loginKeys,
  'Public keys that seal the passwords of employees; only a worker has the other half.',
  {
    login_key_id: 'Fingerprint of the key.',
    public_key: 'The public half, in the form of OpenPGP.',
    sealed_private_key:
      'The other half, sealed with FIELDMIRROR_KEY; null where only the process that made it has it.',
    sealed_by: 'Which FIELDMIRROR_KEY sealed it.',
    created_at: 'When it was made; the latest seals.',
  },
);

const employeeLogins = sync.table('employee_logins', {
  change_id: bigNumber()
    .primaryKey()
    .references(() => changes.change_id, {onDelete: 'cascade'}),
  login_key_id: text()
    .notNull()
    .references(() => loginKeys.login_key_id),
  sealed: bytea().notNull(),
  expires_at: instant().notNull(),
});

export const employeeLoginsTable = commentTable(
  employeeLogins,
  'Passwords on their way to the service, sealed; wiped with the answer, and after a quarter of an hour in any case.',
  {
    change_id: 'The change that the password belongs to.',
    login_key_id: 'The key it is sealed with.',
    sealed: 'The password, sealed.',
    expires_at: 'When it is dropped, sent or not.',
  },
);
