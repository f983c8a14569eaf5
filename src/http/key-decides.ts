// A key that decides about changes: an author like any other, and named in the audit.

import type pg from 'pg';
import {type AuditEntry, isKeyInUse, writeAudit} from '../accounts/access.ts';
import type {AccountKey} from './authentication.ts';
import {Problem} from './problem.ts';

/**
 * The transaction's author and decider is the key, whichever author used the connection before.
 * @throws {Problem} 401: the key was revoked since its request began, which may be minutes ago
 */
export async function decideAs(client: pg.ClientBase, {apiKeyId, name}: AccountKey): Promise<void> {
  if (!(await isKeyInUse(client, apiKeyId))) throw new Problem(401, 'unauthorized');
  await client.query(
    `SELECT set_config('fieldmirror.writer', '', true), set_config('fieldmirror.batch', '', true),
            set_config('fieldmirror.person', $1, true), set_config('application_name', $1, true)`,
    [`http: ${name}`],
  );
}

type Entry = Pick<AuditEntry, 'action' | 'subject' | 'address' | 'before' | 'after'>;

/** The entry of the audit is written in the transaction that decides. */
export async function auditKey(
  client: pg.ClientBase,
  {name, role, accountId}: AccountKey,
  entry: Entry,
): Promise<void> {
  await writeAudit(client, {...entry, sessionId: null, name: `http: ${name}`, role, accountId});
}
