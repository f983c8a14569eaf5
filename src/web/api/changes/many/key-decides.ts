// A key that decides about changes: an author like any other, and named in the audit.

import type pg from 'pg';
import {type AuditEntry, writeAudit} from '../../../../warehouse/accounts/access/audit.ts';
import type {AccountKey} from '../../authentication.ts';

/** The transaction's author and decider is the key, whichever author used the connection before. */
export async function decideAs(client: pg.ClientBase, {name}: AccountKey): Promise<void> {
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
